// Binary floating-point formats of up to 32 bits (minifloats, half, bfloat16, E8M0 scales) and the conversion
// between them that accelerator models in the field use, its departures from IEEE 754 included. Pure
// functions, usable from any thread.
#pragma once

#include <cstdint>

namespace zomboss::kit {

// Sign (if any), exponent, mantissa, from the highest bit down. The bias is 2^(exponent_bits - 1) - 1 and an
// exponent field of all ones means infinity or NaN in every format.
struct FloatFormat {
  bool has_sign = true;
  int exponent_bits = 8;
  int mantissa_bits = 23;

  constexpr int bits() const { return (has_sign ? 1 : 0) + exponent_bits + mantissa_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  // 1..8 exponent bits and 0..23 mantissa bits: what the functions below accept.
  constexpr bool valid() const {
    return exponent_bits >= 1 && exponent_bits <= 8 && mantissa_bits >= 0 && mantissa_bits <= 23;
  }
  constexpr bool operator==(const FloatFormat&) const = default;
};

inline constexpr FloatFormat kFloat32{true, 8, 23};
inline constexpr FloatFormat kBf16{true, 8, 7};
inline constexpr FloatFormat kFloat16{true, 5, 10};
inline constexpr FloatFormat kE5M2{true, 5, 2};
inline constexpr FloatFormat kE4M3{true, 4, 3};
inline constexpr FloatFormat kE2M1{true, 2, 1};
inline constexpr FloatFormat kE8M0{false, 8, 0};

// Converts a code. Not IEEE 754 in three ways: a subnormal that gains exponent bits is read with exponent
// -bias (half its IEEE value); a conversion to fewer exponent bits does not rebias, it sets the exponent
// field to all ones or to zero; a NaN's mantissa is rounded like a number's. Rounding is to nearest, ties to
// even.
uint32_t cast_code(uint32_t code, const FloatFormat& from, const FloatFormat& to);

// cast_code() from and to binary32.
float decode_float(uint32_t code, const FloatFormat& from);
uint32_t encode_float(float value, const FloatFormat& to);

// IEEE 754 binary16 to binary32, subnormals by the book.
float half_to_float(uint16_t code);

}  // namespace zomboss::kit
