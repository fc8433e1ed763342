#include "core/base/check.h"
#include "core/mapping/term.h"

namespace zomboss::mapping {
namespace {

// A value or undefined, in the form of Bounds: low is the value, maybe_undefined the flag.
Bounds defined(int64_t value) {
  return {value, value, false};
}
constexpr Bounds kUndefined{0, 0, true};

// SMT-LIB: dividend = divisor * div + mod with 0 <= mod < |divisor|.
int64_t euclidean_mod(int64_t dividend, int64_t divisor) {
  const int64_t rest = dividend % divisor;
  if (rest >= 0) return rest;
  return divisor > 0 ? rest + divisor : rest - divisor;
}
int64_t euclidean_div(int64_t dividend, int64_t divisor) {
  const int64_t quotient = dividend / divisor;  // toward zero
  if (dividend % divisor >= 0) return quotient;
  return divisor > 0 ? quotient - 1 : quotient + 1;
}

Bounds apply_int(Op op, Bounds a, Bounds b) {
  if (a.maybe_undefined || b.maybe_undefined) return kUndefined;
  switch (op) {
    case Op::kAdd:
      return defined(a.low + b.low);
    case Op::kSubtract:
      return defined(a.low - b.low);
    case Op::kMultiply:
      return defined(a.low * b.low);
    case Op::kDivide:
      return b.low == 0 ? kUndefined : defined(euclidean_div(a.low, b.low));
    case Op::kModulo:
      // % of the most negative number by -1 overflows, and its rest is 0.
      if (b.low == 0) return kUndefined;
      return defined(b.low == -1 ? 0 : euclidean_mod(a.low, b.low));
    case Op::kLess:
      return defined(a.low < b.low ? 1 : 0);
    case Op::kLessEqual:
      return defined(a.low <= b.low ? 1 : 0);
    case Op::kEqual:
    case Op::kSame:
      return defined(a.low == b.low ? 1 : 0);
    default:
      ZB_CHECK(false, "not a strict operator");
  }
}

Bounds apply(const TermNode& node, const std::vector<Bounds>& slots, std::span<const int64_t> values) {
  const Bounds a = slots[node.a];
  switch (node.op) {
    case Op::kConstant:
      return defined(node.value);
    case Op::kKnob:
      return defined(values[static_cast<size_t>(node.value)]);
    case Op::kAbs:
      return a.maybe_undefined ? a : defined(a.low < 0 ? -a.low : a.low);
    case Op::kNot:
      return a.maybe_undefined ? a : defined(1 - a.low);
    case Op::kAnd:
    case Op::kOr: {
      // One operand that decides alone is enough, even if the other is undefined.
      const Bounds b = slots[node.b];
      const int64_t decisive = node.op == Op::kAnd ? 0 : 1;
      if (!a.maybe_undefined && a.low == decisive) return a;
      if (!b.maybe_undefined && b.low == decisive) return b;
      return a.maybe_undefined ? a : b;
    }
    case Op::kIf:
      if (a.maybe_undefined) return a;
      return slots[a.low == 1 ? node.b : node.c];
    default:
      return apply_int(node.op, a, slots[node.b]);
  }
}

}  // namespace

std::optional<int64_t> evaluate(const Term& term, std::span<const int64_t> values, TermScratch& scratch) {
  scratch.slots.resize(std::max(scratch.slots.size(), term.nodes.size()));
  for (size_t i = 0; i < term.nodes.size(); ++i)
    scratch.slots[i] = apply(term.nodes[i], scratch.slots, values);
  const Bounds root = scratch.slots[term.nodes.size() - 1];
  if (root.maybe_undefined) return std::nullopt;
  return root.low;
}

}  // namespace zomboss::mapping
