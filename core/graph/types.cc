#include "core/graph/types.h"

#include "core/hlo/number.h"

namespace zomboss::graph {
namespace {

using hlo::DType;

int value_bits(DType dtype) {  // without the sign
  if (dtype == DType::Pred) return 1;
  return hlo::dtype_bits(dtype) - (hlo::is_signed(dtype) ? 1 : 0);
}

bool is_whole(DType dtype) {
  return dtype == DType::Pred || hlo::is_integer(dtype);
}

bool has_infinity(const hlo::FloatFormat& format) {
  return format.specials == hlo::Specials::kIeee;
}

bool float_holds_float(DType wide, DType narrow) {
  const hlo::FloatFormat w = hlo::float_format(wide);
  const hlo::FloatFormat n = hlo::float_format(narrow);
  if (w.specials != hlo::Specials::kIeee) return false;  // only the IEEE types are used as wide types
  // Exponent ranges by bias; the small formats that reuse the top exponent gain one binade.
  const int narrow_highest = (1 << n.exponent_bits) - 1 - n.bias - (has_infinity(n) ? 1 : 0);
  const int wide_highest = (1 << w.exponent_bits) - 2 - w.bias;
  const int narrow_lowest = 1 - n.bias - n.mantissa_bits;  // of the smallest subnormal
  const int wide_lowest = 1 - w.bias - w.mantissa_bits;
  return w.mantissa_bits >= n.mantissa_bits && wide_highest >= narrow_highest && wide_lowest <= narrow_lowest;
}

}  // namespace

bool holds_all_values(DType wide, DType narrow) {
  if (wide == narrow) return is_whole(wide) || hlo::is_float(wide);
  if (is_whole(wide) && is_whole(narrow)) {
    if (hlo::is_signed(narrow) && !hlo::is_signed(wide)) return false;
    return value_bits(wide) >= value_bits(narrow);
  }
  if (hlo::is_float(wide) && is_whole(narrow)) {
    const hlo::FloatFormat w = hlo::float_format(wide);
    return w.specials == hlo::Specials::kIeee && w.mantissa_bits + 1 >= value_bits(narrow) &&
           (1 << w.exponent_bits) - 2 - w.bias >= value_bits(narrow);
  }
  return hlo::is_float(wide) && hlo::is_float(narrow) && float_holds_float(wide, narrow);
}

}  // namespace zomboss::graph
