#include "plugins/targets/gemmini/matmul/estimate.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "plugins/targets/gemmini/matmul/codegen.h"
#include "plugins/targets/gemmini/matmul/transform.h"

namespace zomboss::gemmini {
namespace {

// The first `tiles` of `all` macro tiles are those of `commands`; the others take as long as the later half
// of them.
ReplayTimes replay(std::span<const Command> commands, std::span<const size_t> begins, int64_t tiles,
                   int64_t all, const MachineModel& model, uint32_t latency, uint32_t command_gap) {
  Replay replay(model.machine, model.memory, latency, command_gap);
  const size_t half = begins.size() / 2;
  double middle = 0;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i == begins[half]) middle = replay.array_time();
    replay.add(commands[i]);
  }
  ReplayTimes times = replay.finish();
  if (tiles == all) return times;
  times.cycles +=
      static_cast<double>(all - tiles) * (times.cycles - middle) / static_cast<double>(begins.size() - half);
  const double scale = static_cast<double>(all) / static_cast<double>(tiles);
  times.load *= scale;
  times.execute *= scale;
  times.store *= scale;
  return times;
}

}  // namespace

Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  const Form& form = problem.forms[mapping.orientation];
  const Footprint needs = footprint(mapping, form);
  const int64_t all =
      static_cast<int64_t>(form.batches.size()) * needs.tiles_m * needs.tiles_n * needs.tiles_k;
  int64_t tiles = all;
  if (form.steps() > kReplayedSteps)
    tiles = std::clamp<int64_t>(kReplayedSteps / (mapping.tile_m * mapping.tile_n * mapping.tile_k), 8, all);
  Schedule schedule = build_primitive(problem, form, mapping, model.machine, tiles);
  const bool loops = mapping.interface == Interface::kLoopWs;
  if (loops) {
    arrange_as_hardware(schedule, model.machine);
    schedule.interface = Interface::kPrimitives;  // as the hardware unrolls it
  } else {
    apply_mapping(schedule, mapping);
  }
  std::vector<size_t> begins;
  const std::vector<Command> commands = generate_code(schedule, &begins);

  Forecast result;
  result.kernel = kernel_hash(commands, static_cast<uint64_t>(mapping.interface));
  double product = 0;
  for (const uint32_t latency : model.memory.latencies) {
    const ReplayTimes times =
        replay(commands, begins, tiles, all, model, latency, loops ? 0 : model.memory.command_gap);
    product += std::log(times.cycles);
    if (latency == model.memory.latencies.front()) result.estimate = times;
  }
  result.estimate.cycles = std::exp(product / static_cast<double>(model.memory.latencies.size()));
  return result;
}

}  // namespace zomboss::gemmini
