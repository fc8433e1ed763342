// Reading a TOML file with our diagnostics: syntax errors, unknown keys (with did-you-mean), wrong types and
// ranges, all with file:line:col. Used inside core/config only: no header that others include names a toml++
// type.
#pragma once

#include <toml++/toml.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/source.h"

namespace zomboss::config {

// The parsed table, or nothing after adding an error to `diagnostics`.
std::optional<toml::table> parse_toml(const Source& source, Diagnostics& diagnostics);

// Of a node or a key.
template <typename Part>
Location location_of(const Part& part) {
  return {part.source().begin.line, part.source().begin.column};
}

// Typed access to the keys of one table; every problem becomes a diagnostic. Borrows all it is given.
class TableReader {
 public:
  // `what` names the table in messages: "[acceptance]", "the top level".
  TableReader(const toml::table& table, std::string what, Diagnostics& diagnostics)
      : table_(table), what_(std::move(what)), diagnostics_(diagnostics) {}

  // An error for each key that is not in `known`.
  void check_keys(std::span<const std::string> known) const;

  // Nothing when the key is absent; nothing and a diagnostic when it has another type.
  std::optional<std::string> text(const char* key) const;
  std::optional<int64_t> integer(const char* key, int64_t low, int64_t high) const;
  std::optional<double> number(const char* key) const;  // integers too; finite
  const toml::table* table(const char* key) const;
  const toml::array* array(const char* key) const;
  // A text that must be one of `values`.
  std::optional<std::string> choice(const char* key, std::span<const std::string> values) const;
  // Whether `key` is there and nothing else is.
  bool has_only(const char* key) const;
  // The text of a mandatory key, or "" after a diagnostic.
  std::string required_text(const char* key) const;

  Location where() const { return location_of(table_); }

 private:
  void wrong_type(const toml::node& node, const char* key, const char* expected) const;

  const toml::table& table_;
  std::string what_;
  Diagnostics& diagnostics_;
};

// "an integer", "a string", ... for messages.
const char* type_text(const toml::node& node);

}  // namespace zomboss::config
