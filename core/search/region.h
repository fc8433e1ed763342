// Region proposals: many intents described at once, of which the host evaluates two. The protocol of the
// paper: sample around a center or over the whole region, complete, drop what is illegal or was seen, drop
// the worst quarter by the target's static cost, and choose two plans that are far from everything evaluated.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/mapping/intent.h"
#include "core/mapping/plan.h"
#include "core/resolver/resolver.h"
#include "zomboss/schema/proposal_generated.h"
#include "zomboss/sdk/random.h"

namespace zomboss::search {

inline constexpr size_t kRegionSamples = 256;  // of one round; a named center may have several
inline constexpr uint32_t kLargestRadius = 8;
inline constexpr double kKeepPreferred = 0.75;  // without a named center

// One value per knob of the surface: what a plan is, apart from where its decisions come from.
using Values = std::vector<int64_t>;

// A region that has been checked against its surface.
struct Region {
  mapping::Intent intent;        // hard, preferred and auto assignments
  std::vector<size_t> axes;      // diversity axes, in the order given
  std::optional<Values> center;  // of the named plan
  uint32_t radius = 1;
};

// The values of the evaluated plan with this hash; nothing when there is none.
using FindPlan = std::function<std::optional<Values>(const std::string& hash)>;

// Invalid argument with every problem of the region, one after the other: unknown knob, value outside its
// domain, knob in two lists, no diversity axis, an axis that is unknown, hard, auto, fixed or named twice,
// fewer than two knobs free of hard, unknown center, a radius outside 1..8.
Result<Region> read_region(const mapping::Surface& surface, const wire::RegionT& message,
                           const FindPlan& find_plan);

// "tile_m=64 buffering~double; diversity tile_n; center 3f..; radius 2", for the record.
std::string region_text(const wire::RegionT& message);

// A plan that the region led to.
struct Sample {
  mapping::Intent intent;
  mapping::Plan plan;
  Values values;
  double static_cost = 0;  // 0 = not known
  bool center = false;     // the completion of the region's own center
};

// Draws the pool of a region: legal, not in `seen` (values of all evaluated plans), pairwise different.
// Failed precondition with the minimal conflict when the hard assignments cannot hold; already exists when
// the neighbourhood is exhausted: fewer than two plans, counted by reason.
Result<std::vector<Sample>> sample_region(resolver::Resolver& resolver, const Region& region,
                                          std::span<const Values> seen, Random random);

// Drops the quarter with the highest static cost, rounded down, but never the center and never below two.
// Does nothing when a cost is unknown.
void drop_worst_quarter(std::vector<Sample>& pool);

// The two to evaluate, as positions in `pool` (one, when the pool has no other): the center, else the plan
// farthest from all evaluated ones; then the one with another value on the first axis that is farthest from
// the first and all evaluated ones. The distance is the normalized Hamming distance over the eight sections;
// ties go to the earlier sample.
std::vector<size_t> choose_two(const std::vector<Sample>& pool, size_t first_axis,
                               std::span<const Values> evaluated);

}  // namespace zomboss::search
