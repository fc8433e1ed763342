#include "core/resolver/compiled_search.h"

#include <algorithm>
#include <bit>

namespace zomboss::resolver {

using mapping::Bounds;
using mapping::Knob;

CompiledSearch::CompiledSearch(const mapping::Surface& surface)
    : surface_(surface), watchers_(surface.knobs().size()) {
  for (const Knob& knob : surface.knobs()) {
    const auto [low, high] = std::minmax_element(knob.values.begin(), knob.values.end());
    hulls_.push_back({*low, *high, false});
  }
  for (size_t c = 0; c < surface.constraints().size(); ++c) {
    assertions_.push_back(&surface.constraints()[c].assertion);
    for (uint32_t knob : assertions_[c]->knobs) watchers_[knob].push_back(static_cast<uint32_t>(c));
  }
}

// False: refuted before any free knob is set.
bool CompiledSearch::start(const Question& question, uint64_t steps, bool constrained_only) {
  steps_given_ = steps_left_ = steps;
  const size_t knobs = surface_.knobs().size();
  active_ = question.constraints;
  used_.assign(active_.size(), 0);
  ranges_ = hulls_;
  positions_.assign(knobs, 0);
  depth_of_.assign(knobs, -1);
  size_t depth = 0;
  for (size_t k = 0; k < knobs; ++k) {
    if (question.fixed[k] != Question::kFree) {
      positions_[k] = static_cast<uint16_t>(question.fixed[k]);
      const int64_t value = surface_.knob(k).values[positions_[k]];
      ranges_[k] = {value, value, false};
      continue;
    }
    const bool constrained =
        std::any_of(watchers_[k].begin(), watchers_[k].end(), [&](uint32_t c) { return active_[c] != 0; });
    if (constrained_only && !constrained) continue;
    if (levels_.size() == depth) levels_.emplace_back();
    levels_[depth].knob = k;
    levels_[depth].next = 0;
    ++depth;
  }
  levels_.resize(depth);
  for (Level& level : levels_) level.conflict.assign((depth + 63) / 64, 0);
  for (size_t c = 0; c < active_.size(); ++c) {
    if (active_[c] == 0) continue;
    steps_left_ -= std::min<uint64_t>(steps_left_, assertions_[c]->nodes.size());
    if (!mapping::bounds(*assertions_[c], ranges_, scratch_).can_hold()) {
      used_[c] = 1;
      return false;
    }
  }
  return true;
}

// Sets the level's knob and checks what mentions it. On failure the knob stays set until the next try or
// release.
bool CompiledSearch::assign(size_t depth, uint16_t position) {
  Level& level = levels_[depth];
  const int64_t value = surface_.knob(level.knob).values[position];
  positions_[level.knob] = position;
  ranges_[level.knob] = {value, value, false};
  depth_of_[level.knob] = static_cast<int32_t>(depth);
  for (uint32_t c : watchers_[level.knob]) {
    if (active_[c] == 0) continue;
    const mapping::Term& term = *assertions_[c];
    steps_left_ -= std::min<uint64_t>(steps_left_, term.nodes.size());
    if (mapping::bounds(term, ranges_, scratch_).can_hold()) continue;
    used_[c] = 1;
    for (uint32_t knob : term.knobs) {
      const int32_t earlier = depth_of_[knob];
      if (earlier < 0 || static_cast<size_t>(earlier) >= depth) continue;
      level.conflict[static_cast<size_t>(earlier) / 64] |= uint64_t{1} << (earlier % 64);
    }
    return false;
  }
  return true;
}

void CompiledSearch::release(size_t depth) {
  Level& level = levels_[depth];
  ranges_[level.knob] = hulls_[level.knob];
  depth_of_[level.knob] = -1;
  positions_[level.knob] = 0;
}

void CompiledSearch::blame_all(size_t depth) {
  for (size_t d = 0; d < depth; ++d) levels_[depth].conflict[d / 64] |= uint64_t{1} << (d % 64);
}

// All values of this level failed: goes to the deepest level that shares the blame. False when none does.
bool CompiledSearch::back(size_t* depth) {
  const std::vector<uint64_t>& conflict = levels_[*depth].conflict;
  size_t target = 0;
  bool found = false;
  for (size_t word = conflict.size(); word-- > 0 && !found;) {
    if (conflict[word] == 0) continue;
    target = word * 64 + 63 - static_cast<size_t>(std::countl_zero(conflict[word]));
    found = true;
  }
  if (!found) return false;
  Level& blamed = levels_[target];
  for (size_t word = 0; word < conflict.size(); ++word) blamed.conflict[word] |= conflict[word];
  blamed.conflict[target / 64] &= ~(uint64_t{1} << (target % 64));
  for (size_t d = *depth; d > target; --d) {
    release(d);
    levels_[d].next = 0;
    std::fill(levels_[d].conflict.begin(), levels_[d].conflict.end(), 0);
  }
  *depth = target;
  return true;
}

Verdict CompiledSearch::run(const Visit& visit) {
  if (levels_.empty()) {
    visit(positions_);
    return Verdict::kIllegal;
  }
  size_t depth = 0;
  for (;;) {
    if (steps_left_ == 0) return Verdict::kUnknown;
    --steps_left_;
    Level& level = levels_[depth];
    if (level.next == surface_.knob(level.knob).values.size()) {
      if (!back(&depth)) return Verdict::kIllegal;
      continue;
    }
    if (!assign(depth, static_cast<uint16_t>(level.next++))) continue;
    if (depth + 1 < levels_.size()) {
      ++depth;
      continue;
    }
    if (!visit(positions_)) return Verdict::kLegal;
    blame_all(depth);  // the next solution may differ anywhere
  }
}

Verdict CompiledSearch::first(const Question& question, uint64_t steps, Positions* found) {
  if (!start(question, steps, true)) return Verdict::kIllegal;
  bool legal = false;
  const Verdict verdict = run([&](const Positions& positions) {
    *found = positions;
    legal = true;
    return false;
  });
  return legal ? Verdict::kLegal : verdict;
}

Verdict CompiledSearch::each(const Question& question, uint64_t steps, const Visit& visit) {
  if (!start(question, steps, false)) return Verdict::kLegal;
  return run(visit) == Verdict::kUnknown ? Verdict::kUnknown : Verdict::kLegal;
}

Verdict CompiledSearch::count(const Question& question, uint64_t steps, uint64_t limit, uint64_t* count) {
  *count = 0;
  if (!start(question, steps, true)) return Verdict::kLegal;
  // Knobs that no constraint mentions multiply the number.
  uint64_t factor = 1;
  for (size_t k = 0; k < surface_.knobs().size(); ++k) {
    const bool level =
        std::any_of(levels_.begin(), levels_.end(), [&](const Level& l) { return l.knob == k; });
    const uint64_t values = surface_.knob(k).values.size();
    if (level || question.fixed[k] != Question::kFree) continue;
    factor = factor > limit / values ? limit + 1 : factor * values;
  }
  const Verdict verdict = run([&](const Positions&) {
    *count = *count > limit - std::min(limit, factor) ? limit + 1 : *count + factor;
    return *count <= limit;
  });
  return verdict == Verdict::kUnknown ? Verdict::kUnknown : Verdict::kLegal;
}

bool CompiledSearch::holds(const std::vector<uint8_t>& constraints, const Positions& positions) {
  std::vector<int64_t> values(positions.size());
  for (size_t k = 0; k < positions.size(); ++k) values[k] = surface_.knob(k).values[positions[k]];
  for (size_t c = 0; c < constraints.size(); ++c) {
    if (constraints[c] != 0 && mapping::evaluate(*assertions_[c], values, scratch_).value_or(0) != 1)
      return false;
  }
  return true;
}

}  // namespace zomboss::resolver
