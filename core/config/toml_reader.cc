#include "core/config/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace zomboss::config {

std::optional<toml::table> parse_toml(const Source& source, Diagnostics& diagnostics) {
  try {
    return toml::parse(source.text(), std::string_view(source.name()));
  } catch (const toml::parse_error& error) {
    const auto begin = error.source().begin;
    std::string text(error.description());
    std::replace(text.begin(), text.end(), '\n', ' ');
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
    diagnostics.error({begin.line, begin.column}, "not valid TOML: " + text);
    return std::nullopt;
  }
}

const char* type_text(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

namespace {

std::string joined(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace

void TableReader::check_keys(std::span<const std::string> known) const {
  for (const auto& [key, node] : table_) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    diagnostics_.error(location_of(key),
                       fmt::format("unknown key '{}' in {}{}", name, what_, did_you_mean(name, known)),
                       "known keys: " + joined(known));
  }
}

void TableReader::wrong_type(const toml::node& node, const char* key, const char* expected) const {
  diagnostics_.error(location_of(node),
                     fmt::format("'{}' in {} is {}, expected {}", key, what_, type_text(node), expected));
}

std::optional<std::string> TableReader::text(const char* key) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  if (const auto* value = node->as_string()) return value->get();
  wrong_type(*node, key, "a string");
  return std::nullopt;
}

std::optional<std::string> TableReader::choice(const char* key, std::span<const std::string> values) const {
  auto value = text(key);
  if (!value || std::find(values.begin(), values.end(), *value) != values.end()) return value;
  diagnostics_.error(location_of(*table_.get(key)),
                     fmt::format("'{}' in {} is '{}'{}", key, what_, *value, did_you_mean(*value, values)),
                     "known values: " + joined(values));
  return std::nullopt;
}

bool TableReader::has_only(const char* key) const {
  return table_.size() == 1 && table_.contains(key);
}

std::optional<int64_t> TableReader::integer(const char* key, int64_t low, int64_t high) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  const auto* value = node->as_integer();
  if (value == nullptr) {
    wrong_type(*node, key, "an integer");
    return std::nullopt;
  }
  if (value->get() >= low && value->get() <= high) return value->get();
  diagnostics_.error(location_of(*node),
                     fmt::format("'{}' in {} is {}, expected {} to {}", key, what_, value->get(), low, high));
  return std::nullopt;
}

std::optional<double> TableReader::number(const char* key) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return std::nullopt;
  std::optional<double> value;
  if (const auto* integer = node->as_integer()) value = static_cast<double>(integer->get());
  if (const auto* floating = node->as_floating_point()) value = floating->get();
  if (value.has_value() && std::isfinite(*value)) return value;
  wrong_type(*node, key, "a finite number");
  return std::nullopt;
}

const toml::table* TableReader::table(const char* key) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (const auto* value = node->as_table()) return value;
  wrong_type(*node, key, "a table");
  return nullptr;
}

const toml::array* TableReader::array(const char* key) const {
  const toml::node* node = table_.get(key);
  if (node == nullptr) return nullptr;
  if (const auto* value = node->as_array()) return value;
  wrong_type(*node, key, "an array");
  return nullptr;
}

std::string TableReader::required_text(const char* key) const {
  if (table_.get(key) == nullptr) {
    diagnostics_.error(where(), fmt::format("{} lacks the key '{}'", what_, key));
    return {};
  }
  return text(key).value_or("");
}

}  // namespace zomboss::config
