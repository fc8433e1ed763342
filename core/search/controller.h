// One search: Candidate-0 and the surface's references, then propose, complete, evaluate, feed back, until a
// budget is spent or the policy stops. Rejections (illegal, duplicate, invalid) consume proposals, never
// evaluations; only a strict improvement replaces the incumbent. The plans of one proposal are evaluated side
// by side and told in order, so the same surface, policy, seed and budget give the same report for any number
// of evaluators.
//
// With a journal each result is in the history before anybody is told of it, and a search that was cut off is
// resumed by repeating it: the policy proposes again what it proposed, evaluations come from the history, and
// each step must agree with what was recorded. From there on it goes on live.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/evaluate/pool.h"
#include "core/resolver/resolver.h"
#include "core/search/budget.h"
#include "core/search/journal.h"
#include "core/search/policy.h"
#include "core/search/record.h"
#include "core/search/references.h"

namespace zomboss::search {

// Told as things happen, on the calling thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_candidate0(const Candidate&) {}
  virtual void on_reference(const Reference&, const std::string& /*unit*/) {}
  virtual void on_trial(const Trial&, const Report&) {}
};

struct Options {
  Budget budget;
  uint64_t seed = 1;
  // Set: finish the evaluations that run, then stop. Of a proposal that is not done nothing is recorded but
  // its finished evaluations; a resumed search makes it again.
  const std::atomic<bool>* cancelled = nullptr;
  // Why the search must end now, or "": asked between proposals (a plugin that is quarantined, say).
  std::function<std::string()> halt;
};

// What a search works on. All pointers are borrowed for the call; those that may be null say so.
struct Inputs {
  resolver::Resolver* resolver = nullptr;
  evaluate::EvaluatorPool* evaluators = nullptr;
  Policy* policy = nullptr;
  const wire::WorkloadT* workload = nullptr;           // what the policy sees
  const Candidate* candidate0 = nullptr;               // null: evaluated first
  const std::vector<Reference>* references = nullptr;  // the surface's; null: evaluated behind Candidate-0
  const std::vector<std::string>* facts = nullptr;     // of the machine, for the policy; may be null
  const wire::BoundT* bound = nullptr;                 // may be null
  const std::vector<double>* static_costs = nullptr;   // of a catalog's rows; may be null
  std::string folder;                                  // for files of the policy; empty = none
  Journal* journal = nullptr;                          // may be null: nothing is recorded
};

// The plan of the empty intent, evaluated. Failed precondition when it does not verify, with the first
// difference.
Result<Candidate> evaluate_candidate0(resolver::Resolver& resolver, evaluate::Evaluator& evaluator);

// The target's static cost of each row of a catalog surface; empty for other surfaces, and when the target
// has no estimate for some row.
std::vector<double> catalog_costs(const mapping::Surface& surface, evaluate::EvaluatorPool& evaluators);

// Fails when Candidate-0 does not verify, when the history cannot be written, or when a resumed search is not
// the one that was recorded. A policy that fails ends the search; the report has what it found.
Result<Report> run_search(const Inputs& inputs, const Options& options, Observer& observer);

}  // namespace zomboss::search
