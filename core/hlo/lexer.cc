#include "core/hlo/lexer.h"

#include <algorithm>

namespace zomboss::hlo {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_char(char c) {
  return is_name_start(c) || is_digit(c) || c == '.' || c == '-' || c == '$';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

Lexer::Lexer(std::string_view text, size_t begin, size_t end, bool hash_comments)
    : text_(text), end_(std::min(end, text.size())), hash_comments_(hash_comments) {
  seek(std::min(begin, end_));
}

// The offset behind the comment at `offset`, or `offset` when there is none or it never ends.
size_t Lexer::skip_comment(size_t offset) const {
  const char c = at(offset);
  const bool line_comment = (c == '/' && at(offset + 1) == '/') || (c == '#' && hash_comments_);
  if (line_comment) {
    while (offset < end_ && text_[offset] != '\n' && text_[offset] != '\r') ++offset;
    return offset;
  }
  if (c != '/' || at(offset + 1) != '*') return offset;
  for (size_t i = offset + 2; i + 1 < end_; ++i)
    if (text_[i] == '*' && text_[i + 1] == '/') return i + 2;
  return offset;
}

size_t Lexer::skip_blanks(size_t offset) const {
  for (;;) {
    while (offset < end_ && is_blank(text_[offset])) ++offset;
    const bool tuple_index =
        at(offset) == '#' && offset > 0 && is_name_char(text_[offset - 1]) && is_digit(at(offset + 1));
    const size_t behind = tuple_index ? offset : skip_comment(offset);
    if (behind == offset) return offset;
    offset = behind;
  }
}

char Lexer::peek() const {
  return at(skip_blanks(token_.end));
}

size_t Lexer::skip_string(size_t offset) const {
  const char quote = text_[offset];
  for (size_t i = offset + 1; i < end_; ++i) {
    if (text_[i] == '\\') {
      ++i;
    } else if (text_[i] == quote) {
      return i + 1;
    }
  }
  return end_ + 1;
}

void Lexer::set(TokenKind kind, size_t begin, size_t end) {
  token_ = {kind, false, begin, end, text_.substr(begin, end - begin)};
}

void Lexer::invalid(std::string_view problem, size_t begin, size_t end) {
  set(TokenKind::kInvalid, begin, end);
  problem_ = problem;
}

void Lexer::seek(size_t offset) {
  lex(skip_blanks(offset));
}

void Lexer::lex(size_t begin) {
  if (begin >= end_) return set(TokenKind::kEnd, end_, end_);
  const char c = text_[begin];
  const size_t name = c == '%' ? begin + 1 : begin;
  if (is_name_start(at(name)) || (c == '%' && is_digit(at(name)))) {
    size_t end = name + 1;
    while (end < end_ && is_name_char(text_[end]) && !(text_[end] == '-' && at(end + 1) == '>')) ++end;
    token_ = {TokenKind::kName, c == '%', begin, end, text_.substr(name, end - name)};
    return;
  }
  if (c == '-' && at(begin + 1) == '>') return set(TokenKind::kArrow, begin, begin + 2);
  if (c == '<' && at(begin + 1) == '=') return set(TokenKind::kLessEqual, begin, begin + 2);
  if (c == '.' && at(begin + 1) == '.' && at(begin + 2) == '.')
    return set(TokenKind::kDots, begin, begin + 3);
  if (const size_t end = lex_number(begin); end != begin) return;
  if (c == '"' || c == '\'') {
    const size_t end = skip_string(begin);
    if (end > end_) return invalid("this string never ends", begin, end_);
    return set(TokenKind::kString, begin, end);
  }
  if (c == '/' && at(begin + 1) == '*') return invalid("this comment never ends", begin, end_);
  constexpr std::string_view kPunctuation = "{}()[],=:#<>?*;/+!|&`@.-";
  if (kPunctuation.find(c) == std::string_view::npos)
    return invalid("unexpected character", begin, begin + 1);
  set(TokenKind::kPunct, begin, begin + 1);
}

// Sets the token and returns its end, or `begin` when no number starts there.
size_t Lexer::lex_number(size_t begin) {
  size_t i = begin + (text_[begin] == '-' ? 1 : 0);
  if (i != begin && (text(i, std::min(i + 3, end_)) == "inf" || text(i, std::min(i + 3, end_)) == "nan")) {
    set(TokenKind::kDecimal, begin, i + 3);
    return i + 3;
  }
  if (!is_digit(at(i)) && !(at(i) == '.' && is_digit(at(i + 1)))) return begin;
  const auto is_hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); };
  if (at(i) == '0' && at(i + 1) == 'x' && is_hex(at(i + 2))) {
    i += 2;
    while (is_hex(at(i))) ++i;
    set(TokenKind::kHex, begin, i);
    return i;
  }
  TokenKind kind = TokenKind::kInteger;
  while (is_digit(at(i))) ++i;
  if (at(i) == '.' && at(i + 1) != '.') {
    kind = TokenKind::kDecimal;
    ++i;
    while (is_digit(at(i))) ++i;
  }
  if (at(i) == 'e' || at(i) == 'E') {
    const size_t digits = i + (at(i + 1) == '-' || at(i + 1) == '+' ? 2 : 1);
    if (is_digit(at(digits))) {
      kind = TokenKind::kDecimal;
      i = digits;
      while (is_digit(at(i))) ++i;
    }
  }
  set(kind, begin, i);
  return i;
}

}  // namespace zomboss::hlo
