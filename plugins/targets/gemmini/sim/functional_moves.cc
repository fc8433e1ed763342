#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plugins/targets/gemmini/sim/arithmetic.h"
#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/mesh.h"

namespace zomboss::gemmini {
namespace {

uint64_t blocks_of(uint64_t cols, uint64_t dim) {
  return (cols + dim - 1) / dim;
}

Status check_shape(const Machine& machine, Operand operand) {
  if (operand.rows > machine.dim || operand.cols > machine.max_block_columns()) {
    return invalid_argument(fmt::format("a move of {}x{} elements, the largest is {}x{}", operand.rows,
                                        operand.cols, machine.dim, machine.max_block_columns()));
  }
  return {};
}

Status check_last_row(const Machine& machine, uint32_t address, uint64_t last) {
  const bool accumulator = is_accumulator(address);
  const uint64_t rows = accumulator ? machine.accumulator_rows : machine.scratchpad_rows;
  if (last < rows) return {};
  return invalid_argument(fmt::format("reaches {} row {}, the last one is {}",
                                      accumulator ? "accumulator" : "scratchpad", last, rows - 1));
}

// `rows` rows of `bytes`, where many have the size of one vector register.
void copy_rows(uint8_t* to, size_t to_stride, const uint8_t* from, size_t from_stride, uint32_t rows,
               size_t bytes) {
  for (uint32_t r = 0; r < rows; ++r, to += to_stride, from += from_stride) {
    if (bytes == 16) {
      std::memcpy(to, from, 16);
    } else {
      std::memcpy(to, from, bytes);
    }
  }
}

// From the first byte of a move to its last one in DRAM; 0 for what is better looked at row by row.
uint64_t extent_of(uint64_t rows, uint64_t stride, uint64_t row_bytes) {
  return stride >> 40 == 0 ? (rows - 1) * stride + row_bytes : 0;
}

}  // namespace

Result<uint8_t*> FunctionalSimulator::dram_bytes(uint64_t address, uint64_t size) {
  if (uint8_t* bytes = dram_->find(address, size)) return bytes;
  const uint64_t missing = dram_->first_missing(address, size);
  return invalid_argument(fmt::format("DRAM address {:#x} is outside of the image", missing));
}

Status FunctionalSimulator::move_in(const Command& command) {
  const auto state_id = static_cast<uint32_t>(load_state_of(command.funct));
  if (state_id >= machine_.load_states) {
    return invalid_argument(
        fmt::format("load state {} does not exist, the machine has {}", state_id, machine_.load_states));
  }
  const LoadState& state = load_[state_id];
  const Operand target = decode_operand(command.rs2);
  ZB_TRY(check_shape(machine_, target));
  if (target.rows == 0 || target.cols == 0) return {};
  const bool accumulator = is_accumulator(target.address);
  const bool add = accumulator && (target.address & kAccumulateBit) != 0;
  const uint64_t first = target_row(target.address);
  const uint64_t block_rows = (blocks_of(target.cols, dim()) - 1) * state.config.block_stride;
  ZB_TRY(check_last_row(machine_, target.address, first + target.rows - 1 + block_rows));
  if (!accumulator && state.repeats() > 1 && state.repeats() * target.cols > dim()) {
    return invalid_argument(fmt::format("{} pixel repeats of {} columns exceed the {} of a row",
                                        state.repeats(), target.cols, dim()));
  }
  if (move_in_whole(state, target, command.rs1)) return {};
  const bool wide = accumulator && !state.config.shrink;
  const uint64_t row_bytes = target.cols * (wide ? uint64_t{4} : 1);
  if (command.rs1 == 0) {
    std::fill_n(row32_.begin(), target.cols, 0);
    std::fill_n(row8_.begin(), target.cols, int8_t{0});
  }
  for (uint64_t r = 0; r < target.rows; ++r) {
    const int8_t* values = row8_.data();
    if (command.rs1 != 0) {
      ZB_ASSIGN(const uint8_t* bytes,
                dram_bytes(command.rs1 + r * state.config.dram_stride_bytes, row_bytes));
      counts_.dram_read_bytes += row_bytes;
      if (wide) {
        std::memcpy(row32_.data(), bytes, row_bytes);
      } else {
        values = reinterpret_cast<const int8_t*>(bytes);
        if (state.config.scale != 1.0f) {
          scale_elements(values, state.config.scale, row8_.data(), target.cols);
          values = row8_.data();
        }
        if (accumulator) std::copy_n(values, target.cols, row32_.begin());
      }
    }
    if (accumulator) {
      load_accumulator_row(row32_.data(), first + r, state, target.cols, add);
    } else {
      load_scratchpad_row(state, values, first + r, target.cols);
    }
  }
  return {};
}

// The usual move, block by block: bytes as they are into the scratchpad, int32 over the accumulator. False,
// and nothing done, when it is something else or not all of its DRAM is there.
bool FunctionalSimulator::move_in_whole(const LoadState& state, Operand target, uint64_t dram) {
  const bool accumulator = is_accumulator(target.address);
  const ConfigLd& config = state.config;
  const bool plain = accumulator ? !config.shrink && (target.address & kAccumulateBit) == 0
                                 : config.scale == 1.0f && state.repeats() == 1;
  // Where blocks overlap, the order of the rows matters.
  if (!plain || dram == 0 || (target.cols > dim() && config.block_stride < target.rows)) return false;
  const uint64_t element = accumulator ? 4 : 1, row_bytes = target.cols * element;
  const uint64_t extent = extent_of(target.rows, config.dram_stride_bytes, row_bytes);
  const uint8_t* bytes = extent == 0 ? nullptr : dram_->find(dram, extent);
  if (bytes == nullptr) return false;
  auto* memory = accumulator ? reinterpret_cast<uint8_t*>(accumulator_.data())
                             : reinterpret_cast<uint8_t*>(scratchpad_.data());
  const uint64_t local_bytes = dim() * element, first = target_row(target.address);
  for (uint64_t block = 0; block * local_bytes < row_bytes; ++block) {
    copy_rows(memory + (first + block * config.block_stride) * local_bytes, local_bytes,
              bytes + block * local_bytes, config.dram_stride_bytes, target.rows,
              std::min(local_bytes, row_bytes - block * local_bytes));
  }
  counts_.dram_read_bytes += target.rows * row_bytes;
  return true;
}

void FunctionalSimulator::load_scratchpad_row(const LoadState& state, const int8_t* values, uint64_t row,
                                              uint32_t cols) {
  for (uint32_t col = 0; col < cols; col += dim()) {
    const uint64_t target = row + uint64_t{col / dim()} * state.config.block_stride;
    std::memcpy(scratchpad_.data() + target * dim(), values + col, std::min(dim(), cols - col));
  }
  // Repeated pixels: further copies in the rows before, each one further right.
  for (uint64_t repeat = 1; repeat < state.repeats() && repeat <= row; ++repeat) {
    std::memcpy(scratchpad_.data() + (row - repeat) * dim() + repeat * cols, values, cols);
  }
}

void FunctionalSimulator::load_accumulator_row(const int32_t* values, uint64_t row, const LoadState& state,
                                               uint32_t cols, bool add) {
  for (uint32_t col = 0; col < cols; ++col) {
    const uint64_t target = row + uint64_t{col / dim()} * state.config.block_stride;
    int32_t& element = accumulator_[target * dim() + col % dim()];
    element = add ? wrap_add(element, values[col]) : values[col];
  }
}

Status FunctionalSimulator::move_out(const Command& command) {
  const Operand source = decode_operand(command.rs2);
  if (store_.pooling.stride != 0) return move_out_pooled(source, command.rs1);
  ZB_TRY(check_shape(machine_, source));
  if (source.rows == 0 || source.cols == 0) return {};
  const uint64_t first = mvout_row(source.address);
  const uint64_t block_rows = (blocks_of(source.cols, dim()) - 1) * dim();
  ZB_TRY(check_last_row(machine_, source.address, first + source.rows - 1 + block_rows));
  if (move_out_whole(source, command.rs1)) return {};
  for (uint64_t r = 0; r < source.rows; ++r) {
    if (is_accumulator(source.address) && !fold_statistics(source, first + r)) continue;
    ZB_TRY(move_out_row(source, first + r, command.rs1 + r * store_.dram_stride_bytes));
  }
  return {};
}

// The usual move: scaled int8 without an activation other than relu, from the accumulator. False, and nothing
// done, when it is something else or not all of its DRAM is there.
bool FunctionalSimulator::move_out_whole(Operand source, uint64_t dram) {
  const bool plain = is_accumulator(source.address) && (source.address & kFullRowBit) == 0 &&
                     norm_command_of(source.address) == NormCommand::kReset &&
                     (store_.activation == Activation::kNone || store_.activation == Activation::kRelu);
  if (!plain) return false;
  const uint64_t extent = extent_of(source.rows, store_.dram_stride_bytes, source.cols);
  uint8_t* bytes = extent == 0 ? nullptr : dram_->find(dram, extent);
  if (bytes == nullptr) return false;
  normaliser_.fold({}, NormCommand::kReset);
  const bool relu = store_.activation == Activation::kRelu;
  for (uint32_t r = 0; r < source.rows; ++r, bytes += store_.dram_stride_bytes) {
    for (uint32_t col = 0; col < source.cols; col += dim()) {
      const int32_t* row = accumulator_.data() + (size_t{mvout_row(source.address)} + r + col) * dim();
      auto* target = reinterpret_cast<int8_t*>(bytes + col);
      const uint32_t count = std::min<uint32_t>(dim(), source.cols - col);
      scale_accumulators(row, store_.acc_scale, target, count);
      if (relu)
        std::transform(target, target + count, target, [](int8_t v) { return std::max<int8_t>(v, 0); });
    }
  }
  counts_.dram_written_bytes += uint64_t{source.rows} * source.cols;
  return true;
}

Status FunctionalSimulator::move_out_row(Operand source, uint64_t row, uint64_t dram) {
  const bool full = is_accumulator(source.address) && (source.address & kFullRowBit) != 0;
  const uint64_t size = source.cols * (full ? uint64_t{4} : 1);
  ZB_ASSIGN(uint8_t * bytes, dram_bytes(dram, size));
  counts_.dram_written_bytes += size;
  for (uint32_t col = 0; col < source.cols; col += dim()) {
    const uint32_t count = std::min<uint32_t>(dim(), source.cols - col);
    const uint64_t local = row + col;  // block b starts dim rows after block b - 1
    if (full) {
      std::memcpy(bytes + uint64_t{col} * 4, accumulator_.data() + local * dim(), uint64_t{count} * 4);
    } else {
      read_as_int8(source.address, local, count, reinterpret_cast<int8_t*>(bytes + col));
    }
  }
  return {};
}

// One row as the store path delivers it: scratchpad bytes as they are, accumulators activated, scaled,
// saturated.
void FunctionalSimulator::read_as_int8(uint32_t address, uint64_t row, uint32_t cols, int8_t* values) const {
  if (!is_accumulator(address)) {
    std::memcpy(values, scratchpad_.data() + row * dim(), cols);
    return;
  }
  const int32_t* source = accumulator_.data() + row * dim();
  const float scale = store_.acc_scale;
  switch (store_.activation) {
    case Activation::kNone:
    case Activation::kRelu:
      scale_accumulators(source, scale, values, cols);
      break;
    case Activation::kLayernorm:
      for (uint32_t n = 0; n < cols; ++n) {
        values[n] = scale_to_int8(static_cast<float>(normaliser_.layernorm(source[n])), scale);
      }
      break;
    case Activation::kIgelu:
      for (uint32_t n = 0; n < cols; ++n) {
        values[n] = scale_to_int8(static_cast<float>(normaliser_.igelu(source[n])), scale);
      }
      break;
    case Activation::kSoftmax:
      for (uint32_t n = 0; n < cols; ++n) {
        values[n] = scale_to_int8(static_cast<float>(normaliser_.softmax(source[n])), scale);
      }
      break;
  }
  if (store_.activation == Activation::kRelu) {
    for (uint32_t n = 0; n < cols; ++n) values[n] = std::max<int8_t>(values[n], 0);
  }
}

// Updates the statistics of a row. True when the row is also to be written.
bool FunctionalSimulator::fold_statistics(Operand source, uint64_t row) {
  using enum NormCommand;
  const NormCommand norm = norm_command_of(source.address);
  for (uint32_t col = 0; col < source.cols; col += dim()) {
    const bool last = col + dim() >= source.cols;
    NormCommand block_norm = norm;
    if (!last && norm == kMean) block_norm = kSum;
    if (!last && norm == kInvStddev) block_norm = kVariance;
    if (!last && norm == kInvSumExp) block_norm = kSumExp;
    const uint32_t count = std::min<uint32_t>(dim(), source.cols - col);
    normaliser_.fold({accumulator_.data() + (row + col) * dim(), count}, block_norm);
  }
  return norm == kReset;
}

Status FunctionalSimulator::move_out_pooled(Operand source, uint64_t dram) {
  const Pooling& pool = store_.pooling;
  if (source.cols > dim()) {
    return invalid_argument(fmt::format("a pooled move of {} channels, the most is {}", source.cols, dim()));
  }
  if (source.cols == 0) return {};
  for (uint32_t row = 0; row < pool.pooled_rows; ++row) {
    for (uint32_t col = 0; col < pool.pooled_cols; ++col) {
      const uint64_t pixel = uint64_t{row} * pool.out_dim + col;
      ZB_TRY(pooled_pixel(source, row, col, row8_.data()));
      ZB_ASSIGN(uint8_t * bytes, dram_bytes(dram + pixel * store_.dram_stride_bytes, source.cols));
      std::memcpy(bytes, row8_.data(), source.cols);
      counts_.dram_written_bytes += source.cols;
    }
  }
  return {};
}

// The channel-wise maximum of one window; pixels outside the local image count as 0.
Status FunctionalSimulator::pooled_pixel(Operand source, uint32_t out_row, uint32_t out_col,
                                         int8_t* values) const {
  const Pooling& pool = store_.pooling;
  int8_t element[kMaxDim];
  std::fill_n(values, source.cols, pool.size == 0 ? int8_t{0} : int8_t{-128});
  for (int wrow = 0; wrow < pool.size; ++wrow) {
    for (int wcol = 0; wcol < pool.size; ++wcol) {
      const int row = static_cast<int>(out_row) * pool.stride + wrow - pool.upper_pad;
      const int col = static_cast<int>(out_col) * pool.stride + wcol - pool.left_pad;
      if (row < 0 || col < 0 || row >= pool.rows || col >= pool.cols) {
        std::fill_n(element, source.cols, int8_t{0});
      } else {
        const uint64_t local = mvout_row(source.address) + static_cast<uint64_t>(row * pool.cols + col);
        ZB_TRY(check_last_row(machine_, source.address, local));
        read_as_int8(source.address, local, source.cols, element);
      }
      for (uint32_t n = 0; n < source.cols; ++n) values[n] = std::max(values[n], element[n]);
    }
  }
  return {};
}

}  // namespace zomboss::gemmini
