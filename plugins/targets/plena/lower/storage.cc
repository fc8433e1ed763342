#include "plugins/targets/plena/lower/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace zomboss::plena {
namespace {

constexpr int kMantissaBits = 3;
constexpr int kBias = 7;
constexpr int kMaxExponent = 7;   // of finite elements
constexpr int kMinExponent = -6;  // of normal elements

// The E4M3 code of a value that is exactly one of the machine's elements; subnormals count half of IEEE's.
std::optional<uint8_t> exact_code(double value) {
  if (value == 0) return 0;
  const uint32_t sign = std::signbit(value) ? 0x80u : 0u;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent) * 2;  // [1, 2)
  --exponent;
  if (exponent > kMaxExponent) return std::nullopt;
  if (exponent >= kMinExponent) {
    const double steps = (fraction - 1) * (1 << kMantissaBits);
    if (steps != std::floor(steps)) return std::nullopt;
    return static_cast<uint8_t>(sign | static_cast<uint32_t>(exponent + kBias) << kMantissaBits |
                                static_cast<uint32_t>(steps));
  }
  const double steps = std::ldexp(std::fabs(value), kBias + kMantissaBits);
  if (steps != std::floor(steps) || steps >= (1 << kMantissaBits)) return std::nullopt;
  return static_cast<uint8_t>(sign | static_cast<uint32_t>(steps));
}

// Encodes a block with one of the scales that can hold its largest element.
bool pack_block(std::span<const float> values, uint8_t* codes, uint8_t& scale) {
  float largest = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) return false;
    largest = std::max(largest, std::fabs(value));
  }
  scale = 0;
  std::fill_n(codes, values.size(), uint8_t{0});
  if (largest == 0) return true;
  const int top = std::ilogb(largest);
  for (int element_top : {6, 7, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6}) {
    const int exponent = top - element_top;
    if (exponent < -126 || exponent > 127) continue;
    bool exact = true;
    for (size_t i = 0; i < values.size() && exact; ++i) {
      const auto code = exact_code(std::ldexp(static_cast<double>(values[i]), -exponent));
      exact = code.has_value();
      if (exact) codes[i] = *code;
    }
    if (!exact) continue;
    scale = static_cast<uint8_t>(exponent + 127);
    return true;
  }
  return false;
}

}  // namespace

Result<std::vector<uint8_t>> pack_tensor(const HbmTensor& tensor, std::span<const float> values) {
  std::vector<uint8_t> bytes(tensor.bytes(), 0);
  const uint64_t scales = tensor.elements();
  std::vector<float> block(tensor.block);
  for (int64_t row = 0; row < tensor.batch * tensor.rows; ++row) {
    const int64_t padded = row / tensor.rows * tensor.padded_rows + row % tensor.rows;
    for (int64_t col = 0; col < tensor.cols; col += tensor.block) {
      const int64_t count = std::min<int64_t>(tensor.block, tensor.cols - col);
      std::fill(block.begin(), block.end(), 0.0f);
      std::copy_n(values.begin() + row * tensor.cols + col, count, block.begin());
      const auto at = static_cast<uint64_t>(tensor.offset(padded, col));
      if (!pack_block(block, bytes.data() + at, bytes[scales + at / tensor.block]))
        return invalid_argument(fmt::format(
            "'{}' at [{}, {}..{}] is not exact in mxfp8 blocks of {}; give the tensor the storage "
            "\"mxfp8\" in the contract",
            tensor.name, row, col, col + count - 1, tensor.block));
    }
  }
  return bytes;
}

}  // namespace zomboss::plena
