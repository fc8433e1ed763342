// The mapping decisions of a convolution as numbers, their names, and what they need on chip. Knobs that mean
// the same as a matmul's have its names: A is the input, B the weights. Plain values; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/plan_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::conv {

// Im2col: for each block of output pixels and each tap the input pixels are loaded as rows of a block of
// their own. Direct: the input patch of a macro tile is loaded once, and taps are rows of it, stride apart.
// Loop: the hardware unrolls macro tiles by itself (loop_conv_ws).
enum class Interface : uint8_t { kIm2col = 0, kDirect = 1, kLoop = 2 };
// Where operand tiles live in the scratchpad. Ends: A from row 0 up, B at the end. Copies: A in the first
// half, B in the second, and the copies of a tile alternate between two quarters of that half, so that loads
// and the array seldom want the same bank.
enum class BankPlacement : uint8_t { kEnds = 0, kCopies = 3 };
// When finished outputs are stored. Early: as soon as what one store moves is complete. Late: after the macro
// tile's last step. Deferred: among the steps of the next macro tile.
enum class StoreSchedule : uint8_t { kEarly = 0, kLate = 1, kDeferred = 2 };
// Copies of an operand's tile. Resident: every tile has its own place.
enum class Buffering : uint8_t { kSingle = 0, kDouble = 1, kResident = 2 };
// Which loop over macro tiles is outside: output pixels or output channels.
enum class LoopOrder : uint8_t { kRowsOutside = 0, kColumnsOutside = 1 };
// Inside a macro tile, pixels are the innermost loop. Outside of it: taps and input channels around output
// channels, or the other way round.
enum class InnerOrder : uint8_t { kTapsOutside = 0, kChannelsOutside = 1 };

// Tiles in images, pixels, taps and channels; widths in blocks of dim channels.
struct Mapping {
  uint32_t form = 0;  // index in Problem.forms
  Interface interface = Interface::kIm2col;
  // Neighbouring taps of a kernel row that one array step takes, of tiles of so few input channels that they
  // fit.
  uint32_t taps_per_step = 1;
  int64_t tile_batch = 1, tile_rows = 1, tile_cols = 1;  // output pixels
  int64_t tile_k = 1, tile_n = 1;                        // input and output channels of a group
  int64_t tile_kernel_rows = 1, tile_kernel_cols = 1;
  BankPlacement placement = BankPlacement::kEnds;
  uint32_t acc_buffers = 1;
  Buffering buffering_a = Buffering::kSingle, buffering_b = Buffering::kSingle;
  uint32_t load_width_a = 1, load_width_b = 1;
  StoreSchedule store_schedule = StoreSchedule::kEarly;
  uint32_t store_width = 1;
  InnerOrder inner_order = InnerOrder::kTapsOutside;
  LoopOrder loop_order = LoopOrder::kRowsOutside;
};

// The knobs in resolution order: by category, then by name.
enum class Knob : uint8_t {
  kDepthwise,
  kInterface,
  kTapsPerStep,
  kTileBatch,
  kTileCols,
  kTileK,
  kTileKernelCols,
  kTileKernelRows,
  kTileN,
  kTileRows,
  kBankPlacement,
  kAccBuffering,
  kBufferingA,
  kBufferingB,
  kLoadWidthA,
  kLoadWidthB,
  kStoreSchedule,
  kStoreWidth,
  kInnerOrder,
  kLoopOrder
};
inline constexpr size_t kKnobs = 20;
std::string_view knob_name(Knob knob);

using Values = std::array<int64_t, kKnobs>;  // in knob order
Values to_values(const Mapping& mapping);
Mapping from_values(const Values& values);

// The decisions of a plan. Invalid argument when a knob is missing, unknown, twice there or out of range.
Result<Mapping> mapping_of(const wire::PlanT& plan, const Problem& problem);

// The decisions that the hardware's loop takes itself have their first value then.
Mapping as_loop(Mapping mapping);

// What a mapping needs on chip, in local rows, and how macro tiles divide the work of one group.
struct Footprint {
  int64_t pixel_tiles = 1, n_tiles = 1, k_tiles = 1;
  int64_t a_rows = 1, b_rows = 1, c_rows = 1;  // of one copy of a tile
  int64_t a_block_rows = 1;                    // local rows from one block of input channels to the next
  int64_t a_slots = 1, b_slots = 1;
  int64_t scratchpad_rows = 0, accumulator_rows = 0;
};
Footprint footprint(const Problem& problem, const Mapping& mapping, const Machine& machine);
// The largest distance of channel blocks that a load reaches.
inline constexpr int64_t kMaxBlockStride = (1 << 14) - 1;
// Ok, or resource exhausted naming the memory, needed and available bytes.
Status check_capacity(const Problem& problem, const Mapping& mapping, const Machine& machine);

// Local rows that an accumulator tile of so many pixels takes for one block of channels: pixel blocks of dim
// rows. Where neighbouring lines of pixels follow each other on chip evenly, blocks run across lines; else a
// block holds a part of one line or several whole lines.
bool crosses_lines(const Problem& problem, Interface interface);
int64_t pixel_blocks(const Problem& problem, Interface interface, int64_t dim, int64_t lines, int64_t cols);

constexpr int64_t ceil_div(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

}  // namespace zomboss::gemmini::conv
