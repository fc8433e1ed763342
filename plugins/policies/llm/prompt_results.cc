// The parts of the prompt that say how the search stands.
#include <algorithm>
#include <map>

#include "plugins/policies/llm/numbers.h"
#include "plugins/policies/llm/prompt.h"

namespace zomboss::policies::llm {
namespace {

constexpr size_t kOfGroup = 3;
constexpr size_t kEngines = 8;
constexpr size_t kMeasures = 20;

// "ns.region.softmax" belongs to the group "ns.region.", "hbm.read" to none.
std::string group_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot + 1);
}

// Counters of the history come without units; then names tell: "ns.ENGINE", "load_busy", "hbm.read.TENSOR".
bool is_time(const SearchView& view, const Measure& measure) {
  if (!measure.unit.empty()) return measure.unit == view.unit;
  const std::string& name = measure.name;
  return (!view.unit.empty() && name.rfind(view.unit + ".", 0) == 0) || name.ends_with("_busy") ||
         name.ends_with("_stalls") || name.ends_with("_wait");
}

bool is_bytes(const Measure& measure) {
  if (!measure.unit.empty()) return measure.unit == "bytes";
  const std::string& name = measure.name;
  return name.rfind("hbm.", 0) == 0 || name.rfind("dram", 0) == 0 || name.rfind("requested_", 0) == 0 ||
         name.ends_with("_bytes");
}

std::string measure_text(const SearchView& view, const Tried& tried, const Measure& measure) {
  if (is_time(view, measure) && tried.latency > 0)
    return measure.name + " " + fmt::format("{:.0f}%", 100 * measure.value / tried.latency);
  return measure.name + " " + (is_bytes(measure) ? bytes_text(measure.value) : number_text(measure.value));
}

const char* outcome_text(wire::Outcome outcome) {
  switch (outcome) {
    case wire::Outcome::Valid:
      return "verified";
    case wire::Outcome::Wrong:
      return "FAILED wrong result";
    case wire::Outcome::LoweringFailed:
      return "FAILED lowering";
    case wire::Outcome::SimulationFailed:
      return "FAILED simulation";
    case wire::Outcome::TimedOut:
      return "FAILED timeout";
    case wire::Outcome::Crashed:
      return "FAILED crash";
    case wire::Outcome::RejectedDuplicate:
      return "REJECTED duplicate";
    case wire::Outcome::RejectedIllegal:
      return "REJECTED illegal";
    case wire::Outcome::RejectedInvalid:
      return "REJECTED invalid";
  }
  return "FAILED";
}

std::string relaxations_text(const SearchView& view, const wire::PlanT& plan) {
  std::string text;
  for (const auto& relaxation : plan.relaxations) {
    const auto knob = view.vocabulary.find(relaxation->knob);
    const auto value = [&](int64_t number) {
      return knob.has_value() ? view.vocabulary.number_text(*knob, number, view.space)
                              : std::to_string(number);
    };
    text += (text.empty() ? "" : "; ") + relaxation->knob + " requested=" + value(relaxation->requested) +
            " got=" + value(relaxation->realized) + " because " + relaxation->reason;
  }
  return text;
}

std::string limited(std::string text, size_t size) {
  return text.size() <= size ? text : valid_utf8(text.substr(0, size)) + "...";
}

}  // namespace

std::string profile_text(const SearchView& view, const Tried& tried, uint64_t rotate) {
  std::map<std::string, std::vector<double>> groups;
  for (const Measure& measure : tried.counters) groups[group_of(measure.name)].push_back(measure.value);
  for (auto& [group, values] : groups) std::sort(values.rbegin(), values.rend());
  std::vector<std::string> shown;
  std::map<std::string, size_t> used;
  for (const Measure& measure : tried.counters) {
    const std::string group = group_of(measure.name);
    if (measure.value == 0 || shown.size() >= kMeasures || group == "executed.")
      continue;  // decisions, not code
    const auto& values = groups[group];
    const size_t most = group == view.unit + "." ? kEngines : kOfGroup;
    if (!group.empty() && values.size() > most && (measure.value < values[most - 1] || used[group] >= most))
      continue;
    ++used[group];
    shown.push_back(measure_text(view, tried, measure));
  }
  if (!shown.empty())
    std::rotate(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(rotate % shown.size()),
                shown.end());
  std::string text;
  for (const std::string& each : shown) text += (text.empty() ? "" : ", ") + each;
  return text;
}

std::string latency_text(const SearchView& view, const Tried& tried) {
  if (!tried.verified) return tried.name + " did not verify";
  std::string text = tried.name + " " + number_text(tried.latency) + " " + view.unit;
  if (&tried != &view.journal.candidate0())
    text += " (" + percent_text(tried.latency, view.journal.candidate0().latency) + " vs default)";
  if (view.bound > 0) text += fmt::format(" at {:.0f}% of the bound", 100 * view.bound / tried.latency);
  return text;
}

std::string default_text(const SearchView& view) {
  const Tried& start = view.journal.candidate0();
  std::string text =
      "DEFAULT " + latency_text(view, start) + "\n" + view.vocabulary.point(start.point) + "\n";
  if (!view.full_feedback()) return text;
  if (const std::string profile = profile_text(view, start); !profile.empty())
    text += "profile: " + profile + "\n";
  return text;
}

std::string budget_text(const wire::SearchStateT& state) {
  return "BUDGET evaluations left " + std::to_string(state.evaluations_left) + ", proposals left " +
         std::to_string(state.proposals_left) + "\n";
}

std::string result_text(const SearchView& view, const wire::FeedbackT& item, const Tried* tried) {
  constexpr size_t kReason = 300;
  const std::string outcome = outcome_text(item.outcome);
  if (item.outcome == wire::Outcome::RejectedDuplicate && tried != nullptr)
    return outcome + " of " + latency_text(view, *tried);
  if (item.outcome != wire::Outcome::Valid || tried == nullptr) {
    std::string text = (tried == nullptr ? "" : tried->name + " ") + outcome;
    if (view.full_feedback() && !item.reason.empty()) text += ": " + limited(item.reason, kReason);
    return text;
  }
  std::string text = latency_text(view, *tried) + " " + outcome + (item.incumbent ? ", best" : "");
  if (!view.full_feedback()) return text;
  text += " | changed vs default: " +
          limited(view.vocabulary.changes(view.space.start, tried->point), 3 * kReason);
  if (const std::string relaxed = item.plan == nullptr ? "" : relaxations_text(view, *item.plan);
      !relaxed.empty())
    text += " | relaxed: " + limited(relaxed, kReason);
  const double estimate = view.space.catalog && view.journal.has_costs()
                              ? view.journal.row_cost(view.journal.row_of(tried->point).value_or(0))
                              : tried->static_cost;
  if (estimate > 0) text += " | measured " + percent_text(tried->latency, estimate) + " vs estimate";
  if (const std::string profile = profile_text(view, *tried); !profile.empty())
    text += " | profile: " + profile;
  return text;
}

std::string standing_text(const SearchView& view, const wire::SearchStateT& state, bool statistics) {
  std::string text = "BEST " + latency_text(view, view.journal.best()) + "\n";
  if (view.space.catalog) {
    text += "TRIED";
    for (const Tried& tried : view.journal.tried()) text += " " + tried.name;
    text += "\n";
  }
  if (statistics && view.full_feedback())
    text += "KNOBS value n, best latency, median vs best\n" + view.journal.statistics(view.vocabulary);
  return text + "LEFT evals=" + std::to_string(state.evaluations_left) +
         " proposals=" + std::to_string(state.proposals_left);
}

}  // namespace zomboss::policies::llm
