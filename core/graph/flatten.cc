#include "core/graph/flatten.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/graph/types.h"

namespace zomboss::graph {
namespace {

constexpr int kCallDepth = 200;
constexpr size_t kNodeLimit = size_t{1} << 18;

// What an HLO instruction stands for: a node, or a tuple of such.
struct Value {
  uint32_t node = 0;
  bool is_tuple = false;
  std::vector<Value> elements;
};

std::vector<bool> live_instructions(const hlo::Computation& computation) {
  std::vector<bool> live(computation.instructions.size(), false);
  live[computation.root] = true;
  for (size_t i = live.size(); i-- > 0;) {
    if (!live[i]) continue;
    for (const uint32_t operand : computation.instructions[i].operands) live[operand] = true;
  }
  return live;
}

hlo::Shape without_layout(const hlo::Shape& shape) {
  hlo::Shape plain = shape;
  plain.layout.reset();
  for (hlo::Shape& element : plain.elements) element = without_layout(element);
  return plain;
}

bool counts_up(const std::vector<int64_t>& dims) {
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

bool row_major(const hlo::Shape& shape) {
  if (!shape.layout) return true;
  std::string expected;
  for (size_t d = shape.rank(); d-- > 0;) expected += fmt::format("{}{}", expected.empty() ? "" : ",", d);
  return shape.layout->substr(0, shape.layout->find(':')) == expected;
}

// The operation of a reducer that is one binary operation on its two parameters; "" otherwise.
std::string reducer_name(const hlo::Computation& body) {
  const hlo::Instruction& root = body.instructions[body.root];
  if (body.parameters.size() != 2 || root.operands.size() != 2) return {};
  const bool straight = root.operands[0] == body.parameters[0] && root.operands[1] == body.parameters[1];
  const bool swapped = root.operands[0] == body.parameters[1] && root.operands[1] == body.parameters[0];
  const bool commutes = root.opcode == "add" || root.opcode == "multiply" || root.opcode == "maximum" ||
                        root.opcode == "minimum" || root.opcode == "and" || root.opcode == "or" ||
                        root.opcode == "xor";
  return commutes && (straight || swapped) ? root.opcode : std::string();
}

void set_window(const std::vector<hlo::WindowDim>& window, Node& node) {
  if (window.empty()) return;
  const auto set = [&](const char* key, auto member) {
    Attribute attribute{key, {}, {}, {}};
    for (const hlo::WindowDim& dim : window) attribute.ints.push_back(static_cast<int64_t>(dim.*member));
    node.set(std::move(attribute));
  };
  set("window_size", &hlo::WindowDim::size);
  set("window_stride", &hlo::WindowDim::stride);
  set("window_pad_low", &hlo::WindowDim::pad_low);
  set("window_pad_high", &hlo::WindowDim::pad_high);
  set("window_lhs_dilate", &hlo::WindowDim::lhs_dilate);
  set("window_rhs_dilate", &hlo::WindowDim::rhs_dilate);
  set("window_reversal", &hlo::WindowDim::reversal);
}

void set_slices(const hlo::Attributes& from, Node& node) {
  Attribute start{"start", {}, {}, {}}, limit{"limit", {}, {}, {}}, stride{"stride", {}, {}, {}};
  for (const hlo::SliceDim& dim : from.slice) {
    start.ints.push_back(dim.start);
    limit.ints.push_back(dim.limit);
    stride.ints.push_back(dim.stride);
  }
  Attribute low{"low", {}, {}, {}}, high{"high", {}, {}, {}}, interior{"interior", {}, {}, {}};
  for (const hlo::PadDim& dim : from.padding) {
    low.ints.push_back(dim.low);
    high.ints.push_back(dim.high);
    interior.ints.push_back(dim.interior);
  }
  for (Attribute* attribute : {&start, &limit, &stride, &low, &high, &interior}) {
    if (!attribute->ints.empty()) node.set(std::move(*attribute));
  }
}

// Whatever an opcode has, under the names of ops.h.
void set_attributes(const hlo::Module& module, const hlo::Instruction& instruction, Node& node) {
  const hlo::Attributes& from = instruction.attributes;
  const auto set_ints = [&](const char* key, const std::vector<int64_t>& ints) {
    if (!ints.empty()) node.set({key, ints, {}, {}});
  };
  const auto set_int = [&](const char* key, std::optional<int64_t> value) {
    if (value) node.set({key, {*value}, {}, {}});
  };
  const auto set_text = [&](const char* key, const std::string& text) {
    if (!text.empty()) node.set({key, {}, {}, text});
  };
  set_ints("dims", from.dimensions);
  set_ints("sizes", from.dynamic_slice_sizes);
  set_ints("lhs_batch", from.lhs_batch_dims);
  set_ints("lhs_contract", from.lhs_contracting_dims);
  set_ints("rhs_batch", from.rhs_batch_dims);
  set_ints("rhs_contract", from.rhs_contracting_dims);
  set_int("dim", from.iota_dimension);
  set_int("index", from.index);
  set_int("feature_group_count", from.feature_group_count);
  set_int("batch_group_count", from.batch_group_count);
  set_text("direction", from.direction);
  set_text("comparison_type", from.comparison_type);
  set_text("dim_labels", from.dim_labels);
  set_text("custom_call_target", from.custom_call_target);
  set_slices(from, node);
  set_window(from.window, node);
  const bool folds = instruction.opcode == "reduce" || instruction.opcode == "reduce-window";
  if (folds && !from.calls.empty()) set_text("reducer", reducer_name(module.computations[from.calls[0]]));
}

class Flattener {
 public:
  Flattener(const hlo::Module& module, Diagnostics& diagnostics)
      : module_(module), diagnostics_(diagnostics), live_(module.computations.size()) {}

  Result<Flattened> run() && {
    std::vector<Value> parameters;
    for (const uint32_t parameter : entry().parameters) {
      parameters.push_back(
          add_parameter(entry().instructions[parameter], entry().instructions[parameter].shape));
    }
    ZB_ASSIGN(const Value root, inline_computation(module_.entry, parameters, 0));
    add_outputs(root);
    ZB_TRY(diagnostics_.status());
    return std::move(result_);
  }

 private:
  const hlo::Computation& entry() const { return module_.entry_computation(); }
  Rewriter& rewriter() { return result_.rewriter; }

  Value add_parameter(const hlo::Instruction& instruction, const hlo::Shape& shape) {
    Value value;
    if (shape.is_tuple()) {
      value.is_tuple = true;
      for (const hlo::Shape& element : shape.elements) {
        value.elements.push_back(add_parameter(instruction, element));
      }
      return value;
    }
    Node node = new_node(instruction);
    node.shape = without_layout(shape);
    node.set({"number", {static_cast<int64_t>(result_.inputs.size())}, {}, {}});
    value.node = rewriter().add(std::move(node));
    result_.inputs.push_back(value.node);
    return value;
  }

  void add_outputs(const Value& value) {
    if (!value.is_tuple) result_.outputs.push_back(value.node);
    for (const Value& element : value.elements) add_outputs(element);
  }

  static Node new_node(const hlo::Instruction& instruction) {
    Node node;
    node.op = instruction.opcode;
    node.shape = without_layout(instruction.shape);
    node.name = instruction.name;
    node.where = instruction.where;
    return node;
  }

  Status fail(Location where, std::string message) {
    diagnostics_.error(where, std::move(message));
    return diagnostics_.status();
  }

  Result<Value> inline_computation(uint32_t index, std::span<const Value> arguments, int depth) {
    const hlo::Computation& computation = module_.computations[index];
    if (depth > kCallDepth) {
      return fail(computation.where, fmt::format("calls are nested more than {} deep", kCallDepth));
    }
    if (live_[index].empty()) live_[index] = live_instructions(computation);
    std::vector<Value> values(computation.instructions.size());
    std::vector<Value> operands;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!live_[index][i]) continue;
      const hlo::Instruction& instruction = computation.instructions[i];
      operands.clear();
      for (const uint32_t operand : instruction.operands) operands.push_back(values[operand]);
      if (++visited_ > kNodeLimit) {
        return fail(instruction.where,
                    fmt::format("the module has more than {} operations once its calls are "
                                "inlined",
                                kNodeLimit));
      }
      ZB_ASSIGN(values[i], flatten_instruction(instruction, operands, arguments, depth));
    }
    return values[computation.root];
  }

