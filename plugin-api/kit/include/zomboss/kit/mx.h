// Microscaling blocks: elements of a small format that share one E8M0 scale. Pure functions, usable from any
// thread.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "zomboss/kit/float_format.h"

namespace zomboss::kit {

// The value of an E8M0 scale byte: 0 is 0.0, 255 is infinity, else 2^(byte - 127).
inline float e8m0_to_float(uint8_t byte) {
  return std::bit_cast<float>(uint32_t{byte} << 23);
}

// The store quantiser of the PLENA machine: one scale for the block from its largest magnitude, elements
// rounded after truncation to quarters of a step, without a carry into the exponent and without a negative
// zero. NaN becomes +1.0 unless the whole block is zero or NaN, which becomes all zero. Writes one code per
// value to `codes` (same length) and returns the E8M0 scale byte.
uint8_t quantise_block(std::span<const float> values, const FloatFormat& element, std::span<uint32_t> codes);

}  // namespace zomboss::kit
