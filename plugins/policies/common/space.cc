#include "plugins/policies/common/space.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "plugins/policies/common/state_bytes.h"

namespace zomboss::policies {
namespace {

Result<SpaceKnob> read_knob(const wire::KnobT& message) {
  SpaceKnob knob;
  knob.name = message.name;
  knob.category = static_cast<uint8_t>(message.category);
  knob.ordered = message.type == wire::KnobType::Integer;
  knob.values = message.values;
  if (knob.values.empty()) return invalid_argument("knob '" + knob.name + "' has no values");
  std::vector<int64_t> sorted = knob.values;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return invalid_argument("knob '" + knob.name + "' lists a value twice");
  for (int64_t value : knob.values)
    knob.rank.push_back(
        static_cast<uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin()));
  return knob;
}

// Values of `count` positions, or false when one is outside of its domain.
bool locate(const std::vector<SpaceKnob>& knobs, const int64_t* values, Point& point) {
  point.resize(knobs.size());
  for (size_t k = 0; k < knobs.size(); ++k) {
    const auto found = std::find(knobs[k].values.begin(), knobs[k].values.end(), values[k]);
    if (found == knobs[k].values.end()) return false;
    point[k] = static_cast<uint32_t>(found - knobs[k].values.begin());
  }
  return true;
}

// A catalog may still hold rows with values that the host took out of the domains: those are not legal.
Status read_rows(const wire::SurfaceT& surface, const std::vector<double>& costs, Space& space) {
  if (surface.catalog.size() % space.knobs.size() != 0)
    return invalid_argument("the catalog has " + std::to_string(surface.catalog.size()) +
                            " numbers, not a multiple of the " + std::to_string(space.knobs.size()) +
                            " knobs");
  const size_t rows = surface.catalog.size() / space.knobs.size();
  if (!costs.empty() && costs.size() != rows)
    return invalid_argument("there are " + std::to_string(costs.size()) + " static costs for " +
                            std::to_string(rows) + " rows");
  std::set<Point> seen;
  Point point;
  for (size_t row = 0; row < rows; ++row) {
    if (!locate(space.knobs, surface.catalog.data() + row * space.knobs.size(), point)) continue;
    if (!seen.insert(point).second) continue;
    space.rows.push_back(point);
    if (!costs.empty()) space.costs.push_back(costs[row]);
  }
  // Estimates say something about each other only when all of them are there.
  const auto senseless = [](double cost) { return !(cost > 0) || cost > 1e300; };
  if (std::any_of(space.costs.begin(), space.costs.end(), senseless)) space.costs.clear();
  return {};
}

uint64_t fingerprint_of(const Space& space, uint64_t seed) {
  StateWriter writer;
  writer.u64(seed);
  for (const SpaceKnob& knob : space.knobs) {
    writer.text(knob.name);
    writer.u64(knob.values.size());
    for (int64_t value : knob.values) writer.u64(static_cast<uint64_t>(value));
  }
  writer.u64(space.catalog ? space.rows.size() + 1 : 0);
  for (const Point& row : space.rows) writer.point(row);
  writer.u64(space.costs.size());
  for (const double cost : space.costs) writer.f64(cost);
  writer.point(space.start);
  return fnv1a(writer.bytes());
}

}  // namespace

Result<Space> Space::from_context(const wire::SearchContextT& context) {
  Space space;
  std::set<std::string> names;
  for (const auto& message : context.surface->knobs) {
    ZB_ASSIGN(SpaceKnob knob, read_knob(*message));
    if (!names.insert(knob.name).second) return invalid_argument("two knobs are named '" + knob.name + "'");
    space.knobs.push_back(std::move(knob));
  }
  if (space.knobs.empty()) return invalid_argument("the surface has no knobs");
  space.catalog = context.surface->kind == wire::SurfaceKind::Catalog;
  if (space.catalog) ZB_TRY(read_rows(*context.surface, context.static_costs, space));
  ZB_ASSIGN(space.start, space.point_of(*context.candidate0));
  space.fingerprint = fingerprint_of(space, context.seed);
  return space;
}

Result<Point> Space::point_of(const wire::PlanT& plan) const {
  constexpr uint32_t kUnset = UINT32_MAX;
  Point point(knobs.size(), kUnset);
  for (const auto& section : plan.sections) {
    for (const auto& decision : section->decisions) {
      const auto knob = std::find_if(knobs.begin(), knobs.end(), [&](const SpaceKnob& candidate) {
        return candidate.name == decision->knob;
      });
      if (knob == knobs.end()) continue;  // not a knob of the search
      const auto value = std::find(knob->values.begin(), knob->values.end(), decision->value);
      if (value == knob->values.end())
        return invalid_argument("the plan sets knob '" + knob->name + "' to " +
                                std::to_string(decision->value) + ", which is outside of its domain");
      point[static_cast<size_t>(knob - knobs.begin())] = static_cast<uint32_t>(value - knob->values.begin());
    }
  }
  for (size_t k = 0; k < knobs.size(); ++k)
    if (point[k] == kUnset) return invalid_argument("the plan says nothing of knob '" + knobs[k].name + "'");
  return point;
}

std::unique_ptr<wire::IntentT> Space::exact_intent(const Point& point) const {
  std::vector<size_t> all(knobs.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return preferred_intent(point, all);
}

std::unique_ptr<wire::IntentT> Space::preferred_intent(const Point& point,
                                                       const std::vector<size_t>& hard) const {
  auto intent = std::make_unique<wire::IntentT>();
  for (size_t k = 0; k < knobs.size(); ++k) {
    auto assignment = std::make_unique<wire::AssignmentT>();
    assignment->knob = knobs[k].name;
    assignment->value = knobs[k].values[point[k]];
    const bool must = std::find(hard.begin(), hard.end(), k) != hard.end();
    assignment->strength = must ? wire::Strength::Hard : wire::Strength::Preferred;
    intent->assignments.push_back(std::move(assignment));
  }
  return intent;
}

std::vector<size_t> changed_knobs(const Point& a, const Point& b) {
  std::vector<size_t> changed;
  for (size_t k = 0; k < a.size(); ++k)
    if (a[k] != b[k]) changed.push_back(k);
  return changed;
}

}  // namespace zomboss::policies
