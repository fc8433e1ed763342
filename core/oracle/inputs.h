// The default inputs of a workload, from a seed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hlo/module.h"
#include "core/oracle/tensor.h"

namespace zomboss::oracle {

// One tensor per parameter of the entry computation (per array of a tuple parameter, depth first). Tensor
// number i is drawn from Random(seed, i): integers up to 16 bits uniformly over their whole range, wider ones
// uniformly over that of 16 bits, pred fairly, floats from the standard normal distribution rounded to their
// type. The same on every machine. Fails on types without elements and on more than 2^32 elements.
Result<std::vector<Tensor>> generate_inputs(const hlo::Module& module, uint64_t seed);

}  // namespace zomboss::oracle
