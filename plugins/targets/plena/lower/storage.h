// Tensors in the HBM: MX elements row by row, all their scales behind them. Rows are padded with zeros to
// whole vectors, and matrices to whole tiles. Plain values and pure functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plugins/targets/plena/code/tape.h"
#include "plugins/targets/plena/machine_model.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// `batch` matrices below each other; rows, cols: of one of them, as the workload has them.
struct HbmTensor {
  std::string name;
  int64_t batch = 1;
  int64_t rows = 0, cols = 0;
  int64_t padded_rows = 0, padded_cols = 0;
  uint64_t address = 0;
  uint32_t block = 8;  // elements per scale

  uint64_t elements() const { return static_cast<uint64_t>(batch * padded_rows * padded_cols); }
  uint64_t bytes() const { return elements() + elements() / block; }
  // Byte offset of an element from the tensor's address.
  int64_t offset(int64_t row, int64_t col) const { return row * padded_cols + col; }
  int64_t batch_offset(int64_t index) const { return index * padded_rows * padded_cols; }
  HbmPlace place(int64_t machine_row) const {
    return {address, static_cast<uint32_t>(elements()),
            padded_cols == machine_row ? 0u : static_cast<uint32_t>(padded_cols)};
  }
};

// The bytes of a tensor from row-major values [batch, rows, cols]. Invalid argument, with the element, when a
// value is not what MX blocks with E4M3 elements and E8M0 scales can hold exactly.
Result<std::vector<uint8_t>> pack_tensor(const HbmTensor& tensor, std::span<const float> values);

}  // namespace zomboss::plena
