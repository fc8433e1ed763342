// What loops of a convolution amount to in primitive commands, for estimates. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini::conv {

// The first loops of a mapping, unrolled about as the hardware does it: while one computes, the next one
// loads into the other half of the scratchpad and the one before stores. Ends with the loop that reaches
// `most_steps` array steps, but no sooner than with number `least_loops`. `begins` gets the number of the
// first command that computes in each loop.
std::vector<Command> unrolled_loops(const Problem& problem, const Mapping& mapping, const Machine& machine,
                                    int64_t most_steps, size_t least_loops, std::vector<size_t>& begins);

}  // namespace zomboss::gemmini::conv
