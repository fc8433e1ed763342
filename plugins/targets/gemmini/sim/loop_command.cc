#include "plugins/targets/gemmini/sim/loop_command.h"

namespace zomboss::gemmini {
namespace {

Command make(Funct funct, uint64_t rs1, uint64_t rs2) {
  return {static_cast<uint32_t>(funct), rs1, rs2};
}

// Four 16-bit fields, lowest first.
uint64_t pack16(uint64_t w0, uint64_t w1, uint64_t w2, uint64_t w3 = 0) {
  return w0 | w1 << 16 | w2 << 32 | w3 << 48;
}
uint16_t word16(uint64_t word, int index) {
  return static_cast<uint16_t>(word >> (16 * index));
}
uint8_t byte_at(uint64_t word, int low) {
  return static_cast<uint8_t>(word >> low);
}
uint8_t bits2(uint64_t word, int low) {
  return static_cast<uint8_t>(word >> low & 3);
}
bool bit(uint64_t word, int index) {
  return (word >> index & 1) != 0;
}
uint64_t flag(bool value, int index) {
  return uint64_t{value} << index;
}

void latch_run(LoopWs& loop, const Command& command) {
  loop.accumulate = bit(command.rs1, 0);
  loop.full_c = bit(command.rs1, 1);
  loop.low_d = bit(command.rs1, 2);
  loop.activation = static_cast<Activation>(command.rs1 >> 8 & 7);
  loop.b_scratchpad_id = bits2(command.rs1, 16);
  loop.a_scratchpad_id = bits2(command.rs1, 18);
  loop.transpose_a = bit(command.rs2, 0);
  loop.transpose_b = bit(command.rs2, 1);
  loop.residual_add = bit(command.rs2, 2);
}

void latch_shape(LoopConv& loop, uint64_t rs1, uint64_t rs2) {
  loop.batch_size = word16(rs1, 0);
  loop.in_row_dim = word16(rs1, 1);
  loop.in_channels = word16(rs1, 2);
  loop.out_channels = word16(rs1, 3);
  loop.out_row_dim = word16(rs2, 0);
  loop.pool_out_row_dim = word16(rs2, 1);
  loop.out_col_dim = word16(rs2, 2);
  loop.stride = byte_at(rs2, 48);
  loop.padding = byte_at(rs2, 56);
}

void latch_kernel(LoopConv& loop, uint64_t rs1, uint64_t rs2) {
  loop.kernel_dim = word16(rs1, 3);
  loop.pool_out_col_dim = word16(rs1, 2);
  loop.pool_size = word16(rs1, 1);
  loop.pool_stride = byte_at(rs1, 8);
  loop.pool_padding = byte_at(rs1, 0);
  loop.batches = word16(rs2, 3);
  loop.porows = word16(rs2, 2);
  loop.pocols = word16(rs2, 1);
  loop.pochs = word16(rs2, 0);
}

void latch_pads(LoopConv& loop, uint64_t rs1, uint64_t rs2) {
  loop.krows = word16(rs1, 3);
  loop.kcols = word16(rs1, 2);
  loop.kchs = word16(rs1, 1);
  loop.lpad = word16(rs1, 0);
  loop.rpad = word16(rs2, 3);
  loop.upad = word16(rs2, 2);
  loop.dpad = byte_at(rs2, 24);
  loop.plpad = byte_at(rs2, 16);
  loop.in_col_dim = word16(rs2, 0);
}

void latch_tile(LoopConv& loop, uint64_t rs1, uint64_t rs2) {
  loop.orows = word16(rs1, 3);
  loop.prpad = word16(rs1, 2);
  loop.pupad = byte_at(rs1, 21);
  loop.pdpad = byte_at(rs1, 10);
  loop.kernel_dilation = byte_at(rs1, 0);
  loop.in_stride = word16(rs2, 3);
  loop.weight_stride = word16(rs2, 2);
  loop.out_stride = word16(rs2, 1);
  loop.ocols = word16(rs2, 0);
}

void latch_run(LoopConv& loop, uint64_t rs1, uint64_t rs2) {
  loop.no_bias = bit(rs1, 0);
  loop.rotate_weights = bit(rs1, 1);
  loop.trans_output_1203 = bit(rs1, 2);
  loop.trans_weight_1203 = bit(rs1, 3);
  loop.trans_weight_0132 = bit(rs1, 4);
  loop.trans_input_3120 = bit(rs1, 5);
  loop.depthwise = bit(rs1, 6);
  loop.max_pixels_per_row = byte_at(rs1, 8);
  loop.b_scratchpad_id = bits2(rs1, 16);
  loop.a_scratchpad_id = bits2(rs1, 18);
  loop.no_pool = bit(rs2, 0);
  loop.downsample = bit(rs2, 1);
  loop.input_dilated = bit(rs2, 2);
  loop.activation = static_cast<Activation>(rs2 >> 3 & 3);
}

}  // namespace

std::array<Command, 6> loop_ws(const LoopWs& loop) {
  const uint64_t flags = flag(loop.accumulate, 0) | flag(loop.full_c, 1) | flag(loop.low_d, 2) |
                         (static_cast<uint64_t>(loop.activation) & 7) << 8 |
                         uint64_t{loop.b_scratchpad_id & 3u} << 16 |
                         uint64_t{loop.a_scratchpad_id & 3u} << 18;
  return {
      make(Funct::kLoopWsBounds, pack16(loop.pad_i, loop.pad_j, loop.pad_k), pack16(loop.i, loop.j, loop.k)),
      make(Funct::kLoopWsAddressAB, loop.a, loop.b),
      make(Funct::kLoopWsAddressDC, loop.d, loop.c),
      make(Funct::kLoopWsStrideAB, loop.a_stride, loop.b_stride),
      make(Funct::kLoopWsStrideDC, loop.d_stride, loop.c_stride),
      make(Funct::kLoopWs, flags,
           flag(loop.transpose_a, 0) | flag(loop.transpose_b, 1) | flag(loop.residual_add, 2))};
}

bool latch(LoopWs& loop, const Command& command) {
  const uint64_t rs1 = command.rs1, rs2 = command.rs2;
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kLoopWsBounds:
      loop.pad_i = word16(rs1, 0), loop.pad_j = word16(rs1, 1), loop.pad_k = word16(rs1, 2);
      loop.i = word16(rs2, 0), loop.j = word16(rs2, 1), loop.k = word16(rs2, 2);
      return true;
    case Funct::kLoopWsAddressAB:
      loop.a = rs1, loop.b = rs2;
      return true;
    case Funct::kLoopWsAddressDC:
      loop.d = rs1, loop.c = rs2;
      return true;
    case Funct::kLoopWsStrideAB:
      loop.a_stride = rs1, loop.b_stride = rs2;
      return true;
    case Funct::kLoopWsStrideDC:
      loop.d_stride = rs1, loop.c_stride = rs2;
      return true;
    case Funct::kLoopWs:
      latch_run(loop, command);
      return true;
    default:
      return false;
  }
}

