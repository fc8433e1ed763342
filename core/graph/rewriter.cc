#include "core/graph/rewriter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/graph/scalar.h"
#include "core/hlo/number.h"

namespace zomboss::graph {
namespace {

// Dims of `from` in the place of the dims of `to` of a reshape that only adds and drops dims of size 1;
// nothing for other reshapes. Dims of size 1 map to -1.
std::optional<std::vector<int64_t>> unit_reshape(const std::vector<int64_t>& from,
                                                 const std::vector<int64_t>& to) {
  std::vector<int64_t> source(to.size(), -1);
  size_t next = 0;
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 1) continue;
    while (next < from.size() && from[next] == 1) ++next;
    if (next == from.size() || from[next] != to[d]) return std::nullopt;
    source[d] = static_cast<int64_t>(next++);
  }
  while (next < from.size() && from[next] == 1) ++next;
  if (next != from.size()) return std::nullopt;
  return source;
}

bool represents(DType dtype, double value) {
  if (hlo::is_float(dtype)) return hlo::decode(dtype, hlo::encode(dtype, value)) == value;
  if (!hlo::is_integer(dtype)) return false;
  return value == std::trunc(value) && value >= static_cast<double>(hlo::integer_min(dtype)) &&
         value <= static_cast<double>(hlo::integer_max(dtype)) && std::fabs(value) < 0x1p53;
}

bool follows_every_dim(const std::vector<int64_t>& source, size_t base_rank) {
  size_t followed = 0;
  for (const int64_t dim : source) followed += dim >= 0 ? 1 : 0;
  return followed == base_rank;
}

}  // namespace

std::optional<std::vector<int64_t>> dim_sources(const Rewriter& rewriter, uint32_t id) {
  const Node& node = rewriter.node(id);
  if (node.op == "transpose") return node.ints("dims");
  if (node.op == "reshape") {
    return unit_reshape(rewriter.node(rewriter.operand(id, 0)).shape.dims, node.shape.dims);
  }
  if (node.op != "broadcast") return std::nullopt;
  std::vector<int64_t> source(node.shape.dims.size(), -1);
  const std::vector<int64_t>& from = rewriter.node(rewriter.operand(id, 0)).shape.dims;
  const std::vector<int64_t>& dims = node.ints("dims");
  for (size_t d = 0; d < dims.size(); ++d) {
    const auto to = static_cast<size_t>(dims[d]);
    if (from[d] == node.shape.dims[to]) source[to] = static_cast<int64_t>(d);
  }
  return source;
}

uint32_t Rewriter::add(Node node) {
  const auto id = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(std::move(node));
  replaced_.push_back(id);
  return id;
}

uint32_t Rewriter::add(std::string op, std::vector<uint32_t> operands, hlo::Shape shape, uint32_t origin) {
  Node node;
  node.op = std::move(op);
  node.operands = std::move(operands);
  node.shape = std::move(shape);
  node.name = nodes_[origin].name;
  node.where = nodes_[origin].where;
  return add(std::move(node));
}

void Rewriter::replace(uint32_t node, uint32_t by) {
  replaced_[node] = by;
  if (uses_.size() < nodes_.size()) uses_.resize(nodes_.size(), 0);
  uses_[by] += uses_[node];
}

void Rewriter::count_uses(const std::vector<uint32_t>& outputs) {
  uses_.assign(nodes_.size(), 0);
  budget_ += 64 * nodes_.size();
  for (const Node& node : nodes_) {
    for (const uint32_t operand : node.operands) ++uses_[operand];
  }
  for (const uint32_t output : outputs) ++uses_[output];
}

uint32_t Rewriter::resolve(uint32_t node) const {
  while (replaced_[node] != node) node = replaced_[node];
  return node;
}

std::optional<double> Rewriter::constant_value(uint32_t id) {
  const auto known = constant_values_.find(id);
  if (known != constant_values_.end()) return known->second;
  std::optional<double>& value = constant_values_[id];
  const Node& node = nodes_[id];
  const DType dtype = node.shape.dtype;
  const bool is_number = dtype == DType::Pred || hlo::is_integer(dtype) || hlo::is_float(dtype);
  const auto width = static_cast<size_t>(hlo::dtype_bytes(dtype));
  if (!is_number || node.data.size() < width) return value;
  for (size_t at = width; at < node.data.size(); ++at) {
    if (node.data[at] != node.data[at - width]) return value;
  }
  const double number = hlo::decode(dtype, hlo::load_bits(dtype, node.data.data()));
  const bool exact = hlo::dtype_bits(dtype) < 64 || hlo::is_float(dtype) || std::fabs(number) < 0x1p53;
  if (!std::isnan(number) && exact) value = number;
  return value;
}

