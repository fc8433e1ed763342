// From a mapping of a residual addition to commands. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "plugins/targets/gemmini/residual/mapping.h"
#include "plugins/targets/gemmini/residual/problem.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini::residual {

// `mapping` is legal. Tiles row by row, outer places first; of very large kernels an estimate wants the
// beginning alone: `tiles` of them at most.
std::vector<Command> lower_mapping(const Problem& problem, const Mapping& mapping, const Machine& machine,
                                   int64_t tiles = std::numeric_limits<int64_t>::max());

int64_t tile_count(const Problem& problem, const Mapping& mapping, const Machine& machine);

}  // namespace zomboss::gemmini::residual
