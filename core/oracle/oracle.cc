#include "core/oracle/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/hlo/checker.h"
#include "core/oracle/context.h"
#include "core/oracle/numeric.h"
#include "core/oracle/stored_values.h"

namespace zomboss::oracle {
namespace {

constexpr int kCallDepth = 200;

// Which instructions of a computation its root needs, and after which one each value is dead.
struct Liveness {
  std::vector<bool> live;
  std::vector<uint32_t> last_use;
};

Liveness liveness(const hlo::Computation& computation) {
  const size_t count = computation.instructions.size();
  Liveness result{std::vector<bool>(count, false), std::vector<uint32_t>(count, 0)};
  if (count == 0) return result;
  result.live[computation.root] = true;
  result.last_use[computation.root] = static_cast<uint32_t>(count);
  for (size_t i = count; i-- > 0;) {
    if (!result.live[i]) continue;
    for (const uint32_t operand : computation.instructions[i].operands) {
      result.live[operand] = true;
      result.last_use[operand] = std::max(result.last_use[operand], static_cast<uint32_t>(i));
    }
  }
  return result;
}

bool fits(const Value& value, const hlo::Shape& shape) {
  if (!shape.is_tuple())
    return value.array != nullptr && value->dtype == shape.dtype && value->dims == shape.dims;
  if (value.array != nullptr || value.elements.size() != shape.elements.size()) return false;
  for (size_t i = 0; i < value.elements.size(); ++i) {
    if (!fits(value.elements[i], shape.elements[i])) return false;
  }
  return true;
}

class Evaluator final : public Context {
 public:
  Evaluator(const hlo::Module& module, Budget& budget, const Options& options, StoredDims stored)
      : Context(module, budget, options.rounding),
        stored_(std::move(stored)),
        source_name_(options.source_name.empty() ? module.name : options.source_name) {
    for (const hlo::Computation& computation : module.computations)
      liveness_.push_back(liveness(computation));
  }

  Result<Value> run(uint32_t index, std::span<const Value> arguments) override {
    if (depth_ >= kCallDepth) {
      return resource_exhausted(fmt::format("calls are nested more than {} deep", kCallDepth));
    }
    ++depth_;
    Result<Value> result = run_body(index, arguments);
    --depth_;
    return result;
  }

 private:
  Result<Value> run_body(uint32_t index, std::span<const Value> arguments) {
    const hlo::Computation& computation = module().computations[index];
    const Liveness& live = liveness_[index];
    std::vector<Value> values(computation.instructions.size());
    std::vector<Value> operands;
    for (size_t i = 0; i < values.size(); ++i) {
      const hlo::Instruction& instruction = computation.instructions[i];
      if (!live.live[i]) continue;
      operands.clear();
      for (const uint32_t operand : instruction.operands) operands.push_back(values[operand]);
      for (const uint32_t operand : instruction.operands) {
        if (live.last_use[operand] == i) values[operand] = {};
      }
      auto value = run_instruction(instruction, operands, arguments);
      if (!value.ok()) return located(value.status(), instruction);
      values[i] = *std::move(value);
      if (const auto found = stored_.find({index, static_cast<uint32_t>(i)}); found != stored_.end()) {
        ZB_ASSIGN(values[i], through_storage(budget(), *values[i], found->second));
      }
    }
    return values[computation.root];
  }

  Result<Value> run_instruction(const hlo::Instruction& instruction, std::span<const Value> operands,
                                std::span<const Value> arguments) {
    constexpr int64_t kInstructionCost = 64;
    ZB_TRY(budget().charge(kInstructionCost));
    if (instruction.opcode == "parameter") return argument(instruction, arguments);
    if (instruction.shape.is_array()) ZB_TRY(budget().charge(instruction.shape.element_count()));
    const OpRow* row = find_op(instruction.opcode);
    if (row == nullptr) return unimplemented(fmt::format("{} is not known", instruction.opcode));
    ZB_ASSIGN(Value value, apply_op(*row, *this, instruction, operands));
    if (!fits(value, instruction.shape)) {
      return invalid_argument(fmt::format("the result has not the shape {}", instruction.shape.text()));
    }
    if (row->computes && rounding() == Rounding::kDeclared) round_value(value);
    return value;
  }

  Result<Value> argument(const hlo::Instruction& instruction, std::span<const Value> arguments) const {
    const auto number = static_cast<size_t>(instruction.parameter_number.value_or(0));
    if (number >= arguments.size()) {
      return invalid_argument(fmt::format("parameter {} has no argument", number));
    }
    const Value& value = arguments[number];
    if (!fits(value, instruction.shape)) {
      return invalid_argument(fmt::format("parameter {} is {} here, its argument has another shape", number,
                                          instruction.shape.text()));
    }
    return value;
  }

