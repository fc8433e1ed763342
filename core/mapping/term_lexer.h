// Tokens of an SMT-LIB term. A view of the text, which outlives it.
#pragma once

#include <cstdint>
#include <string_view>

namespace zomboss::mapping {

struct TermToken {
  enum class Kind : uint8_t { kOpen, kClose, kAtom, kQuoted, kEnd, kBad };
  Kind kind = Kind::kEnd;
  std::string_view text;  // of a kQuoted: without the bars
  size_t offset = 0;
};

class TermLexer {
 public:
  explicit TermLexer(std::string_view text) : text_(text) {}

  // Comments and blanks are skipped. kEnd again and again at the end; kBad: a string, or an unterminated '|'.
  TermToken next();
  TermToken peek() const { return TermLexer(*this).next(); }

 private:
  void skip_blanks();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace zomboss::mapping
