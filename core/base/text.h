// Small text helpers for messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace zomboss {

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be a likely slip
// (at most a third of the letters, at least one). Ties go to the earlier candidate.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// "; did you mean 'x'?" or "" when nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// Bytes as people write them: "96 KiB", "1.5 KiB", "300 B".
std::string format_bytes(int64_t bytes);

}  // namespace zomboss
