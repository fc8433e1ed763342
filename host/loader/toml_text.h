// Strict tables of strings, for the two small TOML files of this folder, with positions in every message.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/config/toml_reader.h"

namespace zomboss::loader {

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
