// A text that somebody wrote (HLO, TAIDL, TOML, an intent) and positions in it, for messages of the form
// file:line:col with the line and a caret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zomboss/sdk/status.h"

namespace zomboss {

// 1-based line and column (in bytes); line 0 = no position.
struct Location {
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const Location&) const = default;
};

// Owns the text. Immutable after construction, so any thread may read it. Lines end at LF, CRLF or CR.
class Source {
 public:
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  Location location(size_t offset) const;        // O(log lines); offset may equal size()
  std::string_view line(uint32_t number) const;  // without its line end; "" when out of range

 private:
  std::string name_;
  std::string text_;
  std::vector<size_t> line_starts_;
};

// The whole file, or why it cannot be read (missing, a folder, larger than `limit_bytes`).
Result<Source> read_source(const std::string& path, size_t limit_bytes = size_t{256} << 20);

enum class Severity { kWarning, kError };

struct Diagnostic {
  Severity severity = Severity::kError;
  Location where;
  std::string message;  // lower-case start, no final period, concrete numbers
  std::string hint;     // next step; may be empty
};

// Collects the diagnostics of one Source. Not thread-safe.
class Diagnostics {
 public:
  // `source` is borrowed and must outlive this object.
  explicit Diagnostics(const Source& source) : source_(&source) {}

  void error(Location where, std::string message, std::string hint = {});
  void warning(Location where, std::string message, std::string hint = {});

  const Source& source() const { return *source_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  size_t errors() const { return errors_; }
  bool ok() const { return errors_ == 0; }

  // "file:3:7: error: message\n  source line\n      ^\n  hint: next step\n" for each diagnostic. Long lines
  // are elided around the caret.
  std::string render(const Diagnostic& diagnostic) const;
  std::string render_all() const;
  // Ok, or invalid argument with all errors rendered.
  Status status() const;

 private:
  const Source* source_;
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

}  // namespace zomboss
