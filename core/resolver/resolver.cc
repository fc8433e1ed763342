#include "core/resolver/resolver.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/check.h"
#include "core/resolver/engine.h"
#include "core/resolver/explain.h"

namespace zomboss::resolver {

using mapping::Assignment;
using mapping::Intent;
using mapping::Origin;
using mapping::Plan;
using mapping::Relaxation;
using mapping::Strength;
using mapping::Surface;

class Resolver::Impl {
 public:
  Impl(const Surface& surface, const Options& options) : surface_(surface), engine_(surface, options) {}

  const Surface& surface() const { return surface_; }
  QuestionEngine& engine() { return engine_; }

  Result<Completion> complete(const Intent& intent, bool explain_reasons) {
    explain_ = explain_reasons;
    question_ = Question::all_rules(surface_);
    kept_.clear();
    deciding_ = engine_.decision_effort();
    explaining_ = engine_.explanation_effort();
    for (const Assignment& assignment : intent.assignments()) {
      if (assignment.strength == Strength::Hard) fix(assignment);
    }
    const Verdict verdict = engine_.first(question_, &found_, deciding_);
    if (verdict == Verdict::kUnknown) {
      return resource_exhausted("the hard assignments " + engine_.why_unknown());
    }
    if (verdict == Verdict::kIllegal) return conflict();
    std::vector<std::pair<Assignment, std::string>> relaxed;
    for (const Assignment& assignment : intent.assignments()) {
      if (assignment.strength != Strength::Preferred) continue;
      std::string reason;
      if (!keep(assignment, &reason)) relaxed.emplace_back(assignment, std::move(reason));
    }
    return Completion{make_plan(relaxed), std::nullopt};
  }

  Status check(std::span<const int64_t> values) {
    ZB_CHECK(values.size() == surface_.knobs().size(), "one value for each knob");
    Question question = Question::all_rules(surface_);
    for (size_t k = 0; k < values.size(); ++k) {
      const auto position = surface_.knob(k).index_of(values[k]);
      if (!position) {
        return invalid_argument(fmt::format("{}={} is outside its domain: {}", surface_.knob(k).name,
                                            values[k], domain_text(surface_.knob(k))));
      }
      question.fixed[k] = static_cast<int32_t>(*position);
    }
    return check(question, values);
  }

 private:
  // Every broken rule, not only one.
  Status check(const Question& question, std::span<const int64_t> values) {
    std::string broken;
    mapping::TermScratch scratch;
    for (const mapping::Constraint& constraint : surface_.constraints()) {
      if (mapping::evaluate(constraint.assertion, values, scratch).value_or(0) == 1) continue;
      broken += fmt::format("{}{} ({} rule '{}')", broken.empty() ? "" : "; ",
                            render_message(constraint.message, surface_.knobs(), values),
                            mapping::constraint_kind_name(constraint.kind), constraint.name);
    }
    Positions found;
    if (broken.empty() && question.catalog &&
        engine_.catalog()->first(question, &found) == Verdict::kIllegal) {
      broken = "no row of the catalog has these values";
    }
    return broken.empty() ? Status() : failed_precondition(broken);
  }

  void fix(const Assignment& assignment) {
    const auto position = surface_.knob(assignment.knob).index_of(assignment.value);
    ZB_CHECK(position.has_value(), "an intent with a value outside the domain");
    question_.fixed[assignment.knob] = static_cast<int32_t>(*position);
    kept_.push_back(assignment);
  }

  Completion conflict() {
    Completion completion;
    if (explain_) {
      completion.conflict = explain(engine_, kept_, kNoSubject, explaining_).conflict;
    } else {
      completion.conflict = Conflict{{}, {}, false, "the hard assignments cannot hold together"};
    }
    return completion;
  }

