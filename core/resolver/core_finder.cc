#include "core/resolver/core_finder.h"

#include <algorithm>

namespace zomboss::resolver {
namespace {

using mapping::Assignment;

class Finder {
 public:
  Finder(QuestionEngine& engine, Effort& effort)
      : engine_(engine), surface_(engine.surface()), effort_(effort) {}

  Core find(const std::vector<Assignment>& assignments) {
    Core best;
    bool found = false;
    for (size_t c = 0; c < surface_.constraints().size(); ++c) {
      Core core{in_scope(assignments, c), {c}, false};
      if (!illegal(core)) continue;
      drop_assignments(&core);
      if (found && core.assignments.size() >= best.assignments.size()) continue;
      best = std::move(core);
      found = true;
    }
    if (found) return best;
    if (surface_.is_catalog()) {
      Core core{assignments, {}, true};
      if (illegal(core)) {
        drop_assignments(&core);
        return core;
      }
    }
    return find_joint(assignments);
  }

 private:
  // Starts from the rules that a refutation used, and drops what it can.
  Core find_joint(const std::vector<Assignment>& assignments) {
    Core core{assignments, {}, false};
    for (size_t c = 0; c < surface_.constraints().size(); ++c) core.constraints.push_back(c);
    if (!illegal(core)) {
      core.catalog = surface_.is_catalog();
    } else if (refuted_by_search_) {
      narrow(&core);
    }
    for (size_t i = core.constraints.size(); i-- > 0;) {
      Core smaller = core;
      smaller.constraints.erase(smaller.constraints.begin() + static_cast<std::ptrdiff_t>(i));
      if (illegal(smaller)) core = std::move(smaller);
    }
    drop_assignments(&core);
    return core;
  }

  void narrow(Core* core) {
    const std::vector<uint8_t> used = engine_.search().refuted();
    Core smaller{core->assignments, {}, core->catalog};
    for (size_t c = 0; c < used.size(); ++c) {
      if (used[c] != 0) smaller.constraints.push_back(c);
    }
    if (illegal(smaller)) *core = std::move(smaller);
  }

  void drop_assignments(Core* core) {
    for (size_t i = core->assignments.size(); i-- > 0;) {
      Core smaller = *core;
      smaller.assignments.erase(smaller.assignments.begin() + static_cast<std::ptrdiff_t>(i));
      if (illegal(smaller)) *core = std::move(smaller);
    }
  }

  std::vector<Assignment> in_scope(const std::vector<Assignment>& assignments, size_t constraint) const {
    const auto& scope = surface_.constraints()[constraint].assertion.knobs;
    std::vector<Assignment> result;
    for (const Assignment& assignment : assignments) {
      if (std::binary_search(scope.begin(), scope.end(), assignment.knob)) result.push_back(assignment);
    }
    return result;
  }

  // What cannot be decided counts as legal: the core stays a conflict, if perhaps a larger one.
  bool illegal(const Core& core) {
    refuted_by_search_ = engine_.options().engine != Engine::kSolver && !core.catalog;
    return engine_.first(question_of(surface_, core), &scratch_, effort_) == Verdict::kIllegal;
  }

  QuestionEngine& engine_;
  const mapping::Surface& surface_;
  Effort& effort_;
  Positions scratch_;
  bool refuted_by_search_ = false;
};

}  // namespace

Question question_of(const mapping::Surface& surface, const Core& core) {
  Question question = Question::no_rules(surface);
  for (const Assignment& assignment : core.assignments) {
    const auto position = surface.knob(assignment.knob).index_of(assignment.value);
    if (position) question.fixed[assignment.knob] = static_cast<int32_t>(*position);
  }
  for (size_t c : core.constraints) question.constraints[c] = 1;
  question.catalog = core.catalog;
  return question;
}

Core find_core(QuestionEngine& engine, const std::vector<Assignment>& assignments, Effort& effort) {
  return Finder(engine, effort).find(assignments);
}

}  // namespace zomboss::resolver
