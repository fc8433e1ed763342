#define TOML_HEADER_ONLY 1  // nothing to load beside the plugin

#include "plugins/targets/gemmini/sim/timing_presets.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <optional>

namespace zomboss::gemmini {
namespace {

struct Key {
  const char* name;
  uint32_t TimingParameters::*field;
  int64_t low, high;
  bool power_of_two = false;
};
constexpr Key kKeys[] = {
    {"memory_latency", &TimingParameters::memory_latency, 0, 10'000},
    {"command_gap", &TimingParameters::command_gap, 0, 1'000},
    {"beat_bytes", &TimingParameters::beat_bytes, 1, 256, true},
    {"max_request_bytes", &TimingParameters::max_request_bytes, 1, 4096, true},
    {"requests_in_flight", &TimingParameters::requests_in_flight, 1, 1024},
    {"front_latency", &TimingParameters::front_latency, 0, 100},
    {"front_capacity", &TimingParameters::front_capacity, 4, 1024},
    {"load_entries", &TimingParameters::load_entries, 1, 64},
    {"execute_entries", &TimingParameters::execute_entries, 2, 64},
    {"store_entries", &TimingParameters::store_entries, 1, 64},
    {"array_latency", &TimingParameters::array_latency, 2, 512},
    {"matmuls_in_flight", &TimingParameters::matmuls_in_flight, 1, 64},
    {"scale_entries", &TimingParameters::scale_entries, 1, 64},
    {"scale_units", &TimingParameters::scale_units, 1, 256},
    {"scale_burst_delay", &TimingParameters::scale_burst_delay, 0, 100},
};

class Reader {
 public:
  explicit Reader(std::string_view source) : source_(source) {}

  Status error(const toml::source_region& region, const std::string& text) const {
    return invalid_argument(
        fmt::format("{}:{}:{}: {}", source_, region.begin.line, region.begin.column, text));
  }

  Status read_key(const toml::key& key, const toml::node& node, TimingParameters& parameters) const {
    for (const Key& known : kKeys) {
      if (key.str() != known.name) continue;
      const auto value = node.is_integer() ? node.value<int64_t>() : std::nullopt;
      const bool power = value && *value > 0 && (*value & (*value - 1)) == 0;
      if (value && *value >= known.low && *value <= known.high && (power || !known.power_of_two)) {
        parameters.*known.field = static_cast<uint32_t>(*value);
        return {};
      }
      return error(node.source(),
                   fmt::format("{} must be a {} in {}..{}", known.name,
                               known.power_of_two ? "power of two" : "whole number", known.low, known.high));
    }
    std::string names;
    for (const Key& known : kKeys) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    return error(key.source(), fmt::format("unknown key '{}'; there are {}", key.str(), names));
  }

  Status read_preset(const toml::table& table, TimingParameters& parameters) const {
    for (const auto& [key, node] : table) ZB_TRY(read_key(key, node, parameters));
    if (parameters.max_request_bytes < parameters.beat_bytes)
      return error(table.source(), fmt::format("max_request_bytes = {} is less than beat_bytes = {}",
                                               parameters.max_request_bytes, parameters.beat_bytes));
    return {};
  }

  // The section of the presets, the only thing in the file.
  Result<const toml::table*> presets(const toml::table& file) const {
    for (const auto& [key, node] : file) {
      if (key.str() != "preset" || !node.is_table())
        return error(key.source(), fmt::format("'{}' is no section [preset.NAME]", key.str()));
    }
    const toml::table* found = file.get_as<toml::table>("preset");
    if (found == nullptr || found->empty())
      return invalid_argument(fmt::format("{}: no section [preset.NAME]", source_));
    return found;
  }

 private:
  std::string source_;
};

}  // namespace

Result<TimingParameters> read_timing(std::string_view toml_text, std::string_view source_name,
                                     std::string_view preset, TimingParameters base) {
  const Reader reader(source_name);
  toml::table file;
  try {
    file = toml::parse(toml_text, source_name);
  } catch (const toml::parse_error& error) {
    std::string text(error.description());
    std::replace(text.begin(), text.end(), '\n', ' ');
    return reader.error(error.source(), "not valid TOML: " + text);
  }
  ZB_ASSIGN(const toml::table* presets, reader.presets(file));
  std::optional<TimingParameters> chosen;
  std::string names;
  for (const auto& [key, node] : *presets) {
    if (!node.is_table())
      return reader.error(key.source(), fmt::format("'{}' is no section [preset.NAME]", key.str()));
    TimingParameters parameters = base;
    ZB_TRY(reader.read_preset(*node.as_table(), parameters));
    if (key.str() == preset || (preset.empty() && presets->size() == 1)) chosen = parameters;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", key.str());
  }
  if (chosen) return *chosen;
  if (preset.empty())
    return invalid_argument(fmt::format("{} has several presets, name one of {}", source_name, names));
  return not_found(fmt::format("{} has no preset '{}'; there are {}", source_name, preset, names));
}

}  // namespace zomboss::gemmini
