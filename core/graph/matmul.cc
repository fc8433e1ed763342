#include <algorithm>
#include <utility>

#include "core/graph/recognisers.h"
#include "core/graph/types.h"

namespace zomboss::graph {
namespace {

constexpr const char* kMovements[] = {"transpose", "reshape", "broadcast", "slice", "reverse"};

bool moves_elements(const Node& node) {
  return std::find(std::begin(kMovements), std::end(kMovements), node.op) != std::end(kMovements);
}

bool same_kind(DType a, DType b) {
  return hlo::is_integer(a) == hlo::is_integer(b) && hlo::is_float(a) == hlo::is_float(b);
}

// The operand before a widening convert, which may stand below data movement: convert(x) gives x,
// transpose(convert(x)) gives transpose(x). Integers only from integers, floats only from floats, so that the
// sum of products keeps its meaning.
std::optional<uint32_t> without_widening(Rewriter& rewriter, uint32_t id) {
  std::vector<uint32_t> movements;  // from the outside in
  uint32_t at = id;
  while (moves_elements(rewriter.node(at)) && movements.size() < kChainLimit) {
    movements.push_back(at);
    at = rewriter.operand(at, 0);
  }
  if (rewriter.node(at).op != "convert") return std::nullopt;
  uint32_t narrow = rewriter.operand(at, 0);
  const DType dtype = rewriter.node(narrow).shape.dtype;
  if (!same_kind(rewriter.node(at).shape.dtype, dtype) || dtype == DType::Pred ||
      !holds_all_values(rewriter.node(at).shape.dtype, dtype)) {
    return std::nullopt;
  }
  for (size_t i = movements.size(); i-- > 0;) {
    Node moved = rewriter.node(movements[i]);
    moved.operands = {narrow};
    moved.shape.dtype = dtype;
    narrow = rewriter.add(std::move(moved));
  }
  return narrow;
}

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
