// A genetic algorithm over complete intents. Parents are chosen by tournament; a child takes whole sections
// of either parent (decisions that belong together stay together) and is then mutated: an ordered knob moves
// by steps of its sorted values, short ones more often than long ones, a choice or boolean is drawn again.
// The fastest of a generation live on (elitism). The first generation is Candidate-0 and random points; on a
// catalog with static costs, points that won a tournament of static cost.
//
// On a catalog each child becomes the nearest row that was not proposed yet. On a conditional surface
// children are preferences, which the resolver turns into the nearest legal plan; the plan is what enters the
// population.
//
// Options:
//   population  individuals of a generation, elite included (4..256, default 12)
//   elite       the fastest ones that live on unchanged (1..64 and less than population, default 4)
//   mutation    probability that a knob mutates (0..1, default 0.15); one knob does anyway when the child
//   would
//               equal a parent
//   crossover   probability that a child has two parents (0..1, default 0.8)
//   tournament  individuals among which the fastest becomes a parent (1..16, default 2)
//   batch       intents of one proposal (1..256, default 4); a generation ends one early. The result depends
//   on it,
//               never on the number of workers
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plugins/policies/common/space.h"
#include "zomboss/sdk/plugin.h"
#include "zomboss/sdk/random.h"

namespace zomboss::policies {

struct Individual {
  Point point;
  double latency = 0;
};

// All that changes during a search; saved and loaded as a whole (genetic_state.cc).
struct GeneticState {
  std::vector<Individual> population;  // fastest first, older first among equals
  std::vector<Individual> children;    // of this generation, as they were answered
  uint64_t generation = 0;
  uint64_t answered = 0;    // evaluations of this generation, failed ones included
  uint64_t duplicates = 0;  // intents in a row that led to a known plan
  uint64_t random_position = 0;
  std::set<Point> seen;  // requested or realized
};

std::string save_state(const Space& space, const GeneticState& state);
// Data loss when damaged or of another search.
Result<GeneticState> load_state(const Space& space, Bytes bytes);

class GeneticPolicy {
 public:
  static Result<std::unique_ptr<GeneticPolicy>> create(sdk::Call&, const wire::OptionsT& options);
  Status start(sdk::Call&, const wire::SearchContextT& context);
  Result<wire::ProposalT> propose(sdk::Call&, const wire::SearchStateT& state);
  Status observe(sdk::Call&, const wire::FeedbackBatchT& feedback);
  Result<std::string> save(sdk::Call&) const { return save_state(space_, state_); }
  Status load(sdk::Call&, Bytes bytes);

 private:
  uint64_t children_wanted() const;
  // A point that was not seen before, or false when there seems to be none.
  bool next_point(Random& random, Point& point) const;
  Point draw(Random& random) const;
  Point child(Random& random) const;
  const Individual& parent(Random& random) const;
  Point recombine(Random& random, const Point& a, const Point& b) const;
  void mutate_knob(Random& random, size_t knob, Point& point) const;
  bool snap(Point& point) const;
  void next_generation();

  int64_t population_ = 12;
  int64_t elite_ = 4;
  int64_t tournament_ = 2;
  int64_t batch_ = 4;
  double mutation_ = 0.15;
  double crossover_ = 0.8;
  uint64_t seed_ = 0;
  Space space_;
  std::vector<size_t> free_;  // knobs with more than one value
  GeneticState state_;
};

}  // namespace zomboss::policies
