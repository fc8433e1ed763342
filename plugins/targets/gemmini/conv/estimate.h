// Cheap estimates of a mapping's latency, good enough to rank mappings; the simulator has the last word. Pure
// functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/machine_model.h"

namespace zomboss::gemmini::conv {

struct Estimate {
  double cycles = 0;  // from the first command to the end
  double load = 0;    // busy cycles of each engine
  double execute = 0;
  double store = 0;
};

// From counts alone: how long loads, the array and stores are busy, and how far the mapping lets them
// overlap. `mapping` has passed check_mapping.
Estimate rough_estimate(const Problem& problem, const Mapping& mapping, const MachineModel& model);

// The mapping's schedule replayed move by move and step by step on three engines with in-order issue, the
// station's entries, the memory's window and the banks. Of long kernels the first macro tiles are replayed
// and the rest is extrapolated. A loop, which the hardware unrolls, is estimated from counts.
Estimate estimate(const Problem& problem, const Mapping& mapping, const MachineModel& model);

// Cycles of a copy between DRAM buffers.
double copy_estimate(const Copy& copy, const MachineModel& model);

}  // namespace zomboss::gemmini::conv
