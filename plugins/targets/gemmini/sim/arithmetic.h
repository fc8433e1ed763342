// The scalar arithmetic of the data paths, bit for bit. All of it assumes the default rounding mode.
#pragma once

#include <bit>
#include <cstdint>

namespace zomboss::gemmini {

// Wrapping int32 arithmetic without undefined behaviour.
constexpr int32_t wrap_add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
constexpr int32_t wrap_sub(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
constexpr int32_t wrap_mul(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

constexpr int8_t saturate8(int64_t value) {
  return static_cast<int8_t>(value < -128 ? -128 : value > 127 ? 127 : value);
}

// value * scale in float32, half to even to an integer, saturated to int8. Clamping first gives the same
// result (the bounds are integers) and leaves a range in which adding 1.5 * 2^23 rounds exactly. NaN gives 0.
inline int8_t scale_to_int8(float value, float scale) {
  float product = value * scale;
  product = product < -128.0f ? -128.0f : product;
  product = product > 127.0f ? 127.0f : product;
  product = product == product ? product : 0.0f;
  constexpr float kMagic = 12582912.0f;
  const auto bits = std::bit_cast<int32_t>(product + kMagic);
  return static_cast<int8_t>(bits - std::bit_cast<int32_t>(kMagic));
}

// x / 2^shift, half to even; shift in 0..31.
constexpr int32_t rounding_shift(int32_t x, uint32_t shift) {
  if (shift == 0) return x;
  const uint32_t value = static_cast<uint32_t>(x);
  const bool half = (value >> (shift - 1) & 1) != 0;
  const bool more = (value & ((1u << (shift - 1)) - 1)) != 0;
  const bool odd = (value >> shift & 1) != 0;
  return wrap_add(x >> shift, half && (more || odd) ? 1 : 0);
}

// float -> int32 as x86 truncates: everything that does not fit becomes INT32_MIN.
inline int32_t truncate_to_int32(float value) {
  if (value >= -2147483648.0f && value < 2147483648.0f) return static_cast<int32_t>(value);
  return INT32_MIN;
}

}  // namespace zomboss::gemmini
