#include "core/resolver/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/resolver/core_finder.h"
#include "core/resolver/witness.h"

namespace zomboss::resolver {
namespace {

using mapping::Assignment;
using mapping::Constraint;
using mapping::Knob;
using mapping::Strength;
using mapping::Surface;

// "a", "a and b", "a, b and c".
std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

class Writer {
 public:
  Writer(QuestionEngine& engine, const Core& core, size_t subject, Effort& effort)
      : engine_(engine), surface_(engine.surface()), core_(core), subject_(subject), effort_(effort) {}

  // What the conflict is about, and what is said of it.
  std::string subject() const {
    std::vector<std::string> parts;
    for (const Assignment& assignment : core_.assignments) {
      if (subject_ == kNoSubject || assignment.knob == subject_) parts.push_back(text(assignment));
    }
    return join(parts);
  }

  std::string predicate() {
    std::vector<std::string> others;
    for (const Assignment& assignment : core_.assignments) {
      if (subject_ != kNoSubject && assignment.knob != subject_) {
        others.push_back(fmt::format("{} ({})", text(assignment),
                                     assignment.strength == Strength::Hard ? "hard" : "preferred, kept"));
      }
    }
    std::string verdict = "cannot hold together";
    if (core_.assignments.size() == 1) verdict = "is in no legal plan";
    if (!others.empty()) verdict = "cannot hold with " + join(others);
    return verdict + ": " + rules();
  }

  std::string rules() {
    if (core_.constraints.empty()) return catalog_alone();
    if (core_.constraints.size() == 1 && !core_.catalog) return rule(core_.constraints[0]);
    return joint_rules();
  }

 private:
  std::string text(const Assignment& assignment) const {
    const Knob& knob = surface_.knob(assignment.knob);
    return knob.name + "=" + value_text(knob, assignment.value);
  }

  std::string rule(size_t number) {
    const Constraint& constraint = surface_.constraints()[number];
    return fmt::format("{} ({} rule '{}')",
                       most_favourable_message(surface_, constraint, core_.assignments, effort_),
                       mapping::constraint_kind_name(constraint.kind), constraint.name);
  }

  std::string joint_rules() {
    std::vector<std::string> parts;
    for (size_t c : core_.constraints) parts.push_back(rule(c));
    if (core_.catalog) parts.push_back("the catalog has no such row");
    std::string text = "no plan meets all of: ";
    for (size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? "; " : "") + parts[i];
    return text + shared_knob();
  }

  // A free knob to which the rules, each alone, leave nothing in common: "; tile_k: 'a' leaves 16, 32, 'b'
  // leaves 64".
  std::string shared_knob() {
    constexpr size_t kMostValues = 64;
    for (size_t k = 0; k < surface_.knobs().size(); ++k) {
      const size_t values = surface_.knob(k).values.size();
      const bool assigned = std::any_of(core_.assignments.begin(), core_.assignments.end(),
                                        [&](const Assignment& a) { return a.knob == k; });
      if (assigned || values > kMostValues) continue;
      std::vector<uint8_t> common(values, 1);
      std::string text;
      for (size_t c : core_.constraints) {
        const auto& scope = surface_.constraints()[c].assertion.knobs;
        if (std::binary_search(scope.begin(), scope.end(), k))
          text += left_by(Core{core_.assignments, {c}, false}, k, &common);
      }
      if (core_.catalog) text += left_by(Core{core_.assignments, {}, true}, k, &common);
      const bool empty = std::none_of(common.begin(), common.end(), [](uint8_t v) { return v != 0; });
      if (empty) return fmt::format("; {}: {}", surface_.knob(k).name, text.substr(2));
    }
    return {};
  }

  std::string left_by(const Core& rule, size_t k, std::vector<uint8_t>* common) {
    const Knob& knob = surface_.knob(k);
    Question question = question_of(surface_, rule);
    Knob left = knob;
    left.values.clear();
    left.labels.clear();
    Positions found;
    for (size_t i = 0; i < knob.values.size(); ++i) {
      question.fixed[k] = static_cast<int32_t>(i);
      if (engine_.first(question, &found, effort_) == Verdict::kIllegal) {
        (*common)[i] = 0;
        continue;
      }
      left.values.push_back(knob.values[i]);
      if (!knob.labels.empty()) left.labels.push_back(knob.labels[i]);
    }
    const std::string who =
        rule.catalog ? "the catalog" : "'" + surface_.constraints()[rule.constraints[0]].name + "'";
    return fmt::format(", {} leaves {}", who, left.values.empty() ? "nothing" : domain_text(left));
  }

  std::string catalog_alone() {
    if (core_.assignments.size() <= 1) return "no row of the catalog has it";
    // What the other assignments leave for the subject, or for the last one.
    const Assignment* last = &core_.assignments.back();
    for (const Assignment& assignment : core_.assignments) {
      if (assignment.knob == subject_) last = &assignment;
    }
    Core others{{}, {}, true};
    for (const Assignment& assignment : core_.assignments) {
      if (assignment.knob != last->knob) others.assignments.push_back(assignment);
    }
    std::vector<uint8_t> common(surface_.knob(last->knob).values.size(), 1);
    const std::string left = left_by(others, last->knob, &common);
    constexpr std::string_view kLeaves = "leaves ";
    return fmt::format("no row of the catalog has all of these; the rest leaves {} {}",
                       surface_.knob(last->knob).name, left.substr(left.find(kLeaves) + kLeaves.size()));
  }

  QuestionEngine& engine_;
  const Surface& surface_;
  const Core& core_;
  size_t subject_;
  Effort& effort_;
};

}  // namespace

Explanation explain(QuestionEngine& engine, const std::vector<Assignment>& assignments, size_t subject,
                    Effort& effort) {
  const Core core = find_core(engine, assignments, effort);
  Writer writer(engine, core, subject, effort);
  Explanation result;
  result.conflict.assignments = core.assignments;
  for (size_t c : core.constraints)
    result.conflict.constraints.push_back(engine.surface().constraints()[c].name);
  result.conflict.catalog = core.catalog;
  if (core.assignments.empty()) {
    result.conflict.text = "the surface has no legal plan: " + writer.rules();
    result.predicate = result.conflict.text;
    return result;
  }
  result.predicate = writer.predicate();
  result.conflict.text = writer.subject() + " " + result.predicate;
  return result;
}

}  // namespace zomboss::resolver
