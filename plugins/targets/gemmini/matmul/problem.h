// What the target takes: one integer matmul with its epilogue, read from the operator graph of a workload.
// The rest of the plugin sees only a Problem. A plain value; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/matmul/form.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// What a store does to the accumulated int32: nothing (full width), or scale, round half to even, saturate to
// int8.
struct Epilogue {
  bool full_width = false;
  bool relu = false;
  float scale = 1.0f;
};

struct Problem : Boundary {
  std::string workload;  // its name
  Epilogue epilogue;
  std::vector<Form> forms;  // at least one; a form's scratch buffers and copies come on top of the boundary's
};

// Everything in the graph that is not taken is named in one message: unimplemented, or invalid argument when
// the message itself makes no sense.
Result<Problem> recognise(const wire::WorkloadT& workload, const Machine& machine);

}  // namespace zomboss::gemmini
