// toml++ for the two small files of this folder: strict tables of strings, with positions in every message.
#pragma once

#include <toml++/toml.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"

namespace zomboss::loader {

// The parsed text, or nothing after reporting the syntax error.
std::optional<toml::table> parse_toml(const Source& source, Diagnostics& diagnostics);

Location location_of(const toml::source_region& region);

// One key that a table may have.
struct StringField {
  std::string_view key;
  bool required;
  std::string* value;
  // What is wrong with a value, or "".
  std::function<std::string(std::string_view)> problem;
};

// Fills the fields from the table; reports missing, unknown and mistyped keys and bad values.
void read_strings(const toml::table& table, const std::vector<StringField>& fields, Diagnostics& diagnostics);

// Checks for StringField::problem.
std::string id_problem(std::string_view text);
std::string kind_problem(std::string_view text);
std::string version_problem(std::string_view text);
std::string sha256_problem(std::string_view text);
std::string one_line_problem(std::string_view text);

}  // namespace zomboss::loader
