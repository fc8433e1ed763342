#include "core/mapping/term_lexer.h"

namespace zomboss::mapping {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool ends_symbol(char c) {
  return is_blank(c) || c == '(' || c == ')' || c == ';' || c == '|' || c == '"';
}

}  // namespace

TermToken TermLexer::next() {
  using Kind = TermToken::Kind;
  skip_blanks();
  const size_t start = at_;
  if (at_ == text_.size()) return {Kind::kEnd, {}, start};
  const char c = text_[at_];
  if (c == '(' || c == ')') {
    ++at_;
    return {c == '(' ? Kind::kOpen : Kind::kClose, text_.substr(start, 1), start};
  }
  if (c == '"') return {Kind::kBad, text_.substr(start, 1), start};
  if (c == '|') {
    const size_t close = text_.find('|', start + 1);
    if (close == std::string_view::npos) return {Kind::kBad, text_.substr(start, 1), start};
    at_ = close + 1;
    return {Kind::kQuoted, text_.substr(start + 1, close - start - 1), start};
  }
  while (at_ < text_.size() && !ends_symbol(text_[at_])) ++at_;
  return {Kind::kAtom, text_.substr(start, at_ - start), start};
}

void TermLexer::skip_blanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == ';') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (is_blank(text_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

}  // namespace zomboss::mapping
