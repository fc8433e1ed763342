#include "plugins/policies/hill/forecast.h"

#include <algorithm>

#include "plugins/policies/common/portable_math.h"

namespace zomboss::policies {
namespace {

// Chosen so that twelve evaluations go far on catalogs of tiled matrix products (docs/policies.md).
struct Prior {
  double slope;      // of log latency in log static cost
  double level;      // variance that all points share
  double amplitude;  // variance of points with nothing in common
  double choice;     // likeness lost when a choice or boolean differs
  double step;       // by each step of an ordered knob
  double range;      // from one end of an ordered knob's domain to the other
};
constexpr Prior kPriced = {0.745, 0.66, 0.066, 0.11, 0.04, 0.3};
constexpr Prior kUnpriced = {0, 1, 1.2, 0.07, 0, 0.6};
constexpr double kNoise = 1e-6;
constexpr double kMargin = 0.025;  // a gain below this is no reason to look somewhere: looks farther

}  // namespace

Forecast::Forecast(const Space& space, bool priced) : priced_(priced) {
  const Prior& prior = priced ? kPriced : kUnpriced;
  for (size_t k = 0; k < space.knobs.size(); ++k) {
    const SpaceKnob& knob = space.knobs[k];
    if (knob.values.size() < 2) continue;
    number_.push_back(k);
    ordered_.push_back(knob.ordered);
    rank_.push_back(knob.rank);
    const double last = static_cast<double>(knob.values.size() - 1);
    std::vector<double> likeness = {1};
    for (size_t distance = 1; distance < knob.values.size(); ++distance) {
      const double steps = static_cast<double>(distance);
      const double lost = knob.ordered ? prior.step * steps + prior.range * steps / last : prior.choice;
      likeness.push_back(portable_exp(-lost));
    }
    by_distance_.push_back(std::move(likeness));
  }
}

double Forecast::likeness(const Point& a, const Point& b) const {
  const Prior& prior = priced_ ? kPriced : kUnpriced;
  double share = prior.amplitude;
  for (size_t f = 0; f < number_.size(); ++f) {
    const uint32_t x = a[number_[f]], y = b[number_[f]];
    if (x == y) continue;
    const uint32_t low = std::min(rank_[f][x], rank_[f][y]), high = std::max(rank_[f][x], rank_[f][y]);
    share *= by_distance_[f][ordered_[f] ? high - low : 1];
  }
  return prior.level + share;
}

// Up to a constant that the first point that was learned takes away.
double Forecast::prior(double cost) const {
  return priced_ ? kPriced.slope * portable_log(cost) : 0;
}

// factor_ \ (likeness of the point to each known one).
std::vector<double> Forecast::solve_for(const Point& point) const {
  std::vector<double> row;
  row.reserve(known_.size() + 1);
  for (size_t i = 0; i < known_.size(); ++i) {
    double rest = likeness(point, known_[i]);
    for (size_t j = 0; j < i; ++j) rest -= row[j] * factor_[i][j];
    row.push_back(rest / factor_[i][i]);
  }
  return row;
}

void Forecast::learn(const Point& point, double cost, double latency) {
  std::vector<double> row = solve_for(point);
  double variance = likeness(point, point) + kNoise;
  for (const double each : row) variance -= each * each;
  row.push_back(std::sqrt(std::max(variance, kNoise * kNoise)));
  const double measured = portable_log(latency) - prior(cost);
  if (known_.empty()) origin_ = measured;
  double rest = measured - origin_;
  for (size_t i = 0; i < whitened_.size(); ++i) rest -= row[i] * whitened_[i];
  whitened_.push_back(rest / row.back());
  known_.push_back(point);
  factor_.push_back(std::move(row));
}

Forecast::Expectation Forecast::expect(const Point& point, double cost) const {
  const std::vector<double> row = solve_for(point);
  Expectation expectation{prior(cost) + origin_, 0};
  double variance = likeness(point, point);
  for (size_t i = 0; i < row.size(); ++i) {
    expectation.log_latency += row[i] * whitened_[i];
    variance -= row[i] * row[i];
  }
  expectation.deviation = std::sqrt(std::max(variance, kNoise * kNoise));
  return expectation;
}

double expected_gain(const Forecast::Expectation& expectation, double best) {
  const double z = (portable_log(best) - kMargin - expectation.log_latency) / expectation.deviation;
  return expectation.deviation * (z * normal_share(z) + normal_density(z));
}

}  // namespace zomboss::policies
