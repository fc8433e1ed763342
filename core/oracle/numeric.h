// The arithmetic of HLO's element types on lanes: widths, rounding, storage and `convert`. Pure functions.
// Internal to core/oracle.
#pragma once

#include <cstdint>
#include <span>

#include "core/oracle/value.h"

namespace zomboss::oracle {

// True for the element types that the oracle computes with: pred, all integers, all floats; not complex.
bool computable(DType dtype);

// `value` modulo 2^width, sign- or zero-extended as the integer type says; for Pred, value != 0.
int64_t wrap(int64_t value, DType dtype);

// `value` rounded to the float type, to nearest, ties to even; overflow as core/hlo/number.h says.
double round_to(double value, DType dtype);

// One lane between the element types as HLO's `convert` defines it: float to integer truncates toward zero,
// saturates, NaN gives 0; integer to integer wraps; integer to float and float to float round to nearest
// even; to pred is != 0. `exact_floats` leaves a conversion between floats unrounded.
Lane convert_lane(Lane lane, DType from, DType to, bool exact_floats);

// Between storage bytes (see Tensor) and lanes, lanes.size() elements. Decoding a type under 8 bits uses the
// low bits of its byte only; encoding rounds floats to the type.
void decode(DType dtype, std::span<const uint8_t> bytes, std::span<Lane> lanes);
void encode(DType dtype, std::span<const Lane> lanes, std::span<uint8_t> bytes);

}  // namespace zomboss::oracle
