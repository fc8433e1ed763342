// From a mapping to commands. Pure functions; any thread.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini::conv {

// Ok, or why the mapping does not fit the problem or the machine. The rules of the surface say the same.
Status check_mapping(const Problem& problem, const Mapping& mapping, const Machine& machine);

// Schedule or loops, then the kernel check.
Result<std::vector<Command>> lower_mapping(const Problem& problem, const Mapping& mapping,
                                           const Machine& machine);

}  // namespace zomboss::gemmini::conv
