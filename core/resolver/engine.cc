#include "core/resolver/engine.h"

#include <fmt/format.h>

#include <limits>

namespace zomboss::resolver {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kLastResort = 20;  // times the search budget, after Z3 gave up too

}  // namespace

QuestionEngine::QuestionEngine(const mapping::Surface& surface, const Options& options)
    : surface_(surface), options_(options), search_(surface), solver_(surface, options.solver_resources) {
  if (surface.is_catalog()) catalog_.emplace(surface, search_);
}

Verdict QuestionEngine::first(const Question& question, Positions* found) {
  if (options_.engine == Engine::kSolver) return solver_.first(question, found);
  if (question.catalog) return catalog_->first(question, found);
  if (options_.engine == Engine::kCompiled) return search_.first(question, kNoLimit, found);
  Verdict verdict = search_.first(question, options_.search_steps, found);
  if (verdict == Verdict::kUnknown) verdict = solver_.first(question, found);
  if (verdict == Verdict::kUnknown) {
    const bool fits = options_.search_steps < kNoLimit / kLastResort;
    verdict = search_.first(question, fits ? options_.search_steps * kLastResort : kNoLimit, found);
  }
  return verdict;
}

std::string QuestionEngine::why_unknown() const {
  return fmt::format(
      "could not be decided: Z3 stopped ({}) within its limit of {} resource units, and the search within {} "
      "steps; set "
      "more knobs, or raise the limits",
      solver_.reason() == "canceled" ? "out of resources" : solver_.reason(), options_.solver_resources,
      options_.search_steps);
}

}  // namespace zomboss::resolver
