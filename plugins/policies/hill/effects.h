// What a climb has learned of single decisions: how latency changed when one knob went from one value to
// another. Used only to order moves; it never decides whether a move is an improvement.
#pragma once

#include <vector>

#include "plugins/policies/common/space.h"

namespace zomboss::policies {

class Effects {
 public:
  Effects() = default;
  explicit Effects(const Space& space);

  // Latency changed by `ratio` (after / before) when knob k went from one value to the other.
  void learn(size_t knob, uint32_t from, uint32_t to, double ratio);
  // The ratio to expect of changing knob k. Under 1 = better. A knob that was never changed is worth a try;
  // an ordered knob is read as a curve: between two known values a little under the better one, beyond the
  // last known value onwards in the direction of that end.
  double expect(size_t knob, uint32_t from, uint32_t to) const;

  // One level per knob and value, 0 = unknown; only ratios of levels of one knob mean something.
  const std::vector<std::vector<double>>& levels() const { return levels_; }
  // False, and no change, when the shape is another.
  bool set_levels(std::vector<std::vector<double>> levels);

 private:
  double hope(size_t knob) const;
  double expect_ordered(size_t knob, uint32_t from, uint32_t to) const;

  std::vector<bool> ordered_;
  std::vector<std::vector<uint32_t>> value_at_;  // per knob: the value of each rank
  std::vector<std::vector<uint32_t>> rank_;
  std::vector<std::vector<double>> levels_;
};

}  // namespace zomboss::policies
