// Why a question has no legal answer: an irreducible set of assignments and rules, and its text.
#pragma once

#include <string>
#include <vector>

#include "core/resolver/engine.h"

namespace zomboss::resolver {

struct Explanation {
  Conflict conflict;
  // The text without its subject, to follow a name like "tile_m=384": "is in no legal plan: ...".
  std::string predicate;
};

// `assignments` are what is fixed, with all rules of the surface, and known to be illegal. subject: the knob
// of the preference or value that is explained (the text calls the others by their strength), or kNoSubject.
inline constexpr size_t kNoSubject = ~size_t{0};
Explanation explain(QuestionEngine& engine, const std::vector<mapping::Assignment>& assignments,
                    size_t subject, Effort& effort);

}  // namespace zomboss::resolver
