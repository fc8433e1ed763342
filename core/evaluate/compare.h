// Comparing a candidate's complete output with the oracle's, under the contract of the workload. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/oracle/tensor.h"
#include "zomboss/sdk/message.h"

namespace zomboss::evaluate {

struct Comparison {
  bool accepted = false;
  bool exact = true;  // the acceptance; else within a tolerance
  uint64_t elements = 0;
  uint64_t mismatches = 0;  // elements outside the tolerance (exact: different bits)
  double worst_error = 0;   // largest |candidate - oracle|; infinite when one is not finite and they differ
  double worst_tolerances = 0;   // largest error in units of its element's tolerance (exact: as worst_error)
  std::string worst_difference;  // the element furthest off in that measure, written as first_difference;
                                 // empty when all values are equal
  std::string first_difference;  // "output 0 at [3,17]: got -4, expected 12"; empty when all elements match
  std::string reason;            // why it was not accepted; empty when it was

  // For people: "96 elements equal", or "match rate 99.98 %, worst 1.3 tolerances (output 0 at ...)".
  std::string summary() const;

  double match_rate() const {
    return elements == 0 ? 1.0 : 1.0 - static_cast<double>(mismatches) / static_cast<double>(elements);
  }
};

// Each output element by element. A missing, extra, mistyped or misshapen output is not accepted.
// Exact: all bits equal, except that all NaNs are one class. Tolerance: the rules of workload.fbs.
Comparison compare(std::span<const oracle::Tensor> expected, std::span<const oracle::Tensor> got,
                   const wire::ContractT& contract);

}  // namespace zomboss::evaluate
