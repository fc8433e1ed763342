// What an operation's evaluation function sees, and the table of these functions. Internal to core/oracle.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/hlo/module.h"
#include "core/oracle/oracle.h"
#include "core/oracle/value.h"

namespace zomboss::oracle {

// One evaluation in progress.
class Context {
 public:
  Context(const hlo::Module& module, Budget& budget, Rounding rounding)
      : module_(module), budget_(budget), rounding_(rounding) {}
  virtual ~Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const hlo::Module& module() const { return module_; }
  Budget& budget() { return budget_; }
  Rounding rounding() const { return rounding_; }

  // The result of a computation for these arguments. Arguments of element-wise computations (reducers) are
  // scalars.
  virtual Result<Value> run(uint32_t computation, std::span<const Value> arguments) = 0;

  // While alive, results are not rounded to their declared types: the inside of a reduction.
  class UnroundedScope {
   public:
    explicit UnroundedScope(Context& context) : context_(context), before_(context.rounding_) {
      context_.rounding_ = Rounding::kWide;
    }
    ~UnroundedScope() { context_.rounding_ = before_; }
    UnroundedScope(const UnroundedScope&) = delete;
    UnroundedScope& operator=(const UnroundedScope&) = delete;

   private:
    Context& context_;
    Rounding before_;
  };

 private:
  const hlo::Module& module_;
  Budget& budget_;
  Rounding rounding_;
};

// Evaluates one instruction. Operand and result shapes satisfy the rules of core/hlo/checker.h. Returned
// floats need not be rounded.
using OpFunction = Result<Value> (*)(Context& context, const hlo::Instruction& instruction,
                                     std::span<const Value> operands);

struct OpRow {
  std::string_view opcode;
  OpFunction function;
  // False for operations that only move elements: their results need no rounding.
  bool computes;
  // Whether all operands must be arrays. The functions of such rows are not called with tuples.
  bool on_arrays;
};

// Null when the oracle does not know the opcode.
const OpRow* find_op(std::string_view opcode);

// Calls the row's function, after checking `on_arrays`.
Result<Value> apply_op(const OpRow& row, Context& context, const hlo::Instruction& instruction,
                       std::span<const Value> operands);

// An array of the instruction's shape, all zero.
inline Result<std::shared_ptr<Array>> result_array(Context& context, const hlo::Instruction& instruction) {
  return make_array(context.budget(), instruction.shape.dtype, instruction.shape.dims);
}

inline Value array_value(std::shared_ptr<const Array> array) {
  return {std::move(array), {}};
}

// The evaluation functions, by idea (one file each).
// ops_elementwise.cc
Result<Value> eval_elementwise(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_compare(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_select(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_clamp(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_convert(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_bitcast_convert(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_is_finite(Context&, const hlo::Instruction&, std::span<const Value>);
// ops_movement.cc
Result<Value> eval_constant(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_iota(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_broadcast(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_reshape(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_transpose(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_slice(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_reverse(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_concatenate(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_pad(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_dynamic_slice(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_dynamic_update_slice(Context&, const hlo::Instruction&, std::span<const Value>);
// ops_dot.cc
Result<Value> eval_dot(Context&, const hlo::Instruction&, std::span<const Value>);
// ops_reduce.cc
Result<Value> eval_reduce(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_reduce_window(Context&, const hlo::Instruction&, std::span<const Value>);
// ops_convolution.cc
Result<Value> eval_convolution(Context&, const hlo::Instruction&, std::span<const Value>);
// ops_control.cc
Result<Value> eval_identity(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_tuple(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_get_tuple_element(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_call(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_map(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_while(Context&, const hlo::Instruction&, std::span<const Value>);
Result<Value> eval_conditional(Context&, const hlo::Instruction&, std::span<const Value>);

}  // namespace zomboss::oracle
