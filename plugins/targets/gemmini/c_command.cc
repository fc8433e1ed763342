#include "plugins/targets/gemmini/c_command.h"

#include <fmt/format.h>

#include <bit>

namespace zomboss::gemmini {
namespace {

std::string raw(const std::string& rs1, const Command& command) {
  return fmt::format("ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, {}, 0x{:x}u, {});", rs1, command.rs2,
                     command.funct);
}
std::string raw(const Command& command) {
  return raw(fmt::format("0x{:x}u", command.rs1), command);
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
    return fmt::format("gemmini_extended5_config_ld(0x{:x}u, {}, {}, {}, {}, {});", config.dram_stride_bytes,
                       c_float(config.scale), static_cast<int>(config.shrink), config.block_stride,
                       config.pixel_repeats, config.state);
  }
  if (config_kind(command) == ConfigKind::kStore) {
    const ConfigSt config = decode_config_st(command);
    if (config_st(config) != command || config.pooling != Pooling{}) return raw(command);
    return fmt::format("gemmini_extended_config_st(0x{:x}u, {}, {});", config.dram_stride_bytes,
                       static_cast<int>(config.activation), c_float(config.acc_scale));
  }
  return raw(command);
}

std::string move_statement(const wire::ProgramT& program, const Command& command) {
  const CAddress at = c_address(program, command);
  const Operand local = decode_operand(command.rs2);
  std::string address;
  if (at.buffer >= 0)
    address =
        fmt::format("(int8_t *){} + {}", c_buffer_name(program, static_cast<size_t>(at.buffer)), at.offset);
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

// rs1 and rs2 are DRAM addresses each, 0 for none.
std::string loop_address_statement(const wire::ProgramT& program, const Command& command) {
  const auto word = [&](uint64_t address) {
    const CAddress at = c_address(program, {static_cast<uint32_t>(Funct::kMvin), address, 0});
    if (at.buffer < 0) return fmt::format("0x{:x}u", address);
    return fmt::format("(uintptr_t){} + {}", c_buffer_name(program, static_cast<size_t>(at.buffer)),
                       at.offset);
  };
  return fmt::format("ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, {}, {}, {});", word(command.rs1),
                     word(command.rs2), command.funct);
}

std::string operands_statement(const char* name, const Command& command) {
  const Operand first = decode_operand(command.rs1), second = decode_operand(command.rs2);
  return fmt::format("{}(0x{:x}u, 0x{:x}u, {}, {}, {}, {});", name, first.address, second.address, first.cols,
                     first.rows, second.cols, second.rows);
}

}  // namespace

std::string c_buffer_name(const wire::ProgramT& program, size_t number) {
  const wire::BufferT& buffer = *program.buffers[number];
  if (buffer.role == wire::BufferRole::Input) return fmt::format("input_{}", buffer.index);
  if (buffer.role == wire::BufferRole::Output) return fmt::format("output_{}", buffer.index);
  return fmt::format("buffer_{}", number);
}

CAddress c_address(const wire::ProgramT& program, const Command& command) {
  const bool moves = load_state_of(command.funct) >= 0 || static_cast<Funct>(command.funct) == Funct::kMvout;
  if (!moves || command.rs1 == 0) return {};
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const wire::BufferT& buffer = *program.buffers[i];
    if (command.rs1 >= buffer.address && command.rs1 - buffer.address < buffer.bytes)
      return {static_cast<int>(i), command.rs1 - buffer.address};
  }
  return {};
}

std::string c_statement(const wire::ProgramT& program, const Command& command) {
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kConfig:
      return config_statement(command);
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
    case Funct::kMvout:
      return move_statement(program, command);
    case Funct::kPreload:
      return operands_statement("gemmini_extended_preload", command);
    case Funct::kComputeFlip:
      return operands_statement("gemmini_extended_compute_preloaded", command);
    case Funct::kComputeStay:
      return operands_statement("gemmini_extended_compute_accumulated", command);
    case Funct::kLoopWsAddressAB:
    case Funct::kLoopWsAddressDC:
      return loop_address_statement(program, command);
    case Funct::kFence:
      return "gemmini_fence();";
    default:
      return raw(command);
  }
}

}  // namespace zomboss::gemmini
