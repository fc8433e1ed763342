// The workload message that crosses the plugin boundary, made from an operator graph. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::graph {

// What docs/workloads.md promises when nothing else is said: Exact when all outputs are integers or pred,
// else Tolerance by the least precise float output (f64 and f32: 1e-5 absolute or relative; narrower floats:
// 0.012 absolute or 0.01 relative), every element matching.
wire::ContractT default_contract(const Graph& graph);

struct WireOptions {
  std::string name;           // of the workload; the graph's when empty
  std::string source_name;    // file name for messages
  std::string canonical_hlo;  // hlo::print of the module; part of the hash
  wire::ContractT contract;
};

// Fails when an input, output or operator has a tuple, token or opaque type: no accelerator takes those, and
// the message lists all of them with line:col. The hash covers the canonical HLO and the contract, not the
// name or the source.
Result<wire::WorkloadT> to_wire(const Graph& graph, WireOptions options);

}  // namespace zomboss::graph