  // The arrays are fresh from an operation that computes, so nobody else holds them yet.
  static void round_value(Value& value) {
    for (Value& element : value.elements) round_value(element);
    if (value.array == nullptr || !hlo::is_float(value->dtype) || value->dtype == DType::F64) return;
    for (Lane& lane : std::const_pointer_cast<Array>(value.array)->lanes) {
      lane = to_lane(round_to(lane_float(lane), value->dtype));
    }
  }

  // The innermost instruction names itself; the ones around it leave the message alone.
  Status located(const Status& status, const hlo::Instruction& instruction) {
    if (failed_) return status;
    failed_ = true;
    return Status(status.code(), fmt::format("{}:{}:{}: {} '{}': {}", source_name_, instruction.where.line,
                                             instruction.where.column, instruction.opcode, instruction.name,
                                             status.message()));
  }

  StoredDims stored_;
  std::string source_name_;
  std::vector<Liveness> liveness_;
  int depth_ = 0;
  bool failed_ = false;
};

struct Problem {
  Code code;
  Location where;
  std::string message;
  std::string hint;
};

// The first array in `shape` that the oracle cannot hold, as text; empty when it can hold all.
std::string strange_type(const hlo::Shape& shape) {
  if (shape.is_tuple()) {
    for (const hlo::Shape& element : shape.elements) {
      if (std::string text = strange_type(element); !text.empty()) return text;
    }
    return {};
  }
  if (std::find(shape.dynamic.begin(), shape.dynamic.end(), true) != shape.dynamic.end()) {
    return fmt::format("the dynamic shape {}", shape.text());
  }
  return computable(shape.dtype) ? std::string() : fmt::format("the type {}", shape.text());
}

// A layout that orders memory as the dims are written.
bool row_major(const hlo::Shape& shape) {
  if (!shape.layout) return true;
  std::string expected;
  for (size_t d = shape.rank(); d-- > 0;) expected += fmt::format("{}{}", expected.empty() ? "" : ",", d);
  return shape.layout->substr(0, shape.layout->find(':')) == expected;
}

void find_problems(const hlo::Computation& computation, const hlo::Instruction& instruction,
                   std::vector<Problem>& problems) {
  if (!knows_opcode(instruction.opcode)) {
    problems.push_back(
        {Code::kUnimplemented, instruction.where,
         fmt::format("the oracle does not know {} ('{}')", instruction.opcode, instruction.name),
         "rewrite it with the operations that docs/workloads.md lists"});
    return;
  }
  if (const std::string type = strange_type(instruction.shape); !type.empty()) {
    problems.push_back({Code::kUnimplemented, instruction.where,
                        fmt::format("the oracle does not compute with {} of '{}'", type, instruction.name),
                        ""});
  }
  if (instruction.opcode == "bitcast" &&
      !(row_major(instruction.shape) && row_major(computation.instructions[instruction.operands[0]].shape))) {
    problems.push_back(
        {Code::kUnimplemented, instruction.where,
         fmt::format("bitcast '{}' depends on a memory layout that is not row-major", instruction.name),
         "print the module before optimisation, where transpose and reshape are written out"});
  }
  if (instruction.opcode == "constant" && (!instruction.literal || instruction.literal->elided)) {
    problems.push_back(
        {Code::kInvalidArgument, instruction.where,
         fmt::format("the values of constant '{}' are elided ({{...}}), so there is no reference "
                     "result",
                     instruction.name),
         "print the module with large constants: jax.jit(f).lower(x).as_text(dialect=\"hlo\"), or "
         "pass the array as a parameter"});
  }
}

void mark_called(const hlo::Attributes& attributes, std::vector<bool>& reached) {
  for (const uint32_t c : attributes.calls) reached[c] = true;
  for (const uint32_t c : attributes.branches) reached[c] = true;
  if (attributes.condition) reached[*attributes.condition] = true;
  if (attributes.body) reached[*attributes.body] = true;
}

// In the order of the text. Called computations stand before their callers.
std::vector<Problem> find_problems(const hlo::Module& module) {
  std::vector<bool> reached(module.computations.size(), false);
  reached[module.entry] = true;
  std::vector<Problem> problems;
  for (size_t c = module.computations.size(); c-- > 0;) {
    if (!reached[c]) continue;
    const hlo::Computation& computation = module.computations[c];
    const Liveness live = liveness(computation);
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      if (!live.live[i]) continue;
      find_problems(computation, computation.instructions[i], problems);
      mark_called(computation.instructions[i].attributes, reached);
    }
  }
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  return problems;
}

Status refuse(const std::vector<Problem>& problems, const std::string& source_name) {
  if (problems.empty()) return {};
  std::string message;
  for (const Problem& problem : problems) {
    message += fmt::format("{}{}:{}:{}: {}", message.empty() ? "" : "\n", source_name, problem.where.line,
                           problem.where.column, problem.message);
    if (!problem.hint.empty()) message += "; " + problem.hint;
  }
  return {problems[0].code, std::move(message)};
}

// Takes the tensors that a parameter of this shape needs from the front of `inputs`.
Result<Value> take_input(Budget& budget, const hlo::Shape& shape, std::span<const Tensor>& inputs) {
  if (shape.is_tuple()) {
    Value tuple;
    for (const hlo::Shape& element : shape.elements) {
      ZB_ASSIGN(Value value, take_input(budget, element, inputs));
      tuple.elements.push_back(std::move(value));
    }
    return tuple;
  }
  if (inputs.empty()) return invalid_argument("too few inputs");
  const Tensor& tensor = inputs.front();
  inputs = inputs.subspan(1);
  ZB_TRY(check_tensor(tensor));
  if (tensor.dtype != shape.dtype || tensor.dims != shape.dims) {
    return invalid_argument(fmt::format("the input is {}[{}]; the parameter is {}",
                                        hlo::dtype_name(tensor.dtype), fmt::join(tensor.dims, ","),
                                        shape.text()));
  }
  ZB_ASSIGN(auto array, make_array(budget, tensor.dtype, tensor.dims));
  decode(tensor.dtype, tensor.bytes, array->lanes);
  return array_value(std::move(array));
}

void flatten(const Value& value, std::vector<Tensor>& outputs) {
  for (const Value& element : value.elements) flatten(element, outputs);
  if (value.array == nullptr) return;
  const auto width = static_cast<size_t>(hlo::dtype_bytes(value->dtype));
  Tensor tensor{value->dtype, value->dims, std::vector<uint8_t>(value->lanes.size() * width)};
  encode(value->dtype, value->lanes, tensor.bytes);
  outputs.push_back(std::move(tensor));
}

Result<std::vector<Tensor>> evaluate_checked(const hlo::Module& module, std::span<const Tensor> inputs,
                                             const Options& options) {
  Budget budget(options.byte_limit, options.work_limit);
  const std::string& source_name = options.source_name.empty() ? module.name : options.source_name;
  ZB_ASSIGN(StoredDims stored, find_stored(module, options.stored, source_name));
  Evaluator evaluator(module, budget, options, std::move(stored));
  std::vector<Value> arguments;
  const hlo::Computation& entry = module.entry_computation();
  const size_t given = inputs.size();
  for (const uint32_t parameter : entry.parameters) {
    auto value = take_input(budget, entry.instructions[parameter].shape, inputs);
    if (!value.ok()) {
      return Status(value.status())
          .with_prefix(
              fmt::format("parameter {} ('{}')", arguments.size(), entry.instructions[parameter].name));
    }
    arguments.push_back(*std::move(value));
  }
  if (!inputs.empty()) {
    return invalid_argument(
        fmt::format("{} inputs are given, the parameters take {}", given, given - inputs.size()));
  }
  ZB_ASSIGN(const Value result, evaluator.run(module.entry, arguments));
  std::vector<Tensor> outputs;
  flatten(result, outputs);
  return outputs;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const hlo::Module& module, std::span<const Tensor> inputs,
                                     const Options& options) {
  const std::string& source_name = options.source_name.empty() ? module.name : options.source_name;
  const Source source(source_name, "");
  Diagnostics diagnostics(source);
  hlo::check_module(module, diagnostics);
  ZB_TRY(diagnostics.status());
  ZB_TRY(refuse(find_problems(module), source_name));
  try {
    return evaluate_checked(module, inputs, options);
  } catch (const std::bad_alloc&) {
    return resource_exhausted(fmt::format("{}: not enough memory to evaluate the module", source_name));
  }
}

void check_evaluable(const hlo::Module& module, Diagnostics& diagnostics) {
  for (Problem& problem : find_problems(module)) {
    diagnostics.error(problem.where, std::move(problem.message), std::move(problem.hint));
  }
}

}  // namespace zomboss::oracle
