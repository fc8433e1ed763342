#include <algorithm>
#include <array>

#include "core/oracle/context.h"
#include "core/oracle/elementwise.h"

namespace zomboss::oracle {
namespace {

// One row per opcode with a rule of its own, sorted; elementwise.cc has the rest. `parameter` is evaluated by
// the evaluator itself.
constexpr std::array kOps = std::to_array<OpRow>({
    {"bitcast", eval_reshape, false, true},
    {"bitcast-convert", eval_bitcast_convert, true, true},
    {"broadcast", eval_broadcast, false, true},
    {"call", eval_call, false, false},
    {"clamp", eval_clamp, false, true},
    {"compare", eval_compare, false, true},
    {"concatenate", eval_concatenate, false, true},
    {"conditional", eval_conditional, false, false},
    {"constant", eval_constant, false, true},
    {"convert", eval_convert, false, true},
    {"convolution", eval_convolution, true, true},
    {"copy", eval_identity, false, false},
    {"dot", eval_dot, true, true},
    {"dynamic-slice", eval_dynamic_slice, false, true},
    {"dynamic-update-slice", eval_dynamic_update_slice, false, true},
    {"fusion", eval_call, false, false},
    {"get-tuple-element", eval_get_tuple_element, false, false},
    {"iota", eval_iota, true, true},
    {"is-finite", eval_is_finite, false, true},
    {"map", eval_map, false, true},
    {"opt-barrier", eval_identity, false, false},
    {"pad", eval_pad, false, true},
    {"reduce", eval_reduce, true, true},
    {"reduce-window", eval_reduce_window, true, true},
    {"reshape", eval_reshape, false, true},
    {"reverse", eval_reverse, false, true},
    {"select", eval_select, false, true},
    {"slice", eval_slice, false, true},
    {"transpose", eval_transpose, false, true},
    {"tuple", eval_tuple, false, false},
    {"while", eval_while, false, false},
});

static_assert(std::is_sorted(kOps.begin(), kOps.end(),
                             [](const OpRow& a, const OpRow& b) { return a.opcode < b.opcode; }));

constexpr OpRow kElementwise = {"elementwise", eval_elementwise, true, true};

}  // namespace

const OpRow* find_op(std::string_view opcode) {
  const auto* row = std::lower_bound(kOps.begin(), kOps.end(), opcode,
                                     [](const OpRow& r, std::string_view o) { return r.opcode < o; });
  if (row != kOps.end() && row->opcode == opcode) return &*row;
  return find_elementwise(opcode) != nullptr ? &kElementwise : nullptr;
}

Result<Value> apply_op(const OpRow& row, Context& context, const hlo::Instruction& instruction,
                       std::span<const Value> operands) {
  for (const Value& operand : operands) {
    if (row.on_arrays && operand.array == nullptr) return unimplemented("an operand is a tuple");
  }
  return row.function(context, instruction, operands);
}

bool knows_opcode(std::string_view opcode) {
  return opcode == "parameter" || find_op(opcode) != nullptr;
}

}  // namespace zomboss::oracle
