#include <cmath>
#include <utility>

#include "core/graph/attention.h"
#include "core/graph/match.h"

namespace zomboss::graph {
namespace {

// Anything at or below this takes a score out of its softmax.
constexpr double kMaskedOut = -1e4;

bool masks_out(const Rewriter& rewriter, uint32_t id, double scale) {
  const auto number = rewriter.number(id);
  return number && scale > 0 && *number * scale <= kMaskedOut;
}

// Through broadcasts, transposes, reshapes that split nothing, and what keeps a predicate.
void look_deeper(const Rewriter& rewriter, Axes& axes, Labelled& tensor) {
  Atoms dropped;
  for (int step = 0; step < kChainLimit; ++step) {
    if (step_back_broadcast(rewriter, tensor, dropped)) continue;
    if (!axes.step_back(rewriter, tensor, false)) return;
  }
}

// The atom that the value counts along: an iota, perhaps repeated, with 0 added, or converted.
std::optional<int> counted_atom(const Rewriter& rewriter, Axes& axes, Labelled tensor) {
  for (int step = 0; step < kChainLimit; ++step) {
    look_deeper(rewriter, axes, tensor);
    const Node& node = rewriter.node(tensor.node);
    if (node.op == "iota") {
      const Atoms atoms = axes.expand(tensor.dims[static_cast<size_t>(node.ints("dim")[0])]);
      return atoms.size() == 1 ? std::optional(atoms[0]) : std::nullopt;
    }
    if (node.op == "convert" && hlo::dtype_bits(node.shape.dtype) >= 32) {
      tensor.node = rewriter.operand(tensor.node, 0);
    } else if (node.op == "add" || node.op == "subtract") {
      const bool first = node.op == "add" && rewriter.number(node.operands[0]) == 0.0;
      if (!first && rewriter.number(node.operands[1]) != 0.0) return std::nullopt;
      tensor.node = rewriter.operand(tensor.node, first ? 1 : 0);
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Where the predicate lets a score through, as a mask; `inverted` when it holds for those to leave out.
Mask mask_of_predicate(const Rewriter& rewriter, Axes& axes, Labelled predicate, bool inverted) {
  for (int step = 0; step < kChainLimit; ++step) {
    look_deeper(rewriter, axes, predicate);
    const Node& node = rewriter.node(predicate.node);
    if (node.op == "not") {
      inverted = !inverted;
      predicate.node = rewriter.operand(predicate.node, 0);
      continue;
    }
    if (node.op != "select") break;
    const auto yes = rewriter.number(node.operands[1]), no = rewriter.number(node.operands[2]);
    if (!yes || !no || (*yes != 0) == (*no != 0)) break;
    inverted = inverted != (*yes == 0);
    predicate.node = rewriter.operand(predicate.node, 0);
  }
  Mask mask;
  const Node& node = rewriter.node(predicate.node);
  if (node.op == "compare" && node.operands.size() == 2) {
    const std::string direction(node.text("direction"));
    const auto a = counted_atom(rewriter, axes, {rewriter.operand(predicate.node, 0), predicate.dims});
    const auto b = counted_atom(rewriter, axes, {rewriter.operand(predicate.node, 1), predicate.dims});
    const bool first_is_query = direction == (inverted ? "LT" : "GE");
    if (a && b && (first_is_query || direction == (inverted ? "GT" : "LE"))) {
      mask.kind = "causal";
      mask.query = first_is_query ? *a : *b;
      mask.key = first_is_query ? *b : *a;
      return mask;
    }
  }
  mask.kind = "boolean";
  mask.operand = std::move(predicate);
  mask.inverted = inverted;
  return mask;
}

// select(p, 0, low) or select(p, low, 0), which is the same as a mask by p.
std::optional<Mask> as_additive_predicate(const Rewriter& rewriter, Axes& axes, const Labelled& term,
                                          double scale) {
  const Node& node = rewriter.node(term.node);
  if (node.op != "select") return std::nullopt;
  for (const size_t kept : {size_t{1}, size_t{2}}) {
    if (rewriter.number(node.operands[kept]) != 0.0) continue;
    if (!masks_out(rewriter, node.operands[3 - kept], scale)) continue;
    return mask_of_predicate(rewriter, axes, {rewriter.operand(term.node, 0), term.dims}, kept == 2);
  }
  return std::nullopt;
}

bool leads_to_matmul(const Rewriter& rewriter, uint32_t id) {
  for (int step = 0; step < kChainLimit; ++step) {
    const Node& node = rewriter.node(id);
    if (node.op == "matmul") return true;
    if (const auto scaled = as_scaled(rewriter, id)) {
      id = scaled->first;
    } else if (node.op == "transpose" || node.op == "reshape" || node.op == "bias" ||
               is_float_convert(rewriter, id)) {
      id = rewriter.operand(id, 0);
    } else {
      return false;
    }
  }
  return false;
}

std::optional<MaskedScores> as_added(const Rewriter& rewriter, Axes& axes, const Labelled& tensor,
                                     double scale) {
  const Node& node = rewriter.node(tensor.node);
  MaskedScores masked;
  const size_t side = leads_to_matmul(rewriter, rewriter.operand(tensor.node, 0)) ? 0 : 1;
  Labelled term{rewriter.operand(tensor.node, 1 - side), tensor.dims};
  masked.scores = {rewriter.operand(tensor.node, side), tensor.dims};
  if (node.op == "bias") {
    std::vector<Atoms> dims;
    for (const int64_t d : node.ints("dims")) dims.push_back(tensor.dims[static_cast<size_t>(d)]);
    term.dims = std::move(dims);
  }
  look_deeper(rewriter, axes, term);
  if (auto mask = as_additive_predicate(rewriter, axes, term, scale)) {
    masked.mask = *std::move(mask);
    return masked;
  }
  if (scale != 1) return std::nullopt;
  masked.mask.kind = "additive";
  masked.mask.operand = std::move(term);
  return masked;
}

}  // namespace

std::optional<std::pair<uint32_t, double>> as_scaled(const Rewriter& rewriter, uint32_t id) {
  const Node& node = rewriter.node(id);
  if (!hlo::is_float(node.shape.dtype)) return std::nullopt;
  if (node.op == "negate") return std::pair(rewriter.operand(id, 0), -1.0);
  if (node.op == "multiply") {
    for (const size_t side : {size_t{1}, size_t{0}}) {
      const auto factor = rewriter.number(node.operands[side]);
      if (factor && std::isfinite(*factor)) return std::pair(rewriter.operand(id, 1 - side), *factor);
    }
  }
  if (node.op == "divide") {
    const auto divisor = rewriter.number(node.operands[1]);
    if (divisor && *divisor != 0 && std::isfinite(*divisor)) {
      return std::pair(rewriter.operand(id, 0), 1 / *divisor);
    }
  }
  return std::nullopt;
}

bool step_back_broadcast(const Rewriter& rewriter, Labelled& tensor, Atoms& dropped) {
  const Node& node = rewriter.node(tensor.node);
  if (node.op != "broadcast") return false;
  std::vector<bool> kept(tensor.dims.size(), false);
  std::vector<Atoms> dims;
  for (const int64_t d : node.ints("dims")) {
    kept[static_cast<size_t>(d)] = true;
    dims.push_back(tensor.dims[static_cast<size_t>(d)]);
  }
  const std::vector<int64_t>& from = rewriter.node(rewriter.operand(tensor.node, 0)).shape.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (from[i] == node.shape.dims[static_cast<size_t>(node.ints("dims")[i])]) continue;
    dropped.insert(dropped.end(), dims[i].begin(), dims[i].end());
    dims[i].clear();
  }
  for (size_t d = 0; d < kept.size(); ++d) {
    if (!kept[d]) dropped.insert(dropped.end(), tensor.dims[d].begin(), tensor.dims[d].end());
  }
  tensor.dims = std::move(dims);
  tensor.node = rewriter.operand(tensor.node, 0);
  return true;
}

std::optional<MaskedScores> as_masked(const Rewriter& rewriter, Axes& axes, const Labelled& tensor,
                                      double scale) {
  const Node& node = rewriter.node(tensor.node);
  if (node.op == "add" || node.op == "bias") return as_added(rewriter, axes, tensor, scale);
  if (node.op != "select" || rewriter.node(rewriter.operand(tensor.node, 0)).shape.dims != node.shape.dims) {
    return std::nullopt;
  }
  for (const size_t out : {size_t{2}, size_t{1}}) {
    if (!masks_out(rewriter, node.operands[out], scale)) continue;
    MaskedScores masked;
    masked.scores = {rewriter.operand(tensor.node, 3 - out), tensor.dims};
    masked.mask =
        mask_of_predicate(rewriter, axes, {rewriter.operand(tensor.node, 0), tensor.dims}, out == 1);
    return masked;
  }
  return std::nullopt;
}

}  // namespace zomboss::graph
