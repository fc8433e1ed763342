#include <cmath>
#include <utility>

#include "core/graph/match.h"
#include "core/graph/recognisers.h"

namespace zomboss::graph {
namespace {

// x of x - max(x) over the axes; the view itself when it is nothing like that. Softmax is the same for both.
View without_maximum(const Rewriter& rewriter, const View& view, const std::vector<int64_t>& axes,
                     std::span<const int64_t> root_dims) {
  if (rewriter.node(view.node).op != "subtract") return view;
  View x = operand_view(rewriter, view, 0);
  const View bound = without_lowest_bound(rewriter, operand_view(rewriter, view, 1));
  const auto maximum = as_reduction(rewriter, bound, "maximum", root_dims);
  const bool of_x = maximum && maximum->axes == axes && same_view(rewriter, maximum->input, x, root_dims);
  return of_x ? x : view;
}

}  // namespace

std::optional<uint32_t> recognise_softmax(Rewriter& rewriter, uint32_t id) {
  const std::vector<int64_t> dims = rewriter.node(id).shape.dims;
  const auto product = as_product(rewriter, root_view(rewriter, id));
  if (!product || product->terms.size() != 2 || !product->has_factor(1)) return std::nullopt;
  const bool swapped = product->terms[0].power < 0;
  const Term& top = product->terms[swapped ? 1 : 0];
  const Term& bottom = product->terms[swapped ? 0 : 1];
  if (top.power != 1 || bottom.power != -1 || rewriter.node(top.view.node).op != "exponential") {
    return std::nullopt;
  }
  const auto sum = as_reduction(rewriter, bottom.view, "add", dims);
  if (!sum || sum->axes.size() != 1 || !same_view(rewriter, sum->input, top.view, dims)) return std::nullopt;
  const View exponent = operand_view(rewriter, top.view, 0);
  const View x = without_maximum(rewriter, exponent, sum->axes, dims);
  if (!x.whole) return std::nullopt;
  const uint32_t softmax =
      rewriter.add("softmax", {without_widening_converts(rewriter, *x.whole)}, rewriter.node(id).shape, id);
  rewriter.node(softmax).set({"dims", sum->axes, {}, {}});
  return softmax;
}

}  // namespace zomboss::graph
