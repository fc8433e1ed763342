#include "core/graph/widening.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

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

}  // namespace

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

}  // namespace zomboss::graph
