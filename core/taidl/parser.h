// `.taidl` text to a Spec: recursive descent over the tokens, depth-limited, linear time. After a syntax
// error it continues behind the next ';' or '}', so that one run reports several.
#pragma once

#include <optional>

#include "core/base/source.h"
#include "core/taidl/spec.h"
#include "zomboss/sdk/status.h"

namespace zomboss::taidl {

// Nesting of parentheses, unary operators and `when` blocks, and height of expression trees.
inline constexpr int kMaxDepth = 64;

// The whole file, or diagnostics.status() (at most 100 messages are collected). `diagnostics` must belong to
// `source`. Names are not resolved: see model.h.
Result<Spec> parse_spec(const Source& source, Diagnostics& diagnostics);

// The expression that is exactly source.text()[begin, end).
std::optional<Expr> parse_expression(const Source& source, size_t begin, size_t end,
                                     Diagnostics& diagnostics);

}  // namespace zomboss::taidl
