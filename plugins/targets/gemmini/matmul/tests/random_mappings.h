// Legal mappings of a problem for property tests. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {

// Up to `count` legal assignments of the domains, drawn evenly over the domains; fewer when legal ones are
// rare.
std::vector<Mapping> random_mappings(const Problem& problem, const Machine& machine, const Domains& domains,
                                     size_t count, uint64_t seed);

}  // namespace zomboss::gemmini
