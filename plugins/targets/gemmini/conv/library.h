// What the vendor's library chooses for a convolution: loop_conv_ws over tiles that start as the whole
// problem and shrink until two of them fit on chip. Pure functions; any thread.
#pragma once

#include <optional>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/machine_model.h"

namespace zomboss::gemmini::conv {

// The library's plan for form number `form`; nothing where its loop cannot say the problem. Stated choices
// where the library takes square kernels only or has no such call: rows and columns of a kernel shrink on
// their own, and groups are convolutions one after the other.
std::optional<Mapping> library_mapping(const Problem& problem, uint32_t form, const Machine& machine);

}  // namespace zomboss::gemmini::conv
