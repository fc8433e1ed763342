// Rules of operations that move elements around.
#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/shape_rules.h"

namespace zomboss::hlo {
namespace {

Status check_index_operands(const Op& op, size_t first, size_t rank) {
  if (op.operands() - first == 1 && op.operand(first).rank() == 1 && is_integer(op.operand(first).dtype) &&
      op.operand(first).dims[0] == static_cast<int64_t>(rank))
    return {};  // old form: one vector of starts
  if (op.operands() - first != rank)
    return rule_error(op,
                      fmt::format("has {} start operands for {} dimensions", op.operands() - first, rank));
  for (size_t i = first; i < op.operands(); ++i)
    if (!is_scalar(op.operand(i)) || !is_integer(op.operand(i).dtype))
      return rule_error(op, fmt::format("start operand {} is {}, expected an integer scalar", i - first,
                                        op.operand(i).text()));
  return {};
}

}  // namespace

Result<Shape> broadcast_rule(const Op& op) {
  const Shape& from = op.operand(0);
  const auto& dims = op.attributes().dimensions;
  if (op.stated == nullptr)
    return rule_error(op, "needs its type, as in 'f32[2,3] broadcast(x), dimensions={1}'");
  const Shape& to = *op.stated;
  if (dims.size() != from.rank())
    return rule_error(op, fmt::format("the operand {} has {} dimensions, dimensions= has {}", from.text(),
                                      from.rank(), dims.size()));
  if (!to.is_array() || to.dtype != from.dtype)
    return rule_error(op, fmt::format("gives {}, but the operand is {}; the element types must agree",
                                      to.text(), from.text()));
  ZB_TRY(check_dims(op, dims, to.rank(), "dimensions"));
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t size = to.dims[static_cast<size_t>(dims[i])];
    if (size != from.dims[i])
      return rule_error(
          op, fmt::format("dimension {} of the operand has size {}, dimension {} of the result {}", i,
                          from.dims[i], dims[i], size));
  }
  return to;
}

Result<Shape> reshape_rule(const Op& op) {
  if (op.stated == nullptr) return rule_error(op, "needs its type, as in 'f32[6] reshape(x)'");
  const Shape& from = op.operand(0);
  const Shape& to = *op.stated;
  if (!to.is_array() || to.dtype != from.dtype)
    return rule_error(op, fmt::format("gives {}, but the operand is {}; the element types must agree",
                                      to.text(), from.text()));
  if (to.element_count() != from.element_count())
    return rule_error(op, fmt::format("{} has {} elements, {} has {}", from.text(), from.element_count(),
                                      to.text(), to.element_count()));
  return to;
}

Result<Shape> bitcast_rule(const Op& op) {
  if (op.stated == nullptr) return rule_error(op, "needs its type");
  const Shape& from = op.operand(0);
  const Shape& to = *op.stated;
  const bool arrays = from.is_array() && to.is_array();
  if (arrays && static_cast<WideInt>(from.element_count()) * dtype_bits(from.dtype) !=
                    static_cast<WideInt>(to.element_count()) * dtype_bits(to.dtype))
    return rule_error(op, fmt::format("{} and {} differ in size", from.text(), to.text()));
  return to;
}

Result<Shape> transpose_rule(const Op& op) {
  const Shape& from = op.operand(0);
  const auto& dims = op.attributes().dimensions;
  if (dims.size() != from.rank())
    return rule_error(op, fmt::format("the operand {} has {} dimensions, dimensions= has {}", from.text(),
                                      from.rank(), dims.size()));
  ZB_TRY(check_dims(op, dims, from.rank(), "dimensions"));
  Shape out = array_of(from.dtype, {});
  for (const int64_t dim : dims) out.dims.push_back(from.dims[static_cast<size_t>(dim)]);
  return out;
}

Result<Shape> reverse_rule(const Op& op) {
  ZB_TRY(check_dims(op, op.attributes().dimensions, op.operand(0).rank(), "dimensions"));
  return array_of(op.operand(0).dtype, op.operand(0).dims);
}

Result<Shape> slice_rule(const Op& op) {
  const Shape& from = op.operand(0);
  const auto& slice = op.attributes().slice;
  if (slice.size() != from.rank())
    return rule_error(op, fmt::format("the operand {} has {} dimensions, slice= has {}", from.text(),
                                      from.rank(), slice.size()));
  Shape out = array_of(from.dtype, {});
  for (size_t i = 0; i < slice.size(); ++i) {
    const SliceDim& dim = slice[i];
    if (dim.start < 0 || dim.limit < dim.start || dim.limit > from.dims[i] || dim.stride < 1)
      return rule_error(op, fmt::format("[{}:{}:{}] does not fit in dimension {} of size {}", dim.start,
                                        dim.limit, dim.stride, i, from.dims[i]));
    const int64_t length = dim.limit - dim.start;
    out.dims.push_back(length / dim.stride + (length % dim.stride != 0 ? 1 : 0));
  }
  return out;
}

