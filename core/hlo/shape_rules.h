// One shape rule per opcode. Internal to core/hlo; checker.h is the public face.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/hlo/module.h"
#include "zomboss/sdk/status.h"

namespace zomboss::hlo {

// What a rule sees.
struct Op {
  const Module& module;
  const Computation& computation;
  const Instruction& instruction;
  const Shape* stated;  // null when the text leaves the shape out

  const Attributes& attributes() const { return instruction.attributes; }
  size_t operands() const { return instruction.operands.size(); }
  const Shape& operand(size_t i) const { return computation.instructions[instruction.operands[i]].shape; }
};

using ShapeRule = Result<Shape> (*)(const Op&);

// Which element types an opcode takes; bits of OpcodeInfo::types.
enum TypeClass : unsigned {
  kPredType = 1,
  kIntegerType = 2,
  kFloatType = 4,
  kComplexType = 8,
  kAnyType = 16 + 15,  // tokens and tuples too
};

struct OpcodeInfo {
  std::string_view name;
  int min_operands, max_operands;  // max -1: any number
  ShapeRule rule;                  // null: the stated shape is accepted
  unsigned types;                  // of all operands, for the elementwise rules
};

const OpcodeInfo* find_opcode(std::string_view name);

struct RuleError {
  std::string message, hint;
};

// Infers in.shape (not `given`), or verifies it.
std::optional<RuleError> check_or_infer(const Module& module, const Computation& computation, Instruction& in,
                                        bool given);

// Sizes with paddings and dilations do not overflow in it.
__extension__ using WideInt = __int128;

// Helpers of the rule files: an error that starts with the opcode.
Status rule_error(const Op& op, std::string message);
// Checks that `dims` are distinct dimensions of an array of rank `rank`. `what` names the attribute.
Status check_dims(const Op& op, std::span<const int64_t> dims, size_t rank, std::string_view what);
// Operand `i` must be an array.
Status check_array(const Op& op, size_t i);
Shape array_of(DType dtype, std::vector<int64_t> dims);
bool is_scalar(const Shape& shape);

// Rules, by file. shape_rules_elementwise.cc
Result<Shape> same_as_operands(const Op& op);
Result<Shape> abs_rule(const Op& op);
Result<Shape> compare_rule(const Op& op);
Result<Shape> select_rule(const Op& op);
Result<Shape> clamp_rule(const Op& op);
Result<Shape> is_finite_rule(const Op& op);
Result<Shape> complex_rule(const Op& op);
Result<Shape> complex_part_rule(const Op& op);
Result<Shape> convert_rule(const Op& op);
Result<Shape> bitcast_convert_rule(const Op& op);
// shape_rules_data.cc
Result<Shape> broadcast_rule(const Op& op);
Result<Shape> reshape_rule(const Op& op);
Result<Shape> bitcast_rule(const Op& op);
Result<Shape> transpose_rule(const Op& op);
Result<Shape> reverse_rule(const Op& op);
Result<Shape> slice_rule(const Op& op);
Result<Shape> dynamic_slice_rule(const Op& op);
Result<Shape> dynamic_update_slice_rule(const Op& op);
Result<Shape> concatenate_rule(const Op& op);
Result<Shape> pad_rule(const Op& op);
Result<Shape> iota_rule(const Op& op);
// shape_rules_contract.cc
Result<Shape> dot_rule(const Op& op);
Result<Shape> convolution_rule(const Op& op);
Result<Shape> reduce_window_rule(const Op& op);
// shape_rules_control.cc
Result<Shape> first_operand_rule(const Op& op);
Result<Shape> constant_rule(const Op& op);
Result<Shape> parameter_rule(const Op& op);
Result<Shape> tuple_rule(const Op& op);
Result<Shape> get_tuple_element_rule(const Op& op);
Result<Shape> reduce_rule(const Op& op);
Result<Shape> call_rule(const Op& op);
Result<Shape> while_rule(const Op& op);
Result<Shape> conditional_rule(const Op& op);
Result<Shape> map_rule(const Op& op);
Result<Shape> sort_rule(const Op& op);
Result<Shape> token_rule(const Op& op);
Result<Shape> u32_scalar_rule(const Op& op);

}  // namespace zomboss::hlo
