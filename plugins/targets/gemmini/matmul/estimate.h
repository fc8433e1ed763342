// A cheap analytic estimate of a mapping's latency: macro tiles flow through load, execute and store as the
// mapping lets them overlap. Good enough to rank mappings coarsely; the simulator has the last word. Pure
// functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"

namespace zomboss::gemmini {

struct Estimate {
  double cycles = 0;  // from the first command to the end
  double load = 0;    // busy cycles of each engine, all tiles
  double execute = 0;
  double store = 0;
};

// `mapping` has passed check_capacity. Takes time for a few dozen macro tiles whatever the size of the
// workload.
Estimate estimate(const Problem& problem, const Mapping& mapping, const MachineModel& model);

}  // namespace zomboss::gemmini
