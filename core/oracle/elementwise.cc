#include "core/oracle/elementwise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/hlo/number.h"
#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

constexpr int64_t kInt64Lowest = std::numeric_limits<int64_t>::min();

uint64_t as_unsigned(int64_t value) {
  return static_cast<uint64_t>(value);
}
int64_t as_signed(uint64_t value) {
  return static_cast<int64_t>(value);
}

bool int_less(int64_t a, int64_t b, DType dtype) {
  return dtype == DType::U64 ? as_unsigned(a) < as_unsigned(b) : a < b;
}

// The low bits of the stored element, without its sign extension.
uint64_t int_bits(int64_t value, DType dtype) {
  const int unused = dtype == DType::Pred ? 63 : 64 - hlo::dtype_bits(dtype);
  return as_unsigned(value) << unused >> unused;
}

int64_t add(int64_t a, int64_t b, DType) {
  return as_signed(as_unsigned(a) + as_unsigned(b));
}
int64_t subtract(int64_t a, int64_t b, DType) {
  return as_signed(as_unsigned(a) - as_unsigned(b));
}
int64_t multiply(int64_t a, int64_t b, DType) {
  return as_signed(as_unsigned(a) * as_unsigned(b));
}
// x / 0 is all ones; the lowest value over -1 is itself.
int64_t divide(int64_t a, int64_t b, DType dtype) {
  if (b == 0) return -1;
  if (dtype == DType::U64) return as_signed(as_unsigned(a) / as_unsigned(b));
  return a == kInt64Lowest && b == -1 ? a : a / b;
}
// x rem 0 is x; the sign is that of x.
int64_t remainder(int64_t a, int64_t b, DType dtype) {
  if (b == 0) return a;
  if (dtype == DType::U64) return as_signed(as_unsigned(a) % as_unsigned(b));
  return b == -1 ? 0 : a % b;
}
int64_t int_maximum(int64_t a, int64_t b, DType dtype) {
  return int_less(a, b, dtype) ? b : a;
}
int64_t int_minimum(int64_t a, int64_t b, DType dtype) {
  return int_less(b, a, dtype) ? b : a;
}
// By squaring, modulo 2^64. A negative exponent gives the integer part of the reciprocal: 0 unless |a| is 1
// (and, as divide does for a zero divisor, all ones for a = 0).
int64_t int_power(int64_t a, int64_t b, DType dtype) {
  if (hlo::is_signed(dtype) && b < 0) {
    if (a == 0) return -1;
    if (a == 1) return 1;
    return a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
  }
  uint64_t result = 1;
  uint64_t base = as_unsigned(a);
  for (uint64_t exponent = as_unsigned(b); exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return as_signed(result);
}
int64_t bit_and(int64_t a, int64_t b, DType) {
  return a & b;
}
int64_t bit_or(int64_t a, int64_t b, DType) {
  return a | b;
}
int64_t bit_xor(int64_t a, int64_t b, DType) {
  return a ^ b;
}
int64_t bit_not(int64_t a, int64_t, DType dtype) {
  return dtype == DType::Pred ? 1 - a : ~a;
}
// Shift amounts are unsigned; from the width on, all bits are shifted out.
bool shifts_all(int64_t amount, DType dtype) {
  return int_bits(amount, dtype) >= static_cast<uint64_t>(hlo::dtype_bits(dtype));
}
int64_t shift_left(int64_t a, int64_t b, DType dtype) {
  return shifts_all(b, dtype) ? 0 : as_signed(as_unsigned(a) << int_bits(b, dtype));
}
int64_t shift_right_logical(int64_t a, int64_t b, DType dtype) {
  return shifts_all(b, dtype) ? 0 : as_signed(int_bits(a, dtype) >> int_bits(b, dtype));
}
int64_t shift_right_arithmetic(int64_t a, int64_t b, DType dtype) {
  const int width = hlo::dtype_bits(dtype);
  const int64_t extended = as_signed(as_unsigned(a) << (64 - width)) >> (64 - width);
  return shifts_all(b, dtype) ? (extended < 0 ? -1 : 0) : extended >> int_bits(b, dtype);
}
int64_t int_negate(int64_t a, int64_t, DType) {
  return as_signed(0 - as_unsigned(a));
}
int64_t int_abs(int64_t a, int64_t, DType dtype) {
  return hlo::is_signed(dtype) && a < 0 ? as_signed(0 - as_unsigned(a)) : a;
}
int64_t int_sign(int64_t a, int64_t, DType dtype) {
  return hlo::is_signed(dtype) && a < 0 ? -1 : (a != 0 ? 1 : 0);
}
int64_t population_count(int64_t a, int64_t, DType dtype) {
  return std::popcount(int_bits(a, dtype));
}
int64_t leading_zeros(int64_t a, int64_t, DType dtype) {
  return std::countl_zero(int_bits(a, dtype)) - (64 - hlo::dtype_bits(dtype));
}

// Either operand NaN gives NaN; -0 is less than +0.
double float_maximum(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}
double float_minimum(double a, double b) {
  if (std::isnan(a)) return a;
  if (std::isnan(b)) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return b < a ? b : a;
}
double float_sign(double a, double) {
  if (std::isnan(a) || a == 0) return a;
  return a < 0 ? -1 : 1;
}

#define ZB_UNARY(expression) [](double a, double) -> double { return (expression); }
#define ZB_BINARY(expression) [](double a, double b) -> double { return (expression); }

// Sorted by opcode.
constexpr std::array kRows = std::to_array<ElementwiseRow>({
    {"abs", 1, int_abs, ZB_UNARY(std::fabs(a))},
    {"add", 2, add, ZB_BINARY(a + b)},
    {"and", 2, bit_and, nullptr},
    {"atan2", 2, nullptr, ZB_BINARY(std::atan2(a, b))},
    {"cbrt", 1, nullptr, ZB_UNARY(std::cbrt(a))},
    {"ceil", 1, nullptr, ZB_UNARY(std::ceil(a))},
    {"cosine", 1, nullptr, ZB_UNARY(std::cos(a))},
    {"count-leading-zeros", 1, leading_zeros, nullptr},
    {"divide", 2, divide, ZB_BINARY(a / b)},
    {"erf", 1, nullptr, ZB_UNARY(std::erf(a))},
    {"exponential", 1, nullptr, ZB_UNARY(std::exp(a))},
    {"exponential-minus-one", 1, nullptr, ZB_UNARY(std::expm1(a))},
    {"floor", 1, nullptr, ZB_UNARY(std::floor(a))},
    {"log", 1, nullptr, ZB_UNARY(std::log(a))},
    {"log-plus-one", 1, nullptr, ZB_UNARY(std::log1p(a))},
    {"logistic", 1, nullptr, ZB_UNARY(1 / (1 + std::exp(-a)))},
    {"maximum", 2, int_maximum, float_maximum},
    {"minimum", 2, int_minimum, float_minimum},
    {"multiply", 2, multiply, ZB_BINARY(a* b)},
    {"negate", 1, int_negate, ZB_UNARY(-a)},
    {"not", 1, bit_not, nullptr},
    {"or", 2, bit_or, nullptr},
    {"popcnt", 1, population_count, nullptr},
    {"power", 2, int_power, ZB_BINARY(std::pow(a, b))},
    {"remainder", 2, remainder, ZB_BINARY(std::fmod(a, b))},
    {"round-nearest-afz", 1, nullptr, ZB_UNARY(std::round(a))},
    {"round-nearest-even", 1, nullptr, ZB_UNARY(std::nearbyint(a))},
    {"rsqrt", 1, nullptr, ZB_UNARY(1 / std::sqrt(a))},
    {"shift-left", 2, shift_left, nullptr},
    {"shift-right-arithmetic", 2, shift_right_arithmetic, nullptr},
    {"shift-right-logical", 2, shift_right_logical, nullptr},
    {"sign", 1, int_sign, float_sign},
    {"sine", 1, nullptr, ZB_UNARY(std::sin(a))},
    {"sqrt", 1, nullptr, ZB_UNARY(std::sqrt(a))},
    {"subtract", 2, subtract, ZB_BINARY(a - b)},
    {"tan", 1, nullptr, ZB_UNARY(std::tan(a))},
    {"tanh", 1, nullptr, ZB_UNARY(std::tanh(a))},
    {"xor", 2, bit_xor, nullptr},
});

#undef ZB_UNARY
#undef ZB_BINARY

static_assert(std::is_sorted(kRows.begin(), kRows.end(),
                             [](const ElementwiseRow& a, const ElementwiseRow& b) {
                               return a.opcode < b.opcode;
                             }));

// IEEE total order as an integer: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN.
int64_t total_order_key(double value) {
  const auto bits = std::bit_cast<int64_t>(value);
  return bits < 0 ? std::numeric_limits<int64_t>::max() ^ bits : bits;
}

template <typename T>
bool holds(std::string_view direction, T a, T b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "GT") return a > b;
  if (direction == "LE") return a <= b;
  return a >= b;
}

}  // namespace

std::span<const ElementwiseRow> elementwise_rows() {
  return kRows;
}

const ElementwiseRow* find_elementwise(std::string_view opcode) {
  const auto* row =
      std::lower_bound(kRows.begin(), kRows.end(), opcode,
                       [](const ElementwiseRow& r, std::string_view o) { return r.opcode < o; });
  return row != kRows.end() && row->opcode == opcode ? &*row : nullptr;
}

Lane apply_row(const ElementwiseRow& row, Lane a, Lane b, DType dtype) {
  if (hlo::is_float(dtype)) return to_lane(row.on_float(lane_float(a), lane_float(b)));
  return to_lane(wrap(row.on_int(lane_int(a), lane_int(b), dtype), dtype));
}

bool compare_lanes(std::string_view direction, Lane a, Lane b, DType dtype, bool total_order) {
  if (hlo::is_float(dtype)) {
    if (total_order) return holds(direction, total_order_key(lane_float(a)), total_order_key(lane_float(b)));
    return holds(direction, lane_float(a), lane_float(b));
  }
  if (dtype == DType::U64) return holds(direction, a, b);
  return holds(direction, lane_int(a), lane_int(b));
}

}  // namespace zomboss::oracle
