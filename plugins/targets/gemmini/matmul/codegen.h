// From a checked schedule to RoCC commands. A pure function; any thread.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {

// Weight stationary. Load states and the store are configured when a stream needs another setting than the
// last one.
std::vector<Command> generate_code(const Schedule& schedule);

}  // namespace zomboss::gemmini
