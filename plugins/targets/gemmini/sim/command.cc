#include "plugins/targets/gemmini/sim/command.h"

#include <bit>

namespace zomboss::gemmini {
namespace {

constexpr uint64_t bits(uint64_t value, int low, int width) {
  return (value & ((uint64_t{1} << width) - 1)) << low;
}
constexpr uint64_t flag(bool value, int bit) {
  return uint64_t{value} << bit;
}
template <typename T>
constexpr uint64_t enum_bits(T value, int low, int width) {
  return bits(static_cast<uint64_t>(value), low, width);
}
constexpr uint32_t field(uint64_t word, int low, int width) {
  return static_cast<uint32_t>(word >> low & ((uint64_t{1} << width) - 1));
}
template <typename T>
constexpr T field_as(uint64_t word, int low, int width) {
  return static_cast<T>(field(word, low, width));
}
uint64_t float_bits(float value) {
  return uint64_t{std::bit_cast<uint32_t>(value)} << 32;
}
float high_float(uint64_t word) {
  return std::bit_cast<float>(static_cast<uint32_t>(word >> 32));
}
Command make(Funct funct, uint64_t rs1, uint64_t rs2) {
  return {static_cast<uint32_t>(funct), rs1, rs2};
}

}  // namespace

Command config_ex(const ConfigEx& config) {
  const uint64_t rs1 = enum_bits(config.dataflow, 2, 1) | enum_bits(config.activation, 3, 2) |
                       flag(config.strides_only, 7) | flag(config.transpose_a, 8) |
                       flag(config.transpose_b, 9) | bits(config.a_stride, 16, 16) |
                       float_bits(config.acc_scale);
  return make(Funct::kConfig, rs1, bits(config.in_shift, 0, 32) | bits(config.c_stride, 48, 16));
}

ConfigEx decode_config_ex(const Command& command) {
  const uint64_t rs1 = command.rs1;
  return {.dataflow = field_as<Dataflow>(rs1, 2, 1),
          .activation = field_as<Activation>(rs1, 3, 2),
          .strides_only = field(rs1, 7, 1) != 0,
          .transpose_a = field(rs1, 8, 1) != 0,
          .transpose_b = field(rs1, 9, 1) != 0,
          .a_stride = field_as<uint16_t>(rs1, 16, 16),
          .c_stride = field_as<uint16_t>(command.rs2, 48, 16),
          .in_shift = field(command.rs2, 0, 32),
          .acc_scale = high_float(rs1)};
}

Command config_ld(const ConfigLd& config) {
  const uint64_t rs1 = enum_bits(ConfigKind::kLoad, 0, 2) | flag(config.shrink, 2) |
                       bits(config.state, 3, 2) | bits(config.pixel_repeats, 8, 8) |
                       bits(config.block_stride, 16, 16) | float_bits(config.scale);
  return make(Funct::kConfig, rs1, config.dram_stride_bytes);
}

ConfigLd decode_config_ld(const Command& command) {
  const uint64_t rs1 = command.rs1;
  return {.state = field_as<uint8_t>(rs1, 3, 2),
          .dram_stride_bytes = command.rs2,
          .scale = high_float(rs1),
          .shrink = field(rs1, 2, 1) != 0,
          .block_stride = field_as<uint16_t>(rs1, 16, 16),
          .pixel_repeats = field_as<uint8_t>(rs1, 8, 8)};
}

Command config_st(const ConfigSt& config) {
  const Pooling& pool = config.pooling;
  const uint64_t rs1 = enum_bits(ConfigKind::kStore, 0, 2) | enum_bits(config.activation, 2, 2) |
                       bits(pool.stride, 4, 2) | bits(pool.size, 6, 2) | bits(pool.upper_pad, 8, 2) |
                       bits(pool.left_pad, 10, 2) | bits(pool.out_dim, 24, 8) |
                       bits(pool.pooled_rows, 32, 8) | bits(pool.pooled_cols, 40, 8) |
                       bits(pool.rows, 48, 8) | bits(pool.cols, 56, 8);
  return make(Funct::kConfig, rs1, bits(config.dram_stride_bytes, 0, 32) | float_bits(config.acc_scale));
}

ConfigSt decode_config_st(const Command& command) {
  const uint64_t rs1 = command.rs1;
  return {.dram_stride_bytes = field(command.rs2, 0, 32),
          .activation = field_as<Activation>(rs1, 2, 2),
          .acc_scale = high_float(command.rs2),
          .pooling = {.stride = field_as<uint8_t>(rs1, 4, 2),
                      .size = field_as<uint8_t>(rs1, 6, 2),
                      .upper_pad = field_as<uint8_t>(rs1, 8, 2),
                      .left_pad = field_as<uint8_t>(rs1, 10, 2),
                      .out_dim = field_as<uint8_t>(rs1, 24, 8),
                      .pooled_rows = field_as<uint8_t>(rs1, 32, 8),
                      .pooled_cols = field_as<uint8_t>(rs1, 40, 8),
                      .rows = field_as<uint8_t>(rs1, 48, 8),
                      .cols = field_as<uint8_t>(rs1, 56, 8)}};
}

Command config_norm(const ConfigNorm& config) {
  const auto word = [](int32_t value) { return uint64_t{static_cast<uint32_t>(value)}; };
  const uint64_t rs1 = enum_bits(ConfigKind::kNorm, 0, 2) | bits(config.statistic, 8, 8) |
                       flag(config.softmax, 16) | flag(config.statistic_only, 17) |
                       flag(config.q_is_inverse_ln2, 18) | word(config.q) << 32;
  return make(Funct::kConfig, rs1, word(config.qb) | word(config.qc) << 32);
}

ConfigNorm decode_config_norm(const Command& command) {
  const uint64_t rs1 = command.rs1;
  return {.statistic = field_as<uint8_t>(rs1, 8, 8),
          .softmax = field(rs1, 16, 1) != 0,
          .statistic_only = field(rs1, 17, 1) != 0,
          .q_is_inverse_ln2 = field(rs1, 18, 1) != 0,
          .q = field_as<int32_t>(rs1, 32, 32),
          .qb = field_as<int32_t>(command.rs2, 0, 32),
          .qc = field_as<int32_t>(command.rs2, 32, 32)};
}

Command mvin(uint64_t dram, Operand local, uint8_t state) {
  const Funct functs[] = {Funct::kMvin, Funct::kMvin2, Funct::kMvin3};
  return make(functs[state < 3 ? state : 0], dram, encode_operand(local));
}

Command mvout(uint64_t dram, Operand local) {
  return make(Funct::kMvout, dram, encode_operand(local));
}

Command preload(Operand stationary, Operand c) {
  return make(Funct::kPreload, encode_operand(stationary), encode_operand(c));
}

Command compute(bool flip, Operand a, Operand streamed) {
  return make(flip ? Funct::kComputeFlip : Funct::kComputeStay, encode_operand(a), encode_operand(streamed));
}

Command flush() {
  return make(Funct::kFlush, 0, 0);
}

Command fence() {
  return make(Funct::kFence, 0, 0);
}

}  // namespace zomboss::gemmini
