// From an HLO module to its operator graph. Pure functions; any thread may call them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/graph/graph.h"
#include "core/hlo/module.h"
#include "zomboss/sdk/status.h"

namespace zomboss::graph {

// `module` is as parse_module returned it; `diagnostics` belongs to its source. Operations that no row of
// ops.h describes are carried along under their opcode (see list_unsupported). Fails, with errors in
// `diagnostics`, on elided constants that a result depends on; and on calls nested beyond 200 or more than
// 2^18 operators after inlining. The graph has the same values as the module for all inputs; among equal
// graphs the order of nodes is the same on every machine. Time is linear in the size of the inlined module.
Result<Graph> build_graph(const hlo::Module& module, Diagnostics& diagnostics);

struct UnsupportedOp {
  uint32_t node = 0;
  std::string op;
  std::string name;  // of the HLO instruction
  Location where;
};

// All nodes whose op is not among `taken`, in the order of the HLO text. Parameters and constants are taken
// by everyone.
std::vector<UnsupportedOp> list_unsupported(const Graph& graph, std::span<const std::string> taken);

// The same as errors of the form "gemmini has no exponential ('exp.3', s8[4])".
void report_unsupported(const Graph& graph, std::string_view target, std::span<const std::string> taken,
                        Diagnostics& diagnostics);

}  // namespace zomboss::graph
