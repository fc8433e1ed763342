// Cuts the graph of a chain at its quantized intermediates: one stage for each, and one for the output, each
// a workload of its own that holds one matmul with its epilogue. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::chain {

// The stage's parameters are the inputs of the whole workload that it reads and results of earlier stages.
struct StageGraph {
  wire::WorkloadT workload;
  std::vector<uint32_t> nodes;  // by node of the stage: the node of the whole workload
  uint32_t output = 0;          // node of the whole workload

  uint32_t origin(uint32_t node) const { return nodes[node]; }
};

// Stages in an order in which they can run. One stage alone when no matmul reads the result of another one.
// Unimplemented, naming the nodes, when an intermediate is no s8 tensor.
Result<std::vector<StageGraph>> split(const wire::WorkloadT& workload);

}  // namespace zomboss::gemmini::chain
