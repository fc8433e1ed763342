// The points that a policy of this folder searches: a surface as numbered knobs and values. Plain values; one
// instance belongs to one search.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "zomboss/sdk/message.h"
#include "zomboss/sdk/status.h"

namespace zomboss::policies {

// For each knob, in the surface's order, the position of its value in the knob's domain.
using Point = std::vector<uint32_t>;

struct SpaceKnob {
  std::string name;
  uint8_t category = 0;         // the section of plans that it belongs to
  bool ordered = false;         // an integer knob: values between two values make sense
  std::vector<int64_t> values;  // the domain in the surface's order
  std::vector<uint32_t> rank;   // of each value when sorted by size
};

struct Space {
  std::vector<SpaceKnob> knobs;
  bool catalog = false;
  std::vector<Point> rows;    // of a catalog: its rows inside the domains, in its order
  std::vector<double> costs;  // of a catalog: the target's estimate of each row; empty = it has none
  Point start;                // Candidate-0
  uint64_t fingerprint =
      0;  // of knobs, rows, costs, Candidate-0 and seed: a saved state belongs to one of these

  // Invalid argument when the message makes no sense (a duplicate knob, a ragged catalog, a plan of another
  // surface).
  static Result<Space> from_context(const wire::SearchContextT& context);

  // The values that the plan gives to all knobs.
  Result<Point> point_of(const wire::PlanT& plan) const;
  // All decisions hard.
  std::unique_ptr<wire::IntentT> exact_intent(const Point& point) const;
  // All decisions preferred, those of `hard` hard.
  std::unique_ptr<wire::IntentT> preferred_intent(const Point& point, const std::vector<size_t>& hard) const;
};

// The knobs in which two points differ.
std::vector<size_t> changed_knobs(const Point& a, const Point& b);

}  // namespace zomboss::policies
