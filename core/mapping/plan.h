// A plan: one value for each knob, in the eight semantic sections, with where each came from and which
// preferences were relaxed. A plain value that stands alone (it does not need its surface).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash.h"
#include "core/mapping/surface.h"
#include "zomboss/schema/plan_generated.h"

namespace zomboss::mapping {

using wire::Origin;  // Default, Hard, Preferred

struct Decision {
  std::string knob;
  int64_t value = 0;
  std::string text;  // the value as people write it
  Origin origin = Origin::Default;
};

// A preference that could not be kept.
struct Relaxation {
  std::string knob;
  int64_t requested = 0;
  int64_t realized = 0;
  std::string reason;
  bool operator==(const Relaxation&) const = default;
};

struct Plan {
  std::array<std::vector<Decision>, kCategoryCount> sections;  // decisions sorted by knob name
  std::vector<Relaxation> relaxations;                         // in resolution order
  Hash hash;                                                   // of the sections' names and values alone

  const Decision* find(std::string_view knob) const;
  // Two plans are the same when their eight sections are.
  bool same_mapping(const Plan& other) const { return hash == other.hash; }
};

// `values` and `origins`: one per knob of the surface.
Plan make_plan(const Surface& surface, std::span<const int64_t> values, std::span<const Origin> origins,
               std::vector<Relaxation> relaxations);
// The values of a plan in knob order. Error when the plan is not one of this surface (knobs, sections,
// domains).
Result<std::vector<int64_t>> plan_values(const Surface& surface, const Plan& plan);

Hash plan_hash(const Plan& plan);  // recomputed from the sections

// Normalized Hamming distance over the eight sections: the share of decisions that differ, 0 to 1. A knob
// that only one of the two has is a difference. 0 for two empty plans.
double distance(const Plan& a, const Plan& b);
// How many decisions differ: the "radius" of region proposals.
size_t changed_decisions(const Plan& a, const Plan& b);

}  // namespace zomboss::mapping
