#include "core/hlo/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/parser_internal.h"
#include "core/hlo/shape_rules.h"

namespace zomboss::hlo {
namespace {

unsigned type_class(DType dtype) {
  if (dtype == DType::Pred) return kPredType;
  if (is_integer(dtype)) return kIntegerType;
  if (is_float(dtype)) return kFloatType;
  if (dtype == DType::C64 || dtype == DType::C128) return kComplexType;
  return kAnyType & ~15u;
}

std::string class_names(unsigned types) {
  std::vector<std::string_view> names;
  if ((types & kPredType) != 0) names.push_back("pred");
  if ((types & kIntegerType) != 0) names.push_back("integers");
  if ((types & kFloatType) != 0) names.push_back("floats");
  if ((types & kComplexType) != 0) names.push_back("complex numbers");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string plural(int count) {
  return fmt::format("{} operand{}", count, count == 1 ? "" : "s");
}

Status check_operands(const Op& op, const OpcodeInfo& info) {
  const auto count = static_cast<int>(op.operands());
  if (count < info.min_operands || (info.max_operands >= 0 && count > info.max_operands)) {
    const std::string expected = info.max_operands == info.min_operands ? plural(info.min_operands)
                                 : count < info.min_operands ? "at least " + plural(info.min_operands)
                                                             : "at most " + plural(info.max_operands);
    return rule_error(op, fmt::format("has {}, expected {}", plural(count), expected));
  }
  for (size_t i = 0; i < op.operands(); ++i)
    if ((type_class(op.operand(i).dtype) & info.types) == 0)
      return rule_error(
          op, fmt::format("operand {} is {}, expected {}", i, op.operand(i).text(), class_names(info.types)));
  return {};
}

// Errors of structure, which the shape rules rely on not to happen.
std::optional<std::string> structure_error(const Module& module, size_t position, size_t index) {
  const Computation& computation = module.computations[position];
  const Instruction& in = computation.instructions[index];
  if (!is_opcode(in.opcode)) return fmt::format("unknown opcode '{}'", in.opcode);
  for (const uint32_t operand : in.operands)
    if (operand >= index)
      return fmt::format("'{}' uses instruction {}, which does not stand before it", in.name, operand);
  std::vector<uint32_t> callees = in.attributes.calls;
  callees.insert(callees.end(), in.attributes.branches.begin(), in.attributes.branches.end());
  if (in.attributes.condition) callees.push_back(*in.attributes.condition);
  if (in.attributes.body) callees.push_back(*in.attributes.body);
  for (const uint32_t callee : callees)
    if (callee >= position)
      return fmt::format("'{}' calls computation {}, which does not stand before '{}'", in.name, callee,
                         computation.name);
  return std::nullopt;
}

bool parameters_match(const Computation& computation) {
  size_t count = 0;
  for (const Instruction& in : computation.instructions) count += in.opcode == "parameter" ? 1 : 0;
  if (count != computation.parameters.size()) return false;
  for (size_t i = 0; i < computation.parameters.size(); ++i) {
    const uint32_t index = computation.parameters[i];
    if (index >= computation.instructions.size() ||
        computation.instructions[index].parameter_number != static_cast<int64_t>(i))
      return false;
  }
  return true;
}

void check_computation(const Module& module, size_t position, Diagnostics& diagnostics) {
  const Computation& computation = module.computations[position];
  for (size_t i = 0; i < computation.instructions.size(); ++i) {
    const Instruction& in = computation.instructions[i];
    if (auto error = structure_error(module, position, i)) {
      diagnostics.error(in.where, std::move(*error));
      continue;
    }
    Instruction copy = in;
    if (auto error = check_or_infer(module, computation, copy, true))
      diagnostics.error(in.where, std::move(error->message), std::move(error->hint));
  }
  if (computation.instructions.empty() || computation.root >= computation.instructions.size())
    diagnostics.error(computation.where, fmt::format("computation '{}' has no root", computation.name));
  if (!parameters_match(computation))
    diagnostics.error(
        computation.where,
        fmt::format("the parameter list of '{}' does not match its instructions", computation.name));
}

}  // namespace

Status rule_error(const Op& op, std::string message) {
  return invalid_argument(op.instruction.opcode + ": " + std::move(message));
}

Status check_dims(const Op& op, std::span<const int64_t> dims, size_t rank, std::string_view what) {
  std::vector<bool> seen(rank, false);
  for (const int64_t dim : dims) {
    if (dim < 0 || static_cast<uint64_t>(dim) >= rank)
      return rule_error(op, fmt::format("names dimension {} in {}, but there are {}", dim, what, rank));
    if (seen[static_cast<size_t>(dim)])
      return rule_error(op, fmt::format("names dimension {} twice in {}", dim, what));
    seen[static_cast<size_t>(dim)] = true;
  }
  return {};
}

Status check_array(const Op& op, size_t i) {
  if (op.operand(i).is_array()) return {};
  return rule_error(op, fmt::format("operand {} is {}, expected an array", i, op.operand(i).text()));
}

Shape array_of(DType dtype, std::vector<int64_t> dims) {
  Shape shape;
  shape.dtype = dtype;
  shape.dims = std::move(dims);
  return shape;
}

bool is_scalar(const Shape& shape) {
  return shape.is_array() && shape.rank() == 0;
}

Result<Shape> infer_shape(const Module& module, const Computation& computation,
                          const Instruction& instruction, const Shape* stated) {
  const Op op{module, computation, instruction, stated};
  const OpcodeInfo* info = find_opcode(instruction.opcode);
  if (info != nullptr) ZB_TRY(check_operands(op, *info));
  if (info != nullptr && info->rule != nullptr) {
    ZB_ASSIGN(Shape shape, info->rule(op));
    if (shape.is_array() && (shape.rank() > kMaxRank || !shape_is_bounded(shape)))
      return rule_error(op, fmt::format("gives {}, which is too large", shape.text()));
    return shape;
  }
  if (stated == nullptr) return rule_error(op, "needs its type before the opcode");
  return *stated;
}

std::optional<RuleError> check_or_infer(const Module& module, const Computation& computation, Instruction& in,
                                        bool given) {
  Result<Shape> shape = infer_shape(module, computation, in, given ? &in.shape : nullptr);
  if (!shape.ok()) return RuleError{shape.status().message(), {}};
  if (!given) {
    in.shape = *std::move(shape);
  } else if (!shape->same_type(in.shape)) {
    return RuleError{
        fmt::format("{} gives {}, but the text says {}", in.opcode, shape->text(), in.shape.text()), {}};
  }
  return std::nullopt;
}

void check_module(const Module& module, Diagnostics& diagnostics) {
  for (size_t i = 0; i < module.computations.size(); ++i) check_computation(module, i, diagnostics);
  if (module.entry >= module.computations.size())
    diagnostics.error({}, "the module has no entry computation");
}

}  // namespace zomboss::hlo
