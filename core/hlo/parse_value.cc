// Values of attributes: integers and expressions, strings, and text that is kept as it stands.
#include <fmt/format.h>

#include <charconv>

#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {
namespace {

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.empty()) return false;
  for (const char c : text)
    if (!is_digit(c)) return false;
  return true;
}

char closing(char open) {
  return open == '{' ? '}' : open == '(' ? ')' : ']';
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

}  // namespace

bool Parser::integer(int64_t& out) {
  if (scope_ != nullptr) return expression(out);
  if (token().kind != TokenKind::kInteger)
    return fail_here(fmt::format("expected a whole number, found {}", describe_token()));
  const std::string_view text = token().text;
  if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc())
    return fail_here(fmt::format("{} does not fit in 64 bits", describe_token()));
  lexer_.next();
  return true;
}

// In a statement block: the text up to a delimiter outside of parentheses, or the end of the line.
bool Parser::expression(int64_t& out) {
  const size_t begin = token().begin;
  size_t end = begin;
  int open = 0;
  constexpr std::string_view kDelimiters = ",}]:;#\n\r";
  for (; end < lexer_.end(); ++end) {
    const char c = lexer_.at(end);
    if (c == '(' || c == '[') ++open;
    if (open > 0 && (c == ')' || c == ']')) {
      --open;
    } else if (open == 0 && (c == ')' || kDelimiters.find(c) != std::string_view::npos)) {
      break;
    } else if (c == '/' && (lexer_.at(end + 1) == '*' || lexer_.at(end + 1) == '/')) {
      break;
    }
  }
  const size_t behind = end;
  while (end > begin && is_blank(lexer_.at(end - 1))) --end;
  const std::string_view text = lexer_.text(begin, end);
  if (text.empty())
    return fail_here(fmt::format("expected an integer expression, found {}", describe_token()));
  if (is_whole_number(text)) {
    if (std::from_chars(text.data(), text.data() + text.size(), out).ec != std::errc())
      return fail(begin, fmt::format("'{}' does not fit in 64 bits", text));
  } else {
    const auto value = scope_->evaluate ? scope_->evaluate(begin, end) : std::nullopt;
    if (!value) {
      if (!scope_->evaluate) fail(begin, fmt::format("expected a whole number, found '{}'", text));
      error_offset_ = behind;
      return false;
    }
    out = *value;
  }
  lexer_.seek(behind);
  return true;
}

bool Parser::string_value(std::string& out) {
  if (token().kind != TokenKind::kString)
    return fail_here(fmt::format("expected a quoted string, found {}", describe_token()));
  const std::string_view text = token().text.substr(1, token().text.size() - 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char escaped = text[++i];
    if (is_octal(escaped)) {
      int value = 0;
      for (int digits = 0; digits < 3 && i < text.size() && is_octal(text[i]); ++digits)
        value = value * 8 + (text[i++] - '0');
      --i;
      out += static_cast<char>(value & 0xff);
    } else {
      out += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped;
    }
  }
  lexer_.next();
  return true;
}

// A value whose text is kept: words, strings and bracketed groups, blanks collapsed and comments dropped. It
// ends at a blank, ',' or closing bracket outside of its own brackets; an opening bracket after a blank
// continues it
// ("literal=f32[2] {1, 2}").
bool Parser::raw_value(std::string& out) {
  size_t offset = token().begin;
  const size_t begin = offset;
  constexpr std::string_view kEnds = ",)}];";
  while (offset < lexer_.end()) {
    const char c = lexer_.at(offset);
    const size_t word = lexer_.skip_blanks(offset);
    if (word != offset) {
      const char open = lexer_.at(word);
      if (open != '{' && open != '(' && open != '[') break;
      out += ' ';
      offset = word;
    } else if (kEnds.find(c) != std::string_view::npos) {
      break;
    } else {
      offset = raw_group(offset, out);
      if (offset > lexer_.end()) return false;
    }
  }
  if (offset == begin) return fail_here(fmt::format("expected a value, found {}", describe_token()));
  lexer_.seek(offset);
  return true;
}

// One character, string or balanced group at `offset`, appended to `out`. Returns the offset behind it, or
// end() + 1 after an error.
size_t Parser::raw_group(size_t offset, std::string& out) {
  std::vector<size_t> open;
  const size_t failed = lexer_.end() + 1;
  do {
    const size_t word = lexer_.skip_blanks(offset);
    if (word != offset && out.back() != ' ') out += ' ';
    offset = word;
    if (offset >= lexer_.end()) break;
    const char c = lexer_.at(offset);
    if (c == '"' || c == '\'') {
      const size_t behind = lexer_.skip_string(offset);
      if (behind == failed) {
        fail(offset, "this string never ends");
        fatal_ = true;
        return failed;
      }
      out += lexer_.text(offset, behind);
      offset = behind;
      continue;
    }
    if (c == '{' || c == '(' || c == '[') {
      open.push_back(offset);
    } else if (c == '}' || c == ')' || c == ']') {
      const char wanted = closing(lexer_.at(open.back()));
      if (c != wanted) {
        fail(offset, fmt::format("expected '{}', found '{}'", wanted, c),
             fmt::format("the '{}' to close is at line {}", lexer_.at(open.back()),
                         source_.location(open.back()).line));
        return failed;
      }
      open.pop_back();
    }
    out += c;
    ++offset;
  } while (!open.empty());
  if (open.empty()) return offset;
  fail(open.back(), fmt::format("this '{}' is never closed", lexer_.at(open.back())));
  fatal_ = true;
  return failed;
}

}  // namespace zomboss::hlo
