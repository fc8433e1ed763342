#include "plugins/policies/hill/hill_policy.h"

#include <algorithm>

#include "plugins/policies/common/options.h"

namespace zomboss::policies {
namespace {

constexpr uint64_t kStream = 2;
constexpr int kDraws = 1000;        // attempts to find an unvisited point of a conditional surface
constexpr double kFailedRatio = 2;  // what a change that led to no valid plan counts as

wire::ProposalT stop(std::string why) {
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Stop;
  proposal.rationale = std::move(why);
  return proposal;
}

// A first change of an ordered knob goes three quarters of the way to the far end of its domain: far enough
// to show what the knob does, short of the end, where joint limits bite. Here: how far `to` is from that, in
// quarter ranks.
uint64_t distance_to_probe(const SpaceKnob& knob, uint32_t from, uint32_t to) {
  const uint64_t last = knob.values.size() - 1;
  const uint64_t probe = 2 * knob.rank[from] <= last ? 3 * last : last;
  const uint64_t at = uint64_t{4} * knob.rank[to];
  return at > probe ? at - probe : probe - at;
}

}  // namespace

Result<std::unique_ptr<HillPolicy>> HillPolicy::create(sdk::Call&, const wire::OptionsT& options) {
  auto policy = std::make_unique<HillPolicy>();
  std::string improvement = "expected";
  OptionReader reader("hill", options);
  ZB_TRY(reader.word("improvement", {"expected", "first", "best"}, improvement));
  ZB_TRY(reader.integer("reach", 1, 4, policy->reach_));
  ZB_TRY(reader.integer("restarts", 0, 1'000'000, policy->restarts_));
  ZB_TRY(reader.integer("batch", 1, 64, policy->batch_));
  ZB_TRY(reader.finish());
  policy->improvement_ = improvement == "expected" ? Improvement::kExpected
                         : improvement == "first"  ? Improvement::kFirst
                                                   : Improvement::kBest;
  return policy;
}

Status HillPolicy::start(sdk::Call&, const wire::SearchContextT& context) {
  ZB_ASSIGN(space_, Space::from_context(context));
  if (!(context.candidate0_latency > 0))
    return invalid_argument("the latency of Candidate-0 is not positive");
  seed_ = context.seed;
  state_ = HillState();
  state_.current = space_.start;
  state_.latency = context.candidate0_latency;
  state_.visited = {space_.start};
  state_.effects = Effects(space_);
  if (space_.catalog) state_.evaluated = {{space_.start, cost_of(space_.start), context.candidate0_latency}};
  return {};
}

// Rows at the least distance at which the catalog has any; with reach, farther ones once those are all
// visited.
std::vector<Point> HillPolicy::catalog_neighbours() const {
  std::vector<size_t> distances;
  size_t least = SIZE_MAX;
  for (const Point& row : space_.rows) {
    distances.push_back(changed_knobs(row, state_.current).size());
    if (distances.back() > 0) least = std::min(least, distances.back());
  }
  std::vector<Point> found;
  const size_t farthest =
      std::max(least, improvement_ == Improvement::kFirst ? static_cast<size_t>(reach_) : size_t{1});
  for (size_t distance = least; found.empty() && distance <= farthest && least != SIZE_MAX; ++distance)
    for (size_t row = 0; row < space_.rows.size(); ++row)
      if (distances[row] == distance && state_.visited.count(space_.rows[row]) == 0)
        found.push_back(space_.rows[row]);
  return found;
}

std::vector<Point> HillPolicy::free_neighbours() const {
  std::vector<Point> found;
  for (size_t k = 0; k < space_.knobs.size(); ++k) {
    Point point = state_.current;
    for (uint32_t value = 0; value < space_.knobs[k].values.size(); ++value) {
      point[k] = value;
      if (state_.visited.count(point) == 0) found.push_back(point);
    }
  }
  return found;
}

// By the expected latency; among equals the probing steps first, then the order of the surface.
void HillPolicy::order(std::vector<Point>& points) const {
  struct Key {
    double expected;
    uint64_t off_target;
    size_t index;
  };
  std::vector<Key> keys;
  for (size_t i = 0; i < points.size(); ++i) {
    Key key{1, 0, i};
    for (const size_t k : changed_knobs(points[i], state_.current)) {
      key.expected *= state_.effects.expect(k, state_.current[k], points[i][k]);
      const SpaceKnob& knob = space_.knobs[k];
      if (knob.ordered) key.off_target += distance_to_probe(knob, state_.current[k], points[i][k]);
    }
    keys.push_back(key);
  }
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return a.expected != b.expected ? a.expected < b.expected : a.off_target < b.off_target;
  });
  std::vector<Point> sorted;
  for (const Key& key : keys) sorted.push_back(std::move(points[key.index]));
  points = std::move(sorted);
}

