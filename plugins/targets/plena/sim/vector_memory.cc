#include "plugins/targets/plena/sim/vector_memory.h"

#include <algorithm>
#include <bit>

#include "zomboss/kit/bf16.h"

namespace zomboss::plena {

VectorMemory::VectorMemory(uint32_t rows, uint32_t row_elements, kit::FloatFormat format)
    : words_(size_t{rows} * row_elements),
      rows_(rows),
      row_elements_(row_elements),
      format_(format),
      is_bf16_(format == kit::kBf16) {}

// Formats of 32 bits are read as the machine's simulator reads them: its bit buffer is not cleared between
// words, so that each word carries the bits of all before it in the row.
const float* VectorMemory::decode(const float* stored, float* scratch) const {
  uint32_t carried = 0;
  for (uint32_t n = 0; n < row_elements_; ++n) {
    uint32_t code = std::bit_cast<uint32_t>(stored[n]);
    if (format_.bits() == 32) code = carried |= code;
    scratch[n] = kit::decode_float(code, format_);
  }
  return scratch;
}

void VectorMemory::write(uint32_t row, const float* values) {
  rows_used_ = std::max(rows_used_, row + 1);
  float* stored = words_.data() + size_t{row} * row_elements_;
  if (is_bf16_) return kernels_->round_to_bf16(values, stored, row_elements_);
  for (uint32_t n = 0; n < row_elements_; ++n) {
    stored[n] = std::bit_cast<float>(kit::encode_float(values[n], format_));
  }
}

void VectorMemory::write_part(uint32_t row, uint32_t first, const float* values, uint32_t count,
                              float* scratch) {
  if (is_bf16_) {
    rows_used_ = std::max(rows_used_, row + 1);
    float* stored = words_.data() + size_t{row} * row_elements_ + first;
    for (uint32_t n = 0; n < count; ++n) stored[n] = kit::bf16_cast(values[n]);
    return;
  }
  read(row, scratch);
  std::copy_n(values, count, scratch + first);
  write(row, scratch);
}

void VectorMemory::load(std::span<const uint8_t> packed) {
  const size_t element_bytes = static_cast<size_t>(format_.bits()) / 8;
  std::vector<float> scratch(row_elements_);
  for (uint32_t row = 0; row < rows_ && !packed.empty(); ++row) {
    float* stored = words_.data() + size_t{row} * row_elements_;
    std::fill_n(stored, row_elements_, 0.0f);
    for (uint32_t n = 0; n < row_elements_ && packed.size() >= element_bytes; ++n) {
      uint32_t code = 0;
      for (size_t byte = 0; byte < element_bytes; ++byte) code |= uint32_t{packed[byte]} << (8 * byte);
      stored[n] = std::bit_cast<float>(is_bf16_ ? code << 16 : code);
      packed = packed.subspan(element_bytes);
    }
    if (packed.size() < element_bytes) packed = {};
    if (!is_bf16_) write(row, decode(stored, scratch.data()));
    rows_used_ = row + 1;
  }
}

std::vector<uint8_t> VectorMemory::dump(uint32_t rows) const {
  const size_t element_bytes = static_cast<size_t>(format_.bits()) / 8;
  const size_t count = size_t{std::min(rows, rows_)} * row_elements_;
  std::vector<uint8_t> packed;
  packed.reserve(count * element_bytes);
  for (size_t n = 0; n < count; ++n) {
    const auto word = std::bit_cast<uint32_t>(words_[n]);
    const uint32_t code = is_bf16_ ? word >> 16 : word;
    for (size_t byte = 0; byte < element_bytes; ++byte)
      packed.push_back(static_cast<uint8_t>(code >> (8 * byte)));
  }
  return packed;
}

}  // namespace zomboss::plena
