// Replays a schedule on three engines: a formula for each move and step where the simulator works row by row.
// Pure functions; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/machine_model.h"

namespace zomboss::gemmini::conv {

// Cycles of the mapping's primitive schedule without copies. After about `most_steps` array steps the rest is
// extrapolated from the second half of what was replayed. `mapping` has passed check_mapping and is no loop.
double replay(const Problem& problem, const Mapping& mapping, const MachineModel& model, int64_t most_steps);

}  // namespace zomboss::gemmini::conv
