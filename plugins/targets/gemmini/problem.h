// What the target takes: one integer matmul with its epilogue, read from the operator graph of a workload.
// The rest of the plugin sees only a Problem. A plain value; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/form.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// An off-chip tensor of the workload.
struct Buffer {
  std::string name;
  wire::BufferRole role = wire::BufferRole::Input;
  uint32_t index = 0;  // position in Workload.inputs or outputs; of a constant, its node
  wire::TensorTypeT type;
  int64_t bytes = 0;
  std::vector<uint8_t> data;  // of a constant
};

// What a store does to the accumulated int32: nothing (full width), or scale, round half to even, saturate to
// int8.
struct Epilogue {
  bool full_width = false;
  bool relu = false;
  float scale = 1.0f;
};

struct Problem {
  std::string workload;  // its name
  std::string hash;
  std::vector<Buffer> buffers;  // inputs in order, the output, then constants in node order, then scratch
  Epilogue epilogue;
  std::vector<Form> forms;   // at least one; a form's scratch buffers and copies come on top of these
  std::vector<Copy> before;  // copies that make operands readable, whatever the form
  std::vector<Copy> after;   // and that put the output in place
};

// Everything in the graph that is not taken is named in one message: unimplemented, or invalid argument when
// the message itself makes no sense.
Result<Problem> recognise(const wire::WorkloadT& workload, const Machine& machine);

// Elements of a tensor type, -1 when it overflows or is absurdly large.
int64_t element_count(const wire::TensorTypeT& type);
// "s8[64,64]"
std::string type_text(const wire::TensorTypeT& type);

}  // namespace zomboss::gemmini
