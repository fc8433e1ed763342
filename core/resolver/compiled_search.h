// The fast engine for constraints: backtracking over the knobs in order, pruned by interval evaluation of the
// constraint terms, with conflict-directed backjumping. Exact; its only way not to answer is the step budget.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/mapping/term.h"
#include "core/resolver/question.h"

namespace zomboss::resolver {

// One thread at a time (it owns scratch memory). Borrows the surface.
class CompiledSearch {
 public:
  explicit CompiledSearch(const mapping::Surface& surface);

  // The first assignment that meets the question's constraints; the catalog is not looked at. `steps` is in
  // term nodes. kIllegal: refuted() names the constraints that the proof used.
  Verdict first(const Question& question, uint64_t steps, Positions* found);

  // Each one in order, until `visit` returns false. kUnknown: the steps ended first; else kLegal.
  using Visit = std::function<bool(const Positions&)>;
  Verdict each(const Question& question, uint64_t steps, const Visit& visit);

  // How many, up to `limit`. Verdict as of each().
  Verdict count(const Question& question, uint64_t steps, uint64_t limit, uint64_t* count);

  // What the last question cost.
  uint64_t steps_used() const { return steps_given_ - steps_left_; }

  // One per constraint.
  const std::vector<uint8_t>& refuted() const { return used_; }

  // All constraints that count hold at this complete assignment.
  bool holds(const std::vector<uint8_t>& constraints, const Positions& positions);

 private:
  struct Level {
    size_t knob = 0;
    uint32_t next = 0;               // position to try next
    std::vector<uint64_t> conflict;  // bit set of earlier levels to blame for the failures so far
  };

  bool start(const Question& question, uint64_t steps, bool constrained_only);
  Verdict run(const Visit& visit);
  bool assign(size_t depth, uint16_t position);
  void release(size_t depth);
  bool back(size_t* depth);
  void blame_all(size_t depth);

  const mapping::Surface& surface_;
  std::vector<mapping::Bounds> hulls_;           // one per knob: the whole domain
  std::vector<std::vector<uint32_t>> watchers_;  // constraints of each knob, ascending
  std::vector<const mapping::Term*> assertions_;
  mapping::TermScratch scratch_;

  // Of the running question.
  std::vector<uint8_t> active_;
  std::vector<mapping::Bounds> ranges_;
  std::vector<int32_t> depth_of_;  // of an assigned free knob, else -1
  std::vector<Level> levels_;
  Positions positions_;
  std::vector<uint8_t> used_;
  uint64_t steps_given_ = 0;
  uint64_t steps_left_ = 0;
};

}  // namespace zomboss::resolver
