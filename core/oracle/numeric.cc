#include "core/oracle/numeric.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/check.h"
#include "core/hlo/number.h"

namespace zomboss::oracle {
namespace {

// The integer as a double whose rounding to any type narrower than double is that of the integer itself: bits
// beyond 53 are folded into the last place (rounding to odd).
double int_to_double(int64_t value, DType from) {
  const bool negative = from != DType::U64 && value < 0;
  uint64_t magnitude = static_cast<uint64_t>(value);
  if (negative) magnitude = 0 - magnitude;
  if (const int excess = static_cast<int>(std::bit_width(magnitude)) - 53; excess > 0) {
    const uint64_t dropped = magnitude & ((uint64_t{1} << excess) - 1);
    magnitude = ((magnitude >> excess) | (dropped != 0 ? 1 : 0)) << excess;
  }
  const auto result = static_cast<double>(magnitude);
  return negative ? -result : result;
}

int64_t float_to_int(double value, DType to) {
  if (std::isnan(value)) return 0;
  value = std::trunc(value);
  if (to == DType::U64) {
    if (value <= 0) return 0;
    return value >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  const int64_t lowest = hlo::integer_min(to);
  const auto highest = static_cast<int64_t>(hlo::integer_max(to));
  if (value <= static_cast<double>(lowest)) return lowest;
  return value >= static_cast<double>(highest) ? highest : static_cast<int64_t>(value);
}

}  // namespace

bool computable(DType dtype) {
  return dtype == DType::Pred || hlo::is_integer(dtype) || hlo::is_float(dtype);
}

int64_t wrap(int64_t value, DType dtype) {
  if (dtype == DType::Pred) return value != 0 ? 1 : 0;
  const int unused = 64 - hlo::dtype_bits(dtype);
  const uint64_t high = static_cast<uint64_t>(value) << unused;
  if (hlo::is_signed(dtype)) return static_cast<int64_t>(high) >> unused;
  return static_cast<int64_t>(high >> unused);
}

double round_to(double value, DType dtype) {
  switch (dtype) {
    case DType::F64:
      return value;
    case DType::F32:
      return static_cast<double>(static_cast<float>(value));
    default:
      return hlo::decode(dtype, hlo::encode(dtype, value));
  }
}

Lane convert_lane(Lane lane, DType from, DType to, bool exact_floats) {
  const bool from_float = hlo::is_float(from);
  if (hlo::is_float(to)) {
    if (from_float) return exact_floats ? lane : to_lane(round_to(lane_float(lane), to));
    if (to == DType::F64) {
      return to_lane(from == DType::U64 ? static_cast<double>(lane) : static_cast<double>(lane_int(lane)));
    }
    return to_lane(round_to(int_to_double(lane_int(lane), from), to));
  }
  if (!from_float) return to_lane(wrap(lane_int(lane), to));
  const double value = lane_float(lane);
  if (to == DType::Pred) return to_lane(int64_t{value != 0});
  return to_lane(float_to_int(value, to));
}

void decode(DType dtype, std::span<const uint8_t> bytes, std::span<Lane> lanes) {
  const auto width = static_cast<size_t>(hlo::dtype_bytes(dtype));
  ZB_CHECK(bytes.size() == lanes.size() * width, "as many bytes as elements");
  const bool is_float = hlo::is_float(dtype);
  for (size_t i = 0; i < lanes.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    if (dtype == DType::F32) {
      lanes[i] = to_lane(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    } else if (is_float) {
      lanes[i] = to_lane(hlo::decode(dtype, bits));
    } else {
      lanes[i] = to_lane(wrap(static_cast<int64_t>(bits), dtype));
    }
  }
}

void encode(DType dtype, std::span<const Lane> lanes, std::span<uint8_t> bytes) {
  const auto width = static_cast<size_t>(hlo::dtype_bytes(dtype));
  ZB_CHECK(bytes.size() == lanes.size() * width, "as many bytes as elements");
  const bool is_float = hlo::is_float(dtype);
  for (size_t i = 0; i < lanes.size(); ++i) {
    uint64_t bits = lanes[i];
    if (dtype == DType::F32) {
      bits = std::bit_cast<uint32_t>(static_cast<float>(lane_float(lanes[i])));
    } else if (is_float) {
      bits = hlo::encode(dtype, lane_float(lanes[i]));
    }
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
}

}  // namespace zomboss::oracle
