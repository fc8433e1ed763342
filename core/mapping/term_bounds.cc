// Interval evaluation of terms, once on 128-bit numbers to prove that 64 bits suffice, and then on 64-bit
// ones.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/mapping/term.h"

namespace zomboss::mapping {
namespace {

__extension__ typedef __int128 Wide;

// As Bounds.
template <typename T>
struct Range {
  T low, high;
  bool maybe_undefined;

  bool empty() const { return low > high; }
  bool can_be(T value) const { return low <= value && value <= high; }
};

template <typename T>
Range<T> never_defined() {
  return {1, 0, true};
}

template <typename T>
Range<T> truth(bool can_hold, bool can_fail, bool maybe_undefined) {
  if (!can_hold && !can_fail) return {1, 0, maybe_undefined};
  return {can_fail ? 0 : 1, can_hold ? 1 : 0, maybe_undefined};
}

// SMT-LIB division for a divisor other than 0.
template <typename T>
T divide(T a, T b) {
  const T quotient = a / b;  // toward zero
  if (quotient * b <= a) return quotient;
  return b > 0 ? quotient - 1 : quotient + 1;
}

template <typename T>
Range<T> join(Range<T> a, Range<T> b) {
  if (a.empty()) return {b.low, b.high, a.maybe_undefined || b.maybe_undefined};
  if (b.empty()) return {a.low, a.high, a.maybe_undefined || b.maybe_undefined};
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.maybe_undefined || b.maybe_undefined};
}

template <typename T>
Range<T> corners(T a, T b, T c, T d) {
  return {std::min(std::min(a, b), std::min(c, d)), std::max(std::max(a, b), std::max(c, d)), false};
}

// For divisors of one sign the quotient is monotone in each operand, so that its extremes are at the corners.
template <typename T>
Range<T> divide_range(Range<T> a, Range<T> b) {
  return corners(divide(a.low, b.low), divide(a.low, b.high), divide(a.high, b.low), divide(a.high, b.high));
}

template <typename T>
Range<T> modulo_range(Range<T> a, Range<T> b) {
  const T least = b.low > 0 ? b.low : -b.high;  // of |divisor|
  const T most = b.low > 0 ? b.high : -b.low;
  if (a.low >= 0 && a.high < least) return {a.low, a.high, false};
  if (least == most && divide(a.low, least) == divide(a.high, least)) {
    const T base = divide(a.low, least) * least;
    return {a.low - base, a.high - base, false};
  }
  return {0, a.low >= 0 ? std::min<T>(most - 1, a.high) : most - 1, false};
}

// Splits the divisors at 0.
template <typename T, typename F>
Range<T> by_divisor_sign(Range<T> a, Range<T> b, F f) {
  Range<T> result{1, 0, a.maybe_undefined || b.maybe_undefined || b.can_be(0)};
  if (b.high >= 1) result = join(result, f(a, Range<T>{std::max<T>(b.low, 1), b.high, false}));
  if (b.low <= -1) result = join(result, f(a, Range<T>{b.low, std::min<T>(b.high, -1), false}));
  return result;
}

template <typename T>
Range<T> absolute(Range<T> a) {
  if (a.low >= 0) return a;
  if (a.high <= 0) return {-a.high, -a.low, a.maybe_undefined};
  return {0, std::max<T>(-a.low, a.high), a.maybe_undefined};
}

// Strict operators: undefined when an operand is.
template <typename T>
Range<T> apply_strict(Op op, Range<T> a, Range<T> b) {
  if (a.empty() || b.empty()) return never_defined<T>();
  const bool undefined = a.maybe_undefined || b.maybe_undefined;
  switch (op) {
    case Op::kAdd:
      return {a.low + b.low, a.high + b.high, undefined};
    case Op::kSubtract:
      return {a.low - b.high, a.high - b.low, undefined};
    case Op::kMultiply: {
      Range<T> product = corners<T>(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
      product.maybe_undefined = undefined;
      return product;
    }
    case Op::kDivide:
      return by_divisor_sign(a, b, divide_range<T>);
    case Op::kModulo:
      return by_divisor_sign(a, b, modulo_range<T>);
    case Op::kLess:
      return truth<T>(a.low < b.high, a.high >= b.low, undefined);
    case Op::kLessEqual:
      return truth<T>(a.low <= b.high, a.high > b.low, undefined);
    case Op::kEqual:
    case Op::kSame:
      return truth<T>(a.low <= b.high && b.low <= a.high, a.low != b.high || a.high != b.low, undefined);
    default:
      ZB_CHECK(false, "not a strict operator");
  }
}

template <typename T>
Range<T> apply_and(Range<T> a, Range<T> b) {
  const bool undefined =
      (a.maybe_undefined && (b.maybe_undefined || b.can_be(1))) || (b.maybe_undefined && a.can_be(1));
  return truth<T>(a.can_be(1) && b.can_be(1), a.can_be(0) || b.can_be(0), undefined);
}

template <typename T>
Range<T> apply_or(Range<T> a, Range<T> b) {
  const bool undefined =
      (a.maybe_undefined && (b.maybe_undefined || b.can_be(0))) || (b.maybe_undefined && a.can_be(0));
  return truth<T>(a.can_be(1) || b.can_be(1), a.can_be(0) && b.can_be(0), undefined);
}

template <typename T>
Range<T> apply_if(Range<T> condition, Range<T> yes, Range<T> no) {
  Range<T> result{1, 0, condition.maybe_undefined};
  if (condition.can_be(1)) result = join(result, yes);
  if (condition.can_be(0)) result = join(result, no);
  return result;
}

template <typename T, typename Slot>
Range<T> apply(const TermNode& node, const Slot& slot, std::span<const Bounds> knobs) {
  switch (node.op) {
    case Op::kConstant:
      return {node.value, node.value, false};
    case Op::kKnob: {
      const Bounds& knob = knobs[static_cast<size_t>(node.value)];
      return {knob.low, knob.high, false};
    }
    case Op::kAbs: {
      const Range<T> a = slot(node.a);
      return a.empty() ? a : absolute(a);
    }
    case Op::kNot: {
      const Range<T> a = slot(node.a);
      return truth<T>(a.can_be(0), a.can_be(1), a.maybe_undefined);
    }
    case Op::kAnd:
      return apply_and<T>(slot(node.a), slot(node.b));
    case Op::kOr:
      return apply_or<T>(slot(node.a), slot(node.b));
    case Op::kIf:
      return apply_if<T>(slot(node.a), slot(node.b), slot(node.c));
    default:
      return apply_strict<T>(node.op, slot(node.a), slot(node.b));
  }
}

}  // namespace

Status check_width(const Term& term, std::span<const Bounds> knobs) {
  std::vector<Range<Wide>> slots;
  slots.reserve(term.nodes.size());
  constexpr Wide kLow = std::numeric_limits<int64_t>::min();
  constexpr Wide kHigh = std::numeric_limits<int64_t>::max();
  for (const TermNode& node : term.nodes) {
    const auto range = apply<Wide>(
        node, [&](uint32_t id) { return slots[id]; }, knobs);
    if (!range.empty() && (range.low < kLow || range.high > kHigh)) {
      return invalid_argument("a part of the term can leave 64 bits inside the knobs' domains");
    }
    slots.push_back(range);
  }
  return {};
}

Bounds bounds(const Term& term, std::span<const Bounds> knobs, TermScratch& scratch) {
  std::vector<Bounds>& slots = scratch.slots;
  if (slots.size() < term.nodes.size()) slots.resize(term.nodes.size());
  const auto slot = [&](uint32_t id) {
    return Range<int64_t>{slots[id].low, slots[id].high, slots[id].maybe_undefined};
  };
  for (size_t i = 0; i < term.nodes.size(); ++i) {
    const Range<int64_t> range = apply<int64_t>(term.nodes[i], slot, knobs);
    slots[i] = {range.low, range.high, range.maybe_undefined};
  }
  return slots[term.nodes.size() - 1];
}

}  // namespace zomboss::mapping
