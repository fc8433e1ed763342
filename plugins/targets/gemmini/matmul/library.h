// What a Gemmini user has today: the vendor's tiled_matmul_auto, as a mapping. Pure functions; any thread.
//
// The tile sizes follow the heuristic of the vendor's library (weight stationary, double-buffered scratchpad
// and accumulator): start from square output tiles as large as half of the accumulator and a contraction as
// deep as half of the scratchpad allows, cut to the problem, then grow columns, rows and contraction in turn
// by one block while everything fits. The outer loops are rows, columns, contraction; an operand of at most
// two tiles along rows or columns and the contraction stays on chip; each batch is a call of its own with a
// fence behind it.
#pragma once

#include <optional>

#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"

namespace zomboss::gemmini {

// Nothing when the library has no call for the product: dimensions of several strides, or tensors that must
// be rearranged first.
std::optional<Mapping> library_mapping(const Problem& problem, const Machine& machine);

}  // namespace zomboss::gemmini
