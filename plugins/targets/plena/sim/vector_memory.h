// The vector SRAM: rows of numbers in its element format, read and written as binary32. Owns its memory,
// which the system fills page by page as it is touched; not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/targets/plena/sim/kernels.h"
#include "plugins/targets/plena/sim/lazy_floats.h"
#include "zomboss/kit/float_format.h"

namespace zomboss::plena {

class VectorMemory {
 public:
  // Throws std::bad_alloc when the system has no room.
  VectorMemory(uint32_t rows, uint32_t row_elements, kit::FloatFormat format);

  uint32_t rows() const { return rows_; }
  uint32_t rows_used() const { return rows_used_; }

  void use_kernels(const Kernels& kernels) { kernels_ = &kernels; }

  // The row's values, valid until the next write or until `scratch` (one row long) changes.
  const float* read(uint32_t row, float* scratch) const {
    const float* stored = words_.data() + size_t{row} * row_elements_;
    return is_bf16_ ? stored : decode(stored, scratch);
  }
  // Rounds `values` into the row. They may be part of this memory.
  void write(uint32_t row, const float* values);
  // Rounds `count` values into the row from element `first` on; `scratch` is one row long. The other elements
  // are read and written back, which changes them in formats other than bf16.
  void write_part(uint32_t row, uint32_t first, const float* values, uint32_t count, float* scratch);

  // Packed little-endian elements, row 0 first, as files hold them. A last partial row is padded with zeros,
  // rows past the end are ignored.
  void load(std::span<const uint8_t> packed);
  // The first `rows` rows, packed.
  std::vector<uint8_t> dump(uint32_t rows) const;

 private:
  const float* decode(const float* stored, float* scratch) const;

  // One 32-bit word per element: for bf16 the value itself, for other formats the code's bits in a float.
  LazyFloats words_;
  uint32_t rows_ = 0;
  uint32_t row_elements_ = 0;
  uint32_t rows_used_ = 0;
  kit::FloatFormat format_;
  bool is_bf16_ = true;
  const Kernels* kernels_ = &best_kernels();
};

}  // namespace zomboss::plena
