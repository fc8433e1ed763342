#include "plugins/targets/gemmini/matmul/layout.h"

namespace zomboss::gemmini {

Layout::Layout(const Mapping& mapping, const Form& form, const Machine& machine)
    : dim_(machine.dim),
      placement_(mapping.placement),
      halves_(mapping.interface == Interface::kLoopWs ? machine.loop_scratchpad_rows() : 0),
      c_rows_(mapping.tile_m),
      c_cols_(mapping.tile_n),
      acc_buffers_(mapping.acc_buffers),
      acc_half_(machine.loop_accumulator_rows()) {
  a_.rows = form.a_transposed ? mapping.tile_k : mapping.tile_m;
  a_.cols = form.a_transposed ? mapping.tile_m : mapping.tile_k;
  b_.rows = form.b_transposed ? mapping.tile_n : mapping.tile_k;
  b_.cols = form.b_transposed ? mapping.tile_k : mapping.tile_n;
  a_.group = mapping.load_width_a;
  b_.group = mapping.load_width_b;
  if (halves_ != 0) {
    b_.base = halves_ - b_.rows * b_.cols * dim_;
  } else if (placement_ != BankPlacement::kEnds) {
    const int64_t quarter = machine.scratchpad_rows / 4;
    a_.second = quarter;
    b_.base = 2 * quarter;
    b_.second = 3 * quarter;
  } else {
    const Footprint needs = footprint(mapping, form);
    b_.base = machine.scratchpad_rows - needs.b_slots * mapping.batch_regions * b_.rows * b_.cols * dim_;
    b_.second = b_.base;
  }
}

uint32_t Layout::operand_row(const Operand& operand, uint32_t slot, int64_t row, int64_t col) const {
  if (halves_ != 0)
    return static_cast<uint32_t>(slot * halves_ + operand.base + (row * operand.cols + col) * dim_);
  if (placement_ == BankPlacement::kEnds)
    return static_cast<uint32_t>(operand.base + ((slot * operand.rows + row) * operand.cols + col) * dim_);
  const int64_t number = row * operand.cols + col;  // of the block in its tile
  int64_t parity = 0, block = 0;                    // block: inside the quarter
  switch (placement_) {
    case BankPlacement::kCopies:
      parity = slot;
      block = slot / 2 * operand.rows * operand.cols + number;
      break;
    case BankPlacement::kLoads:
      parity = number / operand.group + slot;
      block = slot * quarter_blocks(operand.rows * operand.cols, operand.group) +
              number / (2 * operand.group) * operand.group + number % operand.group;
      break;
    default:
      parity = row + slot;
      block = (slot * ceil_div(operand.rows, 2) + row / 2) * operand.cols + col;
      break;
  }
  return static_cast<uint32_t>((parity % 2 != 0 ? operand.second : operand.base) + block * dim_);
}

uint32_t Layout::c_row(uint32_t slot, int64_t row, int64_t col) const {
  const int64_t block = (slot / acc_buffers_ * c_rows_ + row) * c_cols_ + col;
  return static_cast<uint32_t>((slot % acc_buffers_) * acc_half_ + block * dim_);
}

}  // namespace zomboss::gemmini
