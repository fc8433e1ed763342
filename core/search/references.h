// The plans that a surface names, evaluated like any other but outside of the search's budget. The policy is
// not told of them, and one that it proposes itself is an evaluation of its own.
#pragma once

#include <atomic>
#include <vector>

#include "core/evaluate/pool.h"
#include "core/search/journal.h"
#include "core/search/record.h"

namespace zomboss::search {

// One after the other, in the surface's order. `journal` (may be null) answers for those that it has and
// keeps the others; the plan of Candidate-0 is not evaluated again. One that fails, crashes or computes
// something else is in the list with its outcome. Cancelled: interrupted; whatever the history says when it
// cannot be read or written.
Result<std::vector<Reference>> evaluate_references(const mapping::Surface& surface,
                                                   const Candidate& candidate0,
                                                   evaluate::Evaluator& evaluator, Journal* journal);

}  // namespace zomboss::search
