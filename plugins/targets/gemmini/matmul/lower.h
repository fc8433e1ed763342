// From a mapping to commands. Pure functions; any thread.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {

// Primitive schedule, transformations, schedule check, code.
Result<std::vector<Command>> lower_mapping(const Problem& problem, const Mapping& mapping,
                                           const Machine& machine);

}  // namespace zomboss::gemmini
