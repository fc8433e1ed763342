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

// Where operand tiles live in the scratchpad. Ends: A from row 0 up, B at the end. The others keep A in the
// first half and B in the second, and alternate between the two quarters of that half, so that loads and the
// array seldom want the same bank: rows, from one block row of a tile to the next; copies, from one copy of
// the tile to the next.
enum class BankPlacement : uint8_t { kEnds = 0, kRows = 1, kCopies = 2 };
// When a finished output tile is stored. Early: each block right after its last step. Row: each group of
// blocks that one wide store can move, as soon as it is complete. Late: wide stores after the macro tile's
// last step. Deferred: wide stores among the steps of the next macro tile.
enum class StoreSchedule : uint8_t { kEarly = 0, kRow = 1, kLate = 2, kDeferred = 3 };
// Streamed: a tile is loaded again when its copies were overwritten. Resident: every tile has its own place.
enum class Buffering : uint8_t { kSingle = 0, kDouble = 1, kResident = 2 };
enum class LoopOrder : uint8_t { kRowsOutside = 0, kColumnsOutside = 1 };

// Tiles and widths in blocks of dim elements.
struct Mapping {
  uint32_t orientation = 0;  // index in Problem.forms
  uint32_t batch_regions = 1;
  int64_t tile_m = 1, tile_n = 1, tile_k = 1;
  BankPlacement placement = BankPlacement::kEnds;
  uint32_t acc_buffers = 1;
  Buffering buffering = Buffering::kSingle;
  uint32_t load_width_a = 1, load_width_b = 1;
  StoreSchedule store_schedule = StoreSchedule::kEarly;
  LoopOrder loop_order = LoopOrder::kRowsOutside;
};

// The knobs in resolution order: by category, then by name.
enum class Knob : uint8_t {
  kOrientation,
  kBatchRegions,
  kTileK,
  kTileM,
  kTileN,
  kBankPlacement,
  kAccBuffering,
  kBuffering,
  kLoadWidthA,
  kLoadWidthB,
  kStoreSchedule,
  kLoopOrder
};
inline constexpr size_t kKnobs = 12;
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

}  // namespace zomboss::gemmini
