#include "core/report/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

namespace zomboss::report {
namespace {

constexpr size_t kIncumbents = 100;

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (!line.empty()) lines.insert(line);
  return lines;
}

// Policies by plugin and options. One plugin with several options is named by the options that differ.
class PolicyNames {
 public:
  void add(const history::Run& run) { options_[run.policy].insert(run.policy_options); }

  std::string name(const history::Run& run) const {
    const std::set<std::string>& all = options_.at(run.policy);
    if (all.size() == 1) return run.policy;
    std::string differing;
    for (const std::string& line : lines_of(run.policy_options)) {
      const bool common = std::all_of(all.begin(), all.end(), [&](const std::string& options) {
        return lines_of(options).contains(line);
      });
      if (!common) differing += (differing.empty() ? "" : " ") + line;
    }
    return run.policy + (differing.empty() ? " (defaults)" : " (" + differing + ")");
  }

 private:
  std::map<std::string, std::set<std::string>> options_;
};

template <typename T>
size_t index_in(std::vector<T>& list, const T& item) {
  const auto found = std::find(list.begin(), list.end(), item);
  if (found != list.end()) return static_cast<size_t>(found - list.begin());
  list.push_back(item);
  return list.size() - 1;
}

void count_reason(std::map<std::string, Reason>& reasons, const history::Trial& trial) {
  constexpr size_t kKinds = 500, kLength = 400;
  if (trial.outcome == "valid" || trial.reason.empty()) return;
  std::string kind = trial.outcome + ":";
  for (const char c : std::string_view(trial.reason).substr(0, kLength)) {
    if (c >= '0' && c <= '9') {
      if (kind.back() != '#') kind += '#';
    } else {
      kind += c;
    }
  }
  if (reasons.size() >= kKinds && !reasons.contains(kind)) return;
  Reason& reason = reasons[kind];
  if (reason.trials++ == 0) {
    reason.outcome = trial.outcome;
    reason.example = trial.reason.substr(0, kLength);
  }
}

Status read_trials(Data& data, RunView& view, std::map<std::string, uint64_t>& plans) {
  view.points.reserve(std::min<uint64_t>(view.run.trials, 1'000'000));  // of a file that may be damaged
  return data.history->each_trial(view.run.id, [&](const history::Trial& trial) {
    const size_t outcome = std::min<size_t>(index_in(data.outcomes, trial.outcome), 255);
    view.points.push_back({trial.number, trial.latency, static_cast<uint8_t>(outcome), trial.incumbent});
    count_reason(view.reasons, trial);
    if (trial.incumbent) {
      view.steps.push_back({trial.evaluation, trial.latency});
      if (view.incumbents.size() >= 2 * kIncumbents)
        view.incumbents.erase(view.incumbents.begin(), view.incumbents.begin() + kIncumbents);
      view.incumbents.push_back(trial);
    }
    if (trial.outcome == "valid" && !trial.plan.empty() && trial.latency != 0)
      plans.emplace(trial.plan, trial.latency);
    return true;
  });
}

Json document_of(const Data& data, const history::Run& run, const char* name) {
  const auto text = data.history->document(run.id, name);
  return text.ok() && *text ? parse_json(**text) : Json();
}

void summarize(const Data& data, Group& group) {
  for (const size_t index : group.runs) {
    const history::Run& run = data.runs[index].run;
    if (run.candidate0_latency == 0) continue;
    const auto best = static_cast<double>(run.best_latency);
    if (group.best_latency == 0 || best < group.best_latency) {
      group.best_latency = best;
      group.best = index;
    }
    group.candidate0 = static_cast<double>(run.candidate0_latency);
    if (run.baseline && !group.baseline) {
      group.baseline = run.baseline;
      group.baseline_source = run.baseline_source;
      group.baseline_name = text_of(member(document_of(data, run, "references"), "baseline"));
    }
    if (run.bound && !group.bound) {
      group.bound = run.bound;
      group.bound_reason = run.bound_reason;
    }
  }
  const history::Run& best = data.best(group).run;
  group.references = member(document_of(data, best, "references"), "references");
  group.ranking = document_of(data, best, "ranking");
}

// Names that two groups share get what tells them apart.
void name_groups(std::vector<Group>& groups) {
  std::map<std::string, size_t> uses;
  for (const Group& group : groups) ++uses[group.name];
  for (Group& group : groups) {
    if (uses[group.name] == 1) continue;
    std::string options;
    for (const std::string& line : lines_of(group.problem.target_options)) options += " " + line;
    group.name += " on " + group.problem.target + options + " [" + group.problem.key.substr(0, 8) + "]";
  }
}

}  // namespace

