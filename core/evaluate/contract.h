// The contract of a workload as a person states it: how inputs are made, and what an accepted output is.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/oracle/inputs.h"
#include "zomboss/sdk/message.h"

namespace zomboss::evaluate {

struct Contract {
  uint64_t seed = 1;
  std::map<std::string, oracle::Generator> inputs;  // by HLO parameter name; others get the default generator
  bool has_acceptance = false;                      // false: graph::default_contract
  wire::ContractT acceptance;
};

}  // namespace zomboss::evaluate
