// The contract of a workload as a person states it: how inputs are made, and what an accepted output is.
// Defaults depend on the element types alone (docs/workloads.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/oracle/tensor.h"
#include "zomboss/sdk/message.h"

namespace zomboss::evaluate {

enum class Distribution { kUniform, kNormal };

// uniform: low..high, both included for integers. normal: mean `low`, standard deviation `high`.
struct Generator {
  Distribution distribution = Distribution::kUniform;
  double low = 0;
  double high = 1;
};

struct Contract {
  uint64_t seed = 1;
  std::map<std::string, Generator> inputs;  // by HLO parameter name
  bool has_acceptance = false;              // false: graph::default_contract
  wire::ContractT acceptance;
};

// What an input of this type gets when the contract does not name it: 8-bit and smaller integers their full
// range, wider integers -32768..32767 (unsigned: 0..32767), pred 0..1, floats a standard normal.
Generator default_generator(hlo::DType dtype);

// Deterministic: depends on seed, input number, type and generator alone.
Result<oracle::Tensor> generate(const Generator& generator, hlo::DType dtype, std::vector<int64_t> dims,
                                uint64_t seed, uint64_t input_number);

}  // namespace zomboss::evaluate
