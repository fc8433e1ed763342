#include "zomboss/kit/mx.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace zomboss::kit {
namespace {

// floor(log2f(value)), value > 0 or NaN (0). log2f rounds to an integer only close to a power of two;
// everywhere else the exponent field is the answer.
int floor_log2(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = bits >> 23;
  const uint32_t mantissa = bits & 0x7FFFFFu;
  if (exponent > 0 && exponent < 255 && mantissa > 0x400u && mantissa < 0x7FF000u) {
    return static_cast<int>(exponent) - 127;
  }
  if (std::isnan(value)) return 0;
  if (std::isinf(value)) return std::numeric_limits<int>::max();
  return static_cast<int>(std::floor(std::log2(value)));
}

// Truncate to quarters, then round half to even; NaN is 0.
int round_quarters(float value) {
  if (std::isnan(value)) return 0;
  const float quarters = std::floor(std::clamp(value, -1.0f, 0x1.0p24f) * 4.0f) / 4.0f;
  return static_cast<int>(std::nearbyint(quarters));
}

uint32_t quantise_element(float value, const FloatFormat& format) {
  if (value == 0.0f) return 0;
  const int bias = format.bias();
  const int largest = (1 << format.exponent_bits) - 2 - bias;
  const int steps = 1 << format.mantissa_bits;
  const float magnitude = std::fabs(value);
  const int exponent = floor_log2(magnitude + 1e-9f);
  const int clamped = std::clamp(exponent, -bias, largest);
  const float fraction = std::ldexp(magnitude, -clamped);
  const float scaled = (clamped == -bias ? fraction : fraction - 1.0f) * static_cast<float>(steps);
  int mantissa = std::clamp(round_quarters(scaled), 0, steps - 1);
  if (exponent > largest) mantissa = steps - 1;
  const uint32_t sign = value < 0.0f && format.has_sign ? 1u << (format.bits() - 1) : 0;
  return sign | static_cast<uint32_t>(clamped + bias) << format.mantissa_bits |
         static_cast<uint32_t>(mantissa);
}

}  // namespace

uint8_t quantise_block(std::span<const float> values, const FloatFormat& element, std::span<uint32_t> codes) {
  float largest = 0.0f;
  for (const float value : values) {
    if (std::fabs(value) > largest) largest = std::fabs(value);
  }
  if (largest == 0.0f) {
    std::fill(codes.begin(), codes.end(), 0u);
    return 0;
  }
  const int exponent = std::clamp(floor_log2(largest + 1e-9f), -127, 127);
  const float scale = std::ldexp(1.0f, exponent);
  for (size_t n = 0; n < values.size(); ++n) codes[n] = quantise_element(values[n] / scale, element);
  return static_cast<uint8_t>(exponent + 127);
}

}  // namespace zomboss::kit