bool Rewriter::spend(size_t steps) {
  budget_ -= std::min(budget_, steps);
  return budget_ > 0;
}

void Rewriter::note_number(uint32_t id) {
  if (numbers_.size() <= id) numbers_.resize(size_t{id} + 1);
  numbers_[id] = computed_number(id);
}

std::optional<double> Rewriter::computed_number(uint32_t id) {
  const Node& node = nodes_[id];
  if (node.op == "constant") return constant_value(id);
  if (node.op == "broadcast" || node.op == "reshape" || node.op == "transpose") {
    return number(node.operands[0]);
  }
  if (node.op == "select") {  // the other branch may be NaN
    const auto chosen = number(node.operands[0]);
    return chosen ? number(node.operands[*chosen != 0 ? 1 : 2]) : std::nullopt;
  }
  std::vector<double> arguments;
  for (const uint32_t operand : node.operands) {
    const auto argument = number(operand);
    if (!argument) return std::nullopt;
    arguments.push_back(*argument);
  }
  if (arguments.empty()) return std::nullopt;
  const std::optional<double> value = scalar_value(node, arguments);
  if (!value || std::isnan(*value)) return std::nullopt;
  if (hlo::is_float(node.shape.dtype)) {
    return hlo::decode(node.shape.dtype, hlo::encode(node.shape.dtype, *value));
  }
  const bool holds = node.shape.dtype == DType::Pred || represents(node.shape.dtype, *value);
  return holds ? value : std::nullopt;
}

std::optional<double> Rewriter::uniform(uint32_t id) {
  std::vector<DType> types;  // that the number passes through
  for (int step = 0; step < kChainLimit; ++step) {
    const Node& node = nodes_[id];
    if (node.op == "constant") {
      const std::optional<double> value = constant_value(id);
      for (const DType type : types) {
        if (value && !represents(type, *value)) return std::nullopt;
      }
      return value;
    }
    if (node.op == "convert") {
      types.push_back(node.shape.dtype);
    } else if (node.op != "broadcast" && node.op != "reshape" && node.op != "transpose") {
      return std::nullopt;
    }
    id = operand(id, 0);
  }
  return std::nullopt;
}

BroadcastView broadcast_view(const Rewriter& rewriter, uint32_t node) {
  BroadcastView best{node, {}};
  for (size_t d = 0; d < rewriter.node(node).shape.rank(); ++d)
    best.source.push_back(static_cast<int64_t>(d));
  BroadcastView view = best;
  for (int step = 0; step < kChainLimit; ++step) {
    const auto sources = dim_sources(rewriter, view.base);
    if (!sources) break;
    view.base = rewriter.operand(view.base, 0);
    for (int64_t& dim : view.source) {
      if (dim >= 0) dim = (*sources)[static_cast<size_t>(dim)];
    }
    if (follows_every_dim(view.source, rewriter.node(view.base).shape.rank())) best = view;
  }
  return best;
}

Graph Rewriter::finish(std::string name, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) const {
  constexpr uint32_t kUnplaced = ~uint32_t{0};
  Graph graph;
  graph.name = std::move(name);
  std::vector<uint32_t> place(nodes_.size(), kUnplaced);
  const auto emit = [&](uint32_t id) {
    place[id] = static_cast<uint32_t>(graph.nodes.size());
    Node node = nodes_[id];
    for (uint32_t& each : node.operands) each = place[resolve(each)];
    graph.nodes.push_back(std::move(node));
  };
  for (const uint32_t input : inputs) {
    emit(input);
    graph.inputs.push_back(place[input]);
  }
  std::vector<std::pair<uint32_t, size_t>> stack;  // node, next operand to visit
  for (const uint32_t output : outputs) {
    const uint32_t root = resolve(output);
    if (place[root] == kUnplaced) stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      if (place[id] != kUnplaced) {
        stack.pop_back();
      } else if (next < nodes_[id].operands.size()) {
        const uint32_t below = operand(id, next++);
        if (place[below] == kUnplaced) stack.emplace_back(below, 0);
      } else {
        emit(id);
        stack.pop_back();
      }
    }
    graph.outputs.push_back(place[root]);
  }
  return graph;
}

}  // namespace zomboss::graph
