// What to expect of points that nobody evaluated, learned from those that somebody did: a Gaussian process
// over the logarithm of latency. Its prior mean follows the target's static costs where there are any, less
// steeply than one to one; its prior covariance says that each decision in which two points differ, and each
// step between two values of an ordered knob, makes their latencies less alike. Costs O(points * evaluations
// * (knobs + evaluations)). A plain value; one thread.
#pragma once

#include <vector>

#include "plugins/policies/common/space.h"

namespace zomboss::policies {

class Forecast {
 public:
  Forecast() = default;
  // `priced`: static costs will be given.
  Forecast(const Space& space, bool priced);

  // cost: the target's estimate, ignored unless priced. Both positive.
  void learn(const Point& point, double cost, double latency);
  size_t known() const { return known_.size(); }

  struct Expectation {
    double log_latency = 0;
    double deviation = 0;
  };
  Expectation expect(const Point& point, double cost) const;

 private:
  double likeness(const Point& a, const Point& b) const;
  double prior(double cost) const;
  std::vector<double> solve_for(const Point& point) const;

  bool priced_ = false;
  std::vector<size_t> number_;  // of the knobs with more than one value; by it the next three
  std::vector<bool> ordered_;
  std::vector<std::vector<uint32_t>> rank_;
  std::vector<std::vector<double>> by_distance_;
  double origin_ = 0;  // what the first point measured, above its prior
  std::vector<Point> known_;
  std::vector<std::vector<double>> factor_;  // of the covariance of known_: lower triangle, row by row
  std::vector<double> whitened_;             // factor_ \ (what was measured - prior - origin_)
};

// The logarithm of latency that a point of this expectation is expected to gain on `best`: large where it is
// probably better, and where little is known.
double expected_gain(const Forecast::Expectation& expectation, double best);

}  // namespace zomboss::policies
