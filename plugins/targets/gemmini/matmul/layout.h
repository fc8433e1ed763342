// Local rows of operand blocks under a mapping. A plain value; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/matmul/mapping.h"

namespace zomboss::gemmini {

class Layout {
 public:
  // `mapping` has passed check_capacity.
  Layout(const Mapping& mapping, const Form& form, const Machine& machine);

  // First local row of block (row, col), counted inside the tile as it lies in DRAM, of copy `slot` (over all
  // batch regions). Blocks that one load moves follow each other.
  uint32_t a_row(uint32_t slot, int64_t row, int64_t col) const { return operand_row(a_, slot, row, col); }
  uint32_t b_row(uint32_t slot, int64_t row, int64_t col) const { return operand_row(b_, slot, row, col); }
  // Accumulator rows of output block (row, col).
  uint32_t c_row(uint32_t slot, int64_t row, int64_t col) const;

 private:
  struct Operand {
    int64_t base = 0;
    int64_t second = 0;          // where odd block rows or copies live
    int64_t rows = 1, cols = 1;  // blocks
    int64_t group = 1;           // blocks that stay together
  };
  uint32_t operand_row(const Operand& operand, uint32_t slot, int64_t row, int64_t col) const;

  int64_t dim_ = 1;
  BankPlacement placement_ = BankPlacement::kEnds;
  int64_t halves_ = 0;  // of loop_ws: rows of one half, else 0
  Operand a_, b_;
  int64_t c_rows_ = 1, c_cols_ = 1;
  int64_t acc_buffers_ = 1, acc_half_ = 0;
};

}  // namespace zomboss::gemmini