std::vector<const RunView*> Data::of(const Group& group, size_t policy) const {
  std::vector<const RunView*> found;
  for (const size_t index : group.runs)
    if (runs[index].policy == policy) found.push_back(&runs[index]);
  return found;
}

Result<Data> collect(const history::History& history, std::span<const int64_t> ids) {
  if (ids.empty()) return invalid_argument("a report needs at least one run");
  Data data;
  data.history = &history;
  PolicyNames names;
  std::set<int64_t> seen;
  for (const int64_t id : ids) {
    if (!seen.insert(id).second) continue;
    ZB_ASSIGN(history::Run run, history.run(id));
    names.add(run);
    RunView view;
    view.run = std::move(run);
    data.runs.push_back(std::move(view));
  }
  std::map<std::pair<std::string, std::string>, size_t> group_of;
  std::vector<std::map<std::string, uint64_t>> plans;
  std::set<int64_t> jobs;
  for (size_t i = 0; i < data.runs.size(); ++i) {
    RunView& view = data.runs[i];
    view.policy = index_in(data.policies, names.name(view.run));
    const auto [place, fresh] = group_of.try_emplace({view.run.label, view.run.problem}, data.groups.size());
    if (fresh) {
      Group group;
      group.name = view.run.label;
      group.best = i;
      ZB_ASSIGN(group.problem, history.problem(view.run.problem));
      data.groups.push_back(std::move(group));
      plans.emplace_back();
    }
    data.groups[place->second].runs.push_back(i);
    if (jobs.insert(view.run.job).second) {
      ZB_ASSIGN(history::Job job, history.job(view.run.job));
      data.jobs.push_back(std::move(job));
    }
    if (view.verified()) view.steps.push_back({0, view.run.candidate0_latency});
    if (Status status = read_trials(data, view, plans[place->second]); !status.ok() && data.trials.ok())
      data.trials = std::move(status).with_prefix(fmt::format("run {}", view.run.id));
    if (auto outcomes = history.outcomes(view.run.id); outcomes.ok()) view.outcomes = *std::move(outcomes);
    if (auto events = history.events(view.run.id); events.ok()) view.events = *std::move(events);
    if (view.incumbents.size() > kIncumbents)
      view.incumbents.erase(view.incumbents.begin(), view.incumbents.end() - kIncumbents);
  }
  for (size_t g = 0; g < data.groups.size(); ++g) {
    data.groups[g].plans.assign(plans[g].begin(), plans[g].end());
    summarize(data, data.groups[g]);
  }
  name_groups(data.groups);
  return data;
}

Json parse_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

const Json& member(const Json& object, const char* key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return {};
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<double> number_of(const Json& value) {
  return value.is_number() ? std::optional<double>(value.get<double>()) : std::nullopt;
}

std::vector<Decision> decisions_of(const Json& plan) {
  std::vector<Decision> decisions;
  const Json& sections = member(plan, "sections");
  if (!sections.is_object()) return decisions;
  constexpr std::array<std::string_view, 8> kOrder = {
      "algorithm", "matrix decomposition", "vector decomposition",
      "placement", "memory pipeline",      "execution pipeline",
      "precision", "loop structure"};
  for (const auto& [section, knobs] : sections.items()) {
    if (!knobs.is_object()) continue;
    for (const auto& [knob, decision] : knobs.items())
      decisions.push_back(
          {section, knob, text_of(member(decision, "value")), text_of(member(decision, "origin"))});
  }
  std::stable_sort(decisions.begin(), decisions.end(), [&](const Decision& a, const Decision& b) {
    return std::find(kOrder.begin(), kOrder.end(), a.section) <
           std::find(kOrder.begin(), kOrder.end(), b.section);
  });
  return decisions;
}

}  // namespace zomboss::report
