#include "plugins/policies/llm/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plugins/policies/llm/numbers.h"

namespace zomboss::policies::llm {
namespace {

std::vector<Measure> measures_of(const std::vector<std::unique_ptr<wire::CounterT>>& counters) {
  constexpr size_t kMost = 512;
  std::vector<Measure> measures;
  for (const auto& counter : counters)
    if (measures.size() < kMost && std::isfinite(counter->value))
      measures.push_back({counter->name, counter->value, counter->unit});
  return measures;
}

Json point_json(const Point& point) {
  return point;
}

std::optional<Point> point_from(const Json& value, const Space& space) {
  if (!value.is_array() || value.size() != space.knobs.size()) return std::nullopt;
  Point point;
  for (size_t k = 0; k < value.size(); ++k) {
    if (!value[k].is_number_unsigned() || value[k].get<uint64_t>() >= space.knobs[k].values.size())
      return std::nullopt;
    point.push_back(value[k].get<uint32_t>());
  }
  return point;
}

}  // namespace

std::string row_label(size_t row) {
  return fmt::format("m{:03}", row);
}

void Journal::start(const wire::SearchContextT& context, const Space& space) {
  *this = Journal();
  catalog_ = space.catalog;
  for (size_t row = 0; row < space.rows.size(); ++row) rows_.emplace(space.rows[row], row);
  // The host's costs are by the surface's own rows, some of which are outside of the domains.
  const size_t width = space.knobs.size();
  const auto& catalog = context.surface->catalog;
  if (catalog_ && context.static_costs.size() * width == catalog.size()) {
    row_costs_.assign(space.rows.size(), 0);
    for (size_t i = 0; i < context.static_costs.size(); ++i) {
      Point point;
      for (size_t k = 0; k < width; ++k) {
        const auto& values = space.knobs[k].values;
        const auto found = std::find(values.begin(), values.end(), catalog[i * width + k]);
        if (found == values.end()) break;
        point.push_back(static_cast<uint32_t>(found - values.begin()));
      }
      if (const auto row = rows_.find(point); row != rows_.end() && std::isfinite(context.static_costs[i]))
        row_costs_[row->second] = context.static_costs[i];
    }
  }
  Tried start;
  start.hash = context.candidate0->hash;
  start.point = space.start;
  start.verified = true;
  start.latency = context.candidate0_latency;
  start.counters = measures_of(context.candidate0_counters);
  add(std::move(start));
}

void Journal::add(Tried tried) {
  if (tried.name.empty()) {
    tried.name = fmt::format("p{}", tried_.size());
    if (catalog_) tried.name = row_name(tried.point).value_or(tried.name);
  }
  tried_.push_back(std::move(tried));
  const Tried& last = tried_.back();
  if (last.verified && last.latency < tried_[best_].latency) best_ = tried_.size() - 1;
}

const Tried* Journal::observe(const wire::FeedbackT& item, const Space& space) {
  if (item.plan == nullptr) return nullptr;
  const auto point = space.point_of(*item.plan);
  if (!point.ok()) return nullptr;
  if (const Tried* known = find_point(*point)) return known;
  if (static_cast<uint8_t>(item.outcome) >= static_cast<uint8_t>(wire::Outcome::RejectedDuplicate))
    return nullptr;
  Tried tried;
  tried.hash = item.plan->hash;
  tried.point = *point;
  tried.verified = item.outcome == wire::Outcome::Valid && item.latency > 0 && std::isfinite(item.latency);
  tried.latency = tried.verified ? item.latency : 0;
  tried.static_cost = std::isfinite(item.static_cost) ? item.static_cost : 0;
  tried.counters = measures_of(item.counters);
  add(std::move(tried));
  return &tried_.back();
}

const Tried* Journal::find_name(std::string_view name) const {
  for (const Tried& tried : tried_)
    if (tried.name == name) return &tried;
  return nullptr;
}

const Tried* Journal::find_hash(std::string_view hash) const {
  for (const Tried& tried : tried_)
    if (tried.hash == hash) return &tried;
  return nullptr;
}

const Tried* Journal::find_point(const Point& point) const {
  for (const Tried& tried : tried_)
    if (tried.point == point) return &tried;
  return nullptr;
}

void Journal::end_proposal(size_t evaluations_before) {
  idle_ = evaluations() > evaluations_before ? 0 : idle_ + 1;
}

std::optional<size_t> Journal::row_of(const Point& point) const {
  const auto row = rows_.find(point);
  return row == rows_.end() ? std::nullopt : std::optional<size_t>(row->second);
}

std::optional<std::string> Journal::row_name(const Point& point) const {
  const auto row = row_of(point);
  return row.has_value() ? std::optional<std::string>(row_label(*row)) : std::nullopt;
}

std::string Journal::statistics(const Vocabulary& vocabulary) const {
  std::string text;
  for (const size_t k : vocabulary.order()) {
    const KnobWords& knob = vocabulary.knobs()[k];
    std::string line;
    for (uint32_t v = 0; v < knob.values.size(); ++v) {
      std::vector<double> latencies;
      for (const Tried& tried : tried_)
        if (tried.verified && tried.point[k] == v) latencies.push_back(tried.latency);
      if (latencies.empty()) continue;
      std::sort(latencies.begin(), latencies.end());
      const double median = latencies[(latencies.size() - 1) / 2];
      line += fmt::format(" {} n={} best={} median={};", knob.values[v], latencies.size(),
                          number_text(latencies[0]), percent_text(median, best().latency));
    }
    text += knob.name + ":" + line + "\n";
  }
  return text;
}

Json Journal::to_json() const {
  Json list = Json::array();
  for (size_t i = 1; i < tried_.size(); ++i) {
    const Tried& tried = tried_[i];
    Json counters = Json::array();
    for (const Measure& measure : tried.counters)
      counters.push_back({measure.name, measure.value, measure.unit});
    list.push_back({{"hash", tried.hash},
                    {"point", point_json(tried.point)},
                    {"verified", tried.verified},
                    {"latency", tried.latency},
                    {"static_cost", tried.static_cost},
                    {"counters", std::move(counters)}});
  }
  return {{"tried", std::move(list)}, {"idle", idle_}};
}

bool Journal::from_json(const Json& value, const Space& space) {
  const Json& list = member(value, "tried");
  const auto idle = count_of(value, "idle");
  if (!list.is_array() || !idle.has_value() || *idle > UINT32_MAX) return false;
  for (const Json& each : list) {
    auto point = point_from(member(each, "point"), space);
    if (!point.has_value() || find_point(*point) != nullptr) return false;
    Tried tried;
    tried.hash = text_of(each, "hash");
    tried.point = *std::move(point);
    tried.verified = member(each, "verified") == Json(true);
    tried.latency = number_of(each, "latency", -1);
    tried.static_cost = number_of(each, "static_cost");
    if (tried.verified ? !(tried.latency > 0) : tried.latency != 0) return false;
    for (const Json& counter : member(each, "counters")) {
      if (!counter.is_array() || counter.size() != 3 || !counter[0].is_string() || !counter[1].is_number() ||
          !counter[2].is_string())
        return false;
      tried.counters.push_back(
          {counter[0].get<std::string>(), counter[1].get<double>(), counter[2].get<std::string>()});
    }
    add(std::move(tried));
  }
  idle_ = static_cast<uint32_t>(*idle);
  return true;
}

}  // namespace zomboss::policies::llm
