// A schedule: the moves and array steps of one kernel with concrete DRAM addresses and local rows, before
// they become commands. Built plainly by build_primitive, reshaped by the transformations of transform.h, and
// verified by check.h. Plain values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/machine.h"

namespace zomboss::gemmini {

// Moves that share one configuration of a load state or of the store.
struct Stream {
  bool load = true;
  bool accumulator = false;  // the local side
  bool full_width = false;   // elements are int32 (accumulator only)
  bool relu = false;         // of a store from the accumulator that is not full width
  float scale = 1.0f;
  uint8_t state = 0;          // load state
  uint64_t stride_bytes = 0;  // from one DRAM row to the next
  uint32_t element_bytes() const { return full_width ? 4 : 1; }
};

// Where an operation stands: macro tile, array step inside it, and before or after that step. Sorting by it
// keeps the order of equals.
struct Place {
  uint32_t tile = 0;
  uint32_t step = 0;
  uint8_t phase = 0;  // 0 before the step, 1 the step, 2 after it
  auto operator<=>(const Place&) const = default;
};

struct Operation {
  enum class Kind : uint8_t { kLoad, kStore, kStep, kFence };
  Kind kind = Kind::kFence;
  Place place;
  // Moves. Block b of a wide move (dim columns each) lies at row + b*dim.
  uint8_t stream = 0;
  uint64_t dram = 0;
  uint32_t row = 0;  // of a step: A
  uint16_t rows = 0, cols = 0;
  // A move's place in its tile, for the transformations: block row and column (of loads: as it lies in DRAM).
  Tensor tensor = kA;
  uint32_t block_row = 0, block_col = 0;
  // Steps: rows x cols of A times cols x n_cols of B, to C. Weight stationary: flip takes B into the array,
  // otherwise it is there.
  uint32_t b_row = 0, c_row = 0;
  uint16_t n_cols = 0;
  bool flip = false;
  bool accumulate = false;
};

// What the transformations need to know of a macro tile.
struct Tile {
  uint32_t steps = 0;
  uint32_t rows = 0, cols = 0, depth = 0;       // blocks of m, n, k
  uint32_t a_slot = 0, b_slot = 0, c_slot = 0;  // unique over batch regions
  bool loads_a = false, loads_b = false;
  bool first_k = false, last_k = false;
  InnerOrder order = InnerOrder::kKnm;
  // Of loop_ws: the forced scratchpad halves (0 = alternate), and the first block of each tensor in DRAM.
  uint8_t a_id = 0, b_id = 0;
  uint16_t pad_rows = 0, pad_cols = 0, pad_depth = 0;  // elements that the last block lacks
  std::array<uint64_t, kTensors> dram = {};

  // Where the step of rows i, columns j and contraction k stands among the tile's steps; grows with each of
  // them.
  uint32_t step_number(uint32_t i, uint32_t j, uint32_t k) const;
};

// The first four streams of every schedule; copies add two each.
enum StreamNumber : uint8_t { kStreamA, kStreamB, kStreamD, kStreamC, kFirstCopyStream };

struct Schedule {
  ArrayDataflow dataflow = ArrayDataflow::kWeightStationary;
  Interface interface = Interface::kPrimitives;
  bool a_transposed = false, b_transposed = false;
  uint32_t dim = 0;
  std::vector<Stream> streams;
  std::vector<Tile> tiles;
  std::vector<Operation> operations;
};

// The problem's buffers and the form's scratch buffers, in that order, at their places, and the addresses
// alone.
std::vector<PlacedBuffer> placed_buffers(const Problem& problem, const Form& form);
std::vector<uint64_t> buffer_addresses(const Problem& problem, const Form& form);

// The plain schedule: macro tiles one after the other, in each the loads block by block, then the steps in
// the mapping's order, then each block's store right behind its last step. Copies before and after, with
// fences. A tile that is still in its place is not loaded again. For loop_ws, rows and slots are those that
// the hardware will choose. `mapping` has passed check_capacity. Of very large kernels a forecast wants the
// beginning alone: `tiles` macro tiles at most.
Schedule build_primitive(const Problem& problem, const Form& form, const Mapping& mapping,
                         const Machine& machine, int64_t tiles = std::numeric_limits<int64_t>::max());

}  // namespace zomboss::gemmini
