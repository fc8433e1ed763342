// A contract file beside an HLO file:
//
//   seed = 7
//   [input.x]                    # x: name of an HLO parameter
//   distribution = "uniform"     # low and high, both included; or "normal" with mean and stddev
//   low = -8
//   high = 7
//   [acceptance]
//   kind = "tolerance"           # or "exact"
//   absolute = 0.012
//   relative = 0.01
//   match_rate = 0.99
//   worst_factor = 8
#pragma once

#include <string>

#include "core/evaluate/contract.h"

namespace zomboss::config {

Result<evaluate::Contract> read_contract(const std::string& path);

}  // namespace zomboss::config
