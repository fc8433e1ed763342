// What a search says of itself: its trials, its best candidate, and what it spent. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/evaluate/evaluator.h"
#include "core/mapping/plan.h"
#include "zomboss/schema/policy_generated.h"
#include "zomboss/schema/proposal_generated.h"

namespace zomboss::search {

// What came of one proposed intent, of one plan that was chosen from a region, or of a region as a whole.
struct Trial {
  uint32_t proposal = 0;    // from 1
  uint32_t index = 0;       // in its proposal
  uint32_t evaluation = 0;  // from 1; 0 when it was rejected before evaluation
  wire::Outcome outcome = wire::Outcome::Valid;
  std::string intent;  // as mapping::intent_text; of a rejected region: its text
  std::string reason;  // of anything but Valid
  std::optional<mapping::Plan> plan;
  uint64_t latency = 0;                       // of a Valid trial, or the known one of a duplicate
  std::vector<evaluate::Scenario> scenarios;  // of a Valid trial
  double static_cost = 0;                     // the target's estimate, where it was asked for; else 0
  uint32_t known = 0;                         // of a duplicate: the evaluation that it repeats
  bool incumbent = false;                     // it became the fastest verified candidate
};

struct Candidate {
  mapping::Plan plan;
  evaluate::Evaluation evaluation;
};

// A plan that the surface names: what the vendor's library would choose, say. It need not verify.
struct Reference {
  std::string name, doc;
  Candidate candidate;

  bool verified() const { return candidate.evaluation.outcome == wire::Outcome::Valid; }
};

// Under one scenario: the best plan of the search against everything that the run verified.
struct Ranking {
  std::string scenario;
  uint64_t best = 0;       // of the plan that is best by the plain latency
  uint64_t fastest = 0;    // of all, so at most `best`
  std::string fastest_is;  // "evaluation 7", "Candidate-0", a reference's name

  bool stays() const { return best == fastest; }  // the best stays the best
  double miss() const { return static_cast<double>(best) / static_cast<double>(fastest) - 1; }
};

struct Report {
  Candidate candidate0;
  std::vector<Reference> references;  // in the surface's order
  Candidate best;                     // Candidate-0 itself when nothing was faster
  uint32_t best_evaluation = 0;       // 0 = Candidate-0
  std::vector<Trial> trials;
  std::vector<Ranking> ranking;  // in the simulator's order; empty when it states no scenarios
  uint32_t evaluations = 0;
  uint32_t proposals = 0;
  uint32_t recalled = 0;  // evaluations that were answered from the history
  uint32_t resumed = 0;   // proposals that were replayed from the history
  wire::UsageT usage;     // of a language model, over all proposals
  double seconds = 0;     // of searching, earlier sessions of a resumed run included
  // "evaluation budget (12)", "proposal budget (240)", "patience (...)", "policy: ...", "interrupted", ...
  std::string stop_reason;
  bool interrupted = false;  // it can be resumed
  bool failed = false;       // the policy or the target's plugin ended it: stop_reason says how

  double speedup() const;
  // How many trials ended in each outcome other than Valid, by outcome name.
  std::map<std::string, uint32_t> rejections() const;
};

// "valid", "wrong", "lowering failed", "duplicate", ...
std::string_view outcome_name(wire::Outcome outcome);
// The outcome of that name; nothing when there is none.
std::optional<wire::Outcome> outcome_of_name(std::string_view name);

// The latency under the scenario of that name; nothing when there is none.
std::optional<uint64_t> latency_under(const std::vector<evaluate::Scenario>& scenarios,
                                      std::string_view name);
// What `ranking` says, from the other members.
std::vector<Ranking> rank_scenarios(const Report& report);

void add_usage(wire::UsageT& sum, const wire::UsageT& usage);

}  // namespace zomboss::search
