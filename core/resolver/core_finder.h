// Finds an irreducible conflict: leave out any assignment or rule of it and the rest has a legal answer.
#pragma once

#include <vector>

#include "core/resolver/engine.h"

namespace zomboss::resolver {

struct Core {
  std::vector<mapping::Assignment> assignments;
  std::vector<size_t> constraints;  // ascending
  bool catalog = false;
};

// `assignments` with all rules of the surface are illegal. Prefers one constraint alone, the one that blames
// the fewest assignments; then the catalog alone; then several rules. Deterministic.
// What cannot be decided within `effort` stays in the core, which may then be reducible.
Core find_core(QuestionEngine& engine, const std::vector<mapping::Assignment>& assignments, Effort& effort);

// The question that a core stands for.
Question question_of(const mapping::Surface& surface, const Core& core);

}  // namespace zomboss::resolver
