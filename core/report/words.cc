#include "core/report/words.h"

#include <fmt/format.h>

#include <cmath>

namespace zomboss::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The bytes of the UTF-8 character at the front, 0 when there is none.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80   ? 1
                      : lead < 0xc2 ? 0
                      : lead < 0xe0 ? 2
                      : lead < 0xf0 ? 3
                      : lead < 0xf5 ? 4
                                    : 0;
  if (size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (size == 3 && ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f))) return 0;
  if (size == 4 && ((lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f))) return 0;
  return size;
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const size_t size = character_size(text);
    const char c = text.front();
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    if (size == 0 || control || c == '\x7f')
      out += kReplacement;
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

size_t character_count(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

std::string elide(std::string_view text, size_t limit) {
  if (character_count(text) <= limit) return std::string(text);
  const size_t head = (limit - 1) - (limit - 1) / 3;
  const size_t tail = limit - 1 - head;
  // Offsets of characters, not of bytes.
  const auto offset = [&](size_t character) {
    size_t i = 0;
    for (size_t seen = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
      if (seen++ == character) break;
    }
    return i;
  };
  const size_t from = offset(character_count(text) - tail);
  return std::string(text.substr(0, offset(head))) + "…" + std::string(text.substr(from));
}

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string grouped(double number, int decimals) {
  if (!std::isfinite(number)) return "–";
  std::string digits = fmt::format("{:.{}f}", std::abs(number), decimals);
  const size_t point = digits.find('.');
  for (size_t i = point == std::string::npos ? digits.size() : point; i > 3; i -= 3)
    digits.insert(i - 3, 1, ',');
  return number < 0 && digits.find_first_of("123456789") != std::string::npos ? "−" + digits : digits;
}

std::string short_number(double number) {
  const double size = std::abs(number);
  struct Unit {
    double value;
    const char* name;
  };
  for (const Unit& unit : {Unit{1e12, " T"}, Unit{1e9, " G"}, Unit{1e6, " M"}}) {
    if (size < unit.value) continue;
    const double scaled = number / unit.value;
    return grouped(scaled, std::abs(scaled - std::round(scaled)) < 1e-6 ? 0
                           : scaled < 10                                ? 2
                                                                        : 1) +
           unit.name;
  }
  if (std::abs(number - std::round(number)) < 1e-9 * std::max(1.0, size)) return grouped(number, 0);
  return fmt::format("{:.3g}", number);
}

std::string latency_text(double latency, const std::string& unit) {
  const bool whole = latency == std::round(latency);
  return grouped(latency, whole ? 0 : 1) + (unit.empty() ? "" : " " + unit);
}

std::string ratio_text(double ratio) {
  if (!std::isfinite(ratio) || ratio <= 0) return "–";
  return grouped(ratio, ratio < 10 ? 2 : ratio < 100 ? 1 : 0) + "×";
}

std::string percent_text(double share) {
  if (!std::isfinite(share)) return "–";
  return grouped(100 * share, 1) + " %";
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "–";
  if (seconds < 10) return grouped(seconds, 2) + " s";
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", grouped(whole / 3600), whole / 60 % 60);
}

std::string count_text(uint64_t count, const char* one, const char* many) {
  return grouped(count) + " " + (count == 1 ? one : many);
}

}  // namespace zomboss::report
