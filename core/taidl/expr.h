// Evaluation of expressions in checked 64-bit arithmetic. Overflow and division by zero are errors with a
// position, never wrapped values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/taidl/spec.h"

namespace zomboss::taidl {

// Values of names during an evaluation.
using Env = std::map<std::string, int64_t, std::less<>>;

// An integer (conditions: 0 or 1), or unknown (depends on a register's content, on a property of a whole
// program, or on a name without a value), or an error.
struct Value {
  enum class Kind : uint8_t { kKnown, kUnknown, kError } kind = Kind::kKnown;
  int64_t number = 0;
  Location where;       // of an error: the operation
  std::string message;  // of an error

  bool known() const { return kind == Kind::kKnown; }
  bool failed() const { return kind == Kind::kError; }
};

// `/` and `%` truncate towards zero; ceildiv(a, b) needs b > 0, log2(a) is the floor and needs a > 0;
// && || -> do not look at the right side when the left one decides.
Value evaluate(const Expr& expr, const Env& env);

// The same expression with the names of `env` replaced by their values and constant parts computed. Parts
// that cannot be computed stay as they are.
Expr fold(const Expr& expr, const Env& env);

// All names (not functions, not register files) that the expression mentions, each once, in order.
void collect_names(const Expr& expr, std::vector<std::string>& names);

// The same without names that only choose a register: what evaluate() looks at.
void collect_value_names(const Expr& expr, std::vector<std::string>& names);

// Functions of integers: min, max (2 or more arguments), ceildiv (2), log2, abs (1).
bool is_integer_function(std::string_view name);

// Canonical spelling with the fewest parentheses; parses to an equal tree.
std::string print_expr(const Expr& expr);
// The same for messages: elided after 60 letters.
std::string shown(const Expr& expr);

std::string_view op_text(Op op);  // "+"; "" for the leaf kinds and calls
int op_precedence(Op op);         // 1 (->) .. 8 (unary), 9 for leaves

Expr make_int(int64_t value, Where where);

}  // namespace zomboss::taidl
