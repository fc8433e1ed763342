#include "host/cli/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

using history::Run;

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / static_cast<double>(values.size()));
}

// The best latency after `evaluations` of them.
Result<uint64_t> best_at(const history::History& history, const Run& run, uint64_t evaluations) {
  if (run.best_evaluation <= evaluations) return run.best_latency;
  uint64_t best = run.candidate0_latency;
  ZB_TRY(history.each_trial(run.id, [&](const history::Trial& trial) {
    if (trial.evaluation > evaluations) return false;
    if (trial.incumbent) best = trial.latency;
    return true;
  }));
  return best;
}

// A document of a run; null when it has none.
Json document_of(const history::History& history, int64_t run, const char* name) {
  const auto text = history.document(run, name);
  Json json = text.ok() && *text ? Json::parse(**text, nullptr, false) : Json();
  return json.is_discarded() ? Json() : json;
}

std::string scenario_of(const Json& ranking) {
  return ranking.contains("scenario") && ranking["scenario"].is_string()
             ? ranking["scenario"].get<std::string>()
             : std::string();
}

struct Entry {
  const Run* run = nullptr;
  uint64_t best = 0;
};

class Comparer {
 public:
  Comparer(const history::History& history, const std::vector<Run>& runs) : history_(history) {
    for (const Run& run : runs) {
      if (run.state != "complete") {
        ++left_out_;
        continue;
      }
      if (std::find(labels_.begin(), labels_.end(), run.label) == labels_.end()) labels_.push_back(run.label);
      auto& policies = result_.policies;
      if (std::find(policies.begin(), policies.end(), run.policy) == policies.end())
        policies.push_back(run.policy);
      by_label_[run.label].push_back({&run, 0});
    }
  }

  Result<Comparison> compare() {
    if (labels_.empty()) return invalid_argument("there is no complete run to compare");
    if (left_out_ != 0)
      result_.warnings.push_back(fmt::format("{} runs are not complete and left out", left_out_));
    for (const std::string& label : labels_) {
      ZB_TRY(add_workload(label, by_label_[label]));
    }
    name_baselines();
    for (size_t p = 0; p < result_.policies.size(); ++p) summarize(p);
    return std::move(result_);
  }

 private:
  Status add_workload(const std::string& label, std::vector<Entry>& entries) {
    WorkloadRow row;
    row.label = label;
    const Run& first = *entries[0].run;
    row.candidate0 = first.candidate0_latency;
    row.bound = first.bound;
    row.baseline = first.baseline;
    const Json references = document_of(history_, first.id, "references");
    if (references.is_object() && references.contains("baseline") && references["baseline"].is_string())
      row.baseline_name = references["baseline"];
    row.evaluations = first.budget.evaluations;
    for (const Entry& entry : entries) {
      row.evaluations = std::min(row.evaluations, entry.run->budget.evaluations);
      if (entry.run->problem != first.problem && warned_.insert(label).second)
        result_.warnings.push_back(
            fmt::format("{}: its runs differ in target, configuration or plugin files", label));
    }
    ZB_ASSIGN(const history::Problem problem, history_.problem(first.problem));
    row.unit = problem.unit;
    row.best_known = first.candidate0_latency;
    for (Entry& entry : entries) {
      ZB_ASSIGN(entry.best, best_at(history_, *entry.run, row.evaluations));
      row.best_known = std::min(row.best_known, entry.run->best_latency);
      ZB_ASSIGN(const auto optimum, history_.document(entry.run->id, "optimum"));
      if (optimum) row.optimum = std::strtoull(optimum->c_str(), nullptr, 10);
    }
    for (const std::string& policy : result_.policies) {
      Cell cell;
      std::vector<double> bests;
      for (const Entry& entry : entries)
        if (entry.run->policy == policy) bests.push_back(static_cast<double>(entry.best));
      cell.runs = bests.size();
      if (!bests.empty()) {
        cell.median = quantile(bests, 0.5);
        cell.low = *std::min_element(bests.begin(), bests.end());
        cell.high = *std::max_element(bests.begin(), bests.end());
      }
      row.cells.push_back(cell);
    }
    result_.workloads.push_back(std::move(row));
    return {};
  }

