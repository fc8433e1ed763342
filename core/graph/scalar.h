// Elementwise operations on single numbers, in f64. Pure; any thread may call. Internal to core/graph.
#pragma once

#include <optional>
#include <span>

#include "core/graph/graph.h"

namespace zomboss::graph {

// The value of an elementwise node whose operands have these values, not rounded to its type; predicates are
// 0 and 1. Nothing for operations that are not elementwise on numbers, or whose result on integers is not
// that on real numbers (integer division, wrapping conversions of fractions).
std::optional<double> scalar_value(const Node& node, std::span<const double> operands);

// True for the functions that are neither algebraic nor piecewise so.
bool is_transcendental(const Node& node);

double gelu_value(std::string_view form, double x);  // form as in ops.h

}  // namespace zomboss::graph
