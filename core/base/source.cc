#include "core/base/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace zomboss {
namespace {

constexpr size_t kShownWidth = 100;

// Length of the line end at `offset`: 2 for CRLF, 1 for LF or CR, 0 for none.
size_t line_end_length(std::string_view text, size_t offset) {
  if (text[offset] == '\n') return 1;
  if (text[offset] != '\r') return 0;
  return offset + 1 < text.size() && text[offset + 1] == '\n' ? 2 : 1;
}

}  // namespace

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size();) {
    const size_t length = line_end_length(text_, i);
    i += std::max<size_t>(length, 1);
    if (length != 0) line_starts_.push_back(i);
  }
}

Location Source::location(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const auto line = static_cast<size_t>(next - line_starts_.begin());
  return {static_cast<uint32_t>(line), static_cast<uint32_t>(offset - line_starts_[line - 1] + 1)};
}

std::string_view Source::line(uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const size_t start = line_starts_[number - 1];
  const size_t end = number < line_starts_.size() ? line_starts_[number] : text_.size();
  std::string_view line = std::string_view(text_).substr(start, end - start);
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

Result<Source> read_source(const std::string& path, size_t limit_bytes) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found) return not_found(fmt::format("{}: no such file", path));
  if (kind == std::filesystem::file_type::directory)
    return invalid_argument(fmt::format("{}: is a folder, expected a file", path));
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Status(Code::kPermissionDenied, fmt::format("{}: cannot be opened for reading", path));
  std::string text;
  char buffer[1 << 16];
  while (stream.read(buffer, sizeof buffer) || stream.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(stream.gcount()));
    if (text.size() > limit_bytes)
      return resource_exhausted(fmt::format("{}: larger than the limit of {} bytes", path, limit_bytes));
  }
  return Source(path, std::move(text));
}

void Diagnostics::error(Location where, std::string message, std::string hint) {
  all_.push_back({Severity::kError, where, std::move(message), std::move(hint)});
  ++errors_;
}

void Diagnostics::warning(Location where, std::string message, std::string hint) {
  all_.push_back({Severity::kWarning, where, std::move(message), std::move(hint)});
}

std::string Diagnostics::render(const Diagnostic& diagnostic) const {
  const char* kind = diagnostic.severity == Severity::kError ? "error" : "warning";
  std::string out;
  if (diagnostic.where.line == 0) {
    out = fmt::format("{}: {}: {}\n", source_->name(), kind, diagnostic.message);
  } else {
    out = fmt::format("{}:{}:{}: {}: {}\n", source_->name(), diagnostic.where.line, diagnostic.where.column,
                      kind, diagnostic.message);
    std::string_view line = source_->line(diagnostic.where.line);
    size_t caret = diagnostic.where.column - 1;
    std::string shown;
    if (line.size() > kShownWidth) {
      const size_t start = caret > kShownWidth / 2 ? caret - kShownWidth / 2 : 0;
      shown = std::string(start > 0 ? "..." : "") + std::string(line.substr(start, kShownWidth)) +
              (start + kShownWidth < line.size() ? "..." : "");
      caret = caret - start + (start > 0 ? 3 : 0);
    } else {
      shown = line;
    }
    for (char& c : shown)
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // one column each, nothing that moves a terminal
    out += fmt::format("  {}\n  {:>{}}\n", shown, '^', caret + 1);
  }
  if (!diagnostic.hint.empty()) out += fmt::format("  hint: {}\n", diagnostic.hint);
  return out;
}

std::string Diagnostics::render_all() const {
  std::string out;
  for (const Diagnostic& diagnostic : all_) out += render(diagnostic);
  return out;
}

Status Diagnostics::status() const {
  if (ok()) return {};
  std::string out;
  for (const Diagnostic& diagnostic : all_)
    if (diagnostic.severity == Severity::kError) out += render(diagnostic);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return invalid_argument(std::move(out));
}

}  // namespace zomboss