  void summarize(size_t p) {
    PolicySummary summary;
    summary.policy = result_.policies[p];
    Ratios ratios;
    std::vector<double> speedups, lows, highs, baselines, disappointments, regrets, evaluations;
    for (const WorkloadRow& row : result_.workloads) {
      const Cell& cell = row.cells[p];
      if (cell.runs == 0) continue;
      ++summary.workloads;
      const auto candidate0 = static_cast<double>(row.candidate0);
      speedups.push_back(candidate0 / cell.median);
      lows.push_back(candidate0 / cell.high);
      highs.push_back(candidate0 / cell.low);
      if (row.baseline) baselines.push_back(*row.baseline / cell.median);
      summary.regret_workloads += row.optimum.has_value();
      for (const Entry& entry : by_label_[row.label]) {
        if (entry.run->policy != summary.policy) continue;
        ++summary.runs;
        ++summary.verified;  // a run is complete only when its best is verified
        const auto best = static_cast<double>(entry.best);
        disappointments.push_back(best / static_cast<double>(row.best_known) - 1);
        const Json ranking = document_of(history_, entry.run->id, "ranking");
        add_ranking(row.label, ranking, summary);
        add_reference(ranking, document_of(history_, entry.run->id, "references"), ratios);
        if (row.optimum) regrets.push_back(best / static_cast<double>(*row.optimum) - 1);
        evaluations.push_back(static_cast<double>(entry.run->evaluations));
        summary.tokens += entry.run->usage.prompt_tokens + entry.run->usage.completion_tokens;
      }
    }
    for (const auto& [scenario, values] : ratios)
      summary.references.emplace_back(scenario, geometric_mean(values));
    summary.speedup = geometric_mean(speedups);
    summary.speedup_low = geometric_mean(lows);
    summary.speedup_high = geometric_mean(highs);
    if (!baselines.empty()) summary.baseline = geometric_mean(baselines);
    summary.disappointment = mean(disappointments);
    if (!regrets.empty()) summary.regret = mean(regrets);
    summary.evaluations = mean(evaluations);
    if (summary.tokens != 0 && summary.verified != 0)
      summary.tokens_per_kernel = static_cast<double>(summary.tokens) / static_cast<double>(summary.verified);
    result_.summaries.push_back(std::move(summary));
  }

  static void add_ranking(const std::string& label, const Json& ranking, PolicySummary& summary) {
    if (!ranking.is_array() || ranking.empty()) return;
    ++summary.ranked;
    bool stays = true;
    for (const Json& each : ranking) {
      if (!each.is_object() || !each.contains("miss") || !each["miss"].is_number()) continue;
      const double miss = each["miss"];
      stays = stays && miss <= 0;
      if (miss <= summary.worst_miss) continue;
      summary.worst_miss = miss;
      summary.worst = label + " under " + scenario_of(each);
    }
    summary.stays += stays;
  }

  // By scenario, in the simulator's order.
  using Ratios = std::vector<std::pair<std::string, std::vector<double>>>;

  // The first reference / best under each scenario. Documents are ours, but of a file that may be damaged.
  static void add_reference(const Json& ranking, const Json& document, Ratios& ratios) {
    if (!ranking.is_array() || !document.is_object() || !document.contains("references")) return;
    const Json& list = document["references"];
    if (!list.is_array() || list.empty() || !list[0].is_object() || !list[0].contains("scenarios")) return;
    const Json& latencies = list[0]["scenarios"];
    for (const Json& each : ranking) {
      if (!each.is_object() || !each.contains("best") || !each["best"].is_number()) continue;
      const std::string scenario = scenario_of(each);
      if (!latencies.is_object() || !latencies.contains(scenario) || !latencies[scenario].is_number())
        continue;
      const double latency = latencies[scenario], best = each["best"];
      if (latency <= 0 || best <= 0) continue;
      auto found = std::find_if(ratios.begin(), ratios.end(),
                                [&](const auto& ratio) { return ratio.first == scenario; });
      if (found == ratios.end()) found = ratios.insert(ratios.end(), {scenario, {}});
      found->second.push_back(latency / best);
    }
  }

  // "library" when each baseline is the latency of a reference of that name.
  void name_baselines() {
    std::optional<std::string> name;
    for (const WorkloadRow& row : result_.workloads) {
      if (!row.baseline) continue;
      if (name && *name != row.baseline_name) name = "";
      if (!name) name = row.baseline_name;
    }
    result_.baseline_name = name.value_or("").empty() ? "baseline" : *name;
  }

  const history::History& history_;
  std::vector<std::string> labels_;
  std::map<std::string, std::vector<Entry>> by_label_;
  std::set<std::string> warned_;
  size_t left_out_ = 0;
  Comparison result_;
};

}  // namespace

Result<Comparison> compare_runs(const history::History& history, const std::vector<Run>& runs) {
  return Comparer(history, runs).compare();
}

}  // namespace zomboss::cli
