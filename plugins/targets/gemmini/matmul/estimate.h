// A cheap estimate of a mapping's latency: the schedule that the mapping would become is replayed move by
// move and step by step on three engines with in-order issue, the station's entries, the memory's window and
// the banks; what the simulator does row by row is a formula here. Good enough to rank mappings; the
// simulator has the last word. Pure functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"

namespace zomboss::gemmini {

struct Estimate {
  double cycles = 0;  // from the first command to the end
  double load = 0;    // busy cycles of each engine
  double execute = 0;
  double store = 0;
};

// What is known of a mapping before it is simulated.
struct Forecast {
  Estimate estimate;
  uint64_t kernel = 0;  // hash of the kernel's operations: equal mappings of one workload have equal hashes
};

// `mapping` has passed check_capacity. Geometric mean over the model's latencies. Of a kernel with many more
// steps than kReplayedSteps only the first macro tiles are replayed and the rest is extrapolated.
inline constexpr int64_t kReplayedSteps = 4096;
Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model);

}  // namespace zomboss::gemmini
