#include "core/search/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/text.h"

namespace zomboss::search {
namespace {

using mapping::Assignment;
using mapping::Intent;
using mapping::Knob;
using mapping::Strength;
using mapping::Surface;

// Collects the problems of a region.
class RegionReader {
 public:
  RegionReader(const Surface& surface, const wire::RegionT& message) : surface_(surface), message_(message) {}

  Result<Region> read(const FindPlan& find_plan) {
    read_assignments();
    read_axes();
    check_freedom();
    read_center(find_plan);
    if (!problems_.empty()) return invalid_argument(problems_);
    return std::move(region_);
  }

 private:
  void problem(const std::string& text) { problems_ += (problems_.empty() ? "" : "; ") + text; }

  void read_assignments() {
    std::set<std::string> twice;
    for (const auto& each : message_.assignments) {
      if (each == nullptr) {
        problem("an assignment is missing");
        continue;
      }
      const auto knob = surface_.find_knob(each->knob);
      if (knob && region_.intent.find(*knob) != nullptr) {
        if (twice.insert(each->knob).second) problem(fmt::format("knob '{}' is in two lists", each->knob));
        continue;
      }
      const auto assignment =
          each->strength == Strength::Auto && knob
              ? Result<Assignment>(Assignment{*knob, 0, Strength::Auto})
              : mapping::make_assignment(surface_, each->knob, each->value, each->strength);
      if (assignment.ok())
        region_.intent.set(*assignment);
      else
        problem(assignment.status().message());
    }
  }

  void read_axes() {
    if (message_.diversity_axes.empty()) problem("a region needs at least one diversity axis");
    for (const std::string& name : message_.diversity_axes) {
      const auto knob = surface_.find_knob(name);
      if (!knob) {
        problem(fmt::format("diversity axis '{}' is no knob of the surface{}", name,
                            did_you_mean(name, surface_.knob_names())));
        continue;
      }
      const Assignment* assignment = region_.intent.find(*knob);
      if (assignment != nullptr && assignment->strength == Strength::Hard)
        problem(fmt::format("diversity axis '{}' is hard: it could not vary", name));
      else if (assignment != nullptr && assignment->strength == Strength::Auto)
        problem(fmt::format("diversity axis '{}' is auto: the resolver would choose its value", name));
      else if (surface_.knob(*knob).fixed())
        problem(fmt::format("diversity axis '{}' has one value only", name));
      else if (std::find(region_.axes.begin(), region_.axes.end(), *knob) != region_.axes.end())
        problem(fmt::format("diversity axis '{}' is named twice", name));
      else
        region_.axes.push_back(*knob);
    }
  }

  void check_freedom() {
    size_t free = 0;
    for (const size_t knob : surface_.free_knobs()) {
      const Assignment* assignment = region_.intent.find(knob);
      if (assignment == nullptr || assignment->strength != Strength::Hard) ++free;
    }
    if (free < 2)
      problem(fmt::format("{} free of hard assignments, a region needs two",
                          free == 0 ? "no knob is" : "only one knob is"));
  }

  void read_center(const FindPlan& find_plan) {
    region_.radius = message_.radius;
    if (message_.radius < 1 || message_.radius > kLargestRadius)
      problem(fmt::format("the radius is {}, expected 1 to {}", message_.radius, kLargestRadius));
    if (message_.center.empty()) return;
    region_.center = find_plan(message_.center);
    if (!region_.center)
      problem(fmt::format("the center '{}' is no plan that was evaluated and verified",
                          message_.center.substr(0, 64)));
  }

