// What the target takes as a residual addition, read from the operator graph of a workload: the s32 sum of
// two s8 tensors, each perhaps scaled to s8 before, then perhaps relu, then quantized to s8. A plain value;
// any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::residual {

// The operands and the result.
enum Side : uint8_t { kA, kB, kC };
inline constexpr size_t kSides = 3;
using Offsets = std::array<int64_t, kSides>;  // bytes in each side's buffer, which are its elements

// The tensors as matrices: rows of `columns` neighbours, in each of the outer places.
struct Shape {
  int64_t rows = 1, columns = 1;
  Offsets stride = {};  // from one row to the next
  std::vector<Offsets> outer = {Offsets{}};
};

struct Problem : Boundary {
  std::string workload;  // its name
  std::array<uint32_t, kSides> buffer = {};
  std::array<float, 2> scale = {1.0f, 1.0f};  // of the operands: rounded half to even, saturated to s8
  float sum_scale = 1.0f;                     // of the sum; the same
  bool relu = false;
  std::vector<Shape> shapes;  // the rows of the tensor's last dim first; others where all lies densely
  int64_t elements() const {
    const Shape& shape = shapes.front();
    return static_cast<int64_t>(shape.outer.size()) * shape.rows * shape.columns;
  }
};

// Everything in the graph that is not taken is named in one message: unimplemented, or invalid argument when
// the message itself makes no sense.
Result<Problem> recognise_sum(const wire::WorkloadT& workload, const Machine& machine);

}  // namespace zomboss::gemmini::residual
