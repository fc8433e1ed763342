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
  void replace(uint32_t node, uint32_t by);
  uint32_t resolve(uint32_t node) const;

  const Node& node(uint32_t id) const { return nodes_[id]; }
  Node& node(uint32_t id) { return nodes_[id]; }
  // Operand number `index` of `id`, resolved.
  uint32_t operand(uint32_t id, size_t index) const { return resolve(nodes_[id].operands[index]); }
  size_t size() const { return nodes_.size(); }

  // Counts the operands and outputs that refer to each node; later nodes inherit from those they replace.
  void count_uses(const std::vector<uint32_t>& outputs);
  uint32_t uses(uint32_t id) const { return id < uses_.size() ? uses_[id] : 0; }

  // The number that all elements of a node have, also when arithmetic on constants gives it (sqrt of 64).
  // Rounded as the node's type says, by f64 functions: for recognisers whose operators round anyway.
  // Nothing for NaN, for nodes that `note_number` has not seen, and for those that recognisers added.
  std::optional<double> number(uint32_t id) const {
    return id < numbers_.size() ? numbers_[id] : std::nullopt;
  }
  void note_number(uint32_t id);  // for each node in order, once its operands are final

  // Takes from the steps that the recognisers may look at in all, 64 a node; false when they are used up. For
  // walks that may see the same nodes from many places.
  bool spend(size_t steps);

  // The value of a node whose elements are all the same compile-time number, seen through broadcast, reshape,
  // transpose and converts that keep the number. Nothing for NaN or what f64 does not hold exactly.
  std::optional<double> uniform(uint32_t id);

  // The part that outputs depend on, operands first; inputs lead.
  Graph finish(std::string name, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) const;

 private:
  std::optional<double> constant_value(uint32_t id);
  std::optional<double> computed_number(uint32_t id);

  std::vector<Node> nodes_;
  std::vector<uint32_t> replaced_;  // itself when it is not
  std::map<uint32_t, std::optional<double>> constant_values_;
  std::vector<uint32_t> uses_;
  size_t budget_ = size_t{1} << 20;
  std::vector<std::optional<double>> numbers_;
};

// A node seen as a broadcast of another one: dim d of `node` follows dim source[d] of `base`, or repeats when
// source[d] is -1. Every dim of the base is followed by exactly one dim of `node`. The base is the farthest
// possible one.
struct BroadcastView {
  uint32_t base = 0;
  std::vector<int64_t> source;
};
BroadcastView broadcast_view(const Rewriter& rewriter, uint32_t node);

// For each dim of the result of a transpose, broadcast, or reshape that only adds and drops dims of size 1,
// the dim of its operand, or -1 (also for dims of size 1 of a reshape); nothing for other nodes.
std::optional<std::vector<int64_t>> dim_sources(const Rewriter& rewriter, uint32_t id);

}  // namespace zomboss::graph
