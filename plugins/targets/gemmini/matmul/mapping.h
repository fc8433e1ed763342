// The mapping decisions of this target as numbers, and their names and domains. A plain value; any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/targets/gemmini/matmul/form.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/plan_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// Who unrolls a macro tile into moves and steps: the kernel, or the hardware's loop_ws. The hardware chooses
// places, widths and order itself; the other decisions then have their only value.
enum class Interface : uint8_t { kPrimitives = 0, kLoopWs = 1 };
// Weight stationary: B stays in the array while rows of A stream through. Output stationary: a block of C
// stays, A and B stream; each step writes its sums to the accumulator, since longer chains can leave the 20
// bits that the array's sums have.
enum class ArrayDataflow : uint8_t { kWeightStationary = 0, kOutputStationary = 1 };
// Where operand tiles live in the scratchpad. Ends: A from row 0 up, B at the end. The others keep A in the
// first half and B in the second, and alternate between the two quarters of that half, so that loads and the
// array seldom want the same bank: rows, from one block row of a tile to the next; loads, from one load's
// width of blocks to the next; copies, from one copy of the tile to the next.
enum class BankPlacement : uint8_t { kEnds = 0, kRows = 1, kLoads = 2, kCopies = 3 };
// In which order the loads of a macro tile are issued: by first use, just in time; or all of one operand
// first.
enum class LoadOrder : uint8_t { kJustInTime = 0, kAFirst = 1, kBFirst = 2 };
// When a finished output tile is stored. Early: each store as soon as what it moves is complete. Late: after
// the macro tile's last step. Deferred: among the steps of the next macro tile.
enum class StoreSchedule : uint8_t { kEarly = 0, kLate = 1, kDeferred = 2 };
// Streamed: a tile is loaded again when its copies were overwritten. Resident: every tile has its own place.
enum class Buffering : uint8_t { kSingle = 0, kDouble = 1, kResident = 2 };
enum class LoopOrder : uint8_t { kRowsOutside = 0, kColumnsOutside = 1 };
// The loops over a macro tile's steps from the outer to the inner one: m, n, k are its rows, columns,
// contraction.
enum class InnerOrder : uint8_t { kKnm = 0, kKmn = 1, kMnk = 2, kNmk = 3 };
// Where the kernel waits until the unit is idle: once at its end, or after each batch as well.
enum class FencePolicy : uint8_t { kOnce = 0, kBatch = 1 };

// Tiles and widths in blocks of dim elements.
struct Mapping {
  ArrayDataflow dataflow = ArrayDataflow::kWeightStationary;
  Interface interface = Interface::kPrimitives;
  uint32_t orientation = 0;  // index in Problem.forms
  uint32_t batch_regions = 1;
  int64_t tile_m = 1, tile_n = 1, tile_k = 1;
  BankPlacement placement = BankPlacement::kEnds;
  uint32_t acc_buffers = 1;
  Buffering buffering_a = Buffering::kSingle, buffering_b = Buffering::kSingle;
  LoadOrder load_order = LoadOrder::kJustInTime;
  uint32_t load_width_a = 1, load_width_b = 1;
  StoreSchedule store_schedule = StoreSchedule::kEarly;
  uint32_t store_width = 1;
  FencePolicy fence = FencePolicy::kOnce;
  InnerOrder inner_order = InnerOrder::kKnm;
  LoopOrder loop_order = LoopOrder::kRowsOutside;
  bool operator==(const Mapping&) const = default;
};

// The same tiles, orders and fences through loop_ws, which leaves no choice in the rest.
Mapping as_loop(Mapping mapping);

// The knobs in resolution order: by category, then by name.
enum class Knob : uint8_t {
  kDataflow,
  kInterface,
  kOrientation,
  kBatchRegions,
  kTileK,
  kTileM,
  kTileN,
  kBankPlacement,
  kAccBuffering,
  kBufferingA,
  kBufferingB,
  kLoadOrder,
  kLoadWidthA,
  kLoadWidthB,
  kStoreSchedule,
  kStoreWidth,
  kFence,
  kInnerOrder,
  kLoopOrder
};
inline constexpr size_t kKnobs = 19;
std::string_view knob_name(Knob knob);

// A mapping as knob values in knob order, tiles in elements, and back. from_values expects values that
// to_values can give.
std::vector<int64_t> to_values(const Mapping& mapping, uint32_t dim);
Mapping from_values(const std::vector<int64_t>& values, uint32_t dim);

// The decisions of a plan. Invalid argument when a knob is missing, unknown, twice there or out of any
// domain.
Result<Mapping> mapping_of(const wire::PlanT& plan, const Machine& machine, const std::vector<Form>& forms);

// What a mapping needs on chip, in local rows, and how macro tiles divide the axes.
struct Footprint {
  int64_t tiles_m = 1, tiles_n = 1, tiles_k = 1;
  int64_t a_slots = 1, b_slots = 1;  // copies of a tile per batch region
  int64_t scratchpad_rows = 0;
  int64_t bank_rows = 0;  // of the fullest quarter, unless placement is kEnds
  int64_t accumulator_rows = 0;
};
Footprint footprint(const Mapping& mapping, const Form& form);
// Ok, or resource exhausted naming the memory, needed and available bytes.
Status check_capacity(const Mapping& mapping, const Form& form, const Machine& machine);

constexpr int64_t ceil_div(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

// Blocks in one quarter of an operand with so many, when groups of `group` take turns.
constexpr int64_t quarter_blocks(int64_t blocks, int64_t group) {
  return ceil_div(ceil_div(blocks, group), 2) * group;
}

}  // namespace zomboss::gemmini
