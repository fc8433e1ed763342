#include "core/taidl/parse_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/taidl/expr.h"
#include "core/taidl/parser.h"

namespace zomboss::taidl {

std::string describe(const Token& token) {
  constexpr size_t kShown = 40;
  std::string text(token.text.substr(0, kShown));
  if (token.text.size() > kShown) text += "...";
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the file";
    case TokenKind::kInt:
    case TokenKind::kFloat:
      return "the number " + text;
    case TokenKind::kString:
      return "the string " + text;
    case TokenKind::kSem:
      return "a 'sem' block";
    default:
      return "'" + text + "'";
  }
}

bool ParseState::fail(std::string_view what, std::string hint) {
  if (!too_many(diagnostics_))
    diagnostics_.error(peek().where, fmt::format("expected {}, found {}", what, describe(peek())),
                       std::move(hint));
  return false;
}

bool ParseState::expect_punct(std::string_view text, std::string_view context) {
  if (accept_punct(text)) return true;
  return fail(context.empty() ? fmt::format("'{}'", text) : fmt::format("'{}' {}", text, context));
}

bool ParseState::expect_word(std::string_view text, std::string_view context) {
  if (accept_word(text)) return true;
  return fail(fmt::format("'{}' {}", text, context));
}

bool ParseState::expect_name(Name& name, std::string_view what) {
  if (peek().kind != TokenKind::kIdent) return fail(what);
  const Token token = take();
  name = {std::string(token.text), token.where};
  return true;
}

bool ParseState::expect_string(std::string& value, Where& where, std::string_view what) {
  if (peek().kind != TokenKind::kString) return fail(what);
  const Token token = take();
  where = token.where;
  value = unescape(token, diagnostics_);
  return true;
}

bool ParseState::too_deep(Location where) {
  if (!too_many(diagnostics_))
    diagnostics_.error(where, fmt::format("nested more than {} deep", kMaxDepth),
                       "split it; a rule or a requirement may be written as several");
  return false;
}

bool ParseState::enter(const Token& token) {
  if (depth_ >= kMaxDepth) return too_deep(token.where);
  ++depth_;
  return true;
}

bool ParseState::parse_expr(Expr& out, int least_precedence) {
  if (!enter(peek())) return false;
  const bool ok = parse_unary(out) && parse_binary_tail(out, least_precedence);
  leave();
  return ok;
}

namespace {

Op binary_op(const Token& token) {
  if (token.kind != TokenKind::kPunct) return Op::kInt;
  for (int op = static_cast<int>(Op::kMultiply); op <= static_cast<int>(Op::kImplies); ++op)
    if (op_text(static_cast<Op>(op)) == token.text) return static_cast<Op>(op);
  return Op::kInt;
}

}  // namespace

// Precedence climbing. Binary operators associate to the left, -> to the right.
bool ParseState::parse_binary_tail(Expr& out, int least_precedence) {
  while (true) {
    const Op op = binary_op(peek());
    if (op == Op::kInt || op_precedence(op) < least_precedence) return true;
    const Location at = take().where;
    Expr node;
    node.op = op;
    node.where = out.where;
    node.args.reserve(2);
    node.args.push_back(std::move(out));
    if (!parse_expr(node.args.emplace_back(), op_precedence(op) + (op == Op::kImplies ? 0 : 1))) return false;
    const int height = 1 + std::max(node.args[0].depth, node.args[1].depth);
    if (height > kMaxDepth) return too_deep(at);
    node.depth = static_cast<uint16_t>(height);
    out = std::move(node);
  }
}

bool ParseState::parse_unary(Expr& out) {
  if (!is_punct("-") && !is_punct("!")) return parse_primary(out);
  const Token token = take();
  if (!enter(token)) return false;
  out.op = token.text == "-" ? Op::kNegate : Op::kNot;
  out.where = token.where;
  const bool ok = parse_unary(out.args.emplace_back());
  leave();
  if (!ok) return false;
  if (out.args[0].depth >= kMaxDepth) return too_deep(token.where);
  out.depth = static_cast<uint16_t>(out.args[0].depth + 1);
  return true;
}

bool ParseState::parse_primary(Expr& out) {
  const Token token = peek();
  if (token.kind == TokenKind::kInt) {
    out = make_int(take().value, token.where);
    return true;
  }
  if (accept_punct("(")) return parse_expr(out) && expect_punct(")", "to close the parenthesis");
  if (token.kind != TokenKind::kIdent)
    return fail("an expression", token.kind == TokenKind::kFloat ? "expressions are integers" : "");
  take();
  out.name = token.text;
  out.where = token.where;
  out.op = Op::kName;
  if (accept_punct("(")) {
    out.op = Op::kCall;
    if (!parse_expr_list(out.args, ")")) return false;
  } else if (accept_punct("[")) {
    out.op = Op::kIndex;
    if (!parse_expr(out.args.emplace_back()) || !expect_punct("]", "to close the register index"))
      return false;
  }
  int height = 1;
  for (const Expr& arg : out.args) height = std::max(height, 1 + arg.depth);
  if (height > kMaxDepth) return too_deep(token.where);
  out.depth = static_cast<uint16_t>(height);
  return true;
}

bool ParseState::parse_expr_list(std::vector<Expr>& out, std::string_view close) {
  if (accept_punct(close)) return true;
  do {
    if (!parse_expr(out.emplace_back())) return false;
  } while (accept_punct(","));
  return expect_punct(close, "or ',' in the list");
}

bool ParseState::parse_domain(DomainExpr& out) {
  out.where = peek().where;
  if (accept_word("int")) return true;
  if (accept_punct("{")) {
    out.kind = DomainExpr::Kind::kList;
    return parse_expr_list(out.values, "}");
  }
  out.kind = DomainExpr::Kind::kRange;
  out.values.reserve(3);
  if (!parse_expr(out.values.emplace_back())) return false;
  if (!expect_punct("..", "in a domain (low..high or {a, b})")) return false;
  if (!parse_expr(out.values.emplace_back())) return false;
  return !accept_word("step") || parse_expr(out.values.emplace_back());
}

}  // namespace zomboss::taidl
