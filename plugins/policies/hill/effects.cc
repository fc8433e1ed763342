#include "plugins/policies/hill/effects.h"

#include <algorithm>

namespace zomboss::policies {
namespace {

constexpr double kUntried =
    0.90;  // a knob that was never changed is more promising than one known to do little
constexpr double kHopeShare = 0.1;     // of a knob's largest known effect: what an unknown value may gain
constexpr double kBetweenShare = 0.1;  // of that: what a value between two known ones may gain
constexpr double kBeyondBad = 1.02;    // one step on in a direction that did not pay

}  // namespace

Effects::Effects(const Space& space) {
  for (const SpaceKnob& knob : space.knobs) {
    ordered_.push_back(knob.ordered);
    rank_.push_back(knob.rank);
    std::vector<uint32_t> value_at(knob.values.size());
    for (uint32_t value = 0; value < knob.values.size(); ++value) value_at[knob.rank[value]] = value;
    value_at_.push_back(std::move(value_at));
    levels_.emplace_back(knob.values.size(), 0.0);
  }
}

void Effects::learn(size_t knob, uint32_t from, uint32_t to, double ratio) {
  std::vector<double>& levels = levels_[knob];
  if (levels[from] == 0 && levels[to] != 0) {
    levels[from] = levels[to] / ratio;
    return;
  }
  if (levels[from] == 0) levels[from] = 1;
  levels[to] = levels[from] * ratio;
}

// What an unknown value may gain over a known one: much for a knob that mattered so far, little for one that
// did not.
double Effects::hope(size_t knob) const {
  double low = 0;
  double high = 0;
  size_t known = 0;
  for (const double level : levels_[knob]) {
    if (level == 0) continue;
    low = known == 0 ? level : std::min(low, level);
    high = std::max(high, level);
    ++known;
  }
  if (known < 2) return kUntried;
  return 1 - kHopeShare * (1 - low / high);
}

double Effects::expect(size_t knob, uint32_t from, uint32_t to) const {
  const std::vector<double>& levels = levels_[knob];
  if (levels[from] == 0) return kUntried;
  if (levels[to] != 0) return levels[to] / levels[from];
  return ordered_[knob] ? expect_ordered(knob, from, to) : hope(knob);
}

double Effects::expect_ordered(size_t knob, uint32_t from, uint32_t to) const {
  const std::vector<double>& levels = levels_[knob];
  const std::vector<uint32_t>& value_at = value_at_[knob];
  const auto level = [&](size_t rank) { return levels[value_at[rank]]; };
  const size_t at = rank_[knob][to];
  size_t below = at;
  while (below > 0 && level(below - 1) == 0) --below;
  size_t above = at + 1;
  while (above < value_at.size() && level(above) == 0) ++above;
  const double low = below > 0 ? level(below - 1) : 0;
  const double high = above < value_at.size() ? level(above) : 0;
  if (low != 0 && high != 0)
    return std::min(low, high) * (1 - kBetweenShare * (1 - hope(knob))) / levels[from];
  // Beyond the known range: `edge` is its last value on this side, `inner` the known one before that.
  const double edge = low != 0 ? low : high;
  double inner = 0;
  if (low != 0) {
    for (size_t rank = below - 1; rank > 0 && inner == 0; --rank) inner = level(rank - 1);
  } else {
    for (size_t rank = above + 1; rank < value_at.size() && inner == 0; ++rank) inner = level(rank);
  }
  if (inner == 0) return edge * kUntried / levels[from];
  return edge * (edge < inner ? hope(knob) : kBeyondBad) / levels[from];
}

bool Effects::set_levels(std::vector<std::vector<double>> levels) {
  if (levels.size() != levels_.size()) return false;
  for (size_t k = 0; k < levels.size(); ++k) {
    if (levels[k].size() != levels_[k].size()) return false;
    for (const double level : levels[k])
      if (!(level >= 0) || level > 1e300) return false;
  }
  levels_ = std::move(levels);
  return true;
}

}  // namespace zomboss::policies
