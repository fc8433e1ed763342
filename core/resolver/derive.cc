#include <fmt/format.h>

#include "core/resolver/engine.h"
#include "core/resolver/explain.h"
#include "core/resolver/resolver.h"

namespace zomboss::resolver {
namespace {

using mapping::Assignment;
using mapping::DroppedValue;
using mapping::Knob;
using mapping::Strength;
using mapping::Surface;
using mapping::SurfaceParts;

// Which positions of each knob some legal plan has.
using Alive = std::vector<std::vector<uint8_t>>;

class Deriver {
 public:
  Deriver(const Surface& surface, const Options& options)
      : surface_(surface),
        engine_(surface, options),
        deciding_(engine_.decision_effort()),
        explaining_(engine_.explanation_effort()) {}

  Result<Surface> derive() {
    Question question = Question::all_rules(surface_);
    for (const Knob& knob : surface_.knobs()) alive_.emplace_back(knob.values.size(), uint8_t{0});
    const Verdict verdict = engine_.first(question, &found_, deciding_);
    if (verdict == Verdict::kUnknown)
      return resource_exhausted("whether the surface has a legal plan " + engine_.why_unknown());
    if (verdict == Verdict::kIllegal)
      return failed_precondition(explain(engine_, {}, kNoSubject, explaining_).conflict.text);
    mark_found();
    if (engine_.catalog() != nullptr) mark_rows();
    dropped_ = surface_.dropped();
    for (size_t k = 0; k < surface_.knobs().size(); ++k) {
      for (size_t i = 0; i < alive_[k].size(); ++i) {
        question.fixed[k] = static_cast<int32_t>(i);
        if (alive_[k][i] == 0) try_value(question, k, i);
      }
      question.fixed[k] = Question::kFree;
    }
    return restricted();
  }

 private:
  void mark_found() {
    for (size_t k = 0; k < found_.size(); ++k) alive_[k][found_[k]] = 1;
  }

  // All that a catalog leaves alive, in one pass; a value without a legal row is then known to be dropped.
  void mark_rows() {
    engine_.catalog()->each(Question::all_rules(surface_), [&](const Positions& row) {
      for (size_t k = 0; k < row.size(); ++k) alive_[k][row[k]] = 1;
      return true;
    });
  }

  void try_value(const Question& question, size_t k, size_t position) {
    const Verdict verdict =
        engine_.catalog() != nullptr ? Verdict::kIllegal : engine_.first(question, &found_, deciding_);
    if (verdict == Verdict::kLegal) return mark_found();
    if (verdict == Verdict::kUnknown) {  // not proven useless, so it stays
      alive_[k][position] = 1;
      return;
    }
    const Knob& knob = surface_.knob(k);
    const int64_t value = knob.values[position];
    dropped_.push_back({k, value, value_text(knob, value), reason({k, value, Strength::Hard})});
  }

  std::string reason(const Assignment& assignment) {
    if (!engine_.options().explain || explaining_.steps == 0) return "no legal plan has it";
    std::string reason = explain(engine_, {assignment}, assignment.knob, explaining_).predicate;
    constexpr std::string_view kKnown = "is in no legal plan: ";
    if (reason.starts_with(kKnown)) reason.erase(0, kKnown.size());
    return reason;
  }

  Surface restricted() {
    SurfaceParts parts = surface_.parts();
    std::vector<std::vector<uint16_t>> moved(parts.knobs.size());  // old position -> new
    for (size_t k = 0; k < parts.knobs.size(); ++k) {
      const Knob& old = surface_.knob(k);
      Knob& knob = parts.knobs[k];
      knob.values.clear();
      knob.labels.clear();
      for (size_t i = 0; i < old.values.size(); ++i) {
        moved[k].push_back(static_cast<uint16_t>(knob.values.size()));
        if (alive_[k][i] == 0) continue;
        knob.values.push_back(old.values[i]);
        if (!old.labels.empty()) knob.labels.push_back(old.labels[i]);
      }
    }
    if (engine_.catalog() != nullptr) {
      parts.catalog.clear();
      engine_.catalog()->each(Question::all_rules(surface_), [&](const Positions& row) {
        for (size_t k = 0; k < row.size(); ++k) parts.catalog.push_back(moved[k][row[k]]);
        return true;
      });
    }
    parts.dropped = std::move(dropped_);
    return Surface(std::move(parts));
  }

  const Surface& surface_;
  QuestionEngine engine_;
  Effort deciding_, explaining_;
  Alive alive_;
  Positions found_;
  std::vector<DroppedValue> dropped_;
};

}  // namespace

Result<Surface> derive_domains(const Surface& surface, Options options) {
  return Deriver(surface, options).derive();
}

}  // namespace zomboss::resolver
