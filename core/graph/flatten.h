// The live part of a module's entry computation as nodes, with calls and fusions inlined, tuples taken apart
// and operations that change nothing left out. Internal to core/graph.
#pragma once

#include <vector>

#include "core/graph/rewriter.h"

namespace zomboss::graph {

struct Flattened {
  Rewriter rewriter;
  std::vector<uint32_t> inputs, outputs;
};

// Fails as build_graph does; see there.
Result<Flattened> flatten(const hlo::Module& module, Diagnostics& diagnostics);

}  // namespace zomboss::graph