std::vector<Point> HillPolicy::neighbours() const {
  std::vector<Point> found = space_.catalog ? catalog_neighbours() : free_neighbours();
  order(found);
  return found;
}

bool HillPolicy::random_point(Point& point) {
  Random random(seed_, kStream);
  random.skip_to(state_.random_position);
  bool found = false;
  if (space_.catalog) {
    std::vector<size_t> open;
    for (size_t row = 0; row < space_.rows.size(); ++row)
      if (state_.visited.count(space_.rows[row]) == 0) open.push_back(row);
    found = !open.empty();
    if (found) point = space_.rows[open[random.below(open.size())]];
  } else {
    for (int draw = 0; draw < kDraws && !found; ++draw) {
      point.clear();
      for (const SpaceKnob& knob : space_.knobs)
        point.push_back(static_cast<uint32_t>(random.below(knob.values.size())));
      found = state_.visited.count(point) == 0;
    }
  }
  state_.random_position = random.position();
  return found;
}

wire::ProposalT HillPolicy::propose_points(const std::vector<Point>& points, std::string why) {
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Intents;
  proposal.rationale = std::move(why);
  state_.pending = points;
  for (const Point& point : points) {
    state_.visited.insert(point);
    proposal.intents.push_back(space_.catalog
                                   ? space_.exact_intent(point)
                                   : space_.preferred_intent(point, changed_knobs(point, state_.current)));
  }
  return proposal;
}

Result<wire::ProposalT> HillPolicy::propose(sdk::Call&, const wire::SearchStateT& state) {
  if (space_.knobs.empty()) return failed_precondition("propose was called before start");
  const size_t wanted = std::min(static_cast<size_t>(batch_), std::max<size_t>(1, state.evaluations_left));
  for (;;) {
    std::vector<Point> open = forecasts() ? promising(wanted) : neighbours();
    if (!open.empty()) {
      if (open.size() > wanted) open.resize(wanted);
      const auto changed = changed_knobs(open[0], state_.current);
      std::string why = "neighbour in";
      for (const size_t k : changed) why += " " + space_.knobs[k].name;
      return propose_points(open, std::move(why));
    }
    if (state_.best_neighbour.empty()) break;
    state_.current = std::exchange(state_.best_neighbour, {});
    state_.latency = state_.best_latency;
  }
  Point point;
  if (state_.restarts >= static_cast<uint64_t>(restarts_))
    return stop("local optimum, and all " + std::to_string(restarts_) + " restarts are used up");
  if (!random_point(point)) return stop("every point that this policy can find was visited");
  ++state_.restarts;
  state_.restarting = true;
  wire::ProposalT proposal =
      propose_points({point}, "local optimum: restart " + std::to_string(state_.restarts));
  if (!space_.catalog) proposal.intents[0] = space_.preferred_intent(point, {});
  return proposal;
}

// One answer. Only fresh valid plans move the climb.
void HillPolicy::answer(const Point& realized, const wire::FeedbackT& item) {
  const bool valid = item.outcome == wire::Outcome::Valid && item.latency > 0;
  const auto changed = changed_knobs(realized, state_.current);
  if (changed.size() == 1 && item.outcome < wire::Outcome::RejectedDuplicate)
    state_.effects.learn(changed[0], state_.current[changed[0]], realized[changed[0]],
                         valid ? item.latency / state_.latency : kFailedRatio);
  if (space_.catalog && item.outcome < wire::Outcome::RejectedDuplicate)
    state_.evaluated.push_back(
        {realized, cost_of(realized), valid ? item.latency : kFailedRatio * state_.latency});
  if (!valid) return;
  if (state_.restarting || (improvement_ != Improvement::kBest && item.latency < state_.latency)) {
    state_.current = realized;
    state_.latency = item.latency;
    state_.best_neighbour.clear();
  } else if (improvement_ == Improvement::kBest &&
             item.latency < (state_.best_neighbour.empty() ? state_.latency : state_.best_latency)) {
    state_.best_neighbour = realized;
    state_.best_latency = item.latency;
  }
}

Status HillPolicy::observe(sdk::Call&, const wire::FeedbackBatchT& feedback) {
  for (size_t i = 0; i < feedback.items.size() && i < state_.pending.size(); ++i) {
    const wire::FeedbackT& item = *feedback.items[i];
    Point realized = state_.pending[i];
    if (item.plan != nullptr) {
      ZB_ASSIGN(realized, space_.point_of(*item.plan));
    }
    state_.visited.insert(realized);
    answer(realized, item);
  }
  state_.pending.clear();
  state_.restarting = false;
  return {};
}

Status HillPolicy::load(sdk::Call&, Bytes bytes) {
  if (space_.knobs.empty()) return failed_precondition("load was called before start");
  HillState fresh;
  fresh.current = space_.start;
  fresh.effects = Effects(space_);
  ZB_ASSIGN(state_, load_state(space_, fresh, bytes));
  return {};
}

}  // namespace zomboss::policies
