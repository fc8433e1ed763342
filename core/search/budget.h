// What a search may spend. A rejection spends a proposal, never an evaluation.
#pragma once

#include <cstdint>

#include "core/mapping/surface.h"

namespace zomboss::search {

struct Budget {
  uint32_t evaluations = 12;  // Candidate-0 is outside
  uint32_t proposals = 240;
  uint32_t patience = 0;  // evaluations without improvement; 0 = no such rule, as for all below
  double seconds = 0;     // wall time: a run that ends by it does not repeat
  uint64_t tokens = 0;    // of a language model, prompt and completion
  double cost = 0;        // in the currency of the policy's price table
};

// `evaluations` as asked, 0 = by the surface: 12 for a catalog, 80 for a conditional one. 20 proposals for
// each evaluation.
Budget default_budget(const mapping::Surface& surface, uint32_t evaluations = 0);

}  // namespace zomboss::search
