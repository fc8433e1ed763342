#include "core/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "core/base/check.h"
#include "core/base/text.h"
#include "core/config/toml_reader.h"

namespace zomboss::config {
namespace {

const OptionInfo* find_option(const std::string& key) {
  for (const OptionInfo& option : option_table())
    if (option.key == key) return &option;
  return nullptr;
}

std::optional<int64_t> parse_integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start <= text.size() && !text.empty()) {
    const size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// Why `value` does not fit the option, or "".
std::string type_problem(const OptionInfo& option, const std::string& value) {
  if (option.type == "integer") {
    const auto number = parse_integer(value);
    if (!number.has_value()) return fmt::format("'{}' is '{}', expected an integer", option.key, value);
    if (*number < 0) return fmt::format("'{}' is {}, expected 0 or more", option.key, *number);
  } else if (option.type == "number") {
    const auto number = parse_number(value);
    if (!number.has_value() || !(*number >= 0) || !std::isfinite(*number))
      return fmt::format("'{}' is '{}', expected a number of 0 or more", option.key, value);
  }
  return {};
}

// A scalar TOML node as text; nothing for other nodes.
std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  if (const auto* value = node.as_floating_point()) return fmt::format("{}", value->get());
  return std::nullopt;
}

}  // namespace

const std::vector<OptionInfo>& option_table() {
  static const std::vector<OptionInfo> kTable = {
#define ZB_OPTION(key, type, default_value, doc) {key, #type, default_value, doc},
#include "core/config/options.inc"
#undef ZB_OPTION
  };
  return kTable;
}

Config::Config() {
  for (const OptionInfo& option : option_table())
    values_[option.key] = {option.default_value, "built-in", split(option.default_value, ':')};
}

Status Config::set_option(const std::string& key, Value value) {
  const OptionInfo* option = find_option(key);
  if (option == nullptr) {
    if (key.starts_with("target.") || key.starts_with("policy."))
      return set_plugin_option(key, std::move(value));
    std::vector<std::string> names;
    for (const OptionInfo& known : option_table()) names.push_back(known.key);
    return invalid_argument(fmt::format("unknown configuration key '{}'{}", key, did_you_mean(key, names)));
  }
  if (const std::string problem = type_problem(*option, value.text); !problem.empty())
    return invalid_argument(problem);
  if (option->type == "texts" && value.list.empty()) value.list = split(value.text, ':');
  values_[key] = std::move(value);
  return {};
}

Status Config::set_plugin_option(const std::string& key, Value value) {
  const auto parts = split(key, '.');
  const bool params = parts.size() == 4 && parts[0] == "target" && parts[2] == "params";
  if (parts.size() != 3 && !params)
    return invalid_argument(fmt::format(
        "'{}' is no plugin option: write target.ID.OPTION, policy.ID.OPTION or target.ID.params.NAME", key));
  if (params && !parse_integer(value.text).has_value())
    return invalid_argument(fmt::format("'{}' is '{}', expected an integer", key, value.text));
  plugins_[key] = std::move(value);
  return {};
}

Status Config::read(const Source& source) {
  Diagnostics diagnostics(source);
  const auto table = parse_toml(source, diagnostics);
  if (!table.has_value()) return diagnostics.status();
  // Depth-first over the tables; dotted keys and [sections] are the same thing.
  std::vector<std::pair<std::string, const toml::table*>> todo = {{"", &*table}};
  while (!todo.empty()) {
    const auto [prefix, current] = todo.back();
    todo.pop_back();
    for (const auto& [key, node] : *current) {
      const std::string name = prefix + std::string(key.str());
      const Location where = location_of(key);
      if (const auto* child = node.as_table()) {
        todo.emplace_back(name + ".", child);
        continue;
      }
      Value value;
      value.origin = fmt::format("{}:{}:{}", source.name(), where.line, where.column);
      if (const auto* array = node.as_array()) {
        for (const toml::node& element : *array) {
          const auto text = scalar_text(element);
          if (!text.has_value())
            diagnostics.error(location_of(element), fmt::format("'{}' holds {}", name, type_text(element)));
          else
            value.list.push_back(*text);
        }
      } else if (const auto text = scalar_text(node)) {
        value.text = *text;
      } else {
        diagnostics.error(location_of(node), fmt::format("'{}' is {}", name, type_text(node)));
        continue;
      }
      if (const Status status = set_option(name, std::move(value)); !status.ok())
        diagnostics.error(where, status.message());
    }
  }
  return diagnostics.status();
}

