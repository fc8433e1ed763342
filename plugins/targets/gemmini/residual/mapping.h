// The mapping decisions of a residual addition as numbers, and their names. A plain value; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/targets/gemmini/residual/problem.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/plan_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::residual {

// Who unrolls a macro tile into moves: the kernel, or the hardware's loop_ws, which leaves no choice in
// widths, places and order.
enum class Interface : uint8_t { kPrimitives = 0, kLoopWs = 1 };
// Where copies of a tile lie in the accumulator: one behind the other, or each in an equal part of its own,
// two of them in different banks.
enum class Placement : uint8_t { kTogether = 0, kApart = 1 };
// Interleaved: each load of A is followed by that of B to the same place; or all of A first.
enum class LoadOrder : uint8_t { kInterleaved = 0, kAFirst = 1 };
// Early: a store as soon as the sums that it moves are complete. Late: after the tile. Deferred: among the
// loads of the next tile.
enum class StoreSchedule : uint8_t { kEarly = 0, kLate = 1, kDeferred = 2 };
// What makes B's additions come after A's values. Issue: loads are issued in this order, and data arrive in
// it when memory answers in order. Fence: a fence stands between them; with two copies of a tile, the loads
// of the next A, those of B and the stores of a tile lie between two fences.
enum class Ordering : uint8_t { kIssue = 0, kFence = 1 };

// Tiles and widths in blocks of dim elements.
struct Mapping {
  Interface interface = Interface::kPrimitives;
  uint32_t shape = 0;  // index in Problem.shapes
  int64_t tile_cols = 1, tile_rows = 1;
  Placement placement = Placement::kTogether;
  uint32_t acc_buffers = 1;
  LoadOrder load_order = LoadOrder::kInterleaved;
  uint32_t load_width = 1;
  StoreSchedule store_schedule = StoreSchedule::kEarly;
  uint32_t store_width = 1;
  Ordering ordering = Ordering::kIssue;
  bool operator==(const Mapping&) const = default;
};

// In resolution order: by category, then by name.
enum class Knob : uint8_t {
  kInterface,
  kRowLength,
  kTileCols,
  kTileRows,
  kBankPlacement,
  kAccBuffering,
  kLoadOrder,
  kLoadWidth,
  kStoreSchedule,
  kStoreWidth,
  kOrdering
};
inline constexpr size_t kKnobs = 11;
using Values = std::array<int64_t, kKnobs>;
std::string_view knob_name(Knob knob);

// A mapping as knob values, tiles and row lengths in elements, and back. from_values expects values that
// to_values can give.
Values to_values(const Mapping& mapping, const Problem& problem, uint32_t dim);
Mapping from_values(const Values& values, const Problem& problem, uint32_t dim);

// Invalid argument when the plan is none of this problem, resource exhausted when it does not fit.
Result<Mapping> mapping_of(const wire::PlanT& plan, const Problem& problem, const Machine& machine);

// What the rules of the surface say together.
bool is_legal(const Mapping& mapping, const Problem& problem, const Machine& machine);

// Blocks of a shape.
int64_t row_blocks(const Shape& shape, uint32_t dim);
int64_t col_blocks(const Shape& shape, uint32_t dim);
// Tile sizes in blocks that a mapping of this shape may have, ascending.
struct Cuts {
  std::vector<int64_t> rows, cols;
};
Cuts cuts_of(const Problem& problem, uint32_t shape, const Machine& machine);

// The vendor's tiled_resadd_auto as a mapping: the tile shrinks along its longer side until half of the
// accumulator holds it. Tiles are rounded up to whole blocks.
Mapping library_mapping(const Problem& problem, const Machine& machine);

}  // namespace zomboss::gemmini::residual
