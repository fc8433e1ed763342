// The loop commands: whole tiled matrix products and convolutions that the hardware unrolls. Their
// configuration words latch: `latch` folds one command into the accumulated state, and a run uses the latest
// of each field.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {

// loop_ws: C = A*B (+ D), all tiles dim x dim. Fields in the order of the commands 9, 10, 11, 12, 13, 8.
struct LoopWs {
  uint16_t i = 0, j = 0, k = 0;              // blocks
  uint16_t pad_i = 0, pad_j = 0, pad_k = 0;  // missing elements of the last block
  uint64_t a = 0, b = 0;                     // DRAM; 0 = operand is in place already
  uint64_t d = 0, c = 0;                     // DRAM; 0 = no bias, no store
  uint64_t a_stride = 0, b_stride = 0;  // elements; must agree with config_ld of states 0, 1, 2 and config_st
  uint64_t d_stride = 0, c_stride = 0;
  bool accumulate = false;  // onto the accumulator
  bool full_c = false;      // int32 result
  bool low_d = false;       // int8 bias
  Activation activation = Activation::kNone;
  uint8_t a_scratchpad_id = 0;  // 0 alternate halves, 1 lower, 2 upper
  uint8_t b_scratchpad_id = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool residual_add = false;  // C = A + B, k ignored
};
std::array<Command, 6> loop_ws(const LoopWs& loop);
constexpr bool is_loop_ws(uint32_t funct) {
  return funct >= static_cast<uint32_t>(Funct::kLoopWs) &&
         funct <= static_cast<uint32_t>(Funct::kLoopWsStrideDC);
}
// True when `command` is one of the six; the run command is the last, kLoopWs.
bool latch(LoopWs& loop, const Command& command);

// loop_conv_ws. Field names are those of the instruction description in docs; sizes in pixels or channels.
struct LoopConv {
  // 16
  uint16_t batch_size = 0, in_row_dim = 0, in_channels = 0, out_channels = 0;
  uint16_t out_row_dim = 0, pool_out_row_dim = 0, out_col_dim = 0;
  uint8_t stride = 0, padding = 0;
  // 17
  uint16_t kernel_dim = 0, pool_out_col_dim = 0, pool_size = 0;
  uint8_t pool_stride = 0, pool_padding = 0;
  uint16_t batches = 0, porows = 0, pocols = 0, pochs = 0;
  // 18
  uint16_t krows = 0, kcols = 0, kchs = 0, lpad = 0, rpad = 0, upad = 0;
  uint8_t dpad = 0, plpad = 0;
  uint16_t in_col_dim = 0;
  // 19
  uint16_t orows = 0, prpad = 0;
  uint8_t pupad = 0, pdpad = 0, kernel_dilation = 0;
  uint16_t in_stride = 0, weight_stride = 0, out_stride = 0, ocols = 0;
  // 20, 21: DRAM; 0 = skip
  uint64_t weights = 0, output = 0, bias = 0, input = 0;
  // 15
  bool no_bias = false, rotate_weights = false, trans_output_1203 = false, trans_weight_1203 = false;
  bool trans_weight_0132 = false, trans_input_3120 = false, depthwise = false;
  uint8_t max_pixels_per_row = 0, a_scratchpad_id = 0, b_scratchpad_id = 0;
  bool no_pool = false, downsample = false, input_dilated = false;
  Activation activation = Activation::kNone;
};
std::array<Command, 7> loop_conv(const LoopConv& loop);
constexpr bool is_loop_conv(uint32_t funct) {
  return funct >= static_cast<uint32_t>(Funct::kLoopConv) &&
         funct <= static_cast<uint32_t>(Funct::kLoopConvAddressBI);
}
// True when `command` is one of the seven; the run command is the last, kLoopConv.
bool latch(LoopConv& loop, const Command& command);

}  // namespace zomboss::gemmini
