// Copies between DRAM buffers as moves in and out through local memory. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/machine.h"

namespace zomboss::gemmini::conv {

// One load and the store behind it, with their configurations.
struct CopyMove {
  Command load_config, store_config, load, store;
};

// All moves of `copy`; `addresses` of the buffers. Local rows take turns, so that a move seldom waits for the
// one before.
std::vector<CopyMove> copy_moves(const OffsetCopy& copy, const std::vector<uint64_t>& addresses,
                                 const Machine& machine);

}  // namespace zomboss::gemmini::conv
