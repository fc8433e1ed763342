// The rows of a catalog surface, found by their values: one bit set of rows per value where memory allows,
// else a scan.
#pragma once

#include <vector>

#include "core/resolver/compiled_search.h"
#include "core/resolver/question.h"

namespace zomboss::resolver {

// Borrows both; uses `search` to evaluate constraints. One thread at a time.
class CatalogIndex {
 public:
  CatalogIndex(const mapping::Surface& surface, CompiledSearch& search);

  // The first row that has the fixed values and meets the constraints. Rows ascend in default order.
  Verdict first(const Question& question, Positions* found);
  // Each such row in order until `visit` returns false.
  void each(const Question& question, const CompiledSearch::Visit& visit);
  // What a question may cost, in steps.
  uint64_t cost(const Question& question) const;
  // The rows that meet all constraints of the surface.
  size_t legal_rows() const { return legal_rows_; }

 private:
  using Rows = std::vector<uint64_t>;  // bit set

  Rows matching(const Question& question) const;
  Positions positions(size_t row) const;

  const mapping::Surface& surface_;
  CompiledSearch& search_;
  Rows legal_;  // rows that meet all constraints
  size_t legal_rows_ = 0;
  std::vector<std::vector<Rows>> rows_with_;  // [knob][position]; empty when it would be too large
};

}  // namespace zomboss::resolver
