// The loop nest that a matmul becomes on the array: which tensor dimension runs along rows, columns and
// contraction, with which strides in DRAM, and which tensors must be rearranged before or after.
//
// One product can have two forms: C = A*B as written, or the transposed product with the operands' roles
// exchanged. All values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/view.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// A moves through the array, B stays in it, C is the result, D the bias. Index of all per-tensor arrays.
enum Tensor : uint8_t { kA, kB, kC, kD };
inline constexpr size_t kTensors = 4;
using Offsets = std::array<int64_t, kTensors>;  // bytes from the start of each tensor's buffer

enum class DimKind : uint8_t { kBatch, kM, kN, kK };
// A has no N, B no M, C and D no K.
bool has_dim(Tensor tensor, DimKind kind);

// One dimension of the matmul as the tensors that have it see it, strides in elements.
struct MatmulDim {
  DimKind kind = DimKind::kBatch;
  std::array<Dim, kTensors> of;
};

// A scratch buffer that a form needs beside the problem's own buffers.
struct Scratch {
  std::string name;
  int64_t elements = 0;
  uint32_t element_bytes = 1;
};

// Rows, columns or contraction: runs of equal length, each cut into blocks of at most `dim` elements; the
// last block of a run may be short.
struct Axis {
  uint32_t dim = 1;
  int64_t run_extent = 1;
  Offsets stride = {};                      // bytes from one element of a run to the next
  std::vector<Offsets> runs = {Offsets{}};  // where each run starts

  int64_t blocks_per_run() const { return (run_extent + dim - 1) / dim; }
  int64_t blocks() const { return static_cast<int64_t>(runs.size()) * blocks_per_run(); }
  int64_t elements() const { return static_cast<int64_t>(runs.size()) * run_extent; }
  uint32_t extent(int64_t block) const;                // elements of a block
  int64_t offset(Tensor tensor, int64_t block) const;  // bytes
  bool continues_run(int64_t block) const { return block % blocks_per_run() != 0; }
};

struct Form {
  bool exchanged = false;     // A is the workload's right operand
  int64_t fold = 1;           // rows of A and C that lie side by side in one DRAM row as moves see it
  bool a_transposed = false;  // A lies in DRAM, and on chip, with the contraction along rows
  bool b_transposed = false;
  Axis m, n, k;
  std::vector<Offsets> batches;
  std::array<uint32_t, kTensors> buffer = {};         // numbers; scratch follows the problem's buffers
  std::array<uint32_t, kTensors> element_bytes = {};  // of each tensor; D and a full-width C have 4
  bool has_bias = false;
  std::vector<Scratch> scratch;
  std::vector<Copy> before, after;
  int64_t copied_elements = 0;

  // loop_ws walks each axis with one stride.
  bool suits_loops() const { return m.runs.size() == 1 && n.runs.size() == 1 && k.runs.size() == 1; }
  int64_t steps() const {
    return static_cast<int64_t>(batches.size()) * m.blocks() * n.blocks() * k.blocks();
  }
};

// What forms are made from.
struct FormInput {
  uint32_t dim = 1;
  int64_t widest_move = 0;  // bytes of one DRAM row
  std::vector<MatmulDim> dims;
  std::array<uint32_t, kTensors> buffer = {};
  std::array<uint32_t, kTensors> element_bytes = {};
  bool has_bias = false;
  uint32_t buffers = 0;  // of the problem: the number of the first scratch buffer
};

// The possible forms without needless rearrangement, the one that needs the fewest array steps and row
// requests first; at least one. Behind each, the same with rows folded where rows are short: a matrix of M x
// K elements without gaps is one of M/f x (f*K) as well, so that one wide move brings f rows of it. Resource
// exhausted when the nest is too large to schedule.
Result<std::vector<Form>> make_forms(const FormInput& input);

}  // namespace zomboss::gemmini
