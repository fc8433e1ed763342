// layer_norm and rms_norm: a product in which one factor is one over the root of a variance or a mean square.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/graph/match.h"
#include "core/graph/recognisers.h"

namespace zomboss::graph {
namespace {

using Dims = std::span<const int64_t>;

struct Mean {
  View input;
  std::vector<int64_t> axes;
};

// The mean of `input` to the given power.
std::optional<Mean> as_mean(Rewriter& rewriter, const View& view, Dims root_dims, double power = 1) {
  const auto product = as_product(rewriter, view);
  if (!product || product->terms.size() != 1 || product->terms[0].power != power) return std::nullopt;
  auto sum = as_reduction(rewriter, product->terms[0].view, "add", root_dims);
  if (!sum || sum->axes.empty() || !product->has_factor(std::pow(sum->count, -power))) return std::nullopt;
  return Mean{std::move(sum->input), std::move(sum->axes)};
}

std::optional<Mean> as_mean_square(Rewriter& rewriter, const View& view, Dims root_dims) {
  auto mean = as_mean(rewriter, view, root_dims);
  if (!mean) return std::nullopt;
  auto x = as_square(rewriter, mean->input, root_dims);
  if (!x) return std::nullopt;
  return Mean{*std::move(x), std::move(mean->axes)};
}

bool is_mean_of(Rewriter& rewriter, const View& view, const View& x, const std::vector<int64_t>& axes,
                Dims root_dims, double power = 1) {
  const auto mean = as_mean(rewriter, view, root_dims, power);
  return mean && mean->axes == axes && same_view(rewriter, mean->input, x, root_dims);
}

// x of x - mean(x).
std::optional<View> as_centred(Rewriter& rewriter, const View& view, const std::vector<int64_t>& axes,
                               Dims root_dims) {
  if (rewriter.node(view.node).op != "subtract") return std::nullopt;
  View x = operand_view(rewriter, view, 0);
  if (!is_mean_of(rewriter, operand_view(rewriter, view, 1), x, axes, root_dims)) return std::nullopt;
  return x;
}

struct Statistic {
  View input;
  std::vector<int64_t> axes;
  bool centred = false;  // a variance, else a mean square
  double epsilon = 0;
};

// The variance as the mean of the squares minus the square of the mean.
std::optional<Mean> as_difference(Rewriter& rewriter, View view, Dims root_dims) {
  if (rewriter.node(view.node).op == "relu") view = operand_view(rewriter, view, 0);
  if (rewriter.node(view.node).op != "subtract") return std::nullopt;
  auto mean = as_mean_square(rewriter, operand_view(rewriter, view, 0), root_dims);
  if (!mean ||
      !is_mean_of(rewriter, operand_view(rewriter, view, 1), mean->input, mean->axes, root_dims, 2)) {
    return std::nullopt;
  }
  return mean;
}

std::optional<Statistic> as_statistic(Rewriter& rewriter, View view, Dims root_dims) {
  Statistic statistic;
  const Node& node = rewriter.node(view.node);
  if (node.op == "add") {
    const size_t side = rewriter.number(node.operands[0]) ? 0 : 1;
    const auto epsilon = rewriter.number(node.operands[side]);
    if (!epsilon || !(*epsilon >= 0)) return std::nullopt;
    statistic.epsilon = *epsilon;
    view = operand_view(rewriter, view, 1 - side);
  }
  if (auto variance = as_difference(rewriter, view, root_dims)) {
    statistic.centred = true;
    statistic.input = std::move(variance->input);
    statistic.axes = std::move(variance->axes);
    return statistic;
  }
  auto mean = as_mean_square(rewriter, view, root_dims);
  if (!mean) return std::nullopt;
  auto x = as_centred(rewriter, mean->input, mean->axes, root_dims);
  statistic.centred = x.has_value();
  statistic.input = x ? *std::move(x) : std::move(mean->input);
  statistic.axes = std::move(mean->axes);
  return statistic;
}

// The tensor of a factor or term that lies along exactly the normalised dims.
std::optional<uint32_t> along(const Rewriter& rewriter, const View& view, const std::vector<int64_t>& axes) {
  if (tight_places(view) != axes) return std::nullopt;
  return without_widening_converts(rewriter, view.tight);
}

struct Factors {
  std::optional<uint32_t> gamma;
  bool ok = false;
};

// Whether the product is x / root(statistic), perhaps times gamma; `x` is a centred or a plain term.
Factors factors_of(Rewriter& rewriter, const Product& product, const Statistic& statistic, Dims root_dims,
                   std::optional<uint32_t>& x) {
  Factors factors;
  if (!product.has_factor(1) || product.terms.size() < 2 || product.terms.size() > 3) return factors;
  bool has_root = false;
  for (const Term& term : product.terms) {
    if (term.power == -0.5 && !has_root) {
      has_root = true;
      continue;
    }
    if (term.power != 1) return factors;
    auto input = statistic.centred ? as_centred(rewriter, term.view, statistic.axes, root_dims)
                                   : std::optional(term.view);
    if (!x && input && input->whole && same_view(rewriter, *input, statistic.input, root_dims)) {
      x = without_widening_converts(rewriter, *input->whole);
    } else if (!factors.gamma) {
      factors.gamma = along(rewriter, term.view, statistic.axes);
      if (!factors.gamma) return factors;
    }
  }
  factors.ok = has_root && x && (product.terms.size() == 3) == factors.gamma.has_value();
  return factors;
}

bool is_open_norm(const Rewriter& rewriter, uint32_t id, const char* open) {
  const Node& node = rewriter.node(id);
  if (node.op != "layer_norm" && !(node.op == "rms_norm" && open == std::string_view("scale"))) return false;
  if (!node.ints(open).empty() && node.ints(open)[0] != 0) return false;
  const bool shifted = !node.ints("shift").empty() && node.ints("shift")[0] != 0;
  return !shifted && rewriter.uses(id) == 1;
}

// A norm with one operand more, which `key` says.
uint32_t extend_norm(Rewriter& rewriter, uint32_t norm, uint32_t operand, const char* key, uint32_t root) {
  Node node = rewriter.node(norm);
  const uint32_t extended = rewriter.add(node.op, node.operands, rewriter.node(root).shape, root);
  Node& result = rewriter.node(extended);
  result.attributes = std::move(node.attributes);
  result.operands.push_back(operand);
  result.set({key, {1}, {}, {}});
  return extended;
}

// norm * gamma, or norm + beta: the node of the one, and the other.
std::optional<uint32_t> extend_by(Rewriter& rewriter, const View& a, const View& b, const char* key,
                                  uint32_t root) {
  for (const auto& [norm, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!is_open_norm(rewriter, norm->node, key) || norm->whole != norm->node) continue;
    const auto operand = along(rewriter, *other, rewriter.node(norm->node).ints("dims"));
    if (operand) return extend_norm(rewriter, norm->node, *operand, key, root);
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> recognise_norm(Rewriter& rewriter, uint32_t id) {
  const std::vector<int64_t> dims = rewriter.node(id).shape.dims;
  const View root = root_view(rewriter, id);
  auto product = as_product(rewriter, root);
  if (!product) return std::nullopt;
  if (product->terms.size() == 2 && product->has_factor(1) && product->terms[0].power == 1 &&
      product->terms[1].power == 1) {
    return extend_by(rewriter, product->terms[0].view, product->terms[1].view, "scale", id);
  }
  const auto inverse_root = std::find_if(product->terms.begin(), product->terms.end(),
                                         [](const Term& term) { return term.power == -0.5; });
  if (inverse_root == product->terms.end()) return std::nullopt;
  const auto statistic = as_statistic(rewriter, inverse_root->view, dims);
  if (!statistic) return std::nullopt;
  if (!statistic->centred) product = as_product(rewriter, root, statistic->input.node);
  if (!product) return std::nullopt;
  std::optional<uint32_t> x;
  const Factors factors = factors_of(rewriter, *product, *statistic, dims, x);
  if (!factors.ok) return std::nullopt;

  std::vector<uint32_t> operands{*x};
  if (factors.gamma) operands.push_back(*factors.gamma);
  const uint32_t norm = rewriter.add(statistic->centred ? "layer_norm" : "rms_norm", std::move(operands),
                                     rewriter.node(id).shape, id);
  Node& node = rewriter.node(norm);
  node.set({"dims", statistic->axes, {}, {}});
  node.set({"epsilon", {}, {statistic->epsilon}, {}});
  node.set({"scale", {factors.gamma ? 1 : 0}, {}, {}});
  if (statistic->centred) node.set({"shift", {0}, {}, {}});
  return norm;
}

std::optional<uint32_t> recognise_norm_shift(Rewriter& rewriter, uint32_t id) {
  if (!hlo::is_float(rewriter.node(id).shape.dtype)) return std::nullopt;
  const View root = root_view(rewriter, id);
  return extend_by(rewriter, operand_view(rewriter, root, 0), operand_view(rewriter, root, 1), "shift", id);
}

}  // namespace zomboss::graph
