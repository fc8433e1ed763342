#include "plugins/targets/gemmini/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

#include "plugins/targets/gemmini/sim/timing_presets.h"

namespace zomboss::gemmini {
namespace {

constexpr int64_t kMaxLatency = 10'000;
constexpr size_t kMaxLatencies = 16;
constexpr std::streamsize kMaxTimingBytes = 1 << 20;

// "20" or "20,60".
Result<std::vector<uint32_t>> latencies(const wire::AttributeT& option) {
  std::vector<uint32_t> values;
  // As people write it, or as numbers.
  const std::string written =
      option.text.empty() ? fmt::format("{}", fmt::join(option.ints, ",")) : option.text;
  std::string_view text = written;
  while (!text.empty() || !values.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value > kMaxLatency ||
        values.size() == kMaxLatencies)
      return invalid_argument(
          fmt::format("gemmini: option '{}' must be up to {} whole numbers in 0..{} with commas between, "
                      "e.g. 20,60; not '{}'",
                      option.key, kMaxLatencies, kMaxLatency, written));
    values.push_back(value);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return values;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(fmt::format("gemmini: option 'timing_file': cannot read {}", path));
  std::string text;
  text.resize(static_cast<size_t>(kMaxTimingBytes) + 1);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.gcount() > kMaxTimingBytes)
    return invalid_argument(
        fmt::format("gemmini: option 'timing_file': {} has more than {} bytes", path, kMaxTimingBytes));
  if (file.bad() || !file.eof())
    return invalid_argument(fmt::format("gemmini: option 'timing_file': {} is no readable file", path));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<TargetOptions> read_options(const wire::OptionsT& options) {
  TargetOptions result;
  result.simulate.scenarios = {20, 40, 60, 100};
  for (const auto& option : options.values) {
    const auto number = [&](int64_t high) -> Result<uint32_t> {
      if (option->ints.size() == 1 && option->ints[0] >= 0 && option->ints[0] <= high)
        return static_cast<uint32_t>(option->ints[0]);
      return invalid_argument(
          fmt::format("gemmini: option '{}' must be a whole number in 0..{}", option->key, high));
    };
    if (option->key == "latency") {
      ZB_ASSIGN(result.simulate.latencies, latencies(*option));
    } else if (option->key == "scenarios") {
      ZB_ASSIGN(result.simulate.scenarios, latencies(*option));
      std::vector<uint32_t> sorted = result.simulate.scenarios;
      std::sort(sorted.begin(), sorted.end());
      const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
      if (twice != sorted.end())
        return invalid_argument(fmt::format("gemmini: option 'scenarios' has {} twice", *twice));
    } else if (option->key == "command_gap") {
      ZB_ASSIGN(result.simulate.command_gap, number(1'000));
    } else if (option->key == "timeline_spans") {
      ZB_ASSIGN(result.simulate.timeline_spans, number(1'000'000));
    } else if (option->key == "strict") {
      ZB_ASSIGN(const uint32_t strict, number(1));
      result.simulate.strict = strict != 0;
    } else if (option->key == "preset") {
      result.preset = option->text;
    } else if (option->key == "timing_file") {
      result.timing_file = option->text;
    } else {
      return invalid_argument(fmt::format(
          "gemmini: no option '{}'; there are latency, scenarios, command_gap, preset, timing_file, "
          "timeline_spans and strict",
          option->key));
    }
  }
  return result;
}

Result<SimulateOptions> choose_timing(const TargetOptions& options, MachineModel& model) {
  SimulateOptions simulate = options.simulate;
  if (!options.timing_file.empty()) {
    ZB_ASSIGN(const std::string text, read_file(options.timing_file));
    ZB_ASSIGN(simulate.timing, read_timing(text, options.timing_file, options.preset, timing_of(model)));
  } else if (!options.preset.empty()) {
    ZB_ASSIGN(simulate.timing,
              read_timing(timing_presets_text(), "presets.toml", options.preset, timing_of(model)));
  }
  if (simulate.timing) {
    model.memory.latency = simulate.timing->memory_latency;
    model.memory.bus_bytes = simulate.timing->beat_bytes;
    model.memory.in_flight = simulate.timing->requests_in_flight;
    model.memory.command_gap = simulate.timing->command_gap;
  }
  if (simulate.command_gap) model.memory.command_gap = *simulate.command_gap;
  if (!simulate.latencies.empty()) model.memory.latency = simulate.latencies.front();
  model.memory.latencies = simulate.latencies;
  if (model.memory.latencies.empty()) model.memory.latencies = {model.memory.latency};
  return simulate;
}

}  // namespace zomboss::gemmini
