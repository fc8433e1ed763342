// How a budget of copies spreads over a loop nest: the innermost loop takes what it can, and what is left
// goes outwards only past loops that are unrolled wholly.
#pragma once

#include <algorithm>
#include <cstdint>

namespace zomboss::plena {

class UnrollBudget {
 public:
  explicit UnrollBudget(int64_t copies) : left_(std::max<int64_t>(copies, 1)) {}
  // Copies for a loop of this many trips. Call from the inside out.
  int64_t take(int64_t trips) {
    const int64_t copies = std::min(left_, std::max<int64_t>(trips, 1));
    left_ = copies < trips ? 1 : left_ / copies;
    return copies;
  }

 private:
  int64_t left_;
};

}  // namespace zomboss::plena
