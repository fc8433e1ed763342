// Every mapping there is, each once. Of a catalog: the rows, those with the lowest static cost first where
// the target has static costs, else in the catalog's order. Of a conditional surface: all combinations of
// values, in default order, the last knob fastest, with every decision hard; the host rejects the illegal
// ones, which costs proposals and no evaluations. At the end it says that the best is the optimum; until then
// each proposal says how far it got.
//
// Options: batch = intents of one proposal (1..256, default 256).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/policies/common/space.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::policies {

class ExhaustivePolicy {
 public:
  static Result<std::unique_ptr<ExhaustivePolicy>> create(sdk::Call&, const wire::OptionsT& options);
  Status start(sdk::Call&, const wire::SearchContextT& context);
  Result<wire::ProposalT> propose(sdk::Call&, const wire::SearchStateT& state);
  Status observe(sdk::Call&, const wire::FeedbackBatchT& feedback);
  Result<std::string> save(sdk::Call&) const;
  Status load(sdk::Call&, Bytes bytes);

 private:
  // Points have numbers, from 0; Candidate-0's is left out of what is proposed.
  bool finished() const { return !endless_ && progress_.position >= size_; }
  Point point(uint64_t number) const;
  void skip_start();
  std::string how_far(uint64_t last) const;
  wire::ProposalT end() const;

  // All that changes during a search.
  struct Progress {
    uint64_t position = 0;  // the number of the next point
    uint64_t legal = 0;     // answered ones that were not rejected
    uint64_t failed = 0;    // of these: evaluated without a latency
  };

  int64_t batch_ = 256;
  Space space_;
  std::vector<uint32_t> order_;  // of a catalog: rows in the order of the search
  uint64_t size_ = 0;            // points
  bool endless_ = false;         // more than 2^63 of them
  Progress progress_;
};

}  // namespace zomboss::policies
