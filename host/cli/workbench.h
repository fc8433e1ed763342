// One workload on one target, ready to be searched: surface, oracle, evaluators, Candidate-0. Made once and
// used by all searches of that workload, whatever their policy and seed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/history/history.h"
#include "core/search/controller.h"
#include "host/cli/tasks.h"

namespace zomboss::cli {

class Workbench {
 public:
  // `jobs`: evaluators that work at once, each with a target of its own; at most the evaluation budget.
  // Aborted when Candidate-0 does not verify. Failed precondition when `workload_hash` is not empty and not
  // the workload's.
  static Result<std::unique_ptr<Workbench>> open(Session& session, const Task& task, size_t jobs,
                                                 const std::string& workload_hash = "");

  const Problem& problem() const { return problem_; }
  const evaluate::Reference& reference() const { return reference_; }
  evaluate::Target& target() const { return *target_; }
  evaluate::EvaluatorPool& evaluators() { return *pool_; }
  const search::Candidate& candidate0() const { return candidate0_; }
  const std::optional<wire::BoundT>& bound() const { return bound_; }
  // The surface's references, evaluated at the first call; later ones return the same. `journal` may be null.
  Result<const std::vector<search::Reference>*> references(search::Journal* journal);
  // What the history knows the problem by.
  const history::Problem& record() const { return record_; }

  // Resolver, evaluators, Candidate-0, the references if they are evaluated, and what the policy is told;
  // without policy, folder and journal.
  search::Inputs inputs();

 private:
  Workbench() = default;
  Status make_record(Session& session);

  Problem problem_;
  evaluate::Reference reference_;
  evaluate::Target* target_ = nullptr;
  std::vector<std::unique_ptr<evaluate::Evaluator>> evaluators_;
  std::optional<evaluate::EvaluatorPool> pool_;
  search::Candidate candidate0_;
  std::optional<std::vector<search::Reference>> references_;
  std::optional<wire::BoundT> bound_;
  std::vector<std::string> facts_;
  std::vector<double> static_costs_;
  history::Problem record_;
};

// "scratchpad: 256 KiB, 16384 rows of 16 bytes, 4 banks", a line for each memory, then engines and
// parameters.
std::vector<std::string> machine_facts(const wire::ModelT& model);

// "k=v" lines.
std::string options_text(const wire::OptionsT& options);

// The number of evaluators for --jobs: 0 = one for each processor, at most 256.
size_t job_count(const config::Config& config);

}  // namespace zomboss::cli
