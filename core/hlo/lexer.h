// Tokens of HLO text, on demand. Internal to core/hlo. Words that only some attributes have (dim labels,
// windows, layouts, JSON) are no tokens: the parser reads them by offset and seeks behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zomboss::hlo {

enum class TokenKind : uint8_t {
  kEnd,
  kName,     // text is without the '%'
  kInteger,  // -?[0-9]+
  kHex,      // 0x[0-9a-fA-F]+
  kDecimal,  // anything else that is a number, -inf and -nan included
  kString,   // text is with its quotes
  kPunct,    // one character
  kArrow,    // ->
  kDots,     // ...
  kLessEqual,
  kInvalid,  // see Lexer::problem
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool percent = false;  // a name written with '%'
  size_t begin = 0, end = 0;
  std::string_view text;

  bool is(char punct) const { return kind == TokenKind::kPunct && text.front() == punct; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && !percent && text == name; }
};

// Reads text[begin, end). Offsets are those of the whole text, which is borrowed. Each call costs time linear
// in what it passes over.
class Lexer {
 public:
  // `hash_comments`: '#' starts a comment to the end of the line except in `name#1`.
  Lexer(std::string_view text, size_t begin, size_t end, bool hash_comments);

  const Token& token() const { return token_; }
  void next() { seek(token_.end); }
  void seek(size_t offset);

  // The first offset at or after `offset` that is no blank or comment; at most end(). Stops at the start of a
  // comment that never ends.
  size_t skip_blanks(size_t offset) const;
  // The character that follows the current token and its blanks; 0 at the end.
  char peek() const;
  char at(size_t offset) const { return offset < end_ ? text_[offset] : '\0'; }
  size_t end() const { return end_; }
  std::string_view text(size_t begin, size_t end) const { return text_.substr(begin, end - begin); }
  // The offset behind the string that starts at `offset` (a quote), or end() + 1 when it never ends.
  size_t skip_string(size_t offset) const;
  // What is wrong with a kInvalid token.
  std::string_view problem() const { return problem_; }

 private:
  void lex(size_t begin);
  size_t lex_number(size_t begin);
  void set(TokenKind kind, size_t begin, size_t end);
  void invalid(std::string_view problem, size_t begin, size_t end);
  size_t skip_comment(size_t offset) const;

  std::string_view text_;
  size_t end_;
  bool hash_comments_;
  Token token_;
  std::string_view problem_;
};

bool is_name_start(char c);
bool is_name_char(char c);
bool is_digit(char c);
bool is_blank(char c);

}  // namespace zomboss::hlo
