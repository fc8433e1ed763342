// Inputs of a workload, made from a seed. Deterministic: a tensor depends on seed, its number, type and
// generator alone. Pure; any thread may call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/hlo/module.h"
#include "core/oracle/storage.h"
#include "core/oracle/tensor.h"

namespace zomboss::oracle {

enum class Distribution : uint8_t { kUniform, kNormal };

// uniform: low..high, both included for integers. normal: mean `low`, standard deviation `high`. Values
// outside of the type are brought to its nearest one.
struct Generator {
  Distribution distribution = Distribution::kUniform;
  double low = 0;
  double high = 1;
  // normal: the standard deviation is `high` / sqrt(size of this dim), as of weights whose products are
  // summed along it; -1: it is `high`.
  int64_t fan_in_dim = -1;
};

// Integers up to 16 bits over their full range, wider ones over the range of 16 bits, pred 0 and 1, floats a
// standard normal.
Generator default_generator(DType dtype);

// Unimplemented for types without numbers (token, opaque, complex); resource exhausted above 4 GiB; invalid
// argument for a fan_in_dim that the dims do not have.
Result<Tensor> generate(const Generator& stated, DType dtype, std::vector<int64_t> dims, uint64_t seed,
                        uint64_t number);

// The parameters of the entry computation in order, a tuple parameter depth first as one tensor per array,
// numbered from 0. By parameter name: `stated`, generators in place of the default ones, and `storage`,
// formats through which the values are rounded (round_nearest).
Result<std::vector<Tensor>> generate_inputs(const hlo::Module& module, uint64_t seed,
                                            const std::map<std::string, Generator>& stated = {},
                                            const std::map<std::string, Storage>& storage = {});

}  // namespace zomboss::oracle