  // Adds the preference when a legal plan has it beside all that was kept. found_ stays the first such plan.
  bool keep(const Assignment& assignment, std::string* reason) {
    fix(assignment);
    const int32_t position = question_.fixed[assignment.knob];
    if (found_[assignment.knob] == position) return true;
    Positions found;
    const Verdict verdict = engine_.first(question_, &found, deciding_);
    if (verdict == Verdict::kLegal) {
      found_ = std::move(found);
      return true;
    }
    if (verdict == Verdict::kUnknown) {
      *reason = engine_.why_unknown();
    } else if (explain_) {
      *reason = explain(engine_, kept_, assignment.knob, explaining_).predicate;
    }
    question_.fixed[assignment.knob] = Question::kFree;
    kept_.pop_back();
    return false;
  }

  Plan make_plan(std::vector<std::pair<Assignment, std::string>>& relaxed) {
    std::vector<int64_t> values(found_.size());
    std::vector<Origin> origins(found_.size(), Origin::Default);
    for (size_t k = 0; k < found_.size(); ++k) values[k] = surface_.knob(k).values[found_[k]];
    for (const Assignment& assignment : kept_) {
      origins[assignment.knob] = assignment.strength == Strength::Hard ? Origin::Hard : Origin::Preferred;
    }
    std::vector<Relaxation> records;
    for (auto& [assignment, reason] : relaxed) {
      records.push_back({surface_.knob(assignment.knob).name, assignment.value, values[assignment.knob],
                         std::move(reason)});
    }
    return mapping::make_plan(surface_, values, origins, std::move(records));
  }

  const Surface& surface_;
  QuestionEngine engine_;
  // Of the running completion.
  bool explain_ = true;
  Question question_;
  std::vector<Assignment> kept_;
  Positions found_;
  Effort deciding_, explaining_;
};

Resolver::Resolver(const Surface& surface, Options options)
    : impl_(std::make_unique<Impl>(surface, options)) {}
Resolver::~Resolver() = default;
Resolver::Resolver(Resolver&&) noexcept = default;
Resolver& Resolver::operator=(Resolver&&) noexcept = default;

const Surface& Resolver::surface() const {
  return impl_->surface();
}

Result<Completion> Resolver::complete(const Intent& intent) {
  return impl_->complete(intent, impl_->engine().options().explain);
}

Result<Completion> Resolver::complete_quietly(const Intent& intent) {
  return impl_->complete(intent, false);
}

Result<Plan> Resolver::plan(const Intent& intent) {
  ZB_ASSIGN(Completion completion, complete(intent));
  if (completion.plan) return *std::move(completion.plan);
  return failed_precondition(completion.conflict->text);
}

Status Resolver::check(std::span<const int64_t> values) {
  return impl_->check(values);
}

Status Resolver::check(const Plan& plan) {
  ZB_ASSIGN(const std::vector<int64_t> values, plan_values(surface(), plan));
  return impl_->check(values);
}

Status Resolver::enumerate(const std::function<bool(std::span<const int64_t>)>& visit) {
  std::vector<int64_t> values(surface().knobs().size());
  const auto visit_positions = [&](const Positions& positions) {
    for (size_t k = 0; k < values.size(); ++k) values[k] = surface().knob(k).values[positions[k]];
    return visit(values);
  };
  const Question question = Question::all_rules(surface());
  QuestionEngine& engine = impl_->engine();
  if (question.catalog) {
    engine.catalog()->each(question, visit_positions);
    return {};
  }
  if (engine.search().each(question, engine.options().search_steps, visit_positions) == Verdict::kUnknown) {
    return resource_exhausted(fmt::format("the surface is too large to list: {} search steps are spent",
                                          engine.options().search_steps));
  }
  return {};
}

Resolver::Count Resolver::count_legal(uint64_t limit) {
  limit = std::min(limit, uint64_t{1} << 62);
  QuestionEngine& engine = impl_->engine();
  if (engine.catalog() != nullptr) {
    const uint64_t rows = engine.catalog()->legal_rows();
    return {std::min(rows, limit), rows <= limit};
  }
  uint64_t count = 0;
  const Verdict verdict =
      engine.search().count(Question::all_rules(surface()), engine.options().search_steps, limit, &count);
  return {std::min(count, limit), count <= limit && verdict == Verdict::kLegal};
}

}  // namespace zomboss::resolver
