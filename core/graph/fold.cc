// What is left around a recognised node: a narrowing convert of its result, a transpose of an attention's
// result, one reshape after another.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/graph/axes.h"
#include "core/graph/match.h"
#include "core/graph/recognisers.h"
#include "core/graph/types.h"

namespace zomboss::graph {
namespace {

constexpr std::array<std::string_view, 7> kRoundOnce = {"softmax", "layer_norm", "rms_norm", "silu",
                                                        "gelu",    "rope",       "attention"};

// A copy of `node` with another shape, which stands where `root` does.
uint32_t copy_with_shape(Rewriter& rewriter, uint32_t node, hlo::Shape shape, uint32_t root) {
  const Node from = rewriter.node(node);
  const uint32_t copy = rewriter.add(from.op, from.operands, std::move(shape), root);
  rewriter.node(copy).attributes = from.attributes;
  return copy;
}

}  // namespace

std::optional<uint32_t> fold_result_convert(Rewriter& rewriter, uint32_t id) {
  if (!is_float_convert(rewriter, id)) return std::nullopt;
  const uint32_t below = rewriter.operand(id, 0);
  const Node& node = rewriter.node(below);
  if (std::find(kRoundOnce.begin(), kRoundOnce.end(), node.op) == kRoundOnce.end()) return std::nullopt;
  if (rewriter.uses(below) > 1 || holds_all_values(rewriter.node(id).shape.dtype, node.shape.dtype)) {
    return std::nullopt;
  }
  return copy_with_shape(rewriter, below, rewriter.node(id).shape, id);
}

std::optional<uint32_t> fold_reshapes(Rewriter& rewriter, uint32_t id) {
  const uint32_t below = rewriter.operand(id, 0);
  if (rewriter.node(below).op != "reshape") return std::nullopt;
  const uint32_t base = rewriter.operand(below, 0);
  if (rewriter.node(base).shape.same_type(rewriter.node(id).shape)) return base;
  return rewriter.add("reshape", {base}, rewriter.node(id).shape, id);
}

// transpose(attention) and transpose(reshape(attention)), where the reshape only joins dims.
std::optional<uint32_t> fold_attention_transpose(Rewriter& rewriter, uint32_t id) {
  const std::vector<int64_t> order = rewriter.node(id).ints("dims");
  uint32_t attention = rewriter.operand(id, 0);
  const std::vector<int64_t> joined = rewriter.node(attention).shape.dims;
  if (rewriter.node(attention).op == "reshape" && rewriter.uses(attention) <= 1) {
    attention = rewriter.operand(attention, 0);
  }
  if (rewriter.node(attention).op != "attention" || rewriter.uses(attention) > 1) return std::nullopt;
  const Node from = rewriter.node(attention);
  const std::string equation(from.text("equation"));
  const size_t result_at = equation.find("->") + 2;

  Axes axes;
  std::vector<Atoms> dims;  // atom i is letter i of the result
  for (const int64_t size : from.shape.dims) dims.push_back({axes.make(size)});
  const auto groups = axes.regroup(dims, joined, false);
  if (!groups || axes.flatten(*groups).size() != dims.size()) return std::nullopt;
  std::string permuted = equation.substr(0, result_at);
  hlo::Shape shape = from.shape;
  shape.dims.clear();
  for (const int64_t d : order) {
    for (const int atom : (*groups)[static_cast<size_t>(d)]) {
      permuted += equation[result_at + static_cast<size_t>(atom)];
      shape.dims.push_back(axes.size(atom));
    }
  }
  const uint32_t copy = copy_with_shape(rewriter, attention, shape, id);
  rewriter.node(copy).set({"equation", {}, {}, permuted});
  if (shape.dims == rewriter.node(id).shape.dims) return copy;
  return rewriter.add("reshape", {copy}, rewriter.node(id).shape, id);
}

}  // namespace zomboss::graph
