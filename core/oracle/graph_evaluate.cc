#include "core/oracle/graph_evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "core/hlo/number.h"
#include "core/oracle/context.h"
#include "core/oracle/graph_evaluate_conv.h"
#include "core/oracle/graph_evaluate_float.h"
#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

using graph::Node;

// For the rules shared with the oracle: a module with one computation per reducer name that the graph uses.
class GraphContext final : public Context {
 public:
  GraphContext(const hlo::Module& reducers, Budget& budget)
      : Context(reducers, budget, Rounding::kDeclared) {}
  Result<Value> run(uint32_t, std::span<const Value>) override {
    return unimplemented("the graph has a reducer that is no single operation");
  }
};

uint32_t add_reducer(const Node& node, hlo::Module& module) {
  hlo::Computation body;
  body.name = node.text("reducer");
  for (int64_t number = 0; number < 2; ++number) {
    hlo::Instruction parameter;
    parameter.opcode = "parameter";
    parameter.shape.dtype = node.shape.dtype;
    parameter.parameter_number = number;
    body.parameters.push_back(static_cast<uint32_t>(number));
    body.instructions.push_back(std::move(parameter));
  }
  hlo::Instruction root;
  root.opcode = body.name;
  root.shape.dtype = node.shape.dtype;
  root.operands = {0, 1};
  body.instructions.push_back(std::move(root));
  body.root = 2;
  module.computations.push_back(std::move(body));
  return static_cast<uint32_t>(module.computations.size() - 1);
}

int64_t item(const std::vector<int64_t>& list, size_t index, int64_t fallback) {
  return index < list.size() ? list[index] : fallback;
}

std::optional<int64_t> single(const Node& node, std::string_view key) {
  const auto& ints = node.ints(key);
  return ints.empty() ? std::nullopt : std::optional(ints[0]);
}

// The HLO instruction that an operator of HLO's own stands for.
hlo::Instruction as_instruction(const Node& node, hlo::Module& module) {
  hlo::Instruction instruction;
  instruction.name = node.name;
  instruction.opcode = node.op;
  instruction.shape = node.shape;
  instruction.where = node.where;
  hlo::Attributes& to = instruction.attributes;
  to.dimensions = node.ints("dims");
  to.dynamic_slice_sizes = node.ints("sizes");
  to.iota_dimension = single(node, "dim");
  to.index = single(node, "index");
  to.feature_group_count = single(node, "feature_group_count");
  to.batch_group_count = single(node, "batch_group_count");
  to.direction = node.text("direction");
  to.comparison_type = node.text("comparison_type");
  to.dim_labels = node.text("dim_labels");
  for (size_t d = 0; d < node.ints("start").size(); ++d) {
    to.slice.push_back({node.ints("start")[d], node.ints("limit")[d], node.ints("stride")[d]});
  }
  for (size_t d = 0; d < node.ints("low").size() && node.op == "pad"; ++d) {
    to.padding.push_back({node.ints("low")[d], node.ints("high")[d], node.ints("interior")[d]});
  }
  for (size_t d = 0; d < node.ints("window_size").size(); ++d) {
    to.window.push_back({item(node.ints("window_size"), d, 1), item(node.ints("window_stride"), d, 1),
                         item(node.ints("window_pad_low"), d, 0), item(node.ints("window_pad_high"), d, 0),
                         item(node.ints("window_lhs_dilate"), d, 1),
                         item(node.ints("window_rhs_dilate"), d, 1),
                         item(node.ints("window_reversal"), d, 0) != 0});
  }
  if (!node.text("reducer").empty()) to.calls = {add_reducer(node, module)};
  if (node.op == "constant") instruction.literal = hlo::Literal{node.shape, node.data, false, {}};
  return instruction;
}

double as_real(Lane lane, DType dtype) {
  return hlo::is_float(dtype) ? lane_float(lane) : static_cast<double>(lane_int(lane));
}

// Maps an index of one operand: where each of its dims takes its place from.
struct OperandIndex {
  std::vector<int64_t> strides;
  int64_t at(std::span<const int64_t> index) const {
    int64_t position = 0;
    for (size_t d = 0; d < index.size(); ++d) position += index[d] * strides[d];
    return position;
  }
};

// Strides of an operand over the axes (batch..., lhs free..., rhs free..., contracting...).
struct MatmulAxes {
  std::vector<int64_t> sizes;
  OperandIndex lhs, rhs;
  size_t result_rank = 0;
};