Result<Shape> dynamic_slice_rule(const Op& op) {
  const Shape& from = op.operand(0);
  const auto& sizes = op.attributes().dynamic_slice_sizes;
  if (sizes.size() != from.rank())
    return rule_error(op, fmt::format("the operand {} has {} dimensions, dynamic_slice_sizes= has {}",
                                      from.text(), from.rank(), sizes.size()));
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0 || sizes[i] > from.dims[i])
      return rule_error(op, fmt::format("slice size {} does not fit in dimension {} of size {}", sizes[i], i,
                                        from.dims[i]));
  ZB_TRY(check_index_operands(op, 1, from.rank()));
  return array_of(from.dtype, sizes);
}

Result<Shape> dynamic_update_slice_rule(const Op& op) {
  const Shape& from = op.operand(0);
  const Shape& update = op.operand(1);
  bool fits = update.dtype == from.dtype && update.rank() == from.rank();
  for (size_t i = 0; fits && i < from.rank(); ++i) fits = update.dims[i] <= from.dims[i];
  if (!fits)
    return rule_error(op, fmt::format("the update {} does not fit in {}", update.text(), from.text()));
  ZB_TRY(check_index_operands(op, 2, from.rank()));
  return array_of(from.dtype, from.dims);
}

Result<Shape> concatenate_rule(const Op& op) {
  const auto& dims = op.attributes().dimensions;
  const Shape& first = op.operand(0);
  if (dims.size() != 1)
    return rule_error(op, fmt::format("needs one dimension, dimensions= has {}", dims.size()));
  ZB_TRY(check_dims(op, dims, first.rank(), "dimensions"));
  const auto along = static_cast<size_t>(dims[0]);
  Shape out = array_of(first.dtype, first.dims);
  for (size_t i = 1; i < op.operands(); ++i) {
    const Shape& part = op.operand(i);
    bool agrees = part.dtype == first.dtype && part.rank() == first.rank();
    for (size_t dim = 0; agrees && dim < first.rank(); ++dim)
      agrees = dim == along || part.dims[dim] == first.dims[dim];
    if (!agrees)
      return rule_error(op, fmt::format("operand {} is {}, operand 0 is {}; only dimension {} may differ", i,
                                        part.text(), first.text(), along));
    if (__builtin_add_overflow(out.dims[along], part.dims[along], &out.dims[along]))
      return rule_error(op, "the result is too large");
  }
  return out;
}

Result<Shape> pad_rule(const Op& op) {
  const Shape& from = op.operand(0);
  const auto& padding = op.attributes().padding;
  if (!is_scalar(op.operand(1)) || op.operand(1).dtype != from.dtype)
    return rule_error(op, fmt::format("the padding value is {}, expected {}[]", op.operand(1).text(),
                                      dtype_name(from.dtype)));
  if (padding.size() != from.rank())
    return rule_error(op, fmt::format("the operand {} has {} dimensions, padding= has {}", from.text(),
                                      from.rank(), padding.size()));
  Shape out = array_of(from.dtype, {});
  for (size_t i = 0; i < padding.size(); ++i) {
    const PadDim& pad = padding[i];
    if (pad.interior < 0) return rule_error(op, fmt::format("interior padding {} is negative", pad.interior));
    const WideInt inner = std::max<int64_t>(from.dims[i] - 1, 0);
    const WideInt size = from.dims[i] + inner * pad.interior + pad.low + pad.high;
    if (size < 0 || size > int64_t{1} << 62)
      return rule_error(op, fmt::format("dimension {} of size {} cannot be padded by {}_{}_{}", i,
                                        from.dims[i], pad.low, pad.high, pad.interior));
    out.dims.push_back(static_cast<int64_t>(size));
  }
  return out;
}

Result<Shape> iota_rule(const Op& op) {
  if (op.stated == nullptr) return rule_error(op, "needs its type, as in 's32[8] iota(), iota_dimension=0'");
  const auto dimension = op.attributes().iota_dimension;
  if (!dimension) return rule_error(op, "needs iota_dimension=");
  if (!op.stated->is_array() || op.stated->dtype == DType::Pred)
    return rule_error(op, fmt::format("cannot give {}", op.stated->text()));
  const int64_t dims[] = {*dimension};
  ZB_TRY(check_dims(op, dims, op.stated->rank(), "iota_dimension"));
  return *op.stated;
}

}  // namespace zomboss::hlo
