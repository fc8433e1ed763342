#include "core/graph/kv.h"

#include <algorithm>
#include <string_view>

namespace zomboss::graph {
namespace {

bool only_moves(const Node& node) {
  return node.op == "reshape" || node.op == "transpose" || node.op == "convert" || node.op == "broadcast";
}

bool is_stored(const Graph& graph, uint32_t id) {
  while (only_moves(graph.nodes[id])) id = graph.nodes[id].operands[0];
  return graph.nodes[id].op == "parameter" || graph.nodes[id].op == "constant";
}

int64_t inner_size(const std::vector<int64_t>& dims, size_t dim) {
  int64_t size = 1;
  for (size_t d = dim + 1; d < dims.size(); ++d) size *= dims[d];
  return size;
}

// The dim of `to` that is dim `dim` of `from` when one is a reshape of the other; -1 when there is none.
int64_t same_dim(const std::vector<int64_t>& from, size_t dim, const std::vector<int64_t>& to) {
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == from[dim] && inner_size(to, d) == inner_size(from, dim)) return static_cast<int64_t>(d);
  }
  return -1;
}

// The features of `operand`, as the letter at their place of the equation: "qhd,khd,khe->qhe".
int64_t feature_dim(std::string_view equation, size_t operand, char letter) {
  for (; operand > 0; --operand)
    equation.remove_prefix(std::min(equation.find(','), equation.size() - 1) + 1);
  return static_cast<int64_t>(equation.find(letter));
}

KvValue kv_value(const Graph& graph, uint32_t attention, bool is_key) {
  const Node& reader = graph.nodes[attention];
  KvValue kv;
  kv.attention = attention;
  kv.is_key = is_key;
  kv.node = reader.operands[is_key ? 1 : 2];
  kv.feature_dim = feature_dim(reader.text("equation"), is_key ? 1 : 2, is_key ? 'd' : 'e');
  const Node& read = graph.nodes[kv.node];
  kv.name = read.name;
  kv.where = read.where;
  // A reshape that the recognition put in has the origin of its operand, and not the operand's shape.
  if (read.op == "reshape") {
    const Node& origin = graph.nodes[read.operands[0]];
    if (origin.name == read.name && origin.where == read.where) {
      const int64_t dim = same_dim(read.shape.dims, static_cast<size_t>(kv.feature_dim), origin.shape.dims);
      if (dim >= 0) kv.feature_dim = dim;
    }
  }
  return kv;
}

}  // namespace

std::vector<KvValue> kv_values(const Graph& graph) {
  std::vector<KvValue> result;
  for (uint32_t id = 0; id < graph.nodes.size(); ++id) {
    if (graph.nodes[id].op != "attention") continue;
    for (const bool is_key : {true, false}) {
      if (!is_stored(graph, graph.nodes[id].operands[is_key ? 1 : 2])) {
        result.push_back(kv_value(graph, id, is_key));
      }
    }
  }
  return result;
}

}  // namespace zomboss::graph
