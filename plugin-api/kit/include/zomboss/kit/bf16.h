// bfloat16: the upper half of an IEEE binary32. Pure functions, usable from any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace zomboss::kit {

inline float bf16_to_float(uint16_t code) {
  return std::bit_cast<float>(uint32_t{code} << 16);
}

// Round to nearest, ties to even. A NaN stays a NaN: it is truncated and made quiet.
inline uint16_t bf16_round(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x0040u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// The binary32 whose upper half is the rounded bf16 code, by the rule of cast_code() (float_format.h): the
// mantissa of a NaN is rounded like a number, so that a NaN whose payload rounds away becomes an infinity.
// Free of branches, so that loops over it vectorise; always inlined, so that files compiled for different
// instruction sets may use it.
[[gnu::always_inline]] inline float bf16_cast(float value) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, value);
  const uint32_t rounded = bits + 0x7FFFu + ((bits >> 16) & 1u);
  const uint32_t special = (bits & 0xFF800000u) | (rounded & 0x007F0000u);
  const bool is_special = (bits & 0x7F800000u) == 0x7F800000u;
  return __builtin_bit_cast(float, (is_special ? special : rounded) & 0xFFFF0000u);
}

}  // namespace zomboss::kit
