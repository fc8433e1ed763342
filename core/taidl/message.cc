#include "core/taidl/message.h"

#include <fmt/format.h>

#include "core/taidl/lexer.h"
#include "core/taidl/parser.h"

namespace zomboss::taidl {

bool split_message(std::string_view text, std::vector<MessagePart>& parts) {
  parts.clear();
  std::string literal;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      literal += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      literal += text[i++];
      continue;
    }
    const size_t close = c == '{' ? text.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      parts.clear();
      return false;
    }
    if (!literal.empty()) parts.push_back({std::move(literal), false});
    literal.clear();
    parts.push_back({std::string(text.substr(i + 1, close - i - 1)), true});
    i = close;
  }
  if (!literal.empty()) parts.push_back({std::move(literal), false});
  return true;
}

namespace {

// The placeholder as an expression; its errors go to `diagnostics` of a Source that holds it alone.
std::optional<Expr> parse_part(const Source& source, Diagnostics& diagnostics) {
  return parse_expression(source, 0, source.text().size(), diagnostics);
}

}  // namespace

void check_message(std::string_view text, Location where, const Scope& scope, Diagnostics& diagnostics) {
  std::vector<MessagePart> parts;
  if (!split_message(text, parts)) {
    if (!too_many(diagnostics))
      diagnostics.error(where, "unmatched brace in a text", "write {{ or }} for a brace itself");
    return;
  }
  for (const MessagePart& part : parts) {
    if (!part.placeholder) continue;
    const Source source("placeholder", part.text);
    Diagnostics inner(source);
    const auto expr = parse_part(source, inner);
    if (expr) require_type(*expr, ExprType::kInteger, "a placeholder", scope, inner);
    if (!inner.ok() && !too_many(diagnostics))
      diagnostics.error(where,
                        fmt::format("in the placeholder '{{{}}}': {}", part.text, inner.all()[0].message),
                        inner.all()[0].hint);
  }
}

std::string fold_message(std::string_view text, const Env& env) {
  std::vector<MessagePart> parts;
  if (!split_message(text, parts)) return std::string(text);
  std::string out;
  for (const MessagePart& part : parts) {
    if (!part.placeholder) {
      for (const char c : part.text) out.append(c == '{' || c == '}' ? 2 : 1, c);
      continue;
    }
    const Source source("placeholder", part.text);
    Diagnostics inner(source);
    const auto expr = parse_part(source, inner);
    const Expr folded = expr ? fold(*expr, env) : Expr{};
    if (!expr) {
      out += "{" + part.text + "}";
    } else if (folded.op == Op::kInt) {
      out += std::to_string(folded.value);
    } else {
      out += "{" + print_expr(folded) + "}";
    }
  }
  return out;
}

}  // namespace zomboss::taidl
