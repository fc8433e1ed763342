#include "plugins/targets/gemmini/sim/strict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zomboss::gemmini {
namespace {

Status refuse(std::string rule) {
  return failed_precondition("strict: " + std::move(rule));
}

}  // namespace

CommonGround::CommonGround(const Machine& machine)
    : machine_(machine),
      scratchpad_written_(machine.scratchpad_rows),
      accumulator_written_(machine.accumulator_rows) {}

Status CommonGround::check_loop(const Command& command) {
  in_loop_ = false;
  LoopConv ignored;
  if (latch(ignored, command)) return refuse("convolution loops were never compared with the hardware");
  if (!latch(loop_, command)) return {};
  if (command.funct != static_cast<uint32_t>(Funct::kLoopWs)) return {};
  in_loop_ = true;
  std::fill(scratchpad_written_.begin(), scratchpad_written_.end(), false);
  std::fill(accumulator_written_.begin(), accumulator_written_.end(), false);
  return check_run(loop_);
}

// A run may not load into a half that the run before, still in flight, was forced to use as well.
Status CommonGround::check_run(const LoopWs& loop) {
  const bool a_hazard = loop.a != 0 && loop.a_scratchpad_id != 0 && loop.a_scratchpad_id == last_a_id_;
  const bool b_hazard = loop.b != 0 && loop.b_scratchpad_id != 0 && loop.b_scratchpad_id == last_b_id_;
  last_a_id_ = loop.a_scratchpad_id;
  last_b_id_ = loop.b_scratchpad_id;
  if (a_hazard || b_hazard) {
    return refuse(
        fmt::format("two loop_ws runs load {} into the same forced scratchpad half without a fence between",
                    a_hazard ? "A" : "B"));
  }
  return {};
}

Status CommonGround::check(const Command& command) {
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kConfig:
      return check_config(command);
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
      return check_mvin(command);
    case Funct::kMvout:
      return check_mvout(command);
    case Funct::kPreload:
      stationary_ = decode_operand(command.rs1);
      result_ = decode_operand(command.rs2);
      preloaded_ = true;
      return {};
    case Funct::kComputeFlip:
      return check_compute(command, true);
    case Funct::kComputeStay:
      return check_compute(command, false);
    case Funct::kFence:
      last_a_id_ = last_b_id_ = 0;
      moved_banks_ = result_banks_ = 0;
      return {};
    default:
      return {};
  }
}

Status CommonGround::check_config(const Command& command) {
  switch (config_kind(command)) {
    case ConfigKind::kExecute: {
      const ConfigEx config = decode_config_ex(command);
      if (config.strides_only) {
        ex_.a_stride = config.a_stride;
        ex_.c_stride = config.c_stride;
        return {};
      }
      if (config.activation > Activation::kRelu)
        return refuse("normalisation activations need another build");
      if (config.dataflow != ex_.dataflow) flipped_ = false;
      ex_ = config;
      ex_configured_ = true;
      return {};
    }
    case ConfigKind::kLoad: {
      const ConfigLd config = decode_config_ld(command);
      if (config.state > 2) return {};  // an error of the functional model
      if (!std::isfinite(config.scale)) return refuse("the mvin scale is not finite");
      load_[config.state] = config;
      load_configured_[config.state] = true;
      return {};
    }
    case ConfigKind::kStore: {
      const ConfigSt config = decode_config_st(command);
      if (!std::isfinite(config.acc_scale)) return refuse("the accumulator scale is not finite");
      if (config.activation > Activation::kRelu)
        return refuse("normalisation activations need another build");
      if (config.pooling.stride == 0 && config.pooling.size != 0) {
        return refuse("a pool size without a pool stride is another kind of move on the hardware");
      }
      store_ = config;
      store_configured_ = true;
      return {};
    }
    case ConfigKind::kNorm:
      break;
  }
  return refuse("normalisation commands need another build");
}

