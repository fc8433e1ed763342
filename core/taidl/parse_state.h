// Inside of the parser: the token cursor and the expression grammar. Every parse_* function returns false
// after it has reported an error.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/taidl/lexer.h"
#include "core/taidl/spec.h"

namespace zomboss::taidl {

class ParseState {
 public:
  ParseState(std::vector<Token> tokens, Diagnostics& diagnostics)
      : tokens_(std::move(tokens)), diagnostics_(diagnostics) {}

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token take() {
    const Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool at_end() const { return peek().kind == TokenKind::kEnd; }
  size_t position() const { return at_; }

  bool is_punct(std::string_view text, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::kPunct && peek(ahead).text == text;
  }
  bool is_word(std::string_view text, size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::kIdent && peek(ahead).text == text;
  }
  bool accept_punct(std::string_view text) { return is_punct(text) && (take(), true); }
  bool accept_word(std::string_view text) { return is_word(text) && (take(), true); }

  // "expected {what}, found {token}"; false.
  bool fail(std::string_view what, std::string hint = {});
  bool expect_punct(std::string_view text, std::string_view context = {});
  bool expect_word(std::string_view text, std::string_view context);
  bool expect_name(Name& name, std::string_view what);
  bool expect_string(std::string& value, Where& where, std::string_view what);

  bool parse_expr(Expr& out, int least_precedence = 1);
  bool parse_optional_expr(std::optional<Expr>& out) { return parse_expr(out.emplace()); }
  // low..high [step s] | {a, b} | int
  bool parse_domain(DomainExpr& out);
  // comma-separated expressions up to `close`, which is taken
  bool parse_expr_list(std::vector<Expr>& out, std::string_view close);

  Diagnostics& diagnostics() { return diagnostics_; }

  // Nesting guard: false (reported) when it is too deep.
  bool enter(const Token& token);
  void leave() { --depth_; }

 private:
  bool parse_unary(Expr& out);
  bool parse_primary(Expr& out);
  bool parse_binary_tail(Expr& out, int least_precedence);
  bool too_deep(Location where);

  std::vector<Token> tokens_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  int depth_ = 0;
};

std::string describe(const Token& token);  // "'mvin'", "the number 5", "the end of the file"

}  // namespace zomboss::taidl
