// A chain of matmuls as this target sees it: one matmul problem for each stage, all in one address space. A
// plain value; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/matmul/problem.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::chain {

// How a stage's result can stay in the scratchpad until the next stage has read it there: in these forms the
// next one cuts it into the same blocks, and an output-stationary result, shifted and saturated by the array,
// has the same bytes as a store to DRAM would give.
struct Link {
  uint32_t form = 0;       // of the stage
  uint32_t next_form = 0;  // of the next one
  Tensor operand = kA;     // as which the next one reads it
  uint32_t shift = 0;      // bits
};

struct Stage {
  // Its buffers are those of the whole chain in the chain's order, with the roles that this stage sees: what
  // it stores is its output, results of other stages are inputs. Forms have no scratch of their own.
  gemmini::Problem problem;
  std::optional<Link> link;  // to the next stage
};

struct Problem {
  std::string workload;  // its name
  std::vector<Buffer> buffers;
  std::vector<Stage> stages;  // at least two, in the order in which they run
};

// Unimplemented, naming every node that is not taken, or as recognition of a single matmul fails. A workload
// of one stage alone is invalid here.
Result<Problem> recognise_chain(const wire::WorkloadT& workload, const Machine& machine);

}  // namespace zomboss::gemmini::chain
