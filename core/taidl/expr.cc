#include "core/taidl/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>

namespace zomboss::taidl {
namespace {

Value known(int64_t number) {
  return {Value::Kind::kKnown, number, {}, {}};
}
Value failure(const Expr& expr, std::string message) {
  return {Value::Kind::kError, 0, expr.where, std::move(message)};
}
Value overflow(const Expr& expr) {
  return failure(expr, fmt::format("the value of '{}' does not fit in 64 bits", shown(expr)));
}

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Value divide(const Expr& expr, int64_t a, int64_t b) {
  if (b == 0) return failure(expr, fmt::format("division by zero in '{}'", shown(expr)));
  if (a == kMin && b == -1) return overflow(expr);
  return known(expr.op == Op::kDivide ? a / b : a % b);
}

Value arithmetic(const Expr& expr, int64_t a, int64_t b) {
  int64_t out = 0;
  switch (expr.op) {
    case Op::kMultiply:
      return __builtin_mul_overflow(a, b, &out) ? overflow(expr) : known(out);
    case Op::kAdd:
      return __builtin_add_overflow(a, b, &out) ? overflow(expr) : known(out);
    case Op::kSubtract:
      return __builtin_sub_overflow(a, b, &out) ? overflow(expr) : known(out);
    case Op::kDivide:
    case Op::kRemainder:
      return divide(expr, a, b);
    case Op::kLess:
      return known(a < b);
    case Op::kLessEqual:
      return known(a <= b);
    case Op::kGreater:
      return known(a > b);
    case Op::kGreaterEqual:
      return known(a >= b);
    case Op::kEqual:
      return known(a == b);
    case Op::kNotEqual:
      return known(a != b);
    default:
      return failure(expr, "not a binary operation");
  }
}

Value logical(const Expr& expr, const Env& env) {
  const Value a = evaluate(expr.args[0], env);
  if (a.failed()) return a;
  const bool decides = expr.op == Op::kOr ? a.number != 0 : a.number == 0;
  if (a.known() && decides) return known(expr.op == Op::kAnd ? 0 : 1);
  Value b = evaluate(expr.args[1], env);
  if (b.failed() || a.known()) return b;
  return a;
}

Value call(const Expr& expr, std::span<const int64_t> args) {
  if (expr.name == "min" && !args.empty()) return known(*std::min_element(args.begin(), args.end()));
  if (expr.name == "max" && !args.empty()) return known(*std::max_element(args.begin(), args.end()));
  if (expr.name == "ceildiv" && args.size() == 2) {
    if (args[1] <= 0)
      return failure(expr, fmt::format("division by {} in '{}'", args[1] == 0 ? "zero" : "a negative number",
                                       shown(expr)));
    return known(args[0] / args[1] + (args[0] % args[1] > 0 ? 1 : 0));
  }
  if (expr.name == "log2" && args.size() == 1) {
    if (args[0] <= 0) return failure(expr, fmt::format("log2 of {}", args[0]));
    return known(static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(args[0]))) - 1);
  }
  if (expr.name == "abs" && args.size() == 1) {
    if (args[0] == kMin) return overflow(expr);
    return known(args[0] < 0 ? -args[0] : args[0]);
  }
  return {Value::Kind::kUnknown, 0, {}, {}};  // a property of the program, or a call that was reported
}

}  // namespace

Value evaluate(const Expr& expr, const Env& env) {
  if (expr.op == Op::kInt) return known(expr.value);
  if (expr.op == Op::kName) {
    const auto found = env.find(expr.name);
    return found == env.end() ? Value{Value::Kind::kUnknown, 0, {}, {}} : known(found->second);
  }
  if (expr.op == Op::kIndex) return {Value::Kind::kUnknown, 0, {}, {}};
  if (expr.op == Op::kAnd || expr.op == Op::kOr || expr.op == Op::kImplies) return logical(expr, env);
  std::array<int64_t, 2> few;  // spares an allocation: this runs for every value that is tried
  std::vector<int64_t> many(expr.args.size() > few.size() ? expr.args.size() : 0);
  const std::span<int64_t> numbers(many.empty() ? few.data() : many.data(), expr.args.size());
  bool unknown = false;
  for (size_t i = 0; i < expr.args.size(); ++i) {
    Value value = evaluate(expr.args[i], env);
    if (value.failed()) return value;
    unknown |= !value.known();
    numbers[i] = value.number;
  }
  if (unknown) return {Value::Kind::kUnknown, 0, {}, {}};
  if (expr.op == Op::kCall) return call(expr, numbers);
  if (expr.op == Op::kNot) return known(numbers[0] == 0);
  if (expr.op == Op::kNegate) return numbers[0] == kMin ? overflow(expr) : known(-numbers[0]);
  return arithmetic(expr, numbers[0], numbers[1]);
}

namespace {

// Boolean results stay conditions ("1 == 1" is no integer), everything else becomes a number.
bool is_condition(Op op) {
  return op >= Op::kLess || op == Op::kNot;
}

}  // namespace

Expr fold(const Expr& expr, const Env& env) {
  if (!is_condition(expr.op)) {
    const Value value = evaluate(expr, env);
    if (value.known()) return make_int(value.number, expr.where);
  }
  Expr out = expr;
  for (Expr& arg : out.args) arg = fold(arg, env);
  return out;
}

void collect_names(const Expr& expr, std::vector<std::string>& names) {
  if (expr.op == Op::kName && std::find(names.begin(), names.end(), expr.name) == names.end())
    names.push_back(expr.name);
  for (const Expr& arg : expr.args) collect_names(arg, names);
}

void collect_value_names(const Expr& expr, std::vector<std::string>& names) {
  if (expr.op == Op::kName && std::find(names.begin(), names.end(), expr.name) == names.end())
    names.push_back(expr.name);
  if (expr.op == Op::kIndex) return;
  for (const Expr& arg : expr.args) collect_value_names(arg, names);
}

bool is_integer_function(std::string_view name) {
  return name == "min" || name == "max" || name == "ceildiv" || name == "log2" || name == "abs";
}

std::string_view op_text(Op op) {
  switch (op) {
    case Op::kNegate:
      return "-";
    case Op::kNot:
      return "!";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kRemainder:
      return "%";
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kLess:
      return "<";
    case Op::kLessEqual:
      return "<=";
    case Op::kGreater:
      return ">";
    case Op::kGreaterEqual:
      return ">=";
    case Op::kEqual:
      return "==";
    case Op::kNotEqual:
      return "!=";
    case Op::kAnd:
      return "&&";
    case Op::kOr:
      return "||";
    case Op::kImplies:
      return "->";
    default:
      return "";
  }
}

int op_precedence(Op op) {
  switch (op) {
    case Op::kImplies:
      return 1;
    case Op::kOr:
      return 2;
    case Op::kAnd:
      return 3;
    case Op::kEqual:
    case Op::kNotEqual:
      return 4;
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
      return 5;
    case Op::kAdd:
    case Op::kSubtract:
      return 6;
    case Op::kMultiply:
    case Op::kDivide:
    case Op::kRemainder:
      return 7;
    case Op::kNegate:
    case Op::kNot:
      return 8;
    default:
      return 9;
  }
}

Expr make_int(int64_t value, Where where) {
  Expr expr;
  expr.value = value;
  expr.where = where;
  return expr;
}

}  // namespace zomboss::taidl
