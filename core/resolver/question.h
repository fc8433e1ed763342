// What the engines are asked: is there an assignment inside the domains that meets these rules and has these
// values fixed, and which one comes first? Values are positions in Knob::values, so that smaller means
// earlier in default order; assignments compare lexicographically in knob order.
#pragma once

#include <cstdint>
#include <vector>

#include "core/mapping/surface.h"

namespace zomboss::resolver {

using Positions = std::vector<uint16_t>;  // one per knob

struct Question {
  static constexpr int32_t kFree = -1;

  std::vector<int32_t> fixed;        // one per knob: a position or kFree
  std::vector<uint8_t> constraints;  // one per constraint: 1 when it counts
  bool catalog = false;              // membership in the catalog counts

  // Nothing fixed, all rules of the surface.
  static Question all_rules(const mapping::Surface& surface) {
    return {std::vector<int32_t>(surface.knobs().size(), kFree),
            std::vector<uint8_t>(surface.constraints().size(), 1), surface.is_catalog()};
  }
  static Question no_rules(const mapping::Surface& surface) {
    return {std::vector<int32_t>(surface.knobs().size(), kFree),
            std::vector<uint8_t>(surface.constraints().size(), 0), false};
  }
};

enum class Verdict : uint8_t { kLegal, kIllegal, kUnknown };

// What a series of questions may still cost, so that no surface, however made, keeps the host busy for long.
// Counted in work and not in time, so that verdicts repeat.
struct Effort {
  uint64_t steps = 0;             // of the compiled search and the catalog index
  uint64_t solver_resources = 0;  // of Z3, in units of its rlimit

  // False, and nothing left, when the cost is more than what is left.
  bool spend(uint64_t cost) {
    const bool enough = cost <= steps;
    steps = enough ? steps - cost : 0;
    return enough;
  }
};

}  // namespace zomboss::resolver
