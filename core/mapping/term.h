// Constraint terms: SMT-LIB 2 terms over knobs as Int constants (docs/mapping.md has the operators), parsed
// by our own parser and evaluated exactly or over ranges. A Term is immutable; any thread may read it.
//
// Division by zero, and everything strictly built on it, is undefined; and, or, => and ite may still be
// defined when the undefined part does not matter. An undefined assertion does not hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/source.h"

namespace zomboss::mapping {

enum class Sort : uint8_t { kInt, kBool };

// Leaves, Int operators, comparisons, Bool operators. Div and mod are SMT-LIB's: 0 <= mod < |divisor|. kEqual
// compares Ints, kSame Bools. kIf is a ? b : c of either sort. true and false are the constants 1 and 0 of
// sort Bool.
// clang-format off
enum class Op : uint8_t {
  kConstant, kKnob,
  kAdd, kSubtract, kMultiply, kDivide, kModulo, kAbs,
  kLess, kLessEqual, kEqual, kSame,
  kNot, kAnd, kOr, kIf
};
// clang-format on

// Operands are earlier nodes. Operators of more operands, chains (a < b < c), => xor distinct are lowered to
// these.
struct TermNode {
  Op op = Op::kConstant;
  Sort sort = Sort::kInt;
  uint32_t a = 0, b = 0, c = 0;
  int64_t value = 0;  // of a constant; of a knob: its number
};

struct Term {
  std::vector<TermNode> nodes;  // the last one is the root; `let` shares nodes
  std::vector<uint32_t> knobs;  // that it mentions, ascending

  Sort sort() const { return nodes.back().sort; }
};

inline constexpr size_t kTermTextLimit = size_t{64} << 10;  // bytes
inline constexpr size_t kTermNodeLimit = 8192;
inline constexpr uint32_t kTermDepthLimit = 256;

// One term, of sort `expected`, over the knobs with these names (a knob's number is its index). Linear time.
// Errors, with column and hint, go to `diagnostics`, whose source is the text.
Result<Term> parse_term(const std::vector<std::string>& knobs, Sort expected, Diagnostics& diagnostics);
// The same for a text that stands alone; the Status holds the rendered error. `name` names it in messages.
Result<Term> parse_term(const std::string& name, const std::string& text,
                        const std::vector<std::string>& knobs, Sort expected);

// What a term can be: a number in low..high, or undefined, or either. low > high: always undefined. Bool: 0
// and 1.
struct Bounds {
  int64_t low = 0;
  int64_t high = 0;
  bool maybe_undefined = false;

  bool can_hold() const { return low <= high && high >= 1; }  // of an assertion
  bool must_hold() const { return low == 1 && high == 1 && !maybe_undefined; }
  bool exact() const { return low == high && !maybe_undefined; }
  bool operator==(const Bounds&) const = default;
};

// Error when some subterm can leave 64 bits for knobs within these bounds. All calls of evaluate() and
// bounds() are for values inside bounds that passed this check: they do not check again.
Status check_width(const Term& term, std::span<const Bounds> knobs);

// Reusable memory of one thread; spares an allocation per call.
struct TermScratch {
  std::vector<Bounds> slots;
};

// The value for a complete assignment (one value per knob); nothing when undefined.
std::optional<int64_t> evaluate(const Term& term, std::span<const int64_t> values, TermScratch& scratch);
// Encloses all values for knobs within these bounds. Exact when each knob is, and never wider for narrower
// knobs.
Bounds bounds(const Term& term, std::span<const Bounds> knobs, TermScratch& scratch);

}  // namespace zomboss::mapping
