#include "core/resolver/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace zomboss::resolver {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kLastResort = 20;  // times the search budget, after Z3 gave up too

uint64_t times(uint64_t steps, uint64_t factor) {
  return steps > kNoLimit / factor ? kNoLimit : steps * factor;
}

}  // namespace

QuestionEngine::QuestionEngine(const mapping::Surface& surface, const Options& options)
    : surface_(surface), options_(options), search_(surface), solver_(surface, options.solver_resources) {
  if (surface.is_catalog()) catalog_.emplace(surface, search_);
}

Verdict QuestionEngine::first(const Question& question, Positions* found, Effort& effort) {
  if (options_.engine == Engine::kSolver) {
    uint64_t unlimited = kNoLimit;
    return solver_.first(question, found, unlimited);
  }
  if (question.catalog) {
    const bool enough = effort.spend(catalog_->cost(question)) || options_.engine == Engine::kCompiled;
    return enough ? catalog_->first(question, found) : Verdict::kUnknown;
  }
  if (options_.engine == Engine::kCompiled) return search_.first(question, kNoLimit, found);
  Verdict verdict = search(question, options_.search_steps, found, effort);
  if (verdict != Verdict::kUnknown || effort.solver_resources == 0) return verdict;
  verdict = solver_.first(question, found, effort.solver_resources);
  if (verdict == Verdict::kUnknown)
    verdict = search(question, times(options_.search_steps, kLastResort), found, effort);
  return verdict;
}

Verdict QuestionEngine::search(const Question& question, uint64_t steps, Positions* found, Effort& effort) {
  const Verdict verdict = search_.first(question, std::min(steps, effort.steps), found);
  effort.spend(search_.steps_used());
  return verdict;
}

Effort QuestionEngine::decision_effort() const {
  return {times(options_.search_steps, 2 * kLastResort), uint64_t{10} * options_.solver_resources};
}

Effort QuestionEngine::explanation_effort() const {
  return {times(options_.search_steps, 2 * kLastResort), uint64_t{5} * options_.solver_resources};
}

std::string QuestionEngine::why_unknown() const {
  if (solver_.reason().empty())
    return "could not be decided within the effort limit; set more knobs, or raise it";
  return fmt::format(
      "could not be decided: Z3 stopped ({}) within its limit of {} resource units, and the search within {} "
      "steps; set "
      "more knobs, or raise the limits",
      solver_.reason() == "canceled" ? "out of resources" : solver_.reason(), options_.solver_resources,
      options_.search_steps);
}

}  // namespace zomboss::resolver
