// Internal to the cycle model: time.
#pragma once

#include <algorithm>
#include <cstdint>

namespace zomboss::gemmini::timing {

inline constexpr uint64_t kNever = ~uint64_t{0};

// The current cycle, and the next one in which anything can happen.
struct Clock {
  uint64_t now = 0;
  uint64_t next = kNever;
  void wake(uint64_t cycle) { next = std::min(next, std::max(cycle, now + 1)); }
};

}  // namespace zomboss::gemmini::timing
