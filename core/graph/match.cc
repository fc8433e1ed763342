#include "core/graph/match.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/graph/types.h"
#include "core/hlo/number.h"

namespace zomboss::graph {
namespace {

constexpr size_t kTermLimit = 8;

bool is_wide_float(DType dtype) {
  return hlo::is_float(dtype) && hlo::dtype_bits(dtype) >= 16;
}

bool is_odd(double power) {
  return std::fabs(std::fmod(power, 2)) == 1;
}
bool is_whole_number(double power) {
  return power == std::trunc(power);
}

void note_marks(const Rewriter& rewriter, View& view, std::span<const int64_t> root_dims) {
  const std::vector<int64_t>& dims = rewriter.node(view.node).shape.dims;
  std::vector<int> followed(dims.size(), 0);
  bool in_place = std::equal(dims.begin(), dims.end(), root_dims.begin(), root_dims.end());
  for (size_t d = 0; d < view.dims.size(); ++d) {
    if (view.dims[d] >= 0) ++followed[static_cast<size_t>(view.dims[d])];
    in_place = in_place && (dims[d] == 1 || view.dims[d] == static_cast<int64_t>(d));
  }
  if (in_place) view.whole = view.node;
  if (std::all_of(followed.begin(), followed.end(), [](int count) { return count == 1; })) {
    view.tight = view.node;
    view.tight_dims = view.dims;
  }
}

// One step of looking through; false when there is none.
bool step_through(const Rewriter& rewriter, View& view) {
  const Node& node = rewriter.node(view.node);
  if (node.op == "select") {
    const auto chosen = rewriter.number(view.node) ? std::nullopt : rewriter.number(node.operands[0]);
    if (!chosen) return false;
    view.node = rewriter.operand(view.node, *chosen != 0 ? 1 : 2);
    return true;
  }
  if (is_float_convert(rewriter, view.node)) {
    view.node = rewriter.operand(view.node, 0);
    return true;
  }
  const auto sources = dim_sources(rewriter, view.node);
  if (!sources) return false;
  view.node = rewriter.operand(view.node, 0);
  for (int64_t& dim : view.dims) {
    if (dim >= 0) dim = (*sources)[static_cast<size_t>(dim)];
  }
  return true;
}

struct Pending {
  View view;
  double power;
};

// The parts of an operation that a product is taken apart at; nothing for others.
std::optional<std::vector<Pending>> parts_of(const Rewriter& rewriter, const Pending& item,
                                             Product& product) {
  const Node& node = rewriter.node(item.view.node);
  const auto part = [&](size_t index, double power) {
    return Pending{operand_view(rewriter, item.view, index), power};
  };
  std::vector<Pending> parts;
  if (is_whole_number(item.power)) {
    if (node.op == "multiply" || node.op == "divide") {
      parts.push_back(part(0, item.power));
      parts.push_back(part(1, node.op == "multiply" ? item.power : -item.power));
      return parts;
    }
    if (node.op == "negate") {
      if (is_odd(item.power)) product.factor = -product.factor;
      parts.push_back(part(0, item.power));
      return parts;
    }
  }
  double exponent = 0;
  if (node.op == "sqrt" || node.op == "rsqrt") {
    exponent = node.op == "sqrt" ? 0.5 : -0.5;
  } else if (node.op == "power") {
    exponent = rewriter.number(node.operands[1]).value_or(0);
  }
  const bool whole = is_whole_number(exponent) && is_whole_number(item.power);
  const bool root = std::fabs(exponent) == 0.5 && is_odd(item.power);
  if (exponent == 0 || !(whole || root) || std::fabs(exponent * item.power) > 16) return std::nullopt;
  parts.push_back(part(0, exponent * item.power));
  return parts;
}

bool add_term(const Rewriter& rewriter, Product& product, Pending item, std::span<const int64_t> root_dims) {
  for (Term& term : product.terms) {
    if (!same_view(rewriter, term.view, item.view, root_dims)) continue;
    term.power += item.power;
    return term.power != 0;
  }
  product.terms.push_back({std::move(item.view), item.power});
  return product.terms.size() <= kTermLimit;
}

}  // namespace

bool is_float_convert(const Rewriter& rewriter, uint32_t id) {
  const Node& node = rewriter.node(id);
  return node.op == "convert" && is_wide_float(node.shape.dtype) &&
         is_wide_float(rewriter.node(rewriter.operand(id, 0)).shape.dtype);
}

uint32_t without_converts(const Rewriter& rewriter, uint32_t id) {
  for (int step = 0; step < kChainLimit && is_float_convert(rewriter, id); ++step)
    id = rewriter.operand(id, 0);
  return id;
}

uint32_t without_widening_converts(const Rewriter& rewriter, uint32_t id) {
  for (int step = 0; step < kChainLimit && is_float_convert(rewriter, id); ++step) {
    const uint32_t below = rewriter.operand(id, 0);
    if (!holds_all_values(rewriter.node(id).shape.dtype, rewriter.node(below).shape.dtype)) break;
    id = below;
  }
  return id;
}

double precision(DType dtype) {
  if (dtype == DType::BF16) return 0x1p-8;
  return dtype == DType::F16 ? 0x1p-10 : 2e-6;
}

bool is_near(double a, double b, double relative) {
  return std::fabs(a - b) <= relative * std::fabs(b);
}

View root_view(const Rewriter& rewriter, uint32_t root) {
  View view;
  view.node = view.start = view.tight = root;
  for (size_t d = 0; d < rewriter.node(root).shape.rank(); ++d) view.dims.push_back(static_cast<int64_t>(d));
  view.whole = root;
  view.tight_dims = view.dims;
  return view;
}

View operand_view(const Rewriter& rewriter, const View& view, size_t index) {
  View next;
  next.node = next.start = rewriter.operand(view.node, index);
  next.dims = view.dims;
  if (rewriter.node(next.node).shape.rank() != rewriter.node(view.node).shape.rank()) {
    next.dims.assign(view.dims.size(), -1);  // a scalar bound of clamp
  }
  next.tight = next.node;
  next.tight_dims = next.dims;
  if (view.whole == view.node && rewriter.node(next.node).shape.dims == rewriter.node(view.node).shape.dims) {
    next.whole = next.node;
  }
  return look_through(rewriter, std::move(next));
}

View look_through(const Rewriter& rewriter, View view) {
  std::vector<int64_t> root_dims(view.dims.size(), -1);  // no node has these
  if (view.whole) root_dims = rewriter.node(*view.whole).shape.dims;
  for (int step = 0; step < kChainLimit && step_through(rewriter, view); ++step) {
    note_marks(rewriter, view, root_dims);
  }
  return view;
}

bool same_view(const Rewriter& rewriter, const View& a, const View& b, std::span<const int64_t> root_dims) {
  if (a.node != b.node || a.dims.size() != b.dims.size()) return false;
  for (size_t d = 0; d < a.dims.size(); ++d) {
    if (root_dims[d] != 1 && a.dims[d] != b.dims[d]) return false;
  }
  return rewriter.node(a.node).shape.is_array();
}

std::vector<int64_t> tight_places(const View& view) {
  std::vector<int64_t> places;
  for (size_t d = 0; d < view.tight_dims.size(); ++d) {
    const int64_t at = view.tight_dims[d];
    if (at < 0) continue;
    if (places.size() <= static_cast<size_t>(at)) places.resize(static_cast<size_t>(at) + 1, -1);
    places[static_cast<size_t>(at)] = static_cast<int64_t>(d);
  }
  return places;
}

std::optional<Product> as_product(Rewriter& rewriter, const View& view, std::optional<uint32_t> keep) {
  Product product;
  std::vector<int64_t> root_dims(view.dims.size(), 0);  // 0: compare every dim
  std::vector<Pending> stack{{look_through(rewriter, view), 1}};
  for (int step = 0; !stack.empty(); ++step) {
    if (step >= kChainLimit || !rewriter.spend(1)) return std::nullopt;
    const Pending item = std::move(stack.back());
    stack.pop_back();
    const DType dtype = rewriter.node(item.view.node).shape.dtype;
    if (!hlo::is_float(dtype)) return std::nullopt;
    product.slack = std::max(product.slack, precision(dtype));
    if (const auto number = rewriter.number(item.view.node)) {
      product.factor *= std::pow(*number, item.power);
      continue;
    }
    auto parts = keep == item.view.node ? std::nullopt : parts_of(rewriter, item, product);
    if (!parts) {
      if (!add_term(rewriter, product, item, root_dims)) return std::nullopt;
      continue;
    }
    for (size_t i = parts->size(); i-- > 0;) stack.push_back(std::move((*parts)[i]));
  }
  if (!std::isfinite(product.factor)) return std::nullopt;
  return product;
}

std::optional<View> as_square(const Rewriter& rewriter, const View& view,
                              std::span<const int64_t> root_dims) {
  const Node& node = rewriter.node(view.node);
  if (node.op == "power" && rewriter.number(node.operands[1]) == 2.0) return operand_view(rewriter, view, 0);
  if (node.op != "multiply") return std::nullopt;
  View a = operand_view(rewriter, view, 0);
  if (!same_view(rewriter, a, operand_view(rewriter, view, 1), root_dims)) return std::nullopt;
  return a;
}

bool is_lowest(DType dtype, double value) {
  if (value == -HUGE_VAL) return true;
  return value < 0 && hlo::is_float(dtype) && hlo::overflows(dtype, value * 1.01);
}

View without_lowest_bound(const Rewriter& rewriter, View view) {
  for (int step = 0; step < kChainLimit; ++step) {
    const Node& node = rewriter.node(view.node);
    if (node.op != "maximum") return view;
    size_t side = 0;
    while (side < 2) {
      const auto bound = rewriter.number(node.operands[side]);
      if (bound && is_lowest(node.shape.dtype, *bound)) break;
      ++side;
    }
    if (side == 2) return view;
    view = operand_view(rewriter, view, 1 - side);
  }
  return view;
}

std::optional<Reduction> as_reduction(const Rewriter& rewriter, const View& view, std::string_view reducer,
                                      std::span<const int64_t> root_dims) {
  const Node& node = rewriter.node(view.node);
  if (node.op != "reduce" || node.operands.size() != 2 || node.text("reducer") != reducer)
    return std::nullopt;
  const auto init = rewriter.number(node.operands[1]);
  if (!init || !(reducer == "add" ? *init == 0 : is_lowest(node.shape.dtype, *init))) return std::nullopt;

  Reduction reduction;
  const uint32_t input = rewriter.operand(view.node, 0);
  const std::vector<int64_t>& dims = rewriter.node(input).shape.dims;
  const std::vector<int64_t>& folded = node.ints("dims");
  std::vector<int64_t> kept;
  std::vector<int64_t> free;  // folded dims that the root's other dims run through, in their order
  for (size_t d = 0; d < dims.size(); ++d) {
    const bool folds = std::find(folded.begin(), folded.end(), static_cast<int64_t>(d)) != folded.end();
    if (!folds) kept.push_back(static_cast<int64_t>(d));
    if (folds && dims[d] != 1) free.push_back(static_cast<int64_t>(d));
    if (folds) reduction.count *= static_cast<double>(dims[d]);
  }
  std::vector<int64_t> places(view.dims.size(), -1);
  size_t next = 0;
  for (size_t d = 0; d < places.size(); ++d) {
    if (view.dims[d] >= 0) {
      places[d] = kept[static_cast<size_t>(view.dims[d])];
    } else if (root_dims[d] != 1) {
      if (next == free.size() || dims[static_cast<size_t>(free[next])] != root_dims[d]) return std::nullopt;
      places[d] = free[next++];
      reduction.axes.push_back(static_cast<int64_t>(d));
    }
  }
  if (next != free.size()) return std::nullopt;
  if (std::equal(dims.begin(), dims.end(), root_dims.begin(), root_dims.end())) {
    bool in_place = true;
    for (size_t i = 0; i < free.size(); ++i) in_place = in_place && reduction.axes[i] == free[i];
    if (in_place) reduction.axes = folded;  // also those of size 1
    std::sort(reduction.axes.begin(), reduction.axes.end());
  }
  reduction.input.node = reduction.input.start = reduction.input.tight = input;
  reduction.input.dims = reduction.input.tight_dims = places;
  note_marks(rewriter, reduction.input, root_dims);
  reduction.input = look_through(rewriter, std::move(reduction.input));
  return reduction;
}

}  // namespace zomboss::graph
