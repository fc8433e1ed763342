// A contract file beside an HLO file:
//
//   seed = 7
//   [input.x]                    # x: name of an HLO parameter
//   distribution = "uniform"     # low and high, both included; or "normal" with mean, stddev and fan_in_dim
//   low = -8
//   high = 7
//   storage = "exact"            # of this input; a table with nothing else keeps the default distribution
//   [storage]
//   default = "mxfp8"            # of the other float inputs; absent: as the target says
//   [options]
//   kv_storage = "mxfp8"         # of keys and values that the workload computes; absent: the default storage
//   weights = "natural"          # row-major, as in the HLO
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
