// Converts of operands that an exact sum of products does not need. Internal to core/graph.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/rewriter.h"

namespace zomboss::graph {

// The operand before a widening convert, which may stand below data movement: convert(x) gives x,
// transpose(convert(x)) gives transpose(x). Integers only from integers, floats only from floats, so that the
// sum of products keeps its meaning.
std::optional<uint32_t> without_widening(Rewriter& rewriter, uint32_t id);

}  // namespace zomboss::graph
