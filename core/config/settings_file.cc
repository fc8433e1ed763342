#include "core/config/settings_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/config/toml_reader.h"

namespace zomboss::config {
namespace {

void flatten(const toml::table& table, const std::string& path, wire::OptionsT& options) {
  for (const auto& [key, node] : table) {
    const std::string name = path + "." + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      flatten(*inner, name, options);
      continue;
    }
    auto attribute = std::make_unique<wire::AttributeT>();
    attribute->key = name;
    if (const auto* integer = node.as_integer()) {
      attribute->ints.push_back(integer->get());
    } else if (const auto* boolean = node.as_boolean()) {
      attribute->ints.push_back(boolean->get() ? 1 : 0);
      attribute->text = boolean->get() ? "true" : "false";
    } else if (const auto* number = node.as_floating_point()) {
      attribute->floats.push_back(number->get());
    } else if (const auto* text = node.as_string()) {
      attribute->text = text->get();
    } else {
      continue;
    }
    options.values.push_back(std::move(attribute));
  }
}

}  // namespace

Status expand_settings_file(wire::OptionsT& options) {
  const auto at = std::find_if(options.values.begin(), options.values.end(),
                               [](const auto& each) { return each->key == "settings_file"; });
  if (at == options.values.end()) return {};
  const std::string path = (*at)->text;
  options.values.erase(at);
  ZB_ASSIGN(const Source source, read_source(path));
  Diagnostics diagnostics(source);
  const auto table = parse_toml(source, diagnostics);
  if (!table) return diagnostics.status();
  flatten(*table, "settings", options);
  return {};
}

}  // namespace zomboss::config
