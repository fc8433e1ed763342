#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/oracle/context.h"
#include "core/oracle/elementwise.h"

namespace zomboss::oracle {
namespace {

// Folds one or more accumulators with one element each, by the computation that to_apply names. A computation
// that is a single binary operation on its two parameters is applied directly.
class Reducer {
 public:
  Reducer(Context& context, uint32_t computation, DType dtype)
      : context_(context), computation_(computation) {
    const hlo::Computation& body = context.module().computations[computation];
    const hlo::Instruction& root = body.instructions[body.root];
    if (body.parameters.size() != 2 || root.operands.size() != 2) return;
    const auto [first, second] = std::pair(root.operands[0], root.operands[1]);
    swapped_ = first == body.parameters[1] && second == body.parameters[0];
    if (!swapped_ && (first != body.parameters[0] || second != body.parameters[1])) return;
    const ElementwiseRow* row = find_elementwise(root.opcode);
    if (row == nullptr || row->arity != 2 || root.shape.dtype != dtype) return;
    if (hlo::is_float(dtype) ? row->on_float == nullptr : row->on_int == nullptr) return;
    row_ = row;
  }

  Status fold(std::span<Lane> accumulators, std::span<const Lane> elements, std::span<const DType> dtypes) {
    if (row_ != nullptr) {
      const Lane first = swapped_ ? elements[0] : accumulators[0];
      const Lane second = swapped_ ? accumulators[0] : elements[0];
      accumulators[0] = apply_row(*row_, first, second, dtypes[0]);
      return context_.budget().charge(1);
    }
    std::vector<Value> arguments;
    for (const std::span<const Lane> group : {std::span<const Lane>(accumulators), elements}) {
      for (size_t i = 0; i < group.size(); ++i) {
        ZB_ASSIGN(auto scalar, make_array(context_.budget(), dtypes[i], {}));
        scalar->lanes[0] = group[i];
        arguments.push_back(array_value(std::move(scalar)));
      }
    }
    const Context::UnroundedScope unrounded(context_);
    ZB_ASSIGN(const Value result, context_.run(computation_, arguments));
    if (result.array != nullptr ? accumulators.size() != 1 : result.elements.size() != accumulators.size()) {
      return invalid_argument("to_apply has not as many results as there are initial values");
    }
    if (result.array != nullptr) {
      accumulators[0] = result->lanes[0];
    } else {
      for (size_t i = 0; i < accumulators.size(); ++i) accumulators[i] = result.elements[i]->lanes[0];
    }
    return {};
  }

 private:
  Context& context_;
  uint32_t computation_;
  const ElementwiseRow* row_ = nullptr;
  bool swapped_ = false;
};

// The arrays of one or several results, in a Value of the instruction's shape.
struct Results {
  std::vector<std::shared_ptr<Array>> arrays;

  static Result<Results> make(Context& context, const hlo::Shape& shape) {
    Results results;
    const std::span<const hlo::Shape> shapes =
        shape.is_tuple() ? std::span<const hlo::Shape>(shape.elements) : std::span(&shape, 1);
    for (const hlo::Shape& each : shapes) {
      ZB_ASSIGN(auto array, make_array(context.budget(), each.dtype, each.dims));
      results.arrays.push_back(std::move(array));
    }
    return results;
  }

  Value value(bool tuple) && {
    if (!tuple) return array_value(std::move(arrays[0]));
    Value result;
    for (auto& array : arrays) result.elements.push_back(array_value(std::move(array)));
    return result;
  }
};

struct Fold {
  std::span<const Value> inputs, initial;
  std::vector<DType> dtypes;
  std::vector<Lane> accumulators, elements;

