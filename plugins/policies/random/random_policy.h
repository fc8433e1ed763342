// Random sampling without replacement. On a catalog: uniformly over the rows that were not proposed yet. On a
// conditional surface: each knob uniformly over its domain, as preferences, so that the resolver finds the
// nearest legal plan; points that were requested or realized before are drawn again.
//
// Options: batch = intents of one proposal (1..64, default 4). The sequence of points does not depend on it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plugins/policies/common/space.h"
#include "zomboss/sdk/plugin.h"
#include "zomboss/sdk/random.h"

namespace zomboss::policies {

class RandomPolicy {
 public:
  static Result<std::unique_ptr<RandomPolicy>> create(sdk::Call&, const wire::OptionsT& options);
  Status start(sdk::Call&, const wire::SearchContextT& context);
  Result<wire::ProposalT> propose(sdk::Call&, const wire::SearchStateT& state);
  Status observe(sdk::Call&, const wire::FeedbackBatchT& feedback);
  Result<std::string> save(sdk::Call&) const;
  Status load(sdk::Call&, Bytes bytes);

 private:
  bool next_row(Point& point);
  bool next_draw(Point& point);

  int64_t batch_ = 4;
  Space space_;
  Random random_{0, 0};
  std::vector<uint32_t> order_;  // of a catalog: its rows, shuffled, without Candidate-0's
  uint64_t position_ = 0;        // in order_
  std::set<Point> seen_;         // of a conditional surface: requested or realized
  uint64_t duplicates_ = 0;      // intents in a row that led to a known plan
};

}  // namespace zomboss::policies
