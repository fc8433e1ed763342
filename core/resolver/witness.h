// The message of a broken constraint with its numbers when some knobs are still free: these contribute the
// values that favour the constraint most, and the text says so.
#pragma once

#include <string>
#include <vector>

#include "core/mapping/intent.h"
#include "core/resolver/question.h"

namespace zomboss::resolver {

// With little effort left, or many combinations of free values, the choice of values is a heuristic.
// E.g. "accumulator needs at least 96 KiB, has 64 KiB (counting the most favourable tile_n=16)".
std::string most_favourable_message(const mapping::Surface& surface, const mapping::Constraint& constraint,
                                    const std::vector<mapping::Assignment>& fixed, Effort& effort);

}  // namespace zomboss::resolver
