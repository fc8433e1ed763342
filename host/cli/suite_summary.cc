#include "host/cli/suite_summary.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace zomboss::cli {
namespace {

const search::Reference* first_reference(const Outcome& outcome) {
  const auto& references = outcome.report.references;
  return references.empty() || !references[0].verified() ? nullptr : &references[0];
}

void add_ranking(Summary& summary, const Row& row) {
  const std::vector<search::Ranking>& ranking = row.outcome->report.ranking;
  if (ranking.empty()) return;
  ++summary.ranked;
  bool stays = true;
  for (const search::Ranking& each : ranking) {
    stays = stays && each.stays();
    if (each.miss() <= summary.worst_miss) continue;
    summary.worst_miss = each.miss();
    summary.worst = row.task.name + " under " + each.scenario;
  }
  summary.stays += stays;
}

// `sums`: of logarithms, one for each of summary.scenarios.
void add_reference(Summary& summary, std::vector<double>& sums, const Outcome& outcome) {
  const search::Reference* reference = first_reference(outcome);
  if (reference == nullptr) return;
  for (const search::Ranking& each : outcome.report.ranking) {
    const auto latency = search::latency_under(reference->candidate.evaluation.scenarios, each.scenario);
    if (!latency) continue;
    size_t at = 0;
    while (at < sums.size() && summary.scenarios[at].name != each.scenario) ++at;
    if (at == sums.size()) {
      summary.scenarios.push_back({each.scenario, 0, 0});
      sums.push_back(0);
    }
    ++summary.scenarios[at].workloads;
    sums[at] += std::log(static_cast<double>(*latency) / static_cast<double>(each.best));
    if (summary.reference_name.empty()) summary.reference_name = reference->name;
    if (summary.reference_name != reference->name) summary.reference_name = "reference";
  }
}

}  // namespace

Task with_baseline(Task task, const std::vector<search::Reference>& references) {
  if (task.baseline.has_value() || references.empty() || !references[0].verified()) return task;
  task.baseline = static_cast<double>(references[0].candidate.evaluation.latency);
  task.baseline_source = references[0].doc.empty() ? "named by the target" : references[0].doc;
  task.baseline_name = references[0].name;
  return task;
}

Summary summarize(std::string name, std::span<const Row* const> rows) {
  Summary summary;
  summary.name = std::move(name);
  summary.baseline_name = baseline_name(rows);
  double speedups = 0, baselines = 0;  // sums of logarithms
  std::vector<double> references;      // likewise, of each scenario
  for (const Row* row : rows) {
    ++summary.workloads;
    if (row->outcome == nullptr) continue;
    ++summary.verified;
    speedups += std::log(row->outcome->report.speedup());
    add_ranking(summary, *row);
    add_reference(summary, references, *row->outcome);
    if (!row->task.baseline.has_value()) continue;
    ++summary.with_baseline;
    const double gain =
        *row->task.baseline / static_cast<double>(row->outcome->report.best.evaluation.latency);
    baselines += std::log(gain);
    if (gain < 1) ++summary.slower;
  }
  if (summary.verified != 0) summary.speedup = std::exp(speedups / static_cast<double>(summary.verified));
  if (summary.with_baseline != 0)
    summary.baseline = std::exp(baselines / static_cast<double>(summary.with_baseline));
  for (size_t i = 0; i < references.size(); ++i)
    summary.scenarios[i].reference =
        std::exp(references[i] / static_cast<double>(summary.scenarios[i].workloads));
  return summary;
}

std::vector<Summary> summaries(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows)
    if (std::find(names.begin(), names.end(), row.task.suite) == names.end()) names.push_back(row.task.suite);
  std::vector<Summary> result;
  for (const std::string& name : names) {
    std::vector<const Row*> own;
    for (const Row& row : rows)
      if (row.task.suite == name) own.push_back(&row);
    result.push_back(summarize(name, own));
  }
  if (names.size() < 2) return result;
  std::vector<const Row*> all;
  for (const Row& row : rows)
    if (!row.repeated) all.push_back(&row);
  result.push_back(summarize("all", all));
  return result;
}

std::string baseline_name(std::span<const Row* const> rows) {
  std::optional<std::string> name;
  for (const Row* row : rows) {
    if (row->outcome == nullptr || !row->task.baseline.has_value()) continue;
    if (name && *name != row->task.baseline_name) return "baseline";
    name = row->task.baseline_name;
  }
  return name.value_or("").empty() ? "baseline" : *name;
}

}  // namespace zomboss::cli
