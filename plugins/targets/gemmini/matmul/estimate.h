// What is known of a mapping before it is simulated. Pure functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"
#include "plugins/targets/gemmini/replay.h"

namespace zomboss::gemmini {

struct Forecast {
  ReplayTimes estimate;
  uint64_t kernel = 0;  // hash of the kernel's operations: equal mappings of one workload have equal hashes
};

// `mapping` has passed check_capacity. The kernel that it becomes, replayed; geometric mean over the model's
// latencies. Of a kernel with many more steps than kReplayedSteps only the first macro tiles are replayed and
// the rest is extrapolated.
inline constexpr int64_t kReplayedSteps = 4096;
Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model);

}  // namespace zomboss::gemmini
