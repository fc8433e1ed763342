#include "core/report/statistics.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>

namespace zomboss::report {
namespace {

// Reading a plan costs some ten microseconds; this many say as much as all. For all groups together, but some
// for each.
constexpr size_t kPlansRead = 4000, kPlansReadAtLeast = 500;

// All positions at which one of the runs changes, thinned out evenly.
std::vector<double> positions_of(const std::set<uint64_t>& changes, size_t limit) {
  std::vector<double> all(changes.begin(), changes.end());
  if (all.size() <= limit) return all;
  std::vector<double> thinned;
  for (size_t i = 0; i < limit; ++i) thinned.push_back(all[i * (all.size() - 1) / (limit - 1)]);
  thinned.erase(std::unique(thinned.begin(), thinned.end()), thinned.end());
  return thinned;
}

// The best so far at increasing evaluations.
class Walker {
 public:
  explicit Walker(const RunView& view) : steps_(&view.steps) {}
  double at(double evaluation) {
    while (next_ + 1 < steps_->size() && static_cast<double>((*steps_)[next_ + 1].evaluation) <= evaluation)
      ++next_;
    return static_cast<double>((*steps_)[next_].latency);
  }

 private:
  const std::vector<Step>* steps_;
  size_t next_ = 0;
};

struct ValueSamples {
  std::vector<double> relative;  // latencies
};

// The order of a knob's values: numbers by size, then names as in the surface's domain, then other names.
class DomainOrder {
 public:
  explicit DomainOrder(const std::string& surface) {
    const Json json = parse_json(surface);
    const Json& knobs = member(json, "knobs");
    if (!knobs.is_array()) return;
    for (const Json& knob : knobs) {
      std::map<std::string, size_t>& order = order_[text_of(member(knob, "name"))];
      const Json& values = member(knob, "values");
      if (!values.is_array()) continue;
      for (const Json& value : values) order.emplace(text_of(value), order.size());
    }
  }

  bool before(const std::string& knob, const std::string& a, const std::string& b) const {
    return key(knob, a) < key(knob, b);
  }

 private:
  using Key = std::tuple<int, double, std::string>;
  Key key(const std::string& knob, const std::string& value) const {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size() && !std::isnan(number))
      return {0, number, value};
    const auto domain = order_.find(knob);
    if (domain != order_.end()) {
      const auto place = domain->second.find(value);
      if (place != domain->second.end()) return {1, static_cast<double>(place->second), value};
    }
    return {2, 0, value};
  }

  std::map<std::string, std::map<std::string, size_t>> order_;
};

// Share of the variance of log latency that lies between the values; many values with few plans each would
// seem to explain much, so it is adjusted for their number.
double explained_share(const std::map<std::string, ValueSamples>& values) {
  double sum = 0;
  size_t count = 0;
  for (const auto& [value, samples] : values) {
    for (const double relative : samples.relative) sum += std::log(relative);
    count += samples.relative.size();
  }
  const double mean = sum / static_cast<double>(count);
  double between = 0, total = 0;
  for (const auto& [value, samples] : values) {
    double own = 0;
    for (const double relative : samples.relative) {
      own += std::log(relative);
      total += (std::log(relative) - mean) * (std::log(relative) - mean);
    }
    own /= static_cast<double>(samples.relative.size());
    between += static_cast<double>(samples.relative.size()) * (own - mean) * (own - mean);
  }
  const auto plans = static_cast<double>(count), groups = static_cast<double>(values.size());
  if (!(total > 0) || count <= values.size()) return 0;
  return std::clamp(1 - (total - between) / total * (plans - 1) / (plans - groups), 0.0, 1.0);
}

KnobEffect effect_of(const std::string& section, const std::string& knob, const DomainOrder& order,
                     std::map<std::string, ValueSamples>& values) {
  KnobEffect effect;
  effect.section = section;
  effect.knob = knob;
  effect.explained = explained_share(values);
  for (auto& [value, samples] : values) {
    std::sort(samples.relative.begin(), samples.relative.end());
    effect.values.push_back({value, samples.relative.size(), samples.relative.front(),
                             quantile_of(samples.relative, 0.5), samples.relative.back()});
  }
  std::sort(effect.values.begin(), effect.values.end(),
            [&](const ValueEffect& a, const ValueEffect& b) { return order.before(knob, a.value, b.value); });
  return effect;
}

}  // namespace

double quantile_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile_of(values, 0.5);
}

