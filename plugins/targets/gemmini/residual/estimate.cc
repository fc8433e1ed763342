#include "plugins/targets/gemmini/residual/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/residual/lower.h"

namespace zomboss::gemmini::residual {
namespace {

constexpr int64_t kGroups = 64;

// About what the hardware makes of a loop.
Mapping as_hardware(Mapping mapping, const Machine& machine) {
  mapping.interface = Interface::kPrimitives;
  mapping.placement = Placement::kApart;
  mapping.load_width = mapping.store_width = machine.max_block_columns() / machine.dim;
  mapping.store_schedule = StoreSchedule::kLate;
  return mapping;
}

ReplayTimes replay(const std::vector<Command>& commands, const MachineModel& model, uint32_t latency,
                   uint32_t command_gap) {
  Replay replay(model.machine, model.memory, latency, command_gap);
  for (const Command& command : commands) replay.add(command);
  return replay.finish();
}

}  // namespace

Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  const int64_t all = tile_count(problem, mapping, model.machine);
  const int64_t tiles = std::clamp<int64_t>(kReplayedBlocks / (mapping.tile_rows * mapping.tile_cols),
                                            std::min<int64_t>(8, all), all);
  const bool loops = mapping.interface == Interface::kLoopWs;
  const Mapping replayed = loops ? as_hardware(mapping, model.machine) : mapping;
  const std::vector<Command> commands = lower_mapping(problem, replayed, model.machine, tiles);
  const std::vector<Command> half =
      tiles == all ? std::vector<Command>() : lower_mapping(problem, replayed, model.machine, tiles / 2);
  Forecast result;
  result.kernel = kernel_hash(loops ? lower_mapping(problem, mapping, model.machine, tiles) : commands,
                              static_cast<uint64_t>(all));
  double product = 0;
  for (const uint32_t latency : model.memory.latencies) {
    const uint32_t gap = loops ? 0 : model.memory.command_gap;
    ReplayTimes times = replay(commands, model, latency, gap);
    if (tiles < all) {
      const double before = replay(half, model, latency, gap).cycles;
      times.cycles +=
          static_cast<double>(all - tiles) * (times.cycles - before) / static_cast<double>(tiles - tiles / 2);
      times.load *= static_cast<double>(all) / static_cast<double>(tiles);
      times.store *= static_cast<double>(all) / static_cast<double>(tiles);
    }
    product += std::log(times.cycles);
    if (latency == model.memory.latencies.front()) result.estimate = times;
  }
  result.estimate.cycles = std::exp(product / static_cast<double>(model.memory.latencies.size()));
  return result;
}

wire::BoundT latency_bound(const Problem& problem, const MachineModel& model) {
  const auto bytes = [&](uint32_t buffer) { return static_cast<double>(problem.buffers[buffer].bytes); };
  const bool twice = problem.buffer[kA] == problem.buffer[kB];  // x + x could be loaded once
  const double read = bytes(problem.buffer[kA]) + (twice ? 0 : bytes(problem.buffer[kB]));
  const double written = bytes(problem.buffer[kC]);
  const double bus = model.memory.bus_bytes, fill = 2.0 * model.memory.latency;
  wire::BoundT bound;
  bound.unit = "cycles";
  bound.latency = std::max(read, written) / bus + fill;
  bound.reason = fmt::format(
      "{:.0f} bytes must be {} at {} a cycle, plus {:.0f} for the first load and the last store (memory "
      "latency {})",
      std::max(read, written), read >= written ? "read" : "written", bus, fill, model.memory.latency);
  return bound;
}

wire::ScheduleT engine_schedule(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  const int64_t tiles = tile_count(problem, mapping, model.machine), groups = std::min(tiles, kGroups);
  const ReplayTimes total = forecast(problem, mapping, model).estimate;
  wire::ScheduleT schedule;
  schedule.static_cost = total.cycles;
  const auto add = [&](const char* engine, int64_t group, double cost, std::vector<uint32_t> predecessors) {
    auto node = std::make_unique<wire::ScheduleNodeT>();
    node->engine = engine;
    const int64_t first = group * tiles / groups, last = (group + 1) * tiles / groups - 1;
    node->label = first == last ? fmt::format("tile {}", first) : fmt::format("tiles {}..{}", first, last);
    node->cost = cost / static_cast<double>(groups);
    node->predecessors = std::move(predecessors);
    schedule.nodes.push_back(std::move(node));
  };
  for (int64_t g = 0; g < groups; ++g) {
    const auto load = static_cast<uint32_t>(2 * g);
    std::vector<uint32_t> before_load, before_store = {load};
    if (g > 0) {
      before_load.push_back(load - 2);
      before_store.push_back(load - 1);
    }
    if (g >= mapping.acc_buffers)
      before_load.push_back(static_cast<uint32_t>(2 * (g - mapping.acc_buffers) + 1));
    add("ld", g, total.load, std::move(before_load));
    add("st", g, total.store, std::move(before_store));
  }
  return schedule;
}

}  // namespace zomboss::gemmini::residual