std::array<Command, 7> loop_conv(const LoopConv& loop) {
  const uint64_t flags =
      flag(loop.no_bias, 0) | flag(loop.rotate_weights, 1) | flag(loop.trans_output_1203, 2) |
      flag(loop.trans_weight_1203, 3) | flag(loop.trans_weight_0132, 4) | flag(loop.trans_input_3120, 5) |
      flag(loop.depthwise, 6) | uint64_t{loop.max_pixels_per_row} << 8 |
      uint64_t{loop.b_scratchpad_id & 3u} << 16 | uint64_t{loop.a_scratchpad_id & 3u} << 18;
  const uint64_t run = flag(loop.no_pool, 0) | flag(loop.downsample, 1) | flag(loop.input_dilated, 2) |
                       (static_cast<uint64_t>(loop.activation) & 3) << 3;
  return {make(Funct::kLoopConvShape,
               pack16(loop.batch_size, loop.in_row_dim, loop.in_channels, loop.out_channels),
               pack16(loop.out_row_dim, loop.pool_out_row_dim, loop.out_col_dim) |
                   uint64_t{loop.stride} << 48 | uint64_t{loop.padding} << 56),
          make(Funct::kLoopConvKernel,
               pack16(uint64_t{loop.pool_stride} << 8 | loop.pool_padding, loop.pool_size,
                      loop.pool_out_col_dim, loop.kernel_dim),
               pack16(loop.pochs, loop.pocols, loop.porows, loop.batches)),
          make(Funct::kLoopConvPads, pack16(loop.lpad, loop.kchs, loop.kcols, loop.krows),
               pack16(loop.in_col_dim, uint64_t{loop.dpad} << 8 | loop.plpad, loop.upad, loop.rpad)),
          make(Funct::kLoopConvTile,
               uint64_t{loop.kernel_dilation} | uint64_t{loop.pdpad} << 10 | uint64_t{loop.pupad} << 21 |
                   uint64_t{loop.prpad} << 32 | uint64_t{loop.orows} << 48,
               pack16(loop.ocols, loop.out_stride, loop.weight_stride, loop.in_stride)),
          make(Funct::kLoopConvAddressWO, loop.weights, loop.output),
          make(Funct::kLoopConvAddressBI, loop.bias, loop.input),
          make(Funct::kLoopConv, flags, run)};
}

bool latch(LoopConv& loop, const Command& command) {
  const uint64_t rs1 = command.rs1, rs2 = command.rs2;
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kLoopConvShape:
      latch_shape(loop, rs1, rs2);
      return true;
    case Funct::kLoopConvKernel:
      latch_kernel(loop, rs1, rs2);
      return true;
    case Funct::kLoopConvPads:
      latch_pads(loop, rs1, rs2);
      return true;
    case Funct::kLoopConvTile:
      latch_tile(loop, rs1, rs2);
      return true;
    case Funct::kLoopConvAddressWO:
      loop.weights = rs1, loop.output = rs2;
      return true;
    case Funct::kLoopConvAddressBI:
      loop.bias = rs1, loop.input = rs2;
      return true;
    case Funct::kLoopConv:
      latch_run(loop, rs1, rs2);
      return true;
    default:
      return false;
  }
}

}  // namespace zomboss::gemmini
