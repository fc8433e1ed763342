#include "plugins/targets/gemmini/c_command.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::gemmini {
namespace {

// All 64 bits of a register. A literal of 32 bits would reach it with its highest bit repeated.
std::string c_word(const wire::ProgramT& program, CWord word) {
  if (word.buffer < 0) return fmt::format("0x{:x}ull", word.value);
  return fmt::format("(uintptr_t){} + {}", c_buffer_name(program, static_cast<size_t>(word.buffer)),
                     word.value);
}

std::string raw(const wire::ProgramT& program, const CWords& words, uint32_t funct) {
  return fmt::format("ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, {}, {}, {});", c_word(program, words.rs1),
                     c_word(program, words.rs2), funct);
}
std::string raw(const Command& command) {
  return raw({}, {{-1, command.rs1}, {-1, command.rs2}}, command.funct);
}

// Exact in C: hexadecimal floating point.
std::string c_float(float value) {
  return fmt::format("{:a}f", value);
}

std::string config_statement(const Command& command) {
  if (config_kind(command) == ConfigKind::kExecute) {
    const ConfigEx config = decode_config_ex(command);
    if (config_ex(config) != command || config.activation > Activation::kRelu) return raw(command);
    return fmt::format(
        "gemmini_extended3_config_ex({}, {}, {}, {}, {}, {}, {}, {}, {});",
        config.dataflow == Dataflow::kWeightStationary ? "WEIGHT_STATIONARY" : "OUTPUT_STATIONARY",
        static_cast<int>(config.activation), config.in_shift, c_float(config.acc_scale), config.c_stride,
        config.a_stride, static_cast<int>(config.transpose_a), static_cast<int>(config.transpose_b),
        static_cast<int>(config.strides_only));
  }
  if (config_kind(command) == ConfigKind::kLoad) {
    const ConfigLd config = decode_config_ld(command);
    if (config_ld(config) != command) return raw(command);
    return fmt::format("gemmini_extended5_config_ld(0x{:x}ull, {}, {}, {}, {}, {});",
                       config.dram_stride_bytes, c_float(config.scale), static_cast<int>(config.shrink),
                       config.block_stride, config.pixel_repeats, config.state);
  }
  if (config_kind(command) == ConfigKind::kStore) {
    const ConfigSt config = decode_config_st(command);
    if (config_st(config) != command || config.pooling != Pooling{}) return raw(command);
    return fmt::format("gemmini_extended_config_st(0x{:x}u, {}, {});", config.dram_stride_bytes,
                       static_cast<int>(config.activation), c_float(config.acc_scale));
  }
  return raw(command);
}

std::string move_statement(const wire::ProgramT& program, const Command& command, CWord at) {
  const Operand local = decode_operand(command.rs2);
  std::string address;
  if (at.buffer >= 0)
    address =
        fmt::format("(int8_t *){} + {}", c_buffer_name(program, static_cast<size_t>(at.buffer)), at.value);
  else if (command.rs1 == 0)
    address = "(void *)0";
  else
    return raw(command);
  const char* name = static_cast<Funct>(command.funct) == Funct::kMvin2   ? "gemmini_extended_mvin2"
                     : static_cast<Funct>(command.funct) == Funct::kMvin3 ? "gemmini_extended_mvin3"
                     : static_cast<Funct>(command.funct) == Funct::kMvin  ? "gemmini_extended_mvin"
                                                                          : "gemmini_extended_mvout";
  return fmt::format("{}({}, 0x{:x}u, {}, {});", name, address, local.address, local.cols, local.rows);
}

std::string operands_statement(const char* name, const Command& command) {
  const Operand first = decode_operand(command.rs1), second = decode_operand(command.rs2);
  return fmt::format("{}(0x{:x}u, 0x{:x}u, {}, {}, {}, {});", name, first.address, second.address, first.cols,
                     first.rows, second.cols, second.rows);
}

// Which registers of a command are DRAM addresses.
struct Addresses {
  bool rs1 = false, rs2 = false;
};
Addresses addresses_of(uint32_t funct) {
  switch (static_cast<Funct>(funct)) {
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
    case Funct::kMvout:
      return {true, false};
    case Funct::kLoopWsAddressAB:
    case Funct::kLoopWsAddressDC:
    case Funct::kLoopConvAddressWO:
    case Funct::kLoopConvAddressBI:
      return {true, true};
    default:
      return {};
  }
}

Result<CWord> word_of(const wire::ProgramT& program, uint64_t word, bool is_address) {
  uint64_t lowest = UINT64_MAX;
  for (size_t i = 0; is_address && i < program.buffers.size(); ++i) {
    const wire::BufferT& buffer = *program.buffers[i];
    lowest = std::min(lowest, buffer.address);
    if (word >= buffer.address && word - buffer.address < buffer.bytes)
      return CWord{static_cast<int>(i), word - buffer.address};
  }
  if (!is_address || word < lowest) return CWord{-1, word};
  return invalid_argument(fmt::format("gemmini: the address 0x{:x} is in no buffer", word));
}

}  // namespace

std::string c_buffer_name(const wire::ProgramT& program, size_t number) {
  const wire::BufferT& buffer = *program.buffers[number];
  if (buffer.role == wire::BufferRole::Input) return fmt::format("input_{}", buffer.index);
  if (buffer.role == wire::BufferRole::Output) return fmt::format("output_{}", buffer.index);
  return fmt::format("buffer_{}", number);
}

Result<CWords> c_words(const wire::ProgramT& program, const Command& command) {
  const Addresses addresses = addresses_of(command.funct);
  CWords words;
  ZB_ASSIGN(words.rs1, word_of(program, command.rs1, addresses.rs1));
  ZB_ASSIGN(words.rs2, word_of(program, command.rs2, addresses.rs2));
  return words;
}

Result<std::string> c_statement(const wire::ProgramT& program, const Command& command) {
  ZB_ASSIGN(const CWords words, c_words(program, command));
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kConfig:
      return config_statement(command);
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
    case Funct::kMvout:
      return move_statement(program, command, words.rs1);
    case Funct::kPreload:
      return operands_statement("gemmini_extended_preload", command);
    case Funct::kComputeFlip:
      return operands_statement("gemmini_extended_compute_preloaded", command);
    case Funct::kComputeStay:
      return operands_statement("gemmini_extended_compute_accumulated", command);
    case Funct::kFence:
      return std::string("gemmini_fence();");
    default:
      return raw(program, words, command.funct);
  }
}

}  // namespace zomboss::gemmini
