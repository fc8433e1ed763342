#include "core/search/references.h"

#include <chrono>

#include "core/mapping/convert.h"

namespace zomboss::search {
namespace {

Result<evaluate::Evaluation> evaluate_reference(const mapping::Surface& surface, const mapping::Plan& plan,
                                                const std::string& unit, evaluate::Evaluator& evaluator,
                                                Journal* journal) {
  if (journal != nullptr) {
    ZB_ASSIGN(auto known, journal->recall(plan, unit, false));
    if (known) return *std::move(known);
  }
  const auto start = std::chrono::steady_clock::now();
  evaluate::Evaluation evaluation = evaluator.evaluate(mapping::to_wire(surface, plan));
  if (evaluation.abandoned) return Status(Code::kCancelled, "interrupted");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (journal != nullptr) ZB_TRY(journal->evaluated(plan, evaluation, seconds));
  return evaluation;
}

}  // namespace

Result<std::vector<Reference>> evaluate_references(const mapping::Surface& surface,
                                                   const Candidate& candidate0,
                                                   evaluate::Evaluator& evaluator, Journal* journal) {
  const std::vector<mapping::Origin> origins(surface.knobs().size(), mapping::Origin::Hard);
  std::vector<Reference> references;
  for (const mapping::Reference& named : surface.references()) {
    Reference reference{named.name, named.doc, {mapping::make_plan(surface, named.values, origins, {}), {}}};
    evaluate::Evaluation& evaluation = reference.candidate.evaluation;
    if (reference.candidate.plan.same_mapping(candidate0.plan)) {
      evaluation = candidate0.evaluation;
    } else {
      ZB_ASSIGN(evaluation, evaluate_reference(surface, reference.candidate.plan, candidate0.evaluation.unit,
                                               evaluator, journal));
    }
    evaluation.program.clear();  // nobody asks for them
    evaluation.simulation.timeline.clear();
    references.push_back(std::move(reference));
  }
  return references;
}

}  // namespace zomboss::search
