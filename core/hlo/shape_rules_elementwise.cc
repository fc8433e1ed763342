// Rules of operations that work element by element.
#include <fmt/format.h>

#include "core/hlo/shape_rules.h"

namespace zomboss::hlo {
namespace {

DType part_type(DType complex) {
  return complex == DType::C64 ? DType::F32 : complex == DType::C128 ? DType::F64 : complex;
}

// All operands must be arrays of one shape.
Status check_equal_operands(const Op& op) {
  for (size_t i = 0; i < op.operands(); ++i) {
    ZB_TRY(check_array(op, i));
    if (!op.operand(i).same_type(op.operand(0)))
      return rule_error(op, fmt::format("operand {} is {}, operand 0 is {}; they must agree", i,
                                        op.operand(i).text(), op.operand(0).text()));
  }
  return {};
}

Shape with_type(const Shape& shape, DType dtype) {
  Shape out = array_of(dtype, shape.dims);
  out.dynamic = shape.dynamic;
  return out;
}

}  // namespace

Result<Shape> same_as_operands(const Op& op) {
  ZB_TRY(check_equal_operands(op));
  return with_type(op.operand(0), op.operand(0).dtype);
}

Result<Shape> abs_rule(const Op& op) {
  return with_type(op.operand(0), part_type(op.operand(0).dtype));
}

Result<Shape> complex_part_rule(const Op& op) {
  return abs_rule(op);
}

Result<Shape> is_finite_rule(const Op& op) {
  return with_type(op.operand(0), DType::Pred);
}

Result<Shape> complex_rule(const Op& op) {
  ZB_TRY(check_equal_operands(op));
  const DType part = op.operand(0).dtype;
  if (part != DType::F32 && part != DType::F64)
    return rule_error(op, fmt::format("operands are {}, expected f32 or f64", dtype_name(part)));
  return with_type(op.operand(0), part == DType::F32 ? DType::C64 : DType::C128);
}

Result<Shape> compare_rule(const Op& op) {
  ZB_TRY(check_equal_operands(op));
  const std::string& direction = op.attributes().direction;
  for (const std::string_view known : {"EQ", "NE", "LT", "LE", "GT", "GE"})
    if (direction == known) return with_type(op.operand(0), DType::Pred);
  if (direction.empty()) return rule_error(op, "needs direction=EQ, NE, LT, LE, GT or GE");
  return rule_error(op, fmt::format("direction is '{}', expected EQ, NE, LT, LE, GT or GE", direction));
}

Result<Shape> select_rule(const Op& op) {
  const Shape& predicate = op.operand(0);
  const Shape& value = op.operand(1);
  if (!value.same_type(op.operand(2)))
    return rule_error(
        op, fmt::format("the two values are {} and {}; they must agree", value.text(), op.operand(2).text()));
  if (predicate.dtype != DType::Pred || (predicate.rank() != 0 && predicate.dims != value.dims))
    return rule_error(op, fmt::format("the predicate is {}, expected pred[] or pred of the dimensions of {}",
                                      predicate.text(), value.text()));
  if (value.is_array()) return with_type(value, value.dtype);
  return value;
}

Result<Shape> clamp_rule(const Op& op) {
  const Shape& value = op.operand(1);
  for (const size_t bound : {size_t{0}, size_t{2}}) {
    const Shape& shape = op.operand(bound);
    if (shape.dtype != value.dtype || (!is_scalar(shape) && shape.dims != value.dims))
      return rule_error(op, fmt::format("bound {} is {}, expected {}[] or {}", bound, shape.text(),
                                        dtype_name(value.dtype), value.text()));
  }
  return with_type(value, value.dtype);
}

Result<Shape> convert_rule(const Op& op) {
  if (op.stated == nullptr) return rule_error(op, "needs its type, as in 'f32[2] convert(x)'");
  if (!op.stated->is_array() || op.stated->dims != op.operand(0).dims)
    return rule_error(op, fmt::format("gives {}, but the operand is {}; only the element type may change",
                                      op.stated->text(), op.operand(0).text()));
  return *op.stated;
}

// Equal widths keep the dimensions; otherwise the minor-most dimension of the narrower side counts the
// pieces.
Result<Shape> bitcast_convert_rule(const Op& op) {
  if (op.stated == nullptr) return rule_error(op, "needs its type, as in 'u8[2,4] bitcast-convert(x)'");
  const Shape& from = op.operand(0);
  const Shape& to = *op.stated;
  const int from_bits = dtype_bits(from.dtype);
  const int to_bits = dtype_bits(to.dtype);
  const Shape& narrow = from_bits < to_bits ? from : to;
  std::vector<int64_t> expected = (from_bits < to_bits ? to : from).dims;
  if (from_bits != to_bits)
    expected.push_back(std::max(from_bits, to_bits) / std::max(std::min(from_bits, to_bits), 1));
  const bool divides = to_bits != 0 && std::max(from_bits, to_bits) % std::min(from_bits, to_bits) == 0;
  if (!divides || narrow.dims != expected)
    return rule_error(op,
                      fmt::format("cannot turn {} into {}: the bits do not line up", from.text(), to.text()));
  return to;
}

}  // namespace zomboss::hlo
