// The rule of graph_evaluate for conv2d. Internal to core/oracle.
#pragma once

#include <span>

#include "core/graph/graph.h"
#include "core/oracle/context.h"

namespace zomboss::oracle {

// Fails with invalid argument for attributes that do not fit the operands, and when the budget is used up.
Result<Value> eval_conv2d(Context& context, const graph::Node& node, std::span<const Value> operands);

}  // namespace zomboss::oracle
