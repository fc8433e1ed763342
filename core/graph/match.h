// The words that the float recognisers are written in: a value seen through data movement (View), a product
// of powers (Product), a reduction over dims of the root. All of them look through converts between floats of
// 16 bits and more, because the operators that are recognised compute without rounding in between. Every walk
// is bounded by kChainLimit. Internal to core/graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/rewriter.h"

namespace zomboss::graph {

// A convert between floats of 16 bits and more.
bool is_float_convert(const Rewriter& rewriter, uint32_t id);
// `id` without such converts above it.
uint32_t without_converts(const Rewriter& rewriter, uint32_t id);
// `id` without those of them that keep every value: what an operator may read instead.
uint32_t without_widening_converts(const Rewriter& rewriter, uint32_t id);
// How exact constants of the type are, relative, with some room for arithmetic on them.
double precision(DType dtype);
bool is_near(double a, double b, double relative);

// A node as it is indexed by a root, the node that a recogniser looks at: dim d of the root runs through dim
// dims[d] of `node`, or does not matter to it (-1). Dims of `node` that no dim of the root runs through have
// size 1.
struct View {
  uint32_t node = 0;
  std::vector<int64_t> dims;
  uint32_t start = 0;             // the node before data movement was looked through
  std::optional<uint32_t> whole;  // the deepest node so far that has the root's dims in place
  uint32_t tight = 0;             // the deepest node so far each of whose dims a dim of the root runs through
  std::vector<int64_t> tight_dims;  // as dims, of `tight`
};

// The root itself, nothing looked through.
View root_view(const Rewriter& rewriter, uint32_t root);
// Operand `index` of the elementwise node that is viewed, looked through.
View operand_view(const Rewriter& rewriter, const View& view, size_t index);
// Looks through data movement, converts, and selects whose predicate is known.
View look_through(const Rewriter& rewriter, View view);
// Both give the same value for every index of the root.
bool same_view(const Rewriter& rewriter, const View& a, const View& b, std::span<const int64_t> root_dims);
// The root's dims that the dims of `tight` lie along, in the order of the dims of `tight`.
std::vector<int64_t> tight_places(const View& view);

struct Term {
  View view;
  double power = 1;
};

// factor times the terms to their powers. Terms of the same view are one.
struct Product {
  double factor = 1;
  double slack = 0;  // relative error of the factor by the types of its constants
  std::vector<Term> terms;

  bool has_factor(double value) const { return is_near(factor, value, slack); }
};

// Takes multiply, divide, negate, power, sqrt and rsqrt apart, and numbers, but not the node `keep`. Nothing
// for more than 8 terms, or for terms that cancel out.
std::optional<Product> as_product(Rewriter& rewriter, const View& view,
                                  std::optional<uint32_t> keep = std::nullopt);

// x of x * x and power(x, 2), without taking x apart.
std::optional<View> as_square(const Rewriter& rewriter, const View& view, std::span<const int64_t> root_dims);

// The sum or maximum of `input` over `axes`, ascending dims of the root.
struct Reduction {
  View input;
  std::vector<int64_t> axes;
  double count = 1;  // elements that are folded into one
};

// `reducer` is "add", from 0, or "maximum", from the lowest value.
std::optional<Reduction> as_reduction(const Rewriter& rewriter, const View& view, std::string_view reducer,
                                      std::span<const int64_t> root_dims);

// x of maximum(x, lowest value), or the view itself.
View without_lowest_bound(const Rewriter& rewriter, View view);
// True for minus infinity and the lowest finite value of the type.
bool is_lowest(DType dtype, double value);

}  // namespace zomboss::graph