  Result<Value> flatten_instruction(const hlo::Instruction& instruction, std::span<const Value> operands,
                                    std::span<const Value> arguments, int depth) {
    const std::string& opcode = instruction.opcode;
    if (opcode == "parameter") {
      const auto number = static_cast<size_t>(instruction.parameter_number.value_or(0));
      if (number < arguments.size()) return arguments[number];
      return fail(instruction.where, fmt::format("'{}' gets no argument from its caller", instruction.name));
    }
    if ((opcode == "call" || opcode == "fusion") && !instruction.attributes.calls.empty()) {
      return inline_computation(instruction.attributes.calls[0], operands, depth + 1);
    }
    if (opcode == "tuple") return Value{0, true, {operands.begin(), operands.end()}};
    if (opcode == "get-tuple-element" && operands[0].is_tuple) {
      const auto index = static_cast<size_t>(instruction.attributes.index.value_or(0));
      if (index < operands[0].elements.size()) return operands[0].elements[index];
      return fail(instruction.where, fmt::format("'{}' has an index outside its tuple", instruction.name));
    }
    if (changes_nothing(instruction, operands)) return operands[0];
    return add_operation(instruction, operands);
  }

  bool changes_nothing(const hlo::Instruction& instruction, std::span<const Value> operands) {
    const std::string& opcode = instruction.opcode;
    if (opcode == "copy" || opcode == "opt-barrier") return true;
    if (operands.size() != 1 || operands[0].is_tuple) return false;
    const hlo::Shape& from = rewriter().node(operands[0].node).shape;
    if (!from.same_type(instruction.shape)) return false;
    if (opcode == "convert" || opcode == "reshape" || opcode == "bitcast-convert") return true;
    return (opcode == "broadcast" || opcode == "transpose") && counts_up(instruction.attributes.dimensions);
  }

