// The rules of graph_evaluate for the operators that are defined on real numbers: softmax, norms,
// activations, rope and attention. Internal to core/oracle.
#pragma once

#include <span>
#include <string_view>

#include "core/graph/graph.h"
#include "core/oracle/context.h"

namespace zomboss::oracle {

// Computes in f64 and rounds the result to the node's type. Fails with invalid argument for attributes that
// do not fit the operands, and when the budget is used up.
using GraphRule = Result<Value> (*)(Context& context, const graph::Node& node,
                                    std::span<const Value> operands);

GraphRule find_float_rule(std::string_view op);  // null when there is none

}  // namespace zomboss::oracle
