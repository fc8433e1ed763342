// Hill climbing from Candidate-0: evaluate the most promising point that was not visited, stand where it is
// best.
//
// Of a catalog any row may be next. A forecast learned from all evaluations, and from the target's static
// costs where it has some, says what a row is expected to gain (forecast.h); the statically best row is the
// first. Of a conditional surface the next point differs from the current one in a single decision; what
// changed decisions did so far says which one (effects.h). At a local optimum the climb restarts from a
// random point that was not visited, and it stops when its restarts are used up.
//
// Options:
//   improvement  "expected": as above (default)
//                "first": neighbours alone on a catalog, too: rows at the least Hamming distance;
//                go on from the first better one
//                "best": the same, but try all neighbours and take the best
//   reach        before a restart, also try neighbours of up to this many decisions (1..4,
//                default 2; of a catalog with "first" only)
//   restarts     how many (0..1000000, default 1000000)
//   batch        points of one proposal (1..64, default 1). More of them use more workers and learn less per
//                evaluation; the result depends on it, but never on the number of workers
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plugins/policies/common/space.h"
#include "plugins/policies/hill/effects.h"
#include "plugins/policies/hill/forecast.h"
#include "zomboss/sdk/plugin.h"
#include "zomboss/sdk/random.h"

namespace zomboss::policies {

struct Evaluated {
  Point point;
  double cost = 0;  // static, 0 = unknown
  double latency = 0;
};

// All that changes during a search; saved and loaded as a whole (hill_state.cc).
struct HillState {
  Point current;               // where the climb stands
  double latency = 0;          // of current
  Point best_neighbour;        // improvement = best: the best of this round, empty when none is better
  double best_latency = 0;     // of best_neighbour
  std::set<Point> visited;     // requested or realized
  std::vector<Point> pending;  // of the last proposal, in order, until they are answered
  bool restarting = false;     // pending is the start of a new climb
  uint64_t restarts = 0;       // done
  uint64_t random_position = 0;
  Effects effects;
  std::vector<Evaluated> evaluated;  // of a catalog: Candidate-0 first, failures with a high latency
};

std::string save_state(const Space& space, const HillState& state);
// Data loss when damaged or of another search. `fresh` is the state of a new search in this space.
Result<HillState> load_state(const Space& space, const HillState& fresh, Bytes bytes);

class HillPolicy {
 public:
  static Result<std::unique_ptr<HillPolicy>> create(sdk::Call&, const wire::OptionsT& options);
  Status start(sdk::Call&, const wire::SearchContextT& context);
  Result<wire::ProposalT> propose(sdk::Call&, const wire::SearchStateT& state);
  Status observe(sdk::Call&, const wire::FeedbackBatchT& feedback);
  Result<std::string> save(sdk::Call&) const { return save_state(space_, state_); }
  Status load(sdk::Call&, Bytes bytes);

 private:
  enum class Improvement : uint8_t { kExpected, kFirst, kBest };

  bool forecasts() const { return improvement_ == Improvement::kExpected && space_.catalog; }
  std::vector<Point> promising(size_t wanted) const;  // by the forecast
  std::vector<Evaluated> candidates() const;          // what they are chosen from; latency unset
  Forecast forecast() const;
  double cost_of(const Point& point) const;
  std::vector<Point> neighbours() const;  // unvisited, most promising first
  std::vector<Point> catalog_neighbours() const;
  std::vector<Point> free_neighbours() const;
  void order(std::vector<Point>& points) const;
  bool random_point(Point& point);
  wire::ProposalT propose_points(const std::vector<Point>& points, std::string why);
  void answer(const Point& realized, const wire::FeedbackT& item);

  Improvement improvement_ = Improvement::kExpected;
  int64_t reach_ = 2;
  int64_t restarts_ = 1'000'000;
  int64_t batch_ = 1;
  uint64_t seed_ = 0;
  Space space_;
  HillState state_;
};

}  // namespace zomboss::policies
