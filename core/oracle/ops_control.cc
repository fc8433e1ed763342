#include <fmt/format.h>

#include "core/oracle/context.h"

namespace zomboss::oracle {

Result<Value> eval_identity(Context&, const hlo::Instruction&, std::span<const Value> operands) {
  return operands[0];
}

Result<Value> eval_tuple(Context&, const hlo::Instruction&, std::span<const Value> operands) {
  return Value{nullptr, {operands.begin(), operands.end()}};
}

Result<Value> eval_get_tuple_element(Context&, const hlo::Instruction& instruction,
                                     std::span<const Value> operands) {
  const auto index = static_cast<size_t>(instruction.attributes.index.value_or(0));
  if (index >= operands[0].elements.size()) return invalid_argument("the index is outside the tuple");
  return operands[0].elements[index];
}

// call and fusion
Result<Value> eval_call(Context& context, const hlo::Instruction& instruction,
                        std::span<const Value> operands) {
  if (instruction.attributes.calls.empty()) return invalid_argument("no computation is named");
  return context.run(instruction.attributes.calls[0], operands);
}

Result<Value> eval_map(Context& context, const hlo::Instruction& instruction,
                       std::span<const Value> operands) {
  if (instruction.attributes.calls.empty()) return invalid_argument("no computation is named");
  ZB_ASSIGN(auto result, result_array(context, instruction));
  std::vector<Value> arguments(operands.size());
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    for (size_t o = 0; o < operands.size(); ++o) {
      ZB_ASSIGN(auto scalar, make_array(context.budget(), operands[o]->dtype, {}));
      scalar->lanes[0] = operands[o]->lanes[i];
      arguments[o] = array_value(std::move(scalar));
    }
    ZB_ASSIGN(const Value element, context.run(instruction.attributes.calls[0], arguments));
    if (element.array == nullptr || element->dtype != result->dtype || element->size() != 1) {
      return invalid_argument("the mapped computation does not return the element type of the result");
    }
    result->lanes[i] = element->lanes[0];
  }
  return array_value(std::move(result));
}

Result<Value> eval_while(Context& context, const hlo::Instruction& instruction,
                         std::span<const Value> operands) {
  const hlo::Attributes& attributes = instruction.attributes;
  if (!attributes.condition || !attributes.body) return invalid_argument("no condition or body is named");
  Value state = operands[0];
  for (;;) {
    ZB_ASSIGN(const Value more, context.run(*attributes.condition, std::span(&state, 1)));
    if (more.array == nullptr || more->size() != 1) return invalid_argument("the condition is no scalar");
    if (more->lanes[0] == 0) return state;
    ZB_ASSIGN(state, context.run(*attributes.body, std::span(&state, 1)));
  }
}

// A pred chooses between true (first) and false; an index outside the branches takes the last one.
Result<Value> eval_conditional(Context& context, const hlo::Instruction& instruction,
                               std::span<const Value> operands) {
  const auto& branches = instruction.attributes.branches;
  if (branches.empty() || operands.size() != branches.size() + 1 || operands[0].array == nullptr ||
      operands[0]->size() != 1) {
    return invalid_argument("conditional needs a scalar and one operand for each branch");
  }
  const int64_t selector = lane_int(operands[0]->lanes[0]);
  const auto last = static_cast<int64_t>(branches.size()) - 1;
  int64_t branch = selector < 0 || selector > last ? last : selector;
  if (operands[0]->dtype == DType::Pred) branch = selector != 0 ? 0 : last;
  const auto chosen = static_cast<size_t>(branch);
  return context.run(branches[chosen], operands.subspan(chosen + 1, 1));
}

}  // namespace zomboss::oracle
