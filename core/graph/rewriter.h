// The graph while it is being built: nodes in any order, some of them replaced by others. Internal to
// core/graph.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace zomboss::graph {

// How far chains of data movement are followed; bounds the time per node.
inline constexpr int kChainLimit = 64;

class Rewriter {
 public:
  // Operands must exist. References to nodes are invalidated.
  uint32_t add(Node node);
  // Like add, with the origin of `origin`.
  uint32_t add(std::string op, std::vector<uint32_t> operands, hlo::Shape shape, uint32_t origin);

  // Users of `node` use `by` from now on. `node` must not have been replaced before.
  void replace(uint32_t node, uint32_t by) { replaced_[node] = by; }
  uint32_t resolve(uint32_t node) const;

  const Node& node(uint32_t id) const { return nodes_[id]; }
  Node& node(uint32_t id) { return nodes_[id]; }
  // Operand number `index` of `id`, resolved.
  uint32_t operand(uint32_t id, size_t index) const { return resolve(nodes_[id].operands[index]); }
  size_t size() const { return nodes_.size(); }

  // The value of a node whose elements are all the same compile-time number, seen through broadcast, reshape,
  // transpose and converts that keep the number. Nothing for NaN or what f64 does not hold exactly.
  std::optional<double> uniform(uint32_t id);

  // The part that outputs depend on, operands first; inputs lead.
  Graph finish(std::string name, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) const;

 private:
  std::optional<double> constant_value(uint32_t id);

  std::vector<Node> nodes_;
  std::vector<uint32_t> replaced_;  // itself when it is not
  std::map<uint32_t, std::optional<double>> constant_values_;
};

// A node seen as a broadcast of another one: dim d of `node` follows dim source[d] of `base`, or repeats when
// source[d] is -1. Every dim of the base is followed by exactly one dim of `node`. The base is the farthest
// possible one.
struct BroadcastView {
  uint32_t base = 0;
  std::vector<int64_t> source;
};
BroadcastView broadcast_view(const Rewriter& rewriter, uint32_t node);

// The recognisers: each looks at a node whose operands are final and returns the node that takes its place,
// or nothing.
std::optional<uint32_t> recognise_matmul(Rewriter& rewriter, uint32_t id);    // matmul.cc, at dot
std::optional<uint32_t> recognise_bias(Rewriter& rewriter, uint32_t id);      // bias.cc, at add
std::optional<uint32_t> recognise_relu(Rewriter& rewriter, uint32_t id);      // quantize.cc, at maximum
std::optional<uint32_t> recognise_quantize(Rewriter& rewriter, uint32_t id);  // quantize.cc, at convert

}  // namespace zomboss::graph
