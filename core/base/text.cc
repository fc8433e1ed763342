#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace zomboss {
namespace {

// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kLongestName = 64;  // a longer word is not a slip of a name, and would cost quadratic time
  if (word.size() > kLongestName) return {};
  size_t best = std::max<size_t>(1, word.size() / 3) + 1;
  std::string found;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(word, candidates);
  return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
}

std::string format_bytes(int64_t bytes) {
  struct Unit {
    int64_t size;
    const char* name;
  };
  for (const Unit& unit :
       {Unit{int64_t{1} << 30, "GiB"}, Unit{int64_t{1} << 20, "MiB"}, Unit{1 << 10, "KiB"}}) {
    if (bytes < unit.size && -bytes < unit.size) continue;
    if (bytes % unit.size == 0) return fmt::format("{} {}", bytes / unit.size, unit.name);
    return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit.size), unit.name);
  }
  return fmt::format("{} B", bytes);
}

}  // namespace zomboss
