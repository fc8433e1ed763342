#include <fmt/format.h>

#include <string>

#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/loop_command.h"

namespace zomboss::gemmini {
namespace {

std::string operand_text(uint64_t word, bool source_of_mvout = false) {
  const Operand operand = decode_operand(word);
  std::string place;
  if (operand.address == kGarbage) {
    place = "garbage";
  } else {
    const uint32_t row = source_of_mvout ? mvout_row(operand.address) : target_row(operand.address);
    place = fmt::format("{}[{}]", is_accumulator(operand.address) ? "acc" : "sp", row);
    if (source_of_mvout && norm_command_of(operand.address) != NormCommand::kReset) {
      place += fmt::format(" norm={}", static_cast<int>(norm_command_of(operand.address)));
    }
    if (is_accumulator(operand.address) && (operand.address & kAccumulateBit) != 0) place += "+=";
    if (source_of_mvout && (operand.address & kFullRowBit) != 0) place += " full";
  }
  return fmt::format("{} {}x{}", place, operand.rows, operand.cols);
}

std::string config_text(const Command& command) {
  switch (config_kind(command)) {
    case ConfigKind::kExecute: {
      const ConfigEx c = decode_config_ex(command);
      return fmt::format(
          "config_ex {} act={}{} ta={:d} tb={:d} a_stride={} c_stride={} shift={} acc_scale={}",
          c.dataflow == Dataflow::kWeightStationary ? "ws" : "os", static_cast<int>(c.activation),
          c.strides_only ? " strides_only" : "", c.transpose_a, c.transpose_b, c.a_stride, c.c_stride,
          c.in_shift, c.acc_scale);
    }
    case ConfigKind::kLoad: {
      const ConfigLd c = decode_config_ld(command);
      return fmt::format("config_ld state={} stride={} scale={} shrink={:d} block_stride={} repeats={}",
                         c.state, c.dram_stride_bytes, c.scale, c.shrink, c.block_stride, c.pixel_repeats);
    }
    case ConfigKind::kStore: {
      const ConfigSt c = decode_config_st(command);
      return fmt::format("config_st stride={} act={} scale={} pool={}x{}", c.dram_stride_bytes,
                         static_cast<int>(c.activation), c.acc_scale, c.pooling.size, c.pooling.stride);
    }
    case ConfigKind::kNorm:
      break;
  }
  const ConfigNorm c = decode_config_norm(command);
  return fmt::format("config_norm statistic={}{} softmax={:d} q={} qb={} qc={}", c.statistic,
                     c.statistic_only ? " only" : "", c.softmax, c.q, c.qb, c.qc);
}

const char* loop_name(Funct funct) {
  switch (funct) {
    case Funct::kLoopWs:
      return "loop_ws";
    case Funct::kLoopWsBounds:
      return "loop_ws_bounds";
    case Funct::kLoopWsAddressAB:
      return "loop_ws_address_ab";
    case Funct::kLoopWsAddressDC:
      return "loop_ws_address_dc";
    case Funct::kLoopWsStrideAB:
      return "loop_ws_stride_ab";
    case Funct::kLoopWsStrideDC:
      return "loop_ws_stride_dc";
    case Funct::kLoopConv:
      return "loop_conv";
    case Funct::kLoopConvShape:
      return "loop_conv_shape";
    case Funct::kLoopConvKernel:
      return "loop_conv_kernel";
    case Funct::kLoopConvPads:
      return "loop_conv_pads";
    case Funct::kLoopConvTile:
      return "loop_conv_tile";
    case Funct::kLoopConvAddressWO:
      return "loop_conv_address_wo";
    case Funct::kLoopConvAddressBI:
      return "loop_conv_address_bi";
    case Funct::kClockGate:
      return "clock_gate";
    case Funct::kCounter:
      return "counter";
    case Funct::kFlush:
      return "flush";
    default:
      return nullptr;
  }
}

}  // namespace

std::string disassemble(const Command& command) {
  const auto funct = static_cast<Funct>(command.funct);
  switch (funct) {
    case Funct::kConfig:
      return config_text(command);
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3: {
      const int state = load_state_of(command.funct);
      return fmt::format("mvin{} {:#x} -> {}", state == 0 ? "" : std::to_string(state + 1), command.rs1,
                         operand_text(command.rs2));
    }
    case Funct::kMvout:
      return fmt::format("mvout {} -> {:#x}", operand_text(command.rs2, true), command.rs1);
    case Funct::kPreload:
      return fmt::format("preload {} result {}", operand_text(command.rs1), operand_text(command.rs2));
    case Funct::kComputeFlip:
    case Funct::kComputeStay:
      return fmt::format("compute_{} {}, {}", funct == Funct::kComputeFlip ? "preloaded" : "accumulated",
                         operand_text(command.rs1), operand_text(command.rs2));
    case Funct::kFence:
      return "fence";
    default:
      break;
  }
  const char* name = loop_name(funct);
  if (name == nullptr)
    return fmt::format("illegal funct={} rs1={:#x} rs2={:#x}", command.funct, command.rs1, command.rs2);
  return fmt::format("{} rs1={:#x} rs2={:#x}", name, command.rs1, command.rs2);
}

}  // namespace zomboss::gemmini
