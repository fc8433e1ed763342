// One instance of a suite, ready to be searched by any policy without running its target twice for a plan.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/config/suite.h"
#include "core/evaluate/target.h"
#include "core/evaluate/workload.h"
#include "core/resolver/resolver.h"
#include "core/search/policy.h"
#include "tests/perf/regret/costs.h"

namespace zomboss::regret {

// What one search came to.
struct Outcome {
  double best = 0;     // latency, Candidate-0 included
  double optimum = 0;  // of the rows that were there; of a conditional surface 0
  uint32_t evaluations = 0;
  uint32_t proposals = 0;
  uint32_t duplicates = 0;
  uint32_t illegal = 0;
};

// Borrows the target and the costs. One thread. Numbers are not compared with an oracle here: other tests
// verify the rows of the catalogs.
class Bench {
 public:
  // `identity` names target, version and options in the keys of the costs.
  static Result<std::unique_ptr<Bench>> open(const config::Instance& instance, evaluate::Target& target,
                                             const std::string& identity, Costs& costs);

  const std::string& name() const { return name_; }
  const mapping::Surface& surface() const { return *surface_; }
  double candidate0() const { return candidate0_latency_; }
  // Lowest latency known: of a catalog after measure_rows(), the optimum.
  double best() const { return best_; }

  // Of a catalog: measures every row. Costs of rows in catalog order. offer_estimates: policies are told the
  // target's own.
  Result<std::vector<Cost>> measure_rows(bool offer_estimates);
  // As the host's controller: completes intents, refuses illegal and known ones, evaluates the others.
  // drop: so many percent of a catalog's rows are left out, other ones for each seed.
  Result<Outcome> search(search::Policy& policy, uint64_t seed, uint32_t evaluations, uint32_t drop);

 private:
  struct Entry {
    wire::PlanT message;
    Cost cost;
  };
  Result<const Entry*> entry(const mapping::Plan& plan);
  Result<const mapping::Plan*> row_plan(const wire::IntentT& intent);
  Result<wire::FeedbackT> answer(const wire::IntentT& intent, std::map<Hash, double>& known,
                                 Outcome& outcome);
  wire::SearchContextT context(uint64_t seed, uint32_t evaluations);
  double drop_rows(uint64_t seed, uint32_t percent, wire::SearchContextT& context) const;

  std::string name_, identity_;
  evaluate::Target* target_ = nullptr;
  Costs* costs_ = nullptr;
  evaluate::Workload workload_;
  std::string inputs_;  // encoded; made when something must be measured
  std::unique_ptr<mapping::Surface> surface_;
  std::unique_ptr<resolver::Resolver> resolver_;
  mapping::Plan candidate0_;
  double candidate0_latency_ = 0;
  double best_ = 0;
  std::map<Hash, Entry> entries_;
  std::map<std::vector<int64_t>, mapping::Plan> rows_;  // of a catalog, by values
  std::vector<double> latencies_;                       // by row
  std::vector<double> estimates_;                       // by row; empty = unknown
};

}  // namespace zomboss::regret
