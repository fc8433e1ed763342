#include "zomboss/kit/float_format.h"

#include <bit>

namespace zomboss::kit {
namespace {

// Exponent field and mantissa of a code on its way to another format.
struct Parts {
  uint32_t exponent = 0;
  uint32_t mantissa = 0;
};

// The subnormal mantissa / 2^M * 2^-bias, normalised for a format with more exponent bits.
Parts normalise(uint32_t mantissa, const FloatFormat& from, const FloatFormat& to) {
  const int top = static_cast<int>(std::bit_width(mantissa)) - 1;
  const int exponent = top - from.mantissa_bits - from.bias() + to.bias();
  if (exponent <= 0) return {};
  const uint32_t mask = (1u << from.mantissa_bits) - 1;
  return {static_cast<uint32_t>(exponent), (mantissa << (from.mantissa_bits - top)) & mask};
}

// The exponent field in the target, before rounding can carry into it.
Parts rebias(Parts parts, const FloatFormat& from, const FloatFormat& to) {
  const uint32_t from_ones = (1u << from.exponent_bits) - 1;
  const uint32_t to_ones = (1u << to.exponent_bits) - 1;
  if (parts.exponent == from_ones) return {to_ones, parts.mantissa};
  if (parts.exponent == 0) {
    return to.exponent_bits > from.exponent_bits ? normalise(parts.mantissa, from, to) : parts;
  }
  if (to.exponent_bits >= from.exponent_bits) {
    return {parts.exponent + static_cast<uint32_t>(to.bias() - from.bias()), parts.mantissa};
  }
  return {parts.exponent >= to_ones ? to_ones : 0, parts.mantissa};
}

Parts round_mantissa(Parts parts, const FloatFormat& from, const FloatFormat& to) {
  const int shift = from.mantissa_bits - to.mantissa_bits;
  if (shift <= 0) return {parts.exponent, parts.mantissa << -shift};
  const uint32_t odd = (parts.mantissa >> shift) & 1u;
  const uint32_t rounded = (parts.mantissa + (1u << (shift - 1)) - 1 + odd) >> shift;
  if (rounded >> to.mantissa_bits == 0) return {parts.exponent, rounded};
  const uint32_t ones = (1u << to.exponent_bits) - 1;
  return {parts.exponent < ones ? parts.exponent + 1 : ones, 0};
}

}  // namespace

uint32_t cast_code(uint32_t code, const FloatFormat& from, const FloatFormat& to) {
  const int magnitude_bits = from.exponent_bits + from.mantissa_bits;
  const bool negative = from.has_sign && ((code >> magnitude_bits) & 1u) != 0;
  if (negative && !to.has_sign) return 0;
  const uint32_t sign = negative ? 1u << (to.exponent_bits + to.mantissa_bits) : 0;
  Parts parts;
  parts.mantissa = code & ((1u << from.mantissa_bits) - 1);
  parts.exponent = (code >> from.mantissa_bits) & ((1u << from.exponent_bits) - 1);
  if (parts.exponent == 0 && parts.mantissa == 0) return sign;
  parts = round_mantissa(rebias(parts, from, to), from, to);
  return sign | (parts.exponent << to.mantissa_bits) | parts.mantissa;
}

float decode_float(uint32_t code, const FloatFormat& from) {
  return std::bit_cast<float>(cast_code(code, from, kFloat32));
}

uint32_t encode_float(float value, const FloatFormat& to) {
  return cast_code(std::bit_cast<uint32_t>(value), kFloat32, to);
}

float half_to_float(uint16_t code) {
  const uint32_t exponent = (code >> 10) & 0x1Fu;
  const uint32_t mantissa = code & 0x3FFu;
  const bool negative = (code >> 15) != 0;
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1.0p-24f;
    return negative ? -value : value;
  }
  const uint32_t field = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>((negative ? 0x80000000u : 0u) | (field << 23) | (mantissa << 13));
}

}  // namespace zomboss::kit
