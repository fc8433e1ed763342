#include <algorithm>
#include <utility>

#include "core/graph/recognisers.h"
#include "core/graph/widening.h"

namespace zomboss::graph {
namespace {

struct Side {
  uint32_t operand;
  std::vector<int64_t> batch, contract;
};

// Reads a transposed operand directly when its free dims keep their order.
void absorb_transposes(const Rewriter& rewriter, Side& side) {
  for (int step = 0; step < kChainLimit; ++step) {
    const Node& node = rewriter.node(side.operand);
    if (node.op != "transpose") return;
    const std::vector<int64_t>& permutation = node.ints("dims");
    std::vector<bool> is_free(permutation.size(), true);
    for (const int64_t d : side.batch) is_free[static_cast<size_t>(d)] = false;
    for (const int64_t d : side.contract) is_free[static_cast<size_t>(d)] = false;
    int64_t before = -1;
    for (size_t d = 0; d < permutation.size(); ++d) {
      if (!is_free[d]) continue;
      if (permutation[d] < before) return;
      before = permutation[d];
    }
    for (int64_t& d : side.batch) d = permutation[static_cast<size_t>(d)];
    for (int64_t& d : side.contract) d = permutation[static_cast<size_t>(d)];
    side.operand = rewriter.operand(side.operand, 0);
  }
}

}  // namespace

std::optional<uint32_t> recognise_matmul(Rewriter& rewriter, uint32_t id) {
  const Node& dot = rewriter.node(id);
  if (dot.operands.size() != 2) return std::nullopt;
  Side lhs{rewriter.operand(id, 0), dot.ints("lhs_batch"), dot.ints("lhs_contract")};
  Side rhs{rewriter.operand(id, 1), dot.ints("rhs_batch"), dot.ints("rhs_contract")};
  const auto narrow_lhs = without_widening(rewriter, lhs.operand);
  const auto narrow_rhs = without_widening(rewriter, rhs.operand);
  if (narrow_lhs && narrow_rhs) {
    lhs.operand = *narrow_lhs;
    rhs.operand = *narrow_rhs;
  }
  absorb_transposes(rewriter, lhs);
  absorb_transposes(rewriter, rhs);
  const uint32_t matmul = rewriter.add("matmul", {lhs.operand, rhs.operand}, rewriter.node(id).shape, id);
  Node& node = rewriter.node(matmul);
  node.set({"lhs_batch", std::move(lhs.batch), {}, {}});
  node.set({"lhs_contract", std::move(lhs.contract), {}, {}});
  node.set({"rhs_batch", std::move(rhs.batch), {}, {}});
  node.set({"rhs_contract", std::move(rhs.contract), {}, {}});
  return matmul;
}

}  // namespace zomboss::graph