MatmulAxes matmul_axes(const Node& node, const Array& lhs, const Array& rhs) {
  MatmulAxes axes;
  const auto lhs_strides = row_major_strides(lhs.dims);
  const auto rhs_strides = row_major_strides(rhs.dims);
  const auto add = [&](int64_t size, int64_t lhs_stride, int64_t rhs_stride) {
    axes.sizes.push_back(size);
    axes.lhs.strides.push_back(lhs_stride);
    axes.rhs.strides.push_back(rhs_stride);
  };
  const auto add_pairs = [&](const std::vector<int64_t>& lhs_dims, const std::vector<int64_t>& rhs_dims) {
    for (size_t i = 0; i < lhs_dims.size(); ++i) {
      const auto l = static_cast<size_t>(lhs_dims[i]);
      add(lhs.dims[l], lhs_strides[l], rhs_strides[static_cast<size_t>(rhs_dims[i])]);
    }
  };
  const auto is_free = [&](std::string_view side, size_t dim) {
    for (const char* kind : {"_batch", "_contract"}) {
      const auto& used = node.ints(fmt::format("{}{}", side, kind));
      if (std::find(used.begin(), used.end(), static_cast<int64_t>(dim)) != used.end()) return false;
    }
    return true;
  };
  add_pairs(node.ints("lhs_batch"), node.ints("rhs_batch"));
  for (size_t d = 0; d < lhs.dims.size(); ++d) {
    if (is_free("lhs", d)) add(lhs.dims[d], lhs_strides[d], 0);
  }
  for (size_t d = 0; d < rhs.dims.size(); ++d) {
    if (is_free("rhs", d)) add(rhs.dims[d], 0, rhs_strides[d]);
  }
  axes.result_rank = axes.sizes.size();
  add_pairs(node.ints("lhs_contract"), node.ints("rhs_contract"));
  return axes;
}

Result<Value> eval_matmul(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, make_array(context.budget(), node.shape.dtype, node.shape.dims));
  const Array& lhs = *operands[0];
  const Array& rhs = *operands[1];
  const MatmulAxes axes = matmul_axes(node, lhs, rhs);
  const std::span<const int64_t> sizes(axes.sizes);
  ZB_ASSIGN(const int64_t depth, element_count(sizes.subspan(axes.result_rank)));
  ZB_TRY(context.budget().charge_product({result->size(), depth, 8}));
  std::vector<int64_t> index(axes.sizes.size(), 0);
  Odometer outer(sizes.first(axes.result_rank));
  for (Lane& lane : result->lanes) {
    double sum = 0;
    uint64_t int_sum = 0;
    Odometer inner(sizes.subspan(axes.result_rank));
    std::copy(outer.index().begin(), outer.index().end(), index.begin());
    for (int64_t k = 0; k < depth; ++k, inner.next()) {
      std::copy(inner.index().begin(), inner.index().end(),
                index.begin() + static_cast<std::ptrdiff_t>(axes.result_rank));
      const Lane a = lhs.lanes[static_cast<size_t>(axes.lhs.at(index))];
      const Lane b = rhs.lanes[static_cast<size_t>(axes.rhs.at(index))];
      sum += as_real(a, lhs.dtype) * as_real(b, rhs.dtype);
      int_sum += a * b;
    }
    lane = hlo::is_float(result->dtype) ? to_lane(round_to(sum, result->dtype))
                                        : to_lane(wrap(static_cast<int64_t>(int_sum), result->dtype));
    outer.next();
  }
  return array_value(std::move(result));
}

Result<Value> eval_bias(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, make_array(context.budget(), node.shape.dtype, node.shape.dims));
  const Array& b = *operands[1];
  OperandIndex from{std::vector<int64_t>(node.shape.rank(), 0)};
  const auto b_strides = row_major_strides(b.dims);
  for (size_t d = 0; d < b.dims.size(); ++d)
    from.strides[static_cast<size_t>(node.ints("dims")[d])] = b_strides[d];
  Odometer index(result->dims);
  for (size_t i = 0; i < result->lanes.size(); ++i, index.next()) {
    const Lane x = operands[0]->lanes[i];
    const Lane y = b.lanes[static_cast<size_t>(from.at(index.index()))];
    result->lanes[i] = hlo::is_float(result->dtype)
                           ? to_lane(round_to(lane_float(x) + lane_float(y), result->dtype))
                           : to_lane(wrap(static_cast<int64_t>(x + y), result->dtype));
  }
  return array_value(std::move(result));
}