Status CommonGround::read_rows(const char* what, uint32_t address, uint64_t count, uint64_t stride) {
  if (in_loop_) return {};
  const std::vector<bool>& written = is_accumulator(address) ? accumulator_written_ : scratchpad_written_;
  for (uint64_t n = 0; n < count; ++n) {
    const uint64_t row = target_row(address) + n * stride;
    if (row >= written.size()) return {};  // an error of the functional model
    if (!written[row]) {
      return refuse(
          fmt::format("{} reads {} row {}, which holds nothing defined on the hardware (never written, or "
                      "placed by a loop)",
                      what, is_accumulator(address) ? "accumulator" : "scratchpad", row));
    }
  }
  return {};
}

void CommonGround::write_rows(uint32_t address, uint64_t count, uint64_t stride) {
  if (in_loop_) return;
  std::vector<bool>& written = is_accumulator(address) ? accumulator_written_ : scratchpad_written_;
  for (uint64_t n = 0; n < count; ++n) {
    const uint64_t row = target_row(address) + n * stride;
    if (row < written.size()) written[row] = true;
  }
}

// One adder array serves all accumulator banks: a move and a result that add to different banks at the same
// time corrupt each other. Times are unknown here, so they must be separated by a fence.
Status CommonGround::check_shared_adder(uint32_t move_bank, uint32_t result_bank) {
  constexpr uint32_t kNone = ~0u;
  if (move_bank != kNone) moved_banks_ |= uint64_t{1} << (move_bank & 63);
  if (result_bank != kNone) result_banks_ |= uint64_t{1} << (result_bank & 63);
  const bool one_bank = (moved_banks_ | result_banks_) == moved_banks_ && moved_banks_ == result_banks_ &&
                        (moved_banks_ & (moved_banks_ - 1)) == 0;
  if (moved_banks_ == 0 || result_banks_ == 0 || one_bank) return {};
  return refuse(
      "an accumulating mvin and an accumulating result use different accumulator banks without a fence "
      "between them");
}

Status CommonGround::check_mvin(const Command& command) {
  const auto state = static_cast<size_t>(load_state_of(command.funct));
  if (!load_configured_[state]) return refuse(fmt::format("load state {} was never configured", state));
  const ConfigLd& config = load_[state];
  const Operand target = decode_operand(command.rs2);
  const bool accumulator = is_accumulator(target.address);
  const bool wide = accumulator && !config.shrink,
             add = accumulator && (target.address & kAccumulateBit) != 0;
  if (target.rows == 0 || target.cols == 0) return refuse("a move of no elements");
  if (wide && uint64_t{target.cols} * 4 > machine_.max_move_bytes) {
    return refuse(fmt::format("a move of {} int32 columns, more than {} bytes a row", target.cols,
                              machine_.max_move_bytes));
  }
  if (config.block_stride < target.rows) {
    return refuse(fmt::format("the block stride {} is less than the {} rows of the move", config.block_stride,
                              target.rows));
  }
  if (command.rs1 == 0 && accumulator && config.shrink) {
    return refuse("a move of zeros through a shrinking load state into the accumulator");
  }
  const uint64_t stride = target.rows > 1 ? config.dram_stride_bytes : 0;
  if (wide && add && command.rs1 != 0 && ((command.rs1 | stride) & 3) != 0) {
    return refuse(fmt::format("an accumulating int32 move from {:#x}, not aligned to 4 bytes", command.rs1));
  }
  const uint64_t first = target_row(target.address), half = machine_.scratchpad_rows / 2;
  const uint64_t repeats = std::max<uint64_t>(config.pixel_repeats, 1);
  if (!accumulator && repeats > 1) {
    if (first >= half && first < half + repeats - 1)
      return refuse("pixel repeats cross the middle of the scratchpad");
    const uint64_t before = std::min(repeats - 1, first);
    write_rows(static_cast<uint32_t>(first - before), before, 1);
  }
  if (add) {
    ZB_TRY(read_rows("an accumulating move", target.address, target.rows, 1));
    if (!in_loop_)
      ZB_TRY(check_shared_adder(static_cast<uint32_t>(first / machine_.accumulator_bank_rows()), ~0u));
  }
  for (uint32_t block = 0; block * machine_.dim < target.cols; ++block) {
    write_rows(target.address + block * config.block_stride, target.rows, 1);
  }
  return {};
}

