// Cheap estimates of a mapping's latency, good enough to rank mappings; the simulator has the last word. Pure
// functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/replay.h"

namespace zomboss::gemmini::conv {

// What is known of a mapping before it is simulated.
struct Forecast {
  ReplayTimes estimate;
  uint64_t kernel = 0;  // hash of the kernel: equal ones of one workload are equal kernels; 0 = not known
};

// From counts alone: how long loads, the array and stores are busy, and how far the mapping lets them
// overlap. `mapping` has passed check_mapping.
ReplayTimes rough_estimate(const Problem& problem, const Mapping& mapping, const MachineModel& model);

// The mapping's kernel replayed; geometric mean over the model's latencies. Of long kernels the first macro
// tiles are replayed and the rest is extrapolated. A loop, which the hardware unrolls, is estimated from
// counts.
Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model);

}  // namespace zomboss::gemmini::conv