Result<Value> eval_quantize(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, make_array(context.budget(), node.shape.dtype, node.shape.dims));
  const DType from = operands[0]->dtype;
  const auto scale = static_cast<float>(node.number("scale", 1));
  const auto low = static_cast<double>(node.ints("low")[0]);
  const auto high = static_cast<double>(node.ints("high")[0]);
  const auto zero_point = static_cast<double>(node.ints("zero_point")[0]);
  if (low > high || low < static_cast<double>(hlo::integer_min(node.shape.dtype)) ||
      high > static_cast<double>(hlo::integer_max(node.shape.dtype))) {
    return invalid_argument("the limits of a quantize node do not fit in its type");
  }
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    const Lane lane = operands[0]->lanes[i];
    const float x =
        hlo::is_float(from) ? static_cast<float>(lane_float(lane)) : static_cast<float>(lane_int(lane));
    const float product = x * scale;
    const double rounded = static_cast<double>(std::nearbyint(product)) + zero_point;
    const double limited = std::isnan(product) ? 0 : std::min(std::max(rounded, low), high);
    result->lanes[i] = to_lane(static_cast<int64_t>(limited));
  }
  return array_value(std::move(result));
}

Result<Value> eval_relu(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, make_array(context.budget(), node.shape.dtype, node.shape.dims));
  const bool is_float = hlo::is_float(node.shape.dtype);
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    const Lane lane = operands[0]->lanes[i];
    const bool keeps = is_float ? lane_float(lane) > 0 || std::isnan(lane_float(lane))
                                : lane_int(lane) > 0 || node.shape.dtype == DType::U64;
    result->lanes[i] = keeps ? lane : 0;
  }
  return array_value(std::move(result));
}

Result<Value> eval_own(Context& context, const Node& node, std::span<const Value> operands,
                       const hlo::Instruction& instruction) {
  const OpRow* row = find_op(node.op);
  if (row == nullptr) return unimplemented(fmt::format("the graph evaluator has no {}", node.op));
  ZB_ASSIGN(Value value, apply_op(*row, context, instruction, operands));
  if (!row->computes || value.array == nullptr || !hlo::is_float(value->dtype)) return value;
  ZB_ASSIGN(auto rounded, make_array(context.budget(), value->dtype, value->dims));
  for (size_t i = 0; i < rounded->lanes.size(); ++i) {
    rounded->lanes[i] = to_lane(round_to(lane_float(value->lanes[i]), value->dtype));
  }
  return array_value(std::move(rounded));
}

Result<Value> eval_node(Context& context, const Node& node, std::span<const Value> operands,
                        const hlo::Instruction& instruction) {
  if (node.op == "matmul") return eval_matmul(context, node, operands);
  if (node.op == "conv2d") return eval_conv2d(context, node, operands);
  if (node.op == "bias") return eval_bias(context, node, operands);
  if (node.op == "quantize") return eval_quantize(context, node, operands);
  if (node.op == "relu") return eval_relu(context, node, operands);
  if (const GraphRule rule = find_float_rule(node.op)) return rule(context, node, operands);
  return eval_own(context, node, operands, instruction);
}

Result<std::vector<Tensor>> evaluate_nodes(const graph::Graph& graph, std::span<const Tensor> inputs) {
  const Options options;
  Budget budget(options.byte_limit, options.work_limit);
  hlo::Module reducers;
  std::vector<hlo::Instruction> instructions;
  for (const Node& node : graph.nodes) instructions.push_back(as_instruction(node, reducers));
  GraphContext context(reducers, budget);
  if (inputs.size() != graph.inputs.size())
    return invalid_argument("as many inputs as parameters are needed");
  std::vector<Value> values(graph.nodes.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    ZB_TRY(check_tensor(inputs[i]));
    const hlo::Shape& shape = graph.nodes[graph.inputs[i]].shape;
    if (inputs[i].dtype != shape.dtype || inputs[i].dims != shape.dims) {
      return invalid_argument(fmt::format("input {} is not {}", i, shape.text()));
    }
    ZB_ASSIGN(auto array, make_array(budget, shape.dtype, shape.dims));
    decode(shape.dtype, inputs[i].bytes, array->lanes);
    values[graph.inputs[i]] = array_value(std::move(array));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (graph.nodes[i].op == "parameter") continue;
    std::vector<Value> operands;
    for (const uint32_t operand : graph.nodes[i].operands) operands.push_back(values[operand]);
    ZB_ASSIGN(values[i], eval_node(context, graph.nodes[i], operands, instructions[i]));
  }
  std::vector<Tensor> outputs;
  for (const uint32_t output : graph.outputs) {
    const Value& value = values[output];
    if (value.array == nullptr) return unimplemented("an output is no array");
    const auto width = static_cast<size_t>(hlo::dtype_bytes(value->dtype));
    Tensor tensor{value->dtype, value->dims, std::vector<uint8_t>(value->lanes.size() * width)};
    encode(value->dtype, value->lanes, tensor.bytes);
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

}  // namespace

Result<std::vector<Tensor>> evaluate_graph(const graph::Graph& graph, std::span<const Tensor> inputs) {
  try {
    return evaluate_nodes(graph, inputs);
  } catch (const std::bad_alloc&) {
    return resource_exhausted("not enough memory to evaluate the graph");
  }
}

}  // namespace zomboss::oracle
