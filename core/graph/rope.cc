// Rotary position embedding, in the spellings "x * cos + rotate(x) * sin" and "both halves rotated, then
// joined", with halves apart or interleaved.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/graph/match.h"
#include "core/graph/recognisers.h"

namespace zomboss::graph {
namespace {

enum class Layout : uint8_t { kHalf, kInterleaved };

// Half of the features of x.
struct Piece {
  uint32_t x = 0;
  Layout layout = Layout::kHalf;
  bool second = false;  // the upper half, or the odd ones
};

using Dims = std::vector<int64_t>;

// True when the slice keeps all of every dim but `at`.
bool slices_only(const Node& slice, const Dims& from, size_t at) {
  for (size_t d = 0; d < from.size(); ++d) {
    const bool all =
        slice.ints("start")[d] == 0 && slice.ints("limit")[d] == from[d] && slice.ints("stride")[d] == 1;
    if (d != at && !all) return false;
  }
  return true;
}

// x[..., :d/2], x[..., d/2:], x[..., 0::2], x[..., 1::2].
std::optional<Piece> piece_of_features(const Rewriter& rewriter, uint32_t slice) {
  const Node& node = rewriter.node(slice);
  const uint32_t x = without_converts(rewriter, rewriter.operand(slice, 0));
  const Dims& from = rewriter.node(x).shape.dims;
  if (from.empty() || from.back() % 2 != 0 || !slices_only(node, from, from.size() - 1)) return std::nullopt;
  const int64_t start = node.ints("start").back(), limit = node.ints("limit").back();
  const int64_t stride = node.ints("stride").back(), size = from.back();
  if (size == 2 && limit - start == 1) return Piece{x, Layout::kHalf, start == 1};
  if (stride == 1 && limit - start == size / 2 && start % (size / 2) == 0) {
    return Piece{x, Layout::kHalf, start != 0};
  }
  if (stride == 2 && start < 2 && node.shape.dims.back() == size / 2) {
    return Piece{x, Layout::kInterleaved, start == 1};
  }
  return std::nullopt;
}

// The same of x reshaped to [..., d/2, 2] or [..., 2, d/2], where the slice takes one of the 2.
std::optional<Piece> piece_of_pairs(const Rewriter& rewriter, uint32_t slice) {
  const Node& node = rewriter.node(slice);
  const uint32_t pairs = without_converts(rewriter, rewriter.operand(slice, 0));
  if (rewriter.node(pairs).op != "reshape") return std::nullopt;
  const uint32_t x = without_converts(rewriter, rewriter.operand(pairs, 0));
  const Dims& split = rewriter.node(pairs).shape.dims;
  const Dims& from = rewriter.node(x).shape.dims;
  if (from.empty() || split.size() != from.size() + 1 ||
      !std::equal(from.begin(), from.end() - 1, split.begin())) {
    return std::nullopt;
  }
  for (const size_t at : {split.size() - 1, split.size() - 2}) {
    const int64_t start = node.ints("start")[at];
    if (split[at] != 2 || node.shape.dims[at] != 1 || !slices_only(node, split, at)) continue;
    return Piece{x, at + 1 == split.size() ? Layout::kInterleaved : Layout::kHalf, start == 1};
  }
  return std::nullopt;
}

std::optional<Piece> as_piece(const Rewriter& rewriter, uint32_t id) {
  if (rewriter.node(id).op != "slice") return std::nullopt;
  if (auto piece = piece_of_pairs(rewriter, id)) return piece;
  return piece_of_features(rewriter, id);
}

// Two tensors that are joined to one with twice the features.
struct Joined {
  uint32_t first = 0, second = 0;
  Layout layout = Layout::kHalf;
};

// concatenate along the last dim; or along one of size 1 beside it, and then a reshape that takes it away.
std::optional<Joined> as_joined(const Rewriter& rewriter, uint32_t id) {
  uint32_t at = without_converts(rewriter, id);
  const bool reshaped = rewriter.node(at).op == "reshape";
  const Dims outer = rewriter.node(at).shape.dims;
  if (reshaped) at = without_converts(rewriter, rewriter.operand(at, 0));
  const Node& node = rewriter.node(at);
  if (node.op != "concatenate" || node.operands.size() != 2 || outer.empty()) return std::nullopt;
  const uint32_t first = rewriter.operand(at, 0), second = rewriter.operand(at, 1);
  const Dims& dims = rewriter.node(first).shape.dims;
  const auto along = static_cast<size_t>(node.ints("dims")[0]);
  if (dims != rewriter.node(second).shape.dims) return std::nullopt;
  if (!reshaped) {
    if (along + 1 != dims.size()) return std::nullopt;
    return Joined{first, second, Layout::kHalf};
  }
  const Dims& joined = node.shape.dims;
  if (joined.size() != outer.size() + 1 || !std::equal(outer.begin(), outer.end() - 1, joined.begin()) ||
      joined[along] != 2 || along + 2 < joined.size()) {
    return std::nullopt;
  }
  return Joined{first, second, along + 1 == joined.size() ? Layout::kInterleaved : Layout::kHalf};
}

// One product of a sum: sign * a * b, both seen from the sum.
struct Summand {
  double sign = 1;
  View a, b;
};

// Factors of 1 and -1 only change the sign; x and the tables are not taken apart.
std::optional<Summand> as_summand(const Rewriter& rewriter, View view, double sign) {
  for (int step = 0; step < kChainLimit; ++step) {
    const Node& node = rewriter.node(view.node);
    if (node.op == "negate") {
      sign = -sign;
      view = operand_view(rewriter, view, 0);
      continue;
    }
    if (node.op != "multiply") return std::nullopt;
    const size_t side = rewriter.number(node.operands[0]) ? 0 : 1;
    const auto number = rewriter.number(node.operands[side]);
    if (!number) return Summand{sign, operand_view(rewriter, view, 0), operand_view(rewriter, view, 1)};
    if (std::fabs(*number) != 1) return std::nullopt;
    sign *= *number;
    view = operand_view(rewriter, view, 1 - side);
  }
  return std::nullopt;
}

// The two products of add(p, q) or subtract(p, q).
std::optional<std::pair<Summand, Summand>> as_two_products(const Rewriter& rewriter, const View& sum) {
  const Node& node = rewriter.node(sum.node);
  if (node.op != "add" && node.op != "subtract") return std::nullopt;
  const double sign = node.op == "add" ? 1 : -1;
  auto first = as_summand(rewriter, operand_view(rewriter, sum, 0), 1);
  auto second = as_summand(rewriter, operand_view(rewriter, sum, 1), sign);
  if (!first || !second) return std::nullopt;
  return std::pair(*std::move(first), *std::move(second));
}

// A table: the tensor and where its dims lie in x.
struct Table {
  uint32_t node = 0;
  Dims dims;
  bool half = false;
  bool operator==(const Table& other) const = default;
};

std::optional<Table> as_table(const Rewriter& rewriter, const View& view, const Dims& x) {
  Table table{without_widening_converts(rewriter, view.tight), tight_places(view), false};
  const Dims& sizes = rewriter.node(table.node).shape.dims;
  if (sizes.empty() || table.dims.back() != static_cast<int64_t>(x.size()) - 1) return std::nullopt;
  table.half = sizes.back() * 2 == x.back();
  return table;
}

bool same_place(const Table& a, const Table& b, const Rewriter& rewriter) {
  return a.dims == b.dims && rewriter.node(a.node).shape.dims == rewriter.node(b.node).shape.dims;
}

uint32_t add_rope(Rewriter& rewriter, uint32_t root, uint32_t x, Layout layout, const Table& cosine,
                  const Table& sine) {
  const uint32_t rope = rewriter.add("rope", {without_widening_converts(rewriter, x), cosine.node, sine.node},
                                     rewriter.node(root).shape, root);
  Node& node = rewriter.node(rope);
  node.set({"layout", {}, {}, layout == Layout::kHalf ? "half" : "interleaved"});
  node.set({"dims", cosine.dims, {}, {}});
  node.set({"table", {}, {}, cosine.half ? "half" : "full"});
  return rope;
}

// x of joined(-second(x), first(x)), and the sign: -1 for joined(second(x), -first(x)).
struct Rotation {
  uint32_t x = 0;
  Layout layout = Layout::kHalf;
  double sign = 1;
};

// A piece times 1 or -1.
std::optional<std::pair<Piece, double>> as_signed_piece(Rewriter& rewriter, uint32_t id) {
  const auto product = as_product(rewriter, root_view(rewriter, id));
  if (!product || product->terms.size() != 1 || product->terms[0].power != 1) return std::nullopt;
  if (product->factor != 1 && product->factor != -1) return std::nullopt;
  const auto piece = as_piece(rewriter, product->terms[0].view.node);
  if (!piece) return std::nullopt;
  return std::pair(*piece, product->factor);
}

std::optional<Rotation> as_rotation(Rewriter& rewriter, uint32_t id) {
  const auto joined = as_joined(rewriter, id);
  if (!joined) return std::nullopt;
  const auto first = as_signed_piece(rewriter, joined->first);
  const auto second = as_signed_piece(rewriter, joined->second);
  if (!first || !second || first->first.x != second->first.x || first->first.layout != joined->layout ||
      second->first.layout != joined->layout) {
    return std::nullopt;
  }
  if (!first->first.second || second->first.second || first->second == second->second) return std::nullopt;
  return Rotation{first->first.x, joined->layout, second->second};
}

// The summand that has a piece as one factor: the piece first.
std::optional<Piece> piece_first(const Rewriter& rewriter, Summand& summand) {
  if (auto piece = as_piece(rewriter, summand.a.node)) return piece;
  std::swap(summand.a, summand.b);
  return as_piece(rewriter, summand.a.node);
}

// first(x) * c - second(x) * s, or second(x) * c + first(x) * s.
struct Half {
  uint32_t x = 0;
  Layout layout = Layout::kHalf;
  Table cosine, sine;
};

// Indices of the view run through its node in place; dims of size 1 at the end do not matter.
bool in_place(const Rewriter& rewriter, const View& view) {
  const Dims& dims = rewriter.node(view.node).shape.dims;
  for (size_t d = 0; d < view.dims.size() && d < dims.size(); ++d) {
    if (dims[d] != 1 && view.dims[d] != static_cast<int64_t>(d)) return false;
  }
  return true;
}

// The dims of x with half the features, perhaps with a dim of size 1 behind them.
bool is_half_of(const Dims& half, const Dims& x) {
  if (half.size() == x.size() + 1 ? half.back() != 1 : half.size() != x.size()) return false;
  return std::equal(x.begin(), x.end() - 1, half.begin()) && half[x.size() - 1] * 2 == x.back();
}

std::optional<Half> as_half(Rewriter& rewriter, uint32_t id, bool second, const Dims& x_dims) {
  const View root = look_through(rewriter, root_view(rewriter, id));
  auto products = as_two_products(rewriter, root_view(rewriter, root.node));
  if (!products) return std::nullopt;
  auto& [p, q] = *products;
  auto own = piece_first(rewriter, p);
  auto other = piece_first(rewriter, q);
  if (!own || !other) return std::nullopt;
  if (own->second != second) {
    std::swap(own, other);
    std::swap(p, q);
  }
  if (own->second != second || other->second == second || own->x != other->x ||
      own->layout != other->layout || p.sign != 1 || q.sign != (second ? 1 : -1)) {
    return std::nullopt;
  }
  if (!is_half_of(rewriter.node(root.node).shape.dims, x_dims) || !in_place(rewriter, p.a) ||
      !in_place(rewriter, q.a)) {
    return std::nullopt;
  }
  const auto cosine = as_table(rewriter, p.b, x_dims);
  const auto sine = as_table(rewriter, q.b, x_dims);
  if (!cosine || !sine || !cosine->half || !sine->half) return std::nullopt;
  return Half{own->x, own->layout, *cosine, *sine};
}

}  // namespace

std::optional<uint32_t> recognise_rope_sum(Rewriter& rewriter, uint32_t id) {
  if (!hlo::is_float(rewriter.node(id).shape.dtype)) return std::nullopt;
  const Dims dims = rewriter.node(id).shape.dims;
  auto products = as_two_products(rewriter, root_view(rewriter, id));
  if (!products) return std::nullopt;
  auto& [p, q] = *products;
  for (const bool swapped : {false, true}) {
    Summand& straight = swapped ? q : p;
    Summand& rotated = swapped ? p : q;
    auto rotation = as_rotation(rewriter, rotated.a.start);
    if (!rotation) {
      std::swap(rotated.a, rotated.b);
      rotation = as_rotation(rewriter, rotated.a.start);
    }
    if (!rotation || rotated.a.whole != rotated.a.node) continue;
    if (without_converts(rewriter, straight.a.start) != rotation->x) std::swap(straight.a, straight.b);
    if (without_converts(rewriter, straight.a.start) != rotation->x) continue;
    if (straight.sign != 1 || rotated.sign * rotation->sign != 1) return std::nullopt;
    const auto cosine = as_table(rewriter, straight.b, dims);
    const auto sine = as_table(rewriter, rotated.b, dims);
    if (!cosine || !sine || cosine->half || sine->half || !same_place(*cosine, *sine, rewriter)) continue;
    return add_rope(rewriter, id, rotation->x, rotation->layout, *cosine, *sine);
  }
  return std::nullopt;
}

std::optional<uint32_t> recognise_rope_join(Rewriter& rewriter, uint32_t id) {
  if (!hlo::is_float(rewriter.node(id).shape.dtype)) return std::nullopt;
  const auto joined = as_joined(rewriter, id);
  if (!joined) return std::nullopt;
  const Dims dims = rewriter.node(id).shape.dims;
  const auto first = as_half(rewriter, joined->first, false, dims);
  const auto second = as_half(rewriter, joined->second, true, dims);
  if (!first || !second || first->x != second->x || first->layout != joined->layout ||
      second->layout != joined->layout || first->cosine != second->cosine || first->sine != second->sine ||
      !same_place(first->cosine, first->sine, rewriter) || rewriter.node(first->x).shape.dims != dims) {
    return std::nullopt;
  }
  return add_rope(rewriter, id, first->x, joined->layout, first->cosine, first->sine);
}

}  // namespace zomboss::graph
