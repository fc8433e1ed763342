// Rules of tuples, calls and control flow, and of reduce, map and sort, which apply a computation.
#include <fmt/format.h>

#include "core/hlo/shape_rules.h"

namespace zomboss::hlo {
namespace {

const Shape& root_shape(const Computation& computation) {
  return computation.instructions[computation.root].shape;
}

const Shape& parameter_shape(const Computation& computation, size_t i) {
  return computation.instructions[computation.parameters[i]].shape;
}

Status check_parameter_count(const Op& op, const Computation& computation, size_t count) {
  if (computation.parameters.size() == count) return {};
  return rule_error(op, fmt::format("computation '{}' has {} parameters, expected {}", computation.name,
                                    computation.parameters.size(), count));
}

Status check_parameter(const Op& op, const Computation& computation, size_t i, const Shape& expected) {
  if (parameter_shape(computation, i).same_type(expected)) return {};
  return rule_error(op,
                    fmt::format("parameter {} of computation '{}' is {}, expected {}", i, computation.name,
                                parameter_shape(computation, i).text(), expected.text()));
}

// The computation of to_apply= or calls=.
Result<const Computation*> applied(const Op& op) {
  if (op.attributes().calls.size() != 1)
    return rule_error(op,
                      fmt::format("needs one computation to apply, has {}", op.attributes().calls.size()));
  return &op.module.computations[op.attributes().calls[0]];
}

// The root gives one result per array: a scalar for one, a tuple of scalars for several.
Status check_scalar_results(const Op& op, const Computation& computation, size_t arrays) {
  const Shape& root = root_shape(computation);
  bool matches = arrays == 1 ? root.same_type(array_of(op.operand(0).dtype, {}))
                             : root.is_tuple() && root.elements.size() == arrays;
  for (size_t i = 0; matches && arrays > 1 && i < arrays; ++i)
    matches = root.elements[i].same_type(array_of(op.operand(i).dtype, {}));
  if (matches) return {};
  return rule_error(op,
                    fmt::format("computation '{}' gives {}, expected one scalar for each of the {} arrays",
                                computation.name, root.text(), arrays));
}

Result<Shape> one_or_tuple(std::vector<Shape> shapes) {
  if (shapes.size() == 1) return std::move(shapes[0]);
  Shape out;
  out.dtype = DType::Tuple;
  out.elements = std::move(shapes);
  return out;
}

void drop_layouts(Shape& shape) {
  shape.layout.reset();
  for (Shape& element : shape.elements) drop_layouts(element);
}

Shape without_layout(const Shape& shape) {
  Shape out = shape;
  drop_layouts(out);
  return out;
}

}  // namespace

Result<Shape> first_operand_rule(const Op& op) {
  return without_layout(op.operand(0));
}

Result<Shape> token_rule(const Op&) {
  return array_of(DType::Token, {});
}

Result<Shape> u32_scalar_rule(const Op&) {
  return array_of(DType::U32, {});
}

Result<Shape> parameter_rule(const Op& op) {
  if (op.stated == nullptr) return rule_error(op, "needs its type, as in 'f32[2] parameter(0)'");
  if (!op.instruction.parameter_number) return rule_error(op, "has no number");
  return *op.stated;
}

Result<Shape> constant_rule(const Op& op) {
  if (op.stated == nullptr) return rule_error(op, "needs its type, as in 'f32[] constant(1)'");
  if (!op.instruction.literal) return rule_error(op, "has no value");
  if (!op.instruction.literal->shape.same_type(*op.stated))
    return rule_error(op, fmt::format("is {}, but its value is {}", op.stated->text(),
                                      op.instruction.literal->shape.text()));
  return *op.stated;
}

// A stated type is compared in place: copying the operands' types could be far more work than the text is
// long.
Result<Shape> tuple_rule(const Op& op) {
  if (op.stated != nullptr) {
    const Shape& stated = *op.stated;
    if (!stated.is_tuple() || stated.elements.size() != op.operands())
      return rule_error(op, fmt::format("has {} operands, but its type has {} elements", op.operands(),
                                        stated.elements.size()));
    for (size_t i = 0; i < op.operands(); ++i)
      if (!stated.elements[i].same_type(op.operand(i)))
        return rule_error(op, fmt::format("operand {} is {}, the type says {}", i, op.operand(i).text(),
                                          stated.elements[i].text()));
    return stated;
  }
  Shape out;
  out.dtype = DType::Tuple;
  for (size_t i = 0; i < op.operands(); ++i) out.elements.push_back(without_layout(op.operand(i)));
  return out;
}

Result<Shape> get_tuple_element_rule(const Op& op) {
  const Shape& from = op.operand(0);
  const auto index = op.attributes().index;
  if (!index) return rule_error(op, "needs index=");
  if (!from.is_tuple())
    return rule_error(op, fmt::format("the operand is {}, expected a tuple", from.text()));
  if (*index < 0 || static_cast<uint64_t>(*index) >= from.elements.size())
    return rule_error(
        op, fmt::format("index {} is out of range for a tuple of {} elements", *index, from.elements.size()));
  return without_layout(from.elements[static_cast<size_t>(*index)]);
}

Result<Shape> reduce_rule(const Op& op) {
  const size_t arrays = op.operands() / 2;
  if (op.operands() % 2 != 0)
    return rule_error(op, fmt::format("has {} operands, expected pairs", op.operands()));
  const auto& dims = op.attributes().dimensions;
  ZB_TRY(check_dims(op, dims, op.operand(0).rank(), "dimensions"));
  ZB_ASSIGN(const Computation* computation, applied(op));
  ZB_TRY(check_parameter_count(op, *computation, 2 * arrays));
  std::vector<bool> reduced(op.operand(0).rank(), false);
  for (const int64_t dim : dims) reduced[static_cast<size_t>(dim)] = true;
  std::vector<Shape> results;
  for (size_t i = 0; i < arrays; ++i) {
    const Shape& from = op.operand(i);
    const Shape scalar = array_of(from.dtype, {});
    if (from.dims != op.operand(0).dims)
      return rule_error(op, fmt::format("operand {} is {}, operand 0 is {}; the dimensions must agree", i,
                                        from.text(), op.operand(0).text()));
    if (!op.operand(arrays + i).same_type(scalar))
      return rule_error(op, fmt::format("the initial value {} is {}, expected {}", i,
                                        op.operand(arrays + i).text(), scalar.text()));
    ZB_TRY(check_parameter(op, *computation, i, scalar));
    ZB_TRY(check_parameter(op, *computation, arrays + i, scalar));
    Shape& out = results.emplace_back(scalar);
    for (size_t dim = 0; dim < from.rank(); ++dim)
      if (!reduced[dim]) out.dims.push_back(from.dims[dim]);
  }
  ZB_TRY(check_scalar_results(op, *computation, arrays));
  return one_or_tuple(std::move(results));
}

Result<Shape> call_rule(const Op& op) {
  ZB_ASSIGN(const Computation* computation, applied(op));
  ZB_TRY(check_parameter_count(op, *computation, op.operands()));
  for (size_t i = 0; i < op.operands(); ++i) ZB_TRY(check_parameter(op, *computation, i, op.operand(i)));
  return without_layout(root_shape(*computation));
}

Result<Shape> while_rule(const Op& op) {
  const Attributes& attributes = op.attributes();
  if (!attributes.condition || !attributes.body) return rule_error(op, "needs condition= and body=");
  const Computation& condition = op.module.computations[*attributes.condition];
  const Computation& body = op.module.computations[*attributes.body];
  for (const Computation* computation : {&condition, &body}) {
    ZB_TRY(check_parameter_count(op, *computation, 1));
    ZB_TRY(check_parameter(op, *computation, 0, op.operand(0)));
  }
  if (!root_shape(condition).same_type(array_of(DType::Pred, {})))
    return rule_error(op, fmt::format("condition '{}' gives {}, expected pred[]", condition.name,
                                      root_shape(condition).text()));
  if (!root_shape(body).same_type(op.operand(0)))
    return rule_error(op, fmt::format("body '{}' gives {}, expected {}", body.name, root_shape(body).text(),
                                      op.operand(0).text()));
  return without_layout(op.operand(0));
}

Result<Shape> conditional_rule(const Op& op) {
  const auto& branches = op.attributes().branches;
  const Shape& selector = op.operand(0);
  const bool by_pred = selector.same_type(array_of(DType::Pred, {}));
  if (!by_pred && !selector.same_type(array_of(DType::S32, {})))
    return rule_error(op, fmt::format("the selector is {}, expected pred[] or s32[]", selector.text()));
  if (branches.empty() || (by_pred && branches.size() != 2))
    return rule_error(
        op, fmt::format("has {} branches, expected {}", branches.size(), by_pred ? "2" : "at least 1"));
  if (op.operands() != branches.size() + 1)
    return rule_error(
        op, fmt::format("has {} branches, but {} branch operands", branches.size(), op.operands() - 1));
  const Shape& result = root_shape(op.module.computations[branches[0]]);
  for (size_t i = 0; i < branches.size(); ++i) {
    const Computation& branch = op.module.computations[branches[i]];
    ZB_TRY(check_parameter_count(op, branch, 1));
    ZB_TRY(check_parameter(op, branch, 0, op.operand(i + 1)));
    if (!root_shape(branch).same_type(result))
      return rule_error(op, fmt::format("branch '{}' gives {}, branch 0 gives {}", branch.name,
                                        root_shape(branch).text(), result.text()));
  }
  return without_layout(result);
}

Result<Shape> map_rule(const Op& op) {
  ZB_ASSIGN(const Computation* computation, applied(op));
  ZB_TRY(check_parameter_count(op, *computation, op.operands()));
  for (size_t i = 0; i < op.operands(); ++i) {
    if (op.operand(i).dims != op.operand(0).dims)
      return rule_error(op, fmt::format("operand {} is {}, operand 0 is {}; the dimensions must agree", i,
                                        op.operand(i).text(), op.operand(0).text()));
    ZB_TRY(check_parameter(op, *computation, i, array_of(op.operand(i).dtype, {})));
  }
  const Shape& root = root_shape(*computation);
  if (!is_scalar(root))
    return rule_error(
        op, fmt::format("computation '{}' gives {}, expected a scalar", computation->name, root.text()));
  return array_of(root.dtype, op.operand(0).dims);
}

Result<Shape> sort_rule(const Op& op) {
  ZB_ASSIGN(const Computation* comparator, applied(op));
  ZB_TRY(check_parameter_count(op, *comparator, 2 * op.operands()));
  if (op.attributes().dimensions.size() != 1) return rule_error(op, "needs one dimension in dimensions=");
  ZB_TRY(check_dims(op, op.attributes().dimensions, op.operand(0).rank(), "dimensions"));
  std::vector<Shape> results;
  for (size_t i = 0; i < op.operands(); ++i) {
    const Shape& from = op.operand(i);
    if (from.dims != op.operand(0).dims)
      return rule_error(op, fmt::format("operand {} is {}, operand 0 is {}; the dimensions must agree", i,
                                        from.text(), op.operand(0).text()));
    ZB_TRY(check_parameter(op, *comparator, 2 * i, array_of(from.dtype, {})));
    ZB_TRY(check_parameter(op, *comparator, 2 * i + 1, array_of(from.dtype, {})));
    results.push_back(array_of(from.dtype, from.dims));
  }
  if (!root_shape(*comparator).same_type(array_of(DType::Pred, {})))
    return rule_error(op, fmt::format("comparator '{}' gives {}, expected pred[]", comparator->name,
                                      root_shape(*comparator).text()));
  return one_or_tuple(std::move(results));
}

}  // namespace zomboss::hlo
