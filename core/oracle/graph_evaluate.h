// Evaluates an operator graph by the definitions of core/graph/ops.h. It exists to verify the recognition:
// for every module it must agree with the oracle. matmul, bias, quantize and relu are implemented here on
// their own; the operators that are HLO's own share the oracle's rules.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/oracle/tensor.h"
#include "zomboss/sdk/status.h"

namespace zomboss::oracle {

// `inputs` in the order of graph.inputs. Floats are rounded as Rounding::kDeclared says. Fails with
// unimplemented for an operator without a rule, else as evaluate() does.
Result<std::vector<Tensor>> evaluate_graph(const graph::Graph& graph, std::span<const Tensor> inputs);

}  // namespace zomboss::oracle
