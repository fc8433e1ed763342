#include "core/hlo/number.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace zomboss::hlo {
namespace {

constexpr uint64_t ones(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

int magnitude_bits(const FloatFormat& format) {
  return format.exponent_bits + format.mantissa_bits;
}

// Bits of the largest finite magnitude.
uint64_t max_finite_bits(const FloatFormat& format) {
  switch (format.specials) {
    case Specials::kIeee:
      return (ones(format.exponent_bits) << format.mantissa_bits) - 1;
    case Specials::kNanAllOnes:
    case Specials::kUnsigned:
      return ones(magnitude_bits(format)) - 1;
    case Specials::kNanNegativeZero:
    case Specials::kNone:
      break;
  }
  return ones(magnitude_bits(format));
}

// The magnitude (value >= 0, finite) rounded to nearest even as if the exponent had no upper end.
uint64_t round_magnitude(const FloatFormat& format, double value) {
  if (value == 0) return 0;
  const int smallest_normal = 1 - format.bias;
  const int exponent = std::max(std::ilogb(value), smallest_normal);
  const double scaled = std::ldexp(value, format.mantissa_bits - exponent);  // exact
  const double below = std::floor(scaled);
  auto mantissa = static_cast<uint64_t>(below);
  const double rest = scaled - below;
  if (rest > 0.5 || (rest == 0.5 && mantissa % 2 == 1)) ++mantissa;
  // The leading one of a normal number adds one to the exponent field, and so does a carry.
  return mantissa + (static_cast<uint64_t>(exponent - smallest_normal) << format.mantissa_bits);
}

uint64_t nan_bits(const FloatFormat& format, bool negative) {
  const uint64_t sign = uint64_t{1} << magnitude_bits(format);
  switch (format.specials) {
    case Specials::kIeee:
      return (negative ? sign : 0) | (ones(format.exponent_bits) << format.mantissa_bits) |
             (uint64_t{1} << (format.mantissa_bits - 1));
    case Specials::kNanAllOnes:
      return (negative ? sign : 0) | (sign - 1);
    case Specials::kNanNegativeZero:
    case Specials::kNone:
      return sign;
    case Specials::kUnsigned:
      break;
  }
  return 0xff;
}

// f8e8m0fnu: 2^(bits - 127). Halfway cases have an odd lower neighbour's significand, so they round up.
uint64_t encode_power(double value) {
  if (std::isnan(value) || value <= 0) return 0xff;
  if (std::isinf(value)) return 0xff;
  int exponent = std::ilogb(value);
  if (std::ldexp(value, -exponent) >= 1.5) ++exponent;
  if (exponent > 127) return 0xff;
  return static_cast<uint64_t>(std::max(exponent, -127) + 127);
}

}  // namespace

FloatFormat float_format(DType dtype) {
  switch (dtype) {
    case DType::F16:
      return {5, 10, 15, Specials::kIeee};
    case DType::BF16:
      return {8, 7, 127, Specials::kIeee};
    case DType::F32:
      return {8, 23, 127, Specials::kIeee};
    case DType::F64:
      return {11, 52, 1023, Specials::kIeee};
    case DType::F8E5M2:
      return {5, 2, 15, Specials::kIeee};
    case DType::F8E4M3:
      return {4, 3, 7, Specials::kIeee};
    case DType::F8E4M3FN:
      return {4, 3, 7, Specials::kNanAllOnes};
    case DType::F8E4M3B11FNUZ:
      return {4, 3, 11, Specials::kNanNegativeZero};
    case DType::F8E5M2FNUZ:
      return {5, 2, 16, Specials::kNanNegativeZero};
    case DType::F8E4M3FNUZ:
      return {4, 3, 8, Specials::kNanNegativeZero};
    case DType::F8E3M4:
      return {3, 4, 3, Specials::kIeee};
    case DType::F8E8M0FNU:
      return {8, 0, 127, Specials::kUnsigned};
    case DType::F4E2M1FN:
      return {2, 1, 1, Specials::kNone};
    case DType::F6E3M2FN:
      return {3, 2, 3, Specials::kNone};
    case DType::F6E2M3FN:
      return {2, 3, 1, Specials::kNone};
    default:
      ZB_CHECK(false, "float_format of a type that is no float");
      return {};
  }
}

bool is_nan(DType dtype, uint64_t bits) {
  const FloatFormat format = float_format(dtype);
  const uint64_t magnitude = bits & ones(magnitude_bits(format));
  switch (format.specials) {
    case Specials::kIeee:
      return magnitude > ones(format.exponent_bits) << format.mantissa_bits;
    case Specials::kNanAllOnes:
    case Specials::kUnsigned:
      return magnitude == ones(magnitude_bits(format));
    case Specials::kNanNegativeZero:
      return (bits & ones(magnitude_bits(format) + 1)) == uint64_t{1} << magnitude_bits(format);
    case Specials::kNone:
      break;
  }
  return false;
}

double decode(DType dtype, uint64_t bits) {
  if (dtype == DType::Pred) return bits != 0 ? 1 : 0;
  if (is_signed(dtype)) {
    const int unused = 64 - dtype_bits(dtype);
    return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
  }
  if (is_integer(dtype)) return static_cast<double>(bits & ones(dtype_bits(dtype)));
  if (dtype == DType::F64) return std::bit_cast<double>(bits);
  const FloatFormat format = float_format(dtype);
  if (format.specials == Specials::kUnsigned)
    return is_nan(dtype, bits) ? std::numeric_limits<double>::quiet_NaN()
                               : std::ldexp(1.0, static_cast<int>(bits & 0xff) - format.bias);
  const bool negative = (bits >> magnitude_bits(format) & 1) != 0;
  const uint64_t magnitude = bits & ones(magnitude_bits(format));
  double value = 0;
  if (is_nan(dtype, bits)) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (format.specials == Specials::kIeee && magnitude > max_finite_bits(format)) {
    value = std::numeric_limits<double>::infinity();
  } else {
    const auto field = static_cast<int>(magnitude >> format.mantissa_bits);
    uint64_t mantissa = magnitude & ones(format.mantissa_bits);
    if (field != 0) mantissa |= uint64_t{1} << format.mantissa_bits;
    value =
        std::ldexp(static_cast<double>(mantissa), std::max(field, 1) - format.bias - format.mantissa_bits);
  }
  return negative && !is_nan(dtype, bits) ? -value : value;
}

uint64_t encode(DType dtype, double value) {
  if (dtype == DType::F64) return std::bit_cast<uint64_t>(value);
  const FloatFormat format = float_format(dtype);
  if (format.specials == Specials::kUnsigned) return encode_power(value);
  const bool negative = std::signbit(value);
  if (std::isnan(value)) return nan_bits(format, negative);
  const uint64_t largest = max_finite_bits(format);
  uint64_t magnitude = std::isinf(value) ? largest + 1 : round_magnitude(format, std::fabs(value));
  if (magnitude > largest) {
    if (format.specials == Specials::kNanAllOnes || format.specials == Specials::kNanNegativeZero)
      return nan_bits(format, negative);
    magnitude = format.specials == Specials::kIeee ? largest + 1 : largest;
  }
  if (magnitude == 0 && format.specials == Specials::kNanNegativeZero) return 0;
  return magnitude | (negative ? uint64_t{1} << magnitude_bits(format) : 0);
}

bool overflows(DType dtype, double value) {
  if (dtype == DType::F64 || !std::isfinite(value)) return false;
  const FloatFormat format = float_format(dtype);
  if (format.specials == Specials::kUnsigned) return value >= 0x1.8p127;
  return round_magnitude(format, std::fabs(value)) > max_finite_bits(format);
}

int64_t integer_min(DType dtype) {
  return is_signed(dtype) ? -static_cast<int64_t>(ones(dtype_bits(dtype) - 1)) - 1 : 0;
}

uint64_t integer_max(DType dtype) {
  if (dtype == DType::Pred) return 1;
  return ones(is_signed(dtype) ? dtype_bits(dtype) - 1 : dtype_bits(dtype));
}

uint64_t load_bits(DType dtype, const char* bytes) {
  uint64_t bits = 0;
  for (int i = 0; i < dtype_bytes(dtype); ++i)
    bits |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return bits;
}

void append_bits(DType dtype, uint64_t bits, std::string& bytes) {
  for (int i = 0; i < dtype_bytes(dtype); ++i) bytes += static_cast<char>(bits >> (8 * i) & 0xff);
}

}  // namespace zomboss::hlo
