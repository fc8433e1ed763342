#include "plugins/targets/gemmini/matmul/layout.h"

namespace zomboss::gemmini {

Layout::Layout(const Mapping& mapping, const Form& form, const Machine& machine)
    : dim_(machine.dim),
      placement_(mapping.placement),
      c_rows_(mapping.tile_m),
      c_cols_(mapping.tile_n),
      acc_buffers_(mapping.acc_buffers),
      acc_half_(machine.loop_accumulator_rows()) {
  a_.rows = form.a_transposed ? mapping.tile_k : mapping.tile_m;
  a_.cols = form.a_transposed ? mapping.tile_m : mapping.tile_k;
  b_.rows = form.b_transposed ? mapping.tile_n : mapping.tile_k;
  b_.cols = form.b_transposed ? mapping.tile_k : mapping.tile_n;
  if (placement_ != BankPlacement::kEnds) {
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
  if (placement_ == BankPlacement::kEnds)
    return static_cast<uint32_t>(operand.base + ((slot * operand.rows + row) * operand.cols + col) * dim_);
  const bool by_copy = placement_ == BankPlacement::kCopies;
  const bool odd = (by_copy ? slot : row + slot) % 2 != 0;
  const int64_t rows_before =
      by_copy ? slot / 2 * operand.rows + row : slot * ceil_div(operand.rows, 2) + row / 2;
  return static_cast<uint32_t>((odd ? operand.second : operand.base) +
                               (rows_before * operand.cols + col) * dim_);
}

uint32_t Layout::c_row(uint32_t slot, int64_t row, int64_t col) const {
  const int64_t block = (slot / acc_buffers_ * c_rows_ + row) * c_cols_ + col;
  return static_cast<uint32_t>((slot % acc_buffers_) * acc_half_ + block * dim_);
}

}  // namespace zomboss::gemmini
