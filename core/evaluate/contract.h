// The contract of a workload as a person states it: how inputs are made and stored, and what an accepted
// output is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/oracle/inputs.h"
#include "zomboss/sdk/message.h"

namespace zomboss::evaluate {

struct Contract {
  uint64_t seed = 1;
  std::map<std::string, oracle::Generator> inputs;  // by HLO parameter name; others get the default generator
  std::map<std::string, oracle::Storage> storage;   // likewise
  std::optional<oracle::Storage> default_storage;   // of the other float parameters; absent: the target's
  std::optional<oracle::Storage> kv_storage;  // of computed keys and values; absent: the default storage
  std::string weights;                        // layout of weights: "natural"; "" when not stated
  bool has_acceptance = false;                // false: graph::default_contract
  wire::ContractT acceptance;
};

}  // namespace zomboss::evaluate