  explicit Fold(std::span<const Value> operands)
      : inputs(operands.first(operands.size() / 2)), initial(operands.subspan(operands.size() / 2)) {
    for (const Value& input : inputs) dtypes.push_back(input->dtype);
    accumulators.resize(inputs.size());
    elements.resize(inputs.size());
  }
  void start() {
    for (size_t i = 0; i < initial.size(); ++i) accumulators[i] = initial[i]->lanes[0];
  }
  Status step(Reducer& reducer, size_t position) {
    for (size_t i = 0; i < inputs.size(); ++i) elements[i] = inputs[i]->lanes[position];
    return reducer.fold(accumulators, elements, dtypes);
  }
  void finish(Results& results, size_t at) const {
    for (size_t i = 0; i < accumulators.size(); ++i) results.arrays[i]->lanes[at] = accumulators[i];
  }
};

Status check_fold(const hlo::Instruction& instruction, std::span<const Value> operands, size_t results) {
  if (operands.empty() || operands.size() % 2 != 0 || operands.size() / 2 != results ||
      instruction.attributes.calls.empty()) {
    return invalid_argument(fmt::format("{} needs as many initial values as inputs and results, and to_apply",
                                        instruction.opcode));
  }
  return {};
}

// Padding and the gaps of dilated inputs are skipped: they do not take part, as if they were neutral.
// Position in the operand of a window's element, or nothing when it is padding or falls between elements.
std::optional<size_t> window_position(std::span<const hlo::WindowDim> window, std::span<const int64_t> dims,
                                      std::span<const int64_t> strides, std::span<const int64_t> out,
                                      std::span<const int64_t> inside) {
  int64_t position = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    const hlo::WindowDim& w = window[d];
    const int64_t at = out[d] * w.stride + inside[d] * w.rhs_dilate - w.pad_low;
    if (at < 0 || at % w.lhs_dilate != 0 || at / w.lhs_dilate >= dims[d]) return std::nullopt;
    position += at / w.lhs_dilate * strides[d];
  }
  return static_cast<size_t>(position);
}

}  // namespace

Result<Value> eval_reduce(Context& context, const hlo::Instruction& instruction,
                          std::span<const Value> operands) {
  ZB_ASSIGN(Results results, Results::make(context, instruction.shape));
  ZB_TRY(check_fold(instruction, operands, results.arrays.size()));
  Fold fold(operands);
  Reducer reducer(context, instruction.attributes.calls[0], fold.dtypes[0]);
  const std::vector<int64_t>& dims = fold.inputs[0]->dims;
  const std::vector<int64_t> strides = row_major_strides(dims);
  const auto& reduced = instruction.attributes.dimensions;
  std::vector<int64_t> kept_dims, reduced_dims;
  StridedView kept, inside;
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool gone = std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) != reduced.end();
    (gone ? reduced_dims : kept_dims).push_back(dims[d]);
    (gone ? inside : kept).strides.push_back(strides[d]);
  }
  Status status;
  size_t at = 0;
  for_each_position(kept_dims, kept, [&](size_t base) {
    if (!status.ok()) return;
    fold.start();
    for_each_position(reduced_dims, inside, [&](size_t offset) {
      if (status.ok()) status = fold.step(reducer, base + offset);
    });
    fold.finish(results, at++);
  });
  ZB_TRY(std::move(status));
  return std::move(results).value(instruction.shape.is_tuple());
}

Result<Value> eval_reduce_window(Context& context, const hlo::Instruction& instruction,
                                 std::span<const Value> operands) {
  ZB_ASSIGN(Results results, Results::make(context, instruction.shape));
  ZB_TRY(check_fold(instruction, operands, results.arrays.size()));
  Fold fold(operands);
  Reducer reducer(context, instruction.attributes.calls[0], fold.dtypes[0]);
  const auto& window = instruction.attributes.window;
  const std::vector<int64_t>& dims = fold.inputs[0]->dims;
  if (window.size() != dims.size()) return invalid_argument("the window has not the rank of the operand");
  const std::vector<int64_t> strides = row_major_strides(dims);
  std::vector<int64_t> sizes;
  for (const hlo::WindowDim& w : window) sizes.push_back(w.size);
  ZB_ASSIGN(const int64_t inside_count, element_count(sizes));
  ZB_TRY(context.budget().charge_product({results.arrays[0]->size(), inside_count, 4}));
  Odometer out(results.arrays[0]->dims);
  for (size_t at = 0; at < results.arrays[0]->lanes.size(); ++at, out.next()) {
    fold.start();
    Odometer inside(sizes);
    for (int64_t i = 0; i < inside_count; ++i, inside.next()) {
      const auto position = window_position(window, dims, strides, out.index(), inside.index());
      if (position) ZB_TRY(fold.step(reducer, *position));
    }
    fold.finish(results, at);
  }
  return std::move(results).value(instruction.shape.is_tuple());
}

}  // namespace zomboss::oracle
