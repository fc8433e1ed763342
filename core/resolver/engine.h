// Chooses who answers a question: the catalog index, the compiled search, Z3.
#pragma once

#include <optional>
#include <string>

#include "core/resolver/catalog_index.h"
#include "core/resolver/compiled_search.h"
#include "core/resolver/resolver.h"
#include "core/resolver/z3_solver.h"

namespace zomboss::resolver {

// One thread at a time. Borrows the surface.
class QuestionEngine {
 public:
  QuestionEngine(const mapping::Surface& surface, const Options& options);

  // The first legal assignment. kUnknown: why_unknown() says what was tried. `effort` limits the engine
  // kAuto.
  Verdict first(const Question& question, Positions* found, Effort& effort);
  std::string why_unknown() const;

  // For all questions of a completion or derivation, and apart from it (so that reasons never change
  // verdicts) for all explanations of it.
  Effort decision_effort() const;
  Effort explanation_effort() const;

  const mapping::Surface& surface() const { return surface_; }
  const Options& options() const { return options_; }
  CompiledSearch& search() { return search_; }
  CatalogIndex* catalog() { return catalog_ ? &*catalog_ : nullptr; }  // null for conditional surfaces

 private:
  Verdict search(const Question& question, uint64_t steps, Positions* found, Effort& effort);

  const mapping::Surface& surface_;
  Options options_;
  CompiledSearch search_;
  std::optional<CatalogIndex> catalog_;
  Z3Solver solver_;
};

}  // namespace zomboss::resolver