Status CommonGround::check_mvout(const Command& command) {
  if (!store_configured_) return refuse("the store was never configured");
  const Operand source = decode_operand(command.rs2);
  const bool accumulator = is_accumulator(source.address);
  if (accumulator && norm_command_of(source.address) != NormCommand::kReset) {
    return refuse("normalisation commands need another build");
  }
  const bool full = accumulator && (source.address & kFullRowBit) != 0;
  if (full && source.cols > machine_.dim) return refuse("a full-width move out of more than one block");
  if (accumulator && !full && store_.activation == Activation::kRelu && std::signbit(store_.acc_scale)) {
    return refuse("relu with a negative accumulator scale");
  }
  const uint32_t address = (source.address & kAccumulatorBit) | mvout_row(source.address);
  if (store_.pooling.stride != 0) {
    return read_rows("a pooled move", address, uint64_t{store_.pooling.rows} * store_.pooling.cols, 1);
  }
  if (source.rows == 0 || source.cols == 0) return refuse("a move of no elements");
  for (uint32_t block = 0; block * machine_.dim < source.cols; ++block) {
    ZB_TRY(read_rows("a move out", address + block * machine_.dim, source.rows, 1));
  }
  return {};
}

Status CommonGround::check_compute(const Command& command, bool flip) {
  if (!ex_configured_) return refuse("the execution was never configured");
  if (!preloaded_) return refuse("a computation without a preload before it");
  preloaded_ = false;
  const Operand a = decode_operand(command.rs1), streamed = decode_operand(command.rs2);
  for (const Operand& operand : {a, streamed, stationary_, result_}) {
    if (operand.rows > machine_.dim || operand.cols > machine_.dim) {
      return refuse(fmt::format("an operand of {}x{} elements, the array has {}", operand.rows, operand.cols,
                                machine_.dim));
    }
  }
  if (a.address == kGarbage) return refuse("A is garbage");
  if (!flip && !flipped_)
    return refuse("a computation continues on what the array held before this dataflow");
  flipped_ = flipped_ || flip;
  const bool weight_stationary = ex_.dataflow == Dataflow::kWeightStationary;
  if (weight_stationary && flip && stationary_.address == kGarbage && last_compute_rows_ < machine_.dim) {
    return refuse(
        fmt::format("a garbage preload is taken into the array after a computation of {} rows: old weights "
                    "stay",
                    last_compute_rows_));
  }
  last_compute_rows_ = a.rows;
  ZB_TRY(read_rows("A", a.address, ex_.transpose_a ? a.cols : a.rows, ex_.a_stride));
  if (streamed.address != kGarbage) {
    const bool transposed = !weight_stationary && ex_.transpose_b;
    ZB_TRY(read_rows(weight_stationary ? "D" : "B", streamed.address,
                     transposed ? streamed.cols : streamed.rows, 1));
  }
  if (flip && stationary_.address != kGarbage) {
    const bool transposed = weight_stationary && ex_.transpose_b;
    ZB_TRY(read_rows(weight_stationary ? "B" : "D", stationary_.address,
                     transposed ? stationary_.cols : stationary_.rows, 1));
  }
  if (!weight_stationary) ZB_TRY(check_output_stationary(flip));
  if (result_.address == kGarbage) return {};
  if (is_accumulator(result_.address) && (result_.address & kAccumulateBit) != 0) {
    ZB_TRY(read_rows("an accumulating result", result_.address, result_.rows, ex_.c_stride));
    if (!in_loop_) {
      ZB_TRY(check_shared_adder(~0u, target_row(result_.address) / machine_.accumulator_bank_rows()));
    }
  }
  write_rows(result_.address, result_.rows, ex_.c_stride);
  return {};
}

Status CommonGround::check_output_stationary(bool flip) {
  if (!flip && sums_written_) {
    return refuse("an output-stationary computation continues after its sums were written to a real C");
  }
  sums_written_ = result_.address != kGarbage;
  if (!sums_written_) return {};
  if (ex_.c_stride != 1)
    return refuse(fmt::format("output-stationary results with row stride {}", ex_.c_stride));
  if (is_accumulator(result_.address) && ex_.in_shift != 0) {
    return refuse(fmt::format("an output-stationary result to the accumulator with shift {}", ex_.in_shift));
  }
  return {};
}

}  // namespace zomboss::gemmini
