#include "core/resolver/catalog_index.h"

#include <algorithm>
#include <bit>

namespace zomboss::resolver {
namespace {

constexpr size_t kIndexBytes = size_t{64} << 20;

void set_bit(std::vector<uint64_t>& rows, size_t row) {
  rows[row / 64] |= uint64_t{1} << (row % 64);
}

}  // namespace

CatalogIndex::CatalogIndex(const mapping::Surface& surface, CompiledSearch& search)
    : surface_(surface), search_(search) {
  const size_t rows = surface.row_count();
  const size_t words = (rows + 63) / 64;
  legal_.assign(words, 0);
  const std::vector<uint8_t> all(surface.constraints().size(), 1);
  for (size_t row = 0; row < rows; ++row) {
    if (!search.holds(all, positions(row))) continue;
    set_bit(legal_, row);
    ++legal_rows_;
  }
  size_t values = 0;
  for (const mapping::Knob& knob : surface.knobs()) values += knob.values.size();
  if (values * words * sizeof(uint64_t) > kIndexBytes) return;
  for (size_t k = 0; k < surface.knobs().size(); ++k) {
    auto& sets = rows_with_.emplace_back(surface.knob(k).values.size(), Rows(words, 0));
    for (size_t row = 0; row < rows; ++row) set_bit(sets[surface.row(row)[k]], row);
  }
}

uint64_t CatalogIndex::cost(const Question& question) const {
  const size_t rows = surface_.row_count();
  uint64_t per_fixed = rows_with_.empty() ? rows : legal_.size(), total = legal_.size(), nodes = 0;
  size_t counting = 0;
  for (int32_t fixed : question.fixed) total += fixed == Question::kFree ? 0 : per_fixed;
  for (size_t c = 0; c < question.constraints.size(); ++c) {
    if (question.constraints[c] == 0) continue;
    nodes += surface_.constraints()[c].assertion.nodes.size();
    ++counting;
  }
  return total + (counting == question.constraints.size() ? 0 : nodes * rows);
}

Positions CatalogIndex::positions(size_t row) const {
  const auto cells = surface_.row(row);
  return {cells.begin(), cells.end()};
}

CatalogIndex::Rows CatalogIndex::matching(const Question& question) const {
  const size_t rows = surface_.row_count();
  Rows result(legal_.size(), ~uint64_t{0});
  if (rows % 64 != 0) result.back() = (uint64_t{1} << (rows % 64)) - 1;
  for (size_t k = 0; k < question.fixed.size(); ++k) {
    const int32_t fixed = question.fixed[k];
    if (fixed == Question::kFree) continue;
    if (!rows_with_.empty()) {
      const Rows& with = rows_with_[k][static_cast<size_t>(fixed)];
      for (size_t word = 0; word < result.size(); ++word) result[word] &= with[word];
      continue;
    }
    for (size_t row = 0; row < rows; ++row) {
      if (surface_.row(row)[k] != fixed) result[row / 64] &= ~(uint64_t{1} << (row % 64));
    }
  }
  return result;
}

void CatalogIndex::each(const Question& question, const CompiledSearch::Visit& visit) {
  Rows rows = matching(question);
  const bool all =
      std::all_of(question.constraints.begin(), question.constraints.end(), [](uint8_t c) { return c != 0; });
  const bool none = std::none_of(question.constraints.begin(), question.constraints.end(),
                                 [](uint8_t c) { return c != 0; });
  for (size_t word = 0; word < rows.size(); ++word) {
    uint64_t bits = all ? rows[word] & legal_[word] : rows[word];
    for (; bits != 0; bits &= bits - 1) {
      const Positions candidate = positions(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
      if (!all && !none && !search_.holds(question.constraints, candidate)) continue;
      if (!visit(candidate)) return;
    }
  }
}

Verdict CatalogIndex::first(const Question& question, Positions* found) {
  Verdict verdict = Verdict::kIllegal;
  each(question, [&](const Positions& positions) {
    *found = positions;
    verdict = Verdict::kLegal;
    return false;
  });
  return verdict;
}

}  // namespace zomboss::resolver
