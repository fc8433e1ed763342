// What is known of a mapping of a residual addition before it is simulated, and what no mapping can beat.
// Pure functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/replay.h"
#include "plugins/targets/gemmini/residual/mapping.h"
#include "plugins/targets/gemmini/residual/problem.h"
#include "zomboss/schema/bound_generated.h"
#include "zomboss/schema/schedule_generated.h"

namespace zomboss::gemmini::residual {

struct Forecast {
  ReplayTimes estimate;  // cycles: geometric mean over the model's latencies
  uint64_t kernel = 0;   // hash of the commands: equal mappings of one workload have equal hashes
};

// The commands are replayed; of a kernel of many more blocks than kReplayedBlocks only the first tiles, and
// the rest is extrapolated. `mapping` is legal.
inline constexpr int64_t kReplayedBlocks = 1024;
Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model);

// The larger of the bytes of both operands and those of the result, plus the latencies of the first load and
// the last store.
wire::BoundT latency_bound(const Problem& problem, const MachineModel& model);

// Loads and stores of the tiles in order, neighbours taken together beyond 64. static_cost is the estimate.
wire::ScheduleT engine_schedule(const Problem& problem, const Mapping& mapping, const MachineModel& model);

}  // namespace zomboss::gemmini::residual