  const Surface& surface_;
  const wire::RegionT& message_;
  Region region_;
  std::string problems_;
};

// The middle of a domain: by size where sizes mean something, else as listed.
int64_t midpoint(const Knob& knob) {
  std::vector<int64_t> values = knob.values;
  if (knob.type == mapping::KnobType::Integer) std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

class Sampler {
 public:
  Sampler(resolver::Resolver& resolver, const Region& region, std::span<const Values> seen, Random random)
      : resolver_(resolver),
        surface_(resolver.surface()),
        region_(region),
        seen_(seen.begin(), seen.end()),
        random_(random) {
    for (const size_t axis : region.axes) order_.push_back(axis);
    for (const size_t knob : surface_.free_knobs()) {
      const Assignment* assignment = region.intent.find(knob);
      const bool varies = assignment == nullptr || assignment->strength == Strength::Preferred;
      if (!varies) continue;
      free_.push_back(knob);
      if (std::find(order_.begin(), order_.end(), knob) == order_.end()) others_.push_back(knob);
    }
  }

  Result<std::vector<Sample>> pool() {
    ZB_TRY(check_hard());
    base_ = base();
    add(base_, true);
    uint32_t radius = region_.radius;
    for (;;) {
      for (size_t i = 0; i < kRegionSamples; ++i) add(region_.center ? near(radius) : anywhere(), false);
      if (pool_.size() >= 2 || !region_.center || radius >= kLargestRadius) break;
      ++radius;
    }
    if (pool_.size() >= 2) return std::move(pool_);
    return Status(
        Code::kAlreadyExists,
        fmt::format("the neighbourhood is exhausted{}: of {} samples {} cannot be completed and {} lead to "
                    "plans that were "
                    "evaluated or drawn before; {} left, two are needed",
                    region_.center ? fmt::format(" up to radius {}", radius) : "", samples_, illegal_,
                    repeated_, pool_.empty() ? "none is" : "one is"));
  }

 private:
  Status check_hard() {
    Intent hard;
    for (const Assignment& assignment : region_.intent.assignments())
      if (assignment.strength == Strength::Hard) hard.set(assignment);
    ZB_ASSIGN(const auto completion, resolver_.complete(hard));
    return completion.plan ? Status() : failed_precondition(completion.conflict->text);
  }

  // The center's own values: preferred ones, else those of the named plan, else midpoints.
  Values base() const {
    Values values(surface_.knobs().size(), 0);
    for (const size_t knob : free_) {
      const Assignment* assignment = region_.intent.find(knob);
      values[knob] = assignment != nullptr ? assignment->value
                     : region_.center      ? (*region_.center)[knob]
                                           : midpoint(surface_.knob(knob));
    }
    return values;
  }

  int64_t uniform(size_t knob) {
    const auto& values = surface_.knob(knob).values;
    return values[random_.below(values.size())];
  }

  int64_t another(size_t knob, int64_t value) {
    const auto& values = surface_.knob(knob).values;
    const size_t own = surface_.knob(knob).index_of(value).value_or(0);
    const size_t drawn = random_.below(values.size() - 1);
    return values[drawn < own ? drawn : drawn + 1];
  }

  Values anywhere() {
    Values values = base_;
    for (const size_t knob : free_) {
      const bool preferred = region_.intent.find(knob) != nullptr;
      if (!preferred || random_.unit() >= kKeepPreferred) values[knob] = uniform(knob);
    }
    return values;
  }

  // 1..radius knobs changed, diversity axes first, the others in random order.
  Values near(uint32_t radius) {
    Values values = base_;
    const size_t most = std::min<size_t>(radius, free_.size());
    const size_t changes = 1 + random_.below(most);
    std::vector<size_t> order = order_;
    std::vector<size_t> rest = others_;
    while (order.size() < changes && !rest.empty()) {
      const size_t drawn = random_.below(rest.size());
      order.push_back(rest[drawn]);
      rest[drawn] = rest.back();
      rest.pop_back();
    }
    for (size_t i = 0; i < std::min(changes, order.size()); ++i)
      values[order[i]] = another(order[i], values[order[i]]);
    return values;
  }

  void add(const Values& values, bool center) {
    ++samples_;
    if (!drawn_.insert(values).second) {
      ++repeated_;
      return;
    }
    Intent intent = region_.intent;
    for (const size_t knob : free_) intent.set({knob, values[knob], Strength::Preferred});
    const auto completion = resolver_.complete_quietly(intent);
    if (!completion.ok() || !completion->plan) {
      ++illegal_;
      return;
    }
    auto realized = mapping::plan_values(surface_, *completion->plan);
    if (!realized.ok() || !seen_.insert(*realized).second) {
      ++repeated_;
      return;
    }
    pool_.push_back({std::move(intent), *completion->plan, *std::move(realized), 0, center});
  }

  resolver::Resolver& resolver_;
  const Surface& surface_;
  const Region& region_;
  std::set<Values> seen_;   // realized: evaluated, or in the pool
  std::set<Values> drawn_;  // as drawn, so that no intent is completed twice
  Random random_;
  std::vector<size_t> free_;    // knobs that vary
  std::vector<size_t> order_;   // the axes
  std::vector<size_t> others_;  // free knobs that are no axis
  Values base_;
  std::vector<Sample> pool_;
  size_t samples_ = 0, illegal_ = 0, repeated_ = 0;
};

// How many decisions differ. All plans of one surface decide the same knobs, so this orders pairs as
// mapping::distance does.
size_t difference(const Values& a, const Values& b) {
  size_t count = 0;
  for (size_t k = 0; k < a.size(); ++k) count += a[k] != b[k];
  return count;
}

size_t nearest(const Values& values, std::span<const Values> others) {
  size_t least = values.size();
  for (const Values& other : others) least = std::min(least, difference(values, other));
  return least;
}

}  // namespace

Result<Region> read_region(const Surface& surface, const wire::RegionT& message, const FindPlan& find_plan) {
  return RegionReader(surface, message).read(find_plan);
}

std::string region_text(const wire::RegionT& message) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  for (const auto& each : message.assignments) {
    if (each == nullptr) continue;
    add(each->strength == Strength::Auto
            ? each->knob + "=auto"
            : fmt::format("{}{}{}", each->knob, each->strength == Strength::Hard ? "=" : "~", each->value));
  }
  std::string axes;
  for (const std::string& axis : message.diversity_axes) axes += (axes.empty() ? "" : ",") + axis;
  text += fmt::format("{}diversity {}", text.empty() ? "" : "; ", axes.empty() ? "none" : axes);
  if (!message.center.empty()) text += fmt::format("; center {}; radius {}", message.center, message.radius);
  return "region: " + text;
}

Result<std::vector<Sample>> sample_region(resolver::Resolver& resolver, const Region& region,
                                          std::span<const Values> seen, Random random) {
  return Sampler(resolver, region, seen, random).pool();
}

void drop_worst_quarter(std::vector<Sample>& pool) {
  if (std::any_of(pool.begin(), pool.end(), [](const Sample& each) { return !(each.static_cost > 0); }))
    return;
  size_t drops = pool.size() / 4;
  std::vector<size_t> order(pool.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return pool[a].static_cost > pool[b].static_cost; });
  std::vector<bool> dropped(pool.size(), false);
  size_t left = pool.size();
  for (const size_t i : order) {
    if (drops == 0 || left <= 2) break;
    if (pool[i].center) continue;
    dropped[i] = true;
    --drops;
    --left;
  }
  std::vector<Sample> kept;
  for (size_t i = 0; i < pool.size(); ++i)
    if (!dropped[i]) kept.push_back(std::move(pool[i]));
  pool = std::move(kept);
}

std::vector<size_t> choose_two(const std::vector<Sample>& pool, size_t first_axis,
                               std::span<const Values> evaluated) {
  if (pool.empty()) return {};
  size_t first = 0, distance = 0;
  for (size_t i = 0; i < pool.size(); ++i) {
    if (pool[i].center) {
      first = i;
      break;
    }
    const size_t own = nearest(pool[i].values, evaluated);
    if (own > distance) first = i, distance = own;
  }
  // Every sample that has another value on the axis comes before every one that has not.
  std::optional<size_t> second;
  std::pair<bool, size_t> best{false, 0};
  for (size_t i = 0; i < pool.size(); ++i) {
    if (i == first) continue;
    const bool fresh = pool[i].values[first_axis] != pool[first].values[first_axis];
    const size_t own =
        std::min(nearest(pool[i].values, evaluated), difference(pool[i].values, pool[first].values));
    if (!second || std::pair(fresh, own) > best) second = i, best = {fresh, own};
  }
  if (!second) return {first};
  return {first, *second};
}

}  // namespace zomboss::search
