#include "core/taidl/lexer.h"

#include <fmt/format.h>

#include <charconv>

namespace zomboss::taidl {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class Lexer {
 public:
  Lexer(const Source& source, size_t begin, size_t end, Diagnostics& diagnostics)
      : source_(source), text_(source.text().substr(0, end)), diagnostics_(diagnostics), at_(begin) {}

  std::vector<Token> run() {
    if (at_ == 0 && text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (true) {
      skip_blanks();
      if (at_ >= text_.size()) break;
      lex_one();
    }
    push(TokenKind::kEnd, text_.size(), 0);
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void push(TokenKind kind, size_t begin, size_t length, int64_t value = 0) {
    tokens_.push_back({kind, text_.substr(begin, length), value, source_.location(begin)});
  }

  void error(size_t offset, std::string message, std::string hint = {}) {
    if (!too_many(diagnostics_))
      diagnostics_.error(source_.location(offset), std::move(message), std::move(hint));
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
      } else if (is_blank(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  void lex_one() {
    const char c = text_[at_];
    if (is_letter(c)) return lex_word();
    if (is_digit(c)) return lex_number();
    if (c == '"') return lex_string();
    for (std::string_view two : {"..", "+:", "+=", "==", "!=", "<=", ">=", "&&", "||", "->"}) {
      if (text_.substr(at_, 2) != two) continue;
      push(TokenKind::kPunct, at_, 2);
      at_ += 2;
      return;
    }
    if (std::string_view("{}()[]=,:;+-*/%<>!").find(c) != std::string_view::npos) {
      push(TokenKind::kPunct, at_++, 1);
      return;
    }
    lex_unknown();
  }

  // One message for a run of bytes that no token begins with.
  void lex_unknown() {
    const size_t begin = at_;
    const auto byte = static_cast<unsigned char>(text_[at_]);
    while (at_ < text_.size() && !is_blank(text_[at_]) && !is_letter(text_[at_]) && !is_digit(text_[at_]) &&
           std::string_view("\"#{}()[]=,:;+-*/%<>!").find(text_[at_]) == std::string_view::npos)
      ++at_;
    error(begin,
          byte > 0x20 && byte < 0x7F ? fmt::format("unexpected character '{}'", static_cast<char>(byte))
                                     : fmt::format("unexpected byte 0x{:02X}", byte),
          byte >= 0x7F ? "names and operators are ASCII; other characters may stand in strings and comments"
                       : "");
  }

  void lex_word() {
    const size_t begin = at_;
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    if (text_.substr(begin, at_ - begin) != "sem") return push(TokenKind::kIdent, begin, at_ - begin);
    const size_t after_word = at_;
    skip_blanks();
    if (peek() == '{') return lex_sem(begin);
    at_ = after_word;
    error(begin, "expected '{' after 'sem'", "'sem' is reserved; no name may be spelled so");
  }

  // The text up to the brace that closes the block. HLO strings and comments may hold any braces.
  void lex_sem(size_t word) {
    const size_t open = at_++;
    const size_t begin = at_;
    size_t depth = 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || (c == '/' && (peek(1) == '/' || peek(1) == '*')) || begins_hash_comment()) {
        if (!skip_hlo_text()) return;
        continue;
      }
      if (c == '{') ++depth;
      if (c == '}' && --depth == 0) {
        tokens_.push_back({TokenKind::kSem, text_.substr(begin, at_ - begin), 0, source_.location(word)});
        ++at_;
        return;
      }
      ++at_;
    }
    error(open, "this semantics block is never closed", "add the missing '}'");
  }

  // In a semantics block `#` begins a comment, but not in `tuple#1`.
  bool begins_hash_comment() const {
    return text_[at_] == '#' &&
           !(at_ > 0 && (is_letter(text_[at_ - 1]) || is_digit(text_[at_ - 1])) && is_digit(peek(1)));
  }

  // Skips an HLO string or comment; false when it runs to the end of the file.
  bool skip_hlo_text() {
    const size_t begin = at_;
    const std::string_view close = text_[at_] == '"'                     ? "\""
                                   : peek(1) == '*' && text_[at_] == '/' ? "*/"
                                                                         : "\n";
    at_ += close == "*/" ? 2 : 1;
    while (at_ < text_.size() && text_.substr(at_, close.size()) != close)
      at_ += text_[at_] == '\\' && close == "\"" ? 2 : 1;
    if (at_ < text_.size()) {
      at_ += close.size();
      return true;
    }
    at_ = text_.size();
    error(begin, close == "\"" ? "unterminated string in a semantics block"
                               : "unterminated comment in a semantics block");
    return false;
  }

  void lex_number() {
    const size_t begin = at_;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
      at_ += 2;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      return push_int(begin, begin + 2, 16);
    }
    while (is_digit(peek())) ++at_;
    bool is_float = false;
    if (peek() == '.' && is_digit(peek(1))) {  // `1..8` is a range
      is_float = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
      is_float = true;
      at_ += 2;
      while (is_digit(peek())) ++at_;
    }
    if (is_float && !is_letter(peek())) return push(TokenKind::kFloat, begin, at_ - begin);
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    push_int(begin, begin, 10);
  }

  void push_int(size_t begin, size_t digits, int base) {
    int64_t value = 0;
    const char* end = text_.data() + at_;
    const auto [stop, code] = std::from_chars(text_.data() + digits, end, value, base);
    if (code == std::errc::result_out_of_range)
      error(begin, fmt::format("the number {} does not fit in 64 bits", text_.substr(begin, at_ - begin)),
            "the largest is 9223372036854775807");
    else if (code != std::errc() || stop != end)
      error(begin, fmt::format("'{}' is not a number", text_.substr(begin, at_ - begin)),
            "integers are decimal or 0x and hexadecimal digits; names begin with a letter");
    push(TokenKind::kInt, begin, at_ - begin, value);
  }

  void lex_string() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n' && text_[at_] != '\r')
      at_ += text_[at_] == '\\' && peek(1) != '\n' && peek(1) != '\r' ? 2 : 1;
    if (at_ < text_.size() && text_[at_] == '"') {
      ++at_;
    } else {
      at_ = std::min(at_, text_.size());
      error(begin, "unterminated string",
            "strings end on the line where they begin; write \\n for a line end");
    }
    push(TokenKind::kString, begin, at_ - begin);
  }

  const Source& source_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  size_t at_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Source& source, Diagnostics& diagnostics) {
  return tokenize(source, 0, source.text().size(), diagnostics);
}

std::vector<Token> tokenize(const Source& source, size_t begin, size_t end, Diagnostics& diagnostics) {
  return Lexer(source, begin, end, diagnostics).run();
}

std::string unescape(const Token& token, Diagnostics& diagnostics) {
  std::string_view text = token.text;
  if (text.starts_with('"')) text.remove_prefix(1);
  if (text.ends_with('"')) text.remove_suffix(1);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == '"' || c == '\\') {
      out += c;
    } else {
      const auto column = static_cast<uint32_t>(token.where.column + i);
      if (!too_many(diagnostics))
        diagnostics.error({token.where.line, column}, "unknown escape in a string",
                          "the escapes are \\n, \\\" and \\\\");
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace zomboss::taidl