Status Config::add_file(const std::string& path) {
  ZB_ASSIGN(const Source source, read_source(path, size_t{1} << 20));
  return read(source);
}

Status Config::add_file_if_present(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) ? add_file(path) : Status();
}

Status Config::add_environment(const Environment& get) {
  for (const OptionInfo& option : option_table()) {
    std::string name = "ZB_" + option.key;
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
    if (const auto value = get(name)) {
      const Status status = set_option(option.key, {*value, "environment " + name, {}});
      if (!status.ok())
        return Status(status.code(), fmt::format("environment {}: {}", name, status.message()));
    }
  }
  return {};
}

Status Config::add_setting(const std::string& assignment, const std::string& origin) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    return invalid_argument(fmt::format("{} '{}': expected key=value", origin, assignment));
  std::string value = assignment.substr(equals + 1);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')  // as in a file
    value = value.substr(1, value.size() - 2);
  return set_option(assignment.substr(0, equals), {std::move(value), origin, {}}).with_prefix(origin);
}

double Config::number(const std::string& key) const {
  const auto number = parse_number(text(key));
  ZB_CHECK(number.has_value(), "an option of another type was read as a number");
  return *number;
}

int64_t Config::integer(const std::string& key) const {
  const auto number = parse_integer(text(key));
  ZB_CHECK(number.has_value(), "an option of another type was read as an integer");
  return *number;
}

const std::string& Config::text(const std::string& key) const {
  const auto found = values_.find(key);
  ZB_CHECK(found != values_.end(), "a key that is not in options.inc was read");
  return found->second.text;
}

std::vector<std::string> Config::texts(const std::string& key) const {
  const auto found = values_.find(key);
  ZB_CHECK(found != values_.end(), "a key that is not in options.inc was read");
  return found->second.list;
}

const std::string& Config::origin(const std::string& key) const {
  const auto found = values_.find(key);
  ZB_CHECK(found != values_.end(), "a key that is not in options.inc was read");
  return found->second.origin;
}

wire::OptionsT Config::plugin_options(const std::string& kind, const std::string& id) const {
  wire::OptionsT options;
  const std::string prefix = kind + "." + id + ".";
  for (const auto& [key, value] : plugins_) {
    if (!key.starts_with(prefix) || key.find('.', prefix.size()) != std::string::npos) continue;
    auto attribute = std::make_unique<wire::AttributeT>();
    attribute->key = key.substr(prefix.size());
    attribute->text = value.text;
    if (const auto integer = parse_integer(value.text))
      attribute->ints.push_back(*integer);
    else if (value.text == "true" || value.text == "false")
      attribute->ints.push_back(value.text == "true" ? 1 : 0);
    if (const auto number = parse_number(value.text)) attribute->floats.push_back(*number);
    options.values.push_back(std::move(attribute));
  }
  return options;
}

std::map<std::string, int64_t> Config::target_params(const std::string& id) const {
  std::map<std::string, int64_t> params;
  const std::string prefix = "target." + id + ".params.";
  for (const auto& [key, value] : plugins_)
    if (key.starts_with(prefix)) params[key.substr(prefix.size())] = *parse_integer(value.text);
  return params;
}

std::vector<std::array<std::string, 3>> Config::all() const {
  std::vector<std::array<std::string, 3>> rows;
  const auto add = [&](const std::string& key, const Value& value) {
    std::string text = value.text;
    if (text.empty())
      for (const std::string& item : value.list) text += (text.empty() ? "" : ":") + item;
    rows.push_back({key, text, value.origin});
  };
  for (const auto& [key, value] : values_) add(key, value);
  for (const auto& [key, value] : plugins_) add(key, value);
  return rows;
}

Result<Config> load_config(const std::string& config_file, const Config::Environment& get) {
  Config config;
  ZB_TRY(config.add_file_if_present("/etc/zomboss/config.toml"));
  if (const auto xdg = get("XDG_CONFIG_HOME"); xdg.has_value() && !xdg->empty()) {
    ZB_TRY(config.add_file_if_present(*xdg + "/zomboss/config.toml"));
  } else if (const auto home = get("HOME")) {
    ZB_TRY(config.add_file_if_present(*home + "/.config/zomboss/config.toml"));
  }
  ZB_TRY(config.add_file_if_present("zomboss.toml"));
  if (!config_file.empty()) ZB_TRY(config.add_file(config_file));
  ZB_TRY(config.add_environment(get));
  return config;
}

}  // namespace zomboss::config