double geometric_mean_of(const std::vector<double>& values) {
  double sum = 0;
  size_t count = 0;
  for (const double value : values) {
    if (value <= 0) continue;
    sum += std::log(value);
    ++count;
  }
  return count == 0 ? 0 : std::exp(sum / static_cast<double>(count));
}

Curve curve_of(const std::vector<const RunView*>& runs, size_t positions) {
  Curve curve;
  std::set<uint64_t> changes;
  std::vector<Walker> walkers;
  for (const RunView* view : runs) {
    if (view->steps.empty()) continue;
    walkers.emplace_back(*view);
    for (const Step& step : view->steps) changes.insert(step.evaluation);
    changes.insert(view->run.evaluations);
  }
  curve.seeds = walkers.size();
  curve.quartiles = curve.seeds >= 5;
  if (walkers.empty()) return curve;
  for (const double evaluation : positions_of(changes, positions)) {
    std::vector<double> values;
    for (Walker& walker : walkers) values.push_back(walker.at(evaluation));
    std::sort(values.begin(), values.end());
    curve.evaluation.push_back(evaluation);
    curve.median.push_back(quantile_of(values, 0.5));
    curve.low.push_back(curve.quartiles ? quantile_of(values, 0.25) : values.front());
    curve.high.push_back(curve.quartiles ? quantile_of(values, 0.75) : values.back());
  }
  return curve;
}

MeanCurve mean_curve_of(const Data& data, size_t policy, size_t positions) {
  std::vector<Curve> curves;
  std::set<uint64_t> changes;
  for (const Group& group : data.groups) {
    Curve curve = curve_of(data.of(group, policy));
    if (curve.evaluation.empty()) continue;
    for (const double evaluation : curve.evaluation) changes.insert(static_cast<uint64_t>(evaluation));
    curves.push_back(std::move(curve));
  }
  MeanCurve mean;
  mean.groups = curves.size();
  if (curves.empty()) return mean;
  for (const double evaluation : positions_of(changes, positions)) {
    std::vector<double> speedups;
    for (const Curve& curve : curves) {
      const auto after = std::upper_bound(curve.evaluation.begin(), curve.evaluation.end(), evaluation);
      const auto at = static_cast<size_t>(after - curve.evaluation.begin());
      speedups.push_back(curve.median.front() / curve.median[at == 0 ? 0 : at - 1]);
    }
    mean.evaluation.push_back(evaluation);
    mean.speedup.push_back(geometric_mean_of(speedups));
  }
  return mean;
}

Score score_of(const std::vector<const RunView*>& runs) {
  Score score;
  score.runs = runs.size();
  std::vector<double> best;
  for (const RunView* view : runs)
    if (view->verified()) best.push_back(static_cast<double>(view->run.best_latency));
  if (best.empty()) return score;
  std::sort(best.begin(), best.end());
  score.median = quantile_of(best, 0.5);
  score.low = best.front();
  score.high = best.back();
  return score;
}

KnobEffects knob_effects_of(const Data& data, const Group& group) {
  KnobEffects effects;
  effects.verified = group.plans.size();
  const size_t share = std::max(kPlansRead / data.groups.size(), kPlansReadAtLeast);
  const size_t read = std::min(group.plans.size(), share);
  std::map<std::pair<std::string, std::string>, std::map<std::string, ValueSamples>> knobs;
  for (size_t i = 0; i < read; ++i) {
    // Evenly over the plans by hash, which is as good as at random.
    const auto& [hash, latency] = group.plans[i * group.plans.size() / read];
    const auto json = data.history->plan(group.problem.key, hash);
    const std::vector<Decision> decisions =
        json.ok() ? decisions_of(parse_json(*json)) : std::vector<Decision>();
    if (decisions.empty()) {
      ++effects.missing;
      continue;
    }
    ++effects.plans;
    for (const Decision& decision : decisions)
      knobs[{decision.section, decision.knob}][decision.value].relative.push_back(
          static_cast<double>(latency) / group.candidate0);
  }
  const DomainOrder order(group.problem.surface);
  for (auto& [name, values] : knobs) {
    if (values.size() < 2)
      effects.fixed.push_back(name.second);
    else
      effects.varied.push_back(effect_of(name.first, name.second, order, values));
  }
  std::stable_sort(effects.varied.begin(), effects.varied.end(),
                   [](const KnobEffect& a, const KnobEffect& b) { return a.explained > b.explained; });
  std::sort(effects.fixed.begin(), effects.fixed.end());
  return effects;
}

}  // namespace zomboss::report
