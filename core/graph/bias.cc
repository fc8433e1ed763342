#include <utility>

#include "core/graph/recognisers.h"

namespace zomboss::graph {
namespace {

// A matmul or convolution, perhaps with biases, seen through reshape and transpose.
bool comes_from_product(const Rewriter& rewriter, uint32_t id) {
  for (int step = 0; step < kChainLimit; ++step) {
    const Node& node = rewriter.node(id);
    if (node.op == "matmul" || node.op == "conv2d") return true;
    if (node.op != "bias" && node.op != "reshape" && node.op != "transpose") return false;
    id = rewriter.operand(id, 0);
  }
  return false;
}

}  // namespace

std::optional<uint32_t> recognise_bias(Rewriter& rewriter, uint32_t id) {
  if (rewriter.node(id).operands.size() != 2) return std::nullopt;
  uint32_t x = rewriter.operand(id, 0);
  uint32_t b = rewriter.operand(id, 1);
  const bool left = comes_from_product(rewriter, x);
  if (left == comes_from_product(rewriter, b)) return std::nullopt;
  if (!left) std::swap(x, b);
  const BroadcastView view = broadcast_view(rewriter, b);
  Attribute dims{"dims", std::vector<int64_t>(rewriter.node(view.base).shape.rank()), {}, {}};
  for (size_t d = 0; d < view.source.size(); ++d) {
    if (view.source[d] >= 0) dims.ints[static_cast<size_t>(view.source[d])] = static_cast<int64_t>(d);
  }
  const uint32_t bias = rewriter.add("bias", {x, view.base}, rewriter.node(id).shape, id);
  rewriter.node(bias).set(std::move(dims));
  return bias;
}

}  // namespace zomboss::graph
