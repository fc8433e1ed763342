// From the mappings of a chain's stages to commands. Pure functions; any thread.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/chain/mapping.h"
#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini::chain {

// The stages one after the other, each lowered as the matmul that it is, with a fence behind each result that
// goes through DRAM. Behind one that stays on chip the next stage's configuration waits until the array is
// empty. Resource exhausted when something does not fit.
Result<std::vector<Command>> lower_mappings(const Problem& problem, const std::vector<StageMapping>& mappings,
                                            const Machine& machine);

}  // namespace zomboss::gemmini::chain
