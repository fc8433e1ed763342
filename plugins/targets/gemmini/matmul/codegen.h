// From a checked schedule to RoCC commands. A pure function; any thread.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {

// Load states and the store are configured when a stream needs another setting than the last one; with
// loop_ws, all of them at the start and behind each fence, as the vendor's library does at each call.
// `begins`, where it is wanted: for each macro tile the number of its first command.
std::vector<Command> generate_code(const Schedule& schedule, std::vector<size_t>* begins = nullptr);

}  // namespace zomboss::gemmini
