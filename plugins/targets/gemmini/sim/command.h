// One RoCC command of Gemmini, and for each kind of command the fields with an encoder and a decoder. Used by
// the lowering (encode), the simulators (decode) and messages (disassemble). Loop commands: loop_command.h.
// Encoders do not check legality, they only place fields; a value wider than its field is cut.
#pragma once

#include <cstdint>
#include <string>

namespace zomboss::gemmini {

struct Command {
  uint32_t funct = 0;
  uint64_t rs1 = 0;
  uint64_t rs2 = 0;
  bool operator==(const Command&) const = default;
};

enum class Funct : uint32_t {
  kConfig = 0,
  kMvin2 = 1,
  kMvin = 2,
  kMvout = 3,
  kComputeFlip = 4,  // "preloaded": takes the operand of the last preload into the array first
  kComputeStay = 5,  // "accumulated": keeps what the array holds
  kPreload = 6,
  kFlush = 7,
  kLoopWs = 8,
  kLoopWsBounds = 9,
  kLoopWsAddressAB = 10,
  kLoopWsAddressDC = 11,
  kLoopWsStrideAB = 12,
  kLoopWsStrideDC = 13,
  kMvin3 = 14,
  kLoopConv = 15,
  kLoopConvShape = 16,
  kLoopConvKernel = 17,
  kLoopConvPads = 18,
  kLoopConvTile = 19,
  kLoopConvAddressWO = 20,  // weights, output
  kLoopConvAddressBI = 21,  // bias, input
  kClockGate = 22,
  kCounter = 126,
  kFence = 127,  // software: wait until the unit is idle; no command of the hardware
};

enum class Dataflow : uint8_t { kOutputStationary = 0, kWeightStationary = 1 };

// kSoftmax is only reached through config_norm.
enum class Activation : uint8_t { kNone = 0, kRelu = 1, kLayernorm = 2, kIgelu = 3, kSoftmax = 4 };

// The statistics that a row of an mvout updates (bits 28:26 of the local address); kReset is a normal store.
enum class NormCommand : uint8_t {
  kReset = 0,
  kSum = 1,
  kMean = 2,
  kVariance = 3,
  kInvStddev = 4,
  kMax = 5,
  kSumExp = 6,
  kInvSumExp = 7
};

// --- Local addresses
// -------------------------------------------------------------------------------------------

inline constexpr uint32_t kAccumulatorBit = 1u << 31;
inline constexpr uint32_t kAccumulateBit = 1u << 30;  // add to what the accumulator row holds
inline constexpr uint32_t kFullRowBit = 1u << 29;     // mvout of raw int32
inline constexpr uint32_t kGarbage = 0xffffffffu;     // no operand, or discard the result

constexpr uint32_t scratchpad_address(uint32_t row) {
  return row;
}
constexpr uint32_t accumulator_address(uint32_t row, bool accumulate = false, bool full_row = false) {
  return kAccumulatorBit | (accumulate ? kAccumulateBit : 0) | (full_row ? kFullRowBit : 0) | row;
}
constexpr bool is_accumulator(uint32_t address) {
  return (address & kAccumulatorBit) != 0;
}
constexpr NormCommand norm_command_of(uint32_t address) {
  return static_cast<NormCommand>((address >> 26) & 7);
}
constexpr uint32_t target_row(uint32_t address) {  // of mvin, preload and compute operands
  return address & 0x1fffffffu;
}
constexpr uint32_t mvout_row(uint32_t address) {
  return address & 0x03ffffffu;
}

// A local operand: [63:48] rows, [47:32] columns, [31:0] address word.
struct Operand {
  uint32_t address = kGarbage;
  uint16_t rows = 0;
  uint16_t cols = 0;
  bool operator==(const Operand&) const = default;
};
constexpr uint64_t encode_operand(Operand operand) {
  return uint64_t{operand.rows} << 48 | uint64_t{operand.cols} << 32 | operand.address;
}
constexpr Operand decode_operand(uint64_t word) {
  return {static_cast<uint32_t>(word), static_cast<uint16_t>(word >> 48), static_cast<uint16_t>(word >> 32)};
}

// --- Configuration
// -----------------------------------------------------------------------------------------------

enum class ConfigKind : uint8_t { kExecute = 0, kLoad = 1, kStore = 2, kNorm = 3 };
constexpr ConfigKind config_kind(const Command& command) {
  return static_cast<ConfigKind>(command.rs1 & 3);
}

struct ConfigEx {
  Dataflow dataflow = Dataflow::kWeightStationary;
  Activation activation = Activation::kNone;  // of results that go to the scratchpad
  bool strides_only = false;                  // change a_stride and c_stride, keep everything else
  bool transpose_a = false;
  bool transpose_b = false;
  uint16_t a_stride = 1;  // local rows from one row of A to the next
  uint16_t c_stride = 1;
  uint32_t in_shift = 0;  // rounding right shift of output-stationary results
  float acc_scale = 1.0f;
};
Command config_ex(const ConfigEx& config);
ConfigEx decode_config_ex(const Command& command);

struct ConfigLd {
  uint8_t state = 0;  // 0 mvin, 1 mvin2, 2 mvin3
  uint64_t dram_stride_bytes = 0;
  float scale = 1.0f;
  bool shrink = false;        // int8 in DRAM, int32 accumulator target
  uint16_t block_stride = 0;  // local rows from one dim-column block to the next
  uint8_t pixel_repeats = 1;  // 0 means 1
};
Command config_ld(const ConfigLd& config);
ConfigLd decode_config_ld(const Command& command);

// Pooling of an mvout; stride 0 means none. All in pixels.
struct Pooling {
  uint8_t stride = 0;
  uint8_t size = 0;
  uint8_t upper_pad = 0;
  uint8_t left_pad = 0;
  uint8_t out_dim = 0;  // width of the pooled image in DRAM
  uint8_t pooled_rows = 0;
  uint8_t pooled_cols = 0;
  uint8_t rows = 0;  // of the image held locally
  uint8_t cols = 0;
  bool operator==(const Pooling&) const = default;
};
struct ConfigSt {
  uint32_t dram_stride_bytes = 0;
  Activation activation = Activation::kNone;
  float acc_scale = 1.0f;
  Pooling pooling = {};
};
Command config_st(const ConfigSt& config);
ConfigSt decode_config_st(const Command& command);

// Only of use on builds with normalisations.
struct ConfigNorm {
  uint8_t statistic = 0;
  bool softmax = false;         // third bit of the store activation
  bool statistic_only = false;  // change `statistic`, keep everything else
  bool q_is_inverse_ln2 = false;
  int32_t q = 0;
  int32_t qb = 0;
  int32_t qc = 0;
};
Command config_norm(const ConfigNorm& config);
ConfigNorm decode_config_norm(const Command& command);

// --- Moves and computation
// -----------------------------------------------------------------------------------------

// DRAM -> local, by load state 0, 1 or 2; DRAM address 0 writes zeros.
Command mvin(uint64_t dram, Operand local, uint8_t state = 0);
inline Command mvin2(uint64_t dram, Operand local) {
  return mvin(dram, local, 1);
}
inline Command mvin3(uint64_t dram, Operand local) {
  return mvin(dram, local, 2);
}
// Local -> DRAM.
Command mvout(uint64_t dram, Operand local);

// Weight stationary: `stationary` is B. Output stationary: `stationary` is D. C is the result.
Command preload(Operand stationary, Operand c);
// Weight stationary: `streamed` is D. Output stationary: `streamed` is B. flip = "preloaded".
Command compute(bool flip, Operand a, Operand streamed);

Command flush();
Command fence();

// Load state of an mvin, mvin2 or mvin3; -1 for any other funct.
constexpr int load_state_of(uint32_t funct) {
  switch (static_cast<Funct>(funct)) {
    case Funct::kMvin:
      return 0;
    case Funct::kMvin2:
      return 1;
    case Funct::kMvin3:
      return 2;
    default:
      return -1;
  }
}

// One line for people, e.g. "mvin 0x100040 -> sp[0] 16x16". Any bits give some text.
std::string disassemble(const Command& command);

}  // namespace zomboss::gemmini
