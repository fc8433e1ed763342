#include "plugins/targets/gemmini/command_check.h"

#include <fmt/format.h>

namespace zomboss::gemmini {

std::optional<std::string> CommandCheck::next(const Command& command) {
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kConfig: {
      const ConfigKind kind = config_kind(command);
      if (kind == ConfigKind::kExecute) execute_configured_ = true;
      if (kind == ConfigKind::kStore) store_ = decode_config_st(command);
      if (kind == ConfigKind::kLoad) {
        const ConfigLd config = decode_config_ld(command);
        if (config.state >= machine_.load_states)
          return fmt::format("there are {} load states, no number {}", machine_.load_states, config.state);
        load_[config.state] = config;
      }
      return std::nullopt;
    }
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
      return check_load(command);
    case Funct::kMvout:
      return check_store(command);
    case Funct::kComputeFlip:
    case Funct::kComputeStay:
    case Funct::kPreload:
      if (!execute_configured_) return "needs a config_ex before it";
      if (auto why = check_local("the first operand", command.rs1)) return why;
      return check_local("the second operand", command.rs2);
    case Funct::kFlush:
    case Funct::kLoopWs:
    case Funct::kLoopWsBounds:
    case Funct::kLoopWsAddressAB:
    case Funct::kLoopWsAddressDC:
    case Funct::kLoopWsStrideAB:
    case Funct::kLoopWsStrideDC:
    case Funct::kLoopConv:
    case Funct::kLoopConvShape:
    case Funct::kLoopConvKernel:
    case Funct::kLoopConvPads:
    case Funct::kLoopConvTile:
    case Funct::kLoopConvAddressWO:
    case Funct::kLoopConvAddressBI:
    case Funct::kFence:
      return std::nullopt;
    default:
      return fmt::format("{} is no command that kernels here may use", command.funct);
  }
}

std::optional<std::string> CommandCheck::check_load(const Command& command) {
  const auto state = static_cast<size_t>(load_state_of(command.funct));
  const Operand local = decode_operand(command.rs2);
  if (!load_[state]) return fmt::format("load state {} is not configured", state);
  const bool wide = is_accumulator(local.address) && !load_[state]->shrink;
  const uint64_t bytes = uint64_t{local.cols} * (wide ? 4 : 1);
  if (local.rows == 0 || local.rows > machine_.dim || local.cols == 0 || bytes > machine_.max_move_bytes)
    return fmt::format("moves {} x {} elements; at most {} rows of {} bytes", local.rows, local.cols,
                       machine_.dim, machine_.max_move_bytes);
  const uint64_t rows = is_accumulator(local.address) ? machine_.accumulator_rows : machine_.scratchpad_rows;
  const uint64_t blocks = (local.cols + machine_.dim - 1) / machine_.dim;
  const uint64_t end = target_row(local.address) + (blocks - 1) * load_[state]->block_stride + local.rows;
  if (end > rows) return fmt::format("reaches local row {}, there are {}", end - 1, rows);
  if (command.rs1 == 0) return std::nullopt;
  return check_dram(command.rs1, local.rows, bytes, load_[state]->dram_stride_bytes, false);
}

std::optional<std::string> CommandCheck::check_store(const Command& command) {
  const Operand local = decode_operand(command.rs2);
  if (!store_) return "needs a config_st before it";
  const bool accumulator = is_accumulator(local.address);
  const uint64_t rows = accumulator ? machine_.accumulator_rows : machine_.scratchpad_rows;
  if (store_->pooling.stride != 0) return std::nullopt;  // the simulator checks pooled moves
  const uint64_t bytes = uint64_t{local.cols} * (accumulator && (local.address & kFullRowBit) != 0 ? 4 : 1);
  if (local.rows == 0 || local.rows > machine_.dim || local.cols == 0 || bytes > machine_.max_move_bytes)
    return fmt::format("moves {} x {} elements; at most {} rows of {} bytes", local.rows, local.cols,
                       machine_.dim, machine_.max_move_bytes);
  const uint64_t blocks = (local.cols + machine_.dim - 1) / machine_.dim;
  const uint64_t end = mvout_row(local.address) + (blocks - 1) * machine_.dim + local.rows;
  if (end > rows) return fmt::format("reaches local row {}, there are {}", end - 1, rows);
  return check_dram(command.rs1, local.rows, bytes, store_->dram_stride_bytes, true);
}

std::optional<std::string> CommandCheck::check_local(const char* what, uint64_t word) const {
  const Operand local = decode_operand(word);
  if (local.rows > machine_.dim || local.cols > machine_.dim)
    return fmt::format("{} has {} x {} elements, the array {} x {}", what, local.rows, local.cols,
                       machine_.dim, machine_.dim);
  if (local.address == kGarbage) return std::nullopt;
  const uint64_t rows = is_accumulator(local.address) ? machine_.accumulator_rows : machine_.scratchpad_rows;
  if (target_row(local.address) >= rows)
    return fmt::format("{} begins at local row {}, there are {}", what, target_row(local.address), rows);
  return std::nullopt;
}

std::optional<std::string> CommandCheck::check_dram(uint64_t address, uint64_t rows, uint64_t bytes,
                                                    uint64_t stride, bool store) const {
  if (stride > uint64_t{1} << 40) return fmt::format("has DRAM rows {} bytes apart", stride);
  const uint64_t size = (rows - 1) * stride + bytes;
  for (const auto& buffer : program_.buffers) {
    if (address < buffer->address || address - buffer->address >= buffer->bytes) continue;
    if (size > buffer->bytes - (address - buffer->address))
      return fmt::format("reaches {:#x}, {} bytes behind the end of buffer '{}'", address + size - 1,
                         address - buffer->address + size - buffer->bytes, buffer->name);
    if (store && buffer->role != wire::BufferRole::Output && buffer->role != wire::BufferRole::Scratch)
      return fmt::format("stores into buffer '{}', an input or constant", buffer->name);
    return std::nullopt;
  }
  return fmt::format("DRAM address {:#x} is in no buffer", address);
}

}  // namespace zomboss::gemmini
