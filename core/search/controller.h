// One search: Candidate-0, then propose, complete, evaluate, feed back, until a budget is spent or the policy
// stops. Rejections (illegal, duplicate, invalid) consume proposals, never evaluations; only a strict
// improvement replaces the incumbent. The same surface, policy, seed and budget give the same report.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluate/evaluator.h"
#include "core/resolver/resolver.h"
#include "core/search/policy.h"

namespace zomboss::search {

struct Budget {
  uint32_t evaluations = 12;  // Candidate-0 is outside
  uint32_t proposals = 240;
  uint32_t patience = 0;  // evaluations without improvement; 0 = no such rule
};

// `evaluations` as asked, 0 = by the surface: 12 for a catalog, 80 for a conditional one. 20 proposals for
// each evaluation.
Budget default_budget(const mapping::Surface& surface, uint32_t evaluations = 0);

// One proposed intent and what came of it.
struct Trial {
  uint32_t proposal = 0;    // from 1
  uint32_t index = 0;       // of the intent in its proposal
  uint32_t evaluation = 0;  // from 1; 0 when it was rejected before evaluation
  wire::Outcome outcome = wire::Outcome::Valid;
  std::string intent;  // as mapping::intent_text
  std::string reason;  // of anything but Valid
  std::optional<mapping::Plan> plan;
  uint64_t latency = 0;    // of a Valid trial, or the known one of a duplicate
  bool incumbent = false;  // it became the fastest verified candidate
};

struct Candidate {
  mapping::Plan plan;
  evaluate::Evaluation evaluation;
};

struct Report {
  Candidate candidate0;
  Candidate best;                // Candidate-0 itself when nothing was faster
  uint32_t best_evaluation = 0;  // 0 = Candidate-0
  std::vector<Trial> trials;
  uint32_t evaluations = 0;
  uint32_t proposals = 0;
  std::string
      stop_reason;  // "evaluation budget", "proposal budget", "patience", "policy: ...", "interrupted"

  double speedup() const;
  // How many trials ended in each outcome other than Valid, by outcome name.
  std::map<std::string, uint32_t> rejections() const;
};

// "valid", "wrong", "lowering failed", "duplicate", ...
std::string_view outcome_name(wire::Outcome outcome);

// Told as things happen, on the calling thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_candidate0(const Candidate&) {}
  virtual void on_trial(const Trial&, const Report&) {}
};

struct Options {
  Budget budget;
  uint64_t seed = 1;
  const std::atomic<bool>* cancelled = nullptr;  // finish the trial at hand, then stop
};

// The plan of the empty intent, evaluated. Failed precondition when it does not verify, with the first
// difference.
Result<Candidate> evaluate_candidate0(resolver::Resolver& resolver, evaluate::Evaluator& evaluator);

// `workload` is what the policy sees. All references are borrowed for the call.
Result<Report> run_search(resolver::Resolver& resolver, evaluate::Evaluator& evaluator, Policy& policy,
                          const wire::WorkloadT& workload, const Options& options, Observer& observer);

}  // namespace zomboss::search