  // A tuple operand of an operation that stays whole (while, custom-call, ...).
  uint32_t node_of(const Value& value, const hlo::Instruction& user) {
    if (!value.is_tuple) return value.node;
    Node node = new_node(user);
    node.op = "tuple";
    node.shape = {};
    node.shape.dtype = DType::Tuple;
    for (const Value& element : value.elements) {
      node.operands.push_back(node_of(element, user));
      node.shape.elements.push_back(rewriter().node(node.operands.back()).shape);
    }
    return rewriter().add(std::move(node));
  }

  Result<Value> add_operation(const hlo::Instruction& instruction, std::span<const Value> operands) {
    Node node = new_node(instruction);
    for (const Value& operand : operands) node.operands.push_back(node_of(operand, instruction));
    set_attributes(module_, instruction, node);
    if (node.op == "bitcast" && node.shape.dtype == rewriter().node(node.operands[0]).shape.dtype &&
        row_major(instruction.shape)) {
      node.op = "reshape";
    }
    if (node.op == "constant" && instruction.literal) {
      if (instruction.literal->elided) {
        diagnostics_.error(
            instruction.where,
            fmt::format("the values of constant '{}' are elided ({{...}})", instruction.name),
            "print the module with large constants: jax.jit(f).lower(x).as_text(dialect=\"hlo\"), "
            "or pass the array as a parameter");
      }
      node.data = instruction.literal->bytes;
    }
    return Value{rewriter().add(std::move(node)), false, {}};
  }

  const hlo::Module& module_;
  Diagnostics& diagnostics_;
  std::vector<std::vector<bool>> live_;
  size_t visited_ = 0;
  Flattened result_;
};

}  // namespace

Result<Flattened> flatten(const hlo::Module& module, Diagnostics& diagnostics) {
  return Flattener(module, diagnostics).run();
}

}  // namespace zomboss::graph
