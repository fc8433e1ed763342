// The number formats of HLO's element types: bits to value and back, exactly. Pure; any thread may call.
// Bits stand in the low end of a uint64_t, as one stored element holds them: types under a byte use the low
// bits of it; signed integers under a byte are sign-extended to the byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/hlo/module.h"

namespace zomboss::hlo {

// What a format does with what it cannot hold.
enum class Specials : uint8_t {
  kIeee,             // infinities, NaNs: all exponent bits set; overflow rounds to infinity
  kNanAllOnes,       // "fn": no infinity, NaN = all bits but the sign set; overflow gives NaN
  kNanNegativeZero,  // "fnuz": no infinity, no -0, NaN = the bits of -0; overflow gives NaN
  kNone,             // neither; overflow saturates, NaN becomes -0 (as ml_dtypes and XLA do)
  kUnsigned,  // f8e8m0fnu: powers of two, no sign, no zero; NaN = 0xff; negatives, overflow and 0 below
};

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};
// Of any is_float type.
FloatFormat float_format(DType dtype);

// Value of the bits; exact for every float type and for integers up to 53 bits. Pred: 0 or 1. NaN stays NaN.
double decode(DType dtype, uint64_t bits);

// Nearest value, ties to even, with the format's own overflow rule. For float types only.
uint64_t encode(DType dtype, double value);
// True if a finite `value` rounds to a magnitude above the largest finite value of the float type.
bool overflows(DType dtype, double value);
bool is_nan(DType dtype, uint64_t bits);

// Smallest and largest value of an integer type (Pred: 0 and 1).
int64_t integer_min(DType dtype);
uint64_t integer_max(DType dtype);

// One element: dtype_bytes(dtype) little-endian bytes. Not for complex types.
uint64_t load_bits(DType dtype, const char* bytes);
void append_bits(DType dtype, uint64_t bits, std::string& bytes);

}  // namespace zomboss::hlo
