// The part of the climb that decides by the forecast.
#include <algorithm>

#include "plugins/policies/common/portable_math.h"
#include "plugins/policies/hill/hill_policy.h"

namespace zomboss::policies {
namespace {

constexpr size_t kCandidates = 4096;  // rows that are looked at for one proposal
constexpr size_t kMemory = 96;        // evaluations that the forecast knows: its cost grows with their square

}  // namespace

double HillPolicy::cost_of(const Point& point) const {
  if (space_.costs.empty()) return 0;
  const auto row = std::find(space_.rows.begin(), space_.rows.end(), point);
  // Only Candidate-0 may lie outside of the catalog's rows; the dearest row is near enough.
  if (row == space_.rows.end()) return *std::max_element(space_.costs.begin(), space_.costs.end());
  return space_.costs[static_cast<size_t>(row - space_.rows.begin())];
}

// Of more evaluations than it can hold: the fastest ones, which are what the climb moves among.
Forecast HillPolicy::forecast() const {
  Forecast forecast(space_, !space_.costs.empty());
  std::vector<const Evaluated*> known;
  for (const Evaluated& each : state_.evaluated) known.push_back(&each);
  if (known.size() > kMemory) {
    std::stable_sort(known.begin(), known.end(),
                     [](const Evaluated* a, const Evaluated* b) { return a->latency < b->latency; });
    known.resize(kMemory);
  }
  for (const Evaluated* each : known) forecast.learn(each->point, each->cost, each->latency);
  return forecast;
}

// Unvisited rows: of very many those with the lowest cost or, without costs, the
// nearest ones.
std::vector<Evaluated> HillPolicy::candidates() const {
  std::vector<Evaluated> found;
  std::vector<std::pair<double, size_t>> open;  // key to be small, row
  for (size_t row = 0; row < space_.rows.size(); ++row) {
    if (state_.visited.count(space_.rows[row]) != 0) continue;
    const double key = space_.costs.empty()
                           ? static_cast<double>(changed_knobs(space_.rows[row], state_.current).size())
                           : space_.costs[row];
    open.emplace_back(key, row);
  }
  if (open.size() > kCandidates) {
    std::nth_element(open.begin(), open.begin() + kCandidates, open.end());
    open.resize(kCandidates);
  }
  std::sort(open.begin(), open.end());
  for (const auto& [key, row] : open)
    found.push_back({space_.rows[row], space_.costs.empty() ? 0 : space_.costs[row], 0});
  return found;
}

// Each time the candidate with the largest expected gain. After the first of a batch, its expectation counts
// as its measurement.
std::vector<Point> HillPolicy::promising(size_t wanted) const {
  std::vector<Evaluated> open = candidates();
  std::vector<Point> chosen;
  Forecast forecast = this->forecast();
  const bool start = state_.evaluated.size() == 1 && !space_.costs.empty();
  while (chosen.size() < wanted && chosen.size() < open.size()) {
    size_t best = open.size();
    double best_gain = 0;
    Forecast::Expectation best_expectation;
    for (size_t i = 0; i < open.size(); ++i) {
      if (open[i].latency != 0) continue;  // chosen already
      const Forecast::Expectation expectation = forecast.expect(open[i].point, open[i].cost);
      const double gain = expected_gain(expectation, state_.latency);
      const bool better = best == open.size() || gain > best_gain ||
                          (gain == best_gain && expectation.log_latency < best_expectation.log_latency);
      if (!better) continue;
      best = i;
      best_gain = gain;
      best_expectation = expectation;
      if (start && chosen.empty()) break;  // the statically best row comes first
    }
    chosen.push_back(open[best].point);
    open[best].latency = portable_exp(best_expectation.log_latency);
    if (chosen.size() < wanted) forecast.learn(open[best].point, open[best].cost, open[best].latency);
  }
  return chosen;
}

}  // namespace zomboss::policies
