// Tokens of a `.taidl` file. Linear time in the size of the text; never fails: damaged text becomes
// diagnostics and is skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"

namespace zomboss::taidl {

enum class TokenKind : uint8_t { kIdent, kInt, kFloat, kString, kSem, kPunct, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // as written, a view into the Source; of kSem: the HLO text between the braces
  int64_t value = 0;      // of kInt
  Location where;         // first byte; of kSem: the keyword
};

// All tokens, the last one kEnd. `sem { ... }` is one token: the word `sem` is reserved.
std::vector<Token> tokenize(const Source& source, Diagnostics& diagnostics);
// The same for source.text()[begin, end).
std::vector<Token> tokenize(const Source& source, size_t begin, size_t end, Diagnostics& diagnostics);

// The value of a kString token. Unknown escapes are reported.
std::string unescape(const Token& token, Diagnostics& diagnostics);

// A string as the printer writes it, with quotes.
std::string quote(std::string_view text);

// Keeps one broken file from printing thousands of messages: true when `diagnostics` holds the limit.
inline constexpr size_t kMaxDiagnostics = 100;
inline bool too_many(const Diagnostics& diagnostics) {
  return diagnostics.all().size() >= kMaxDiagnostics;
}

}  // namespace zomboss::taidl
