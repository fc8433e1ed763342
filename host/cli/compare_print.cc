// A comparison as tables or JSON.
#include <fmt/format.h>

#include <algorithm>

#include "host/cli/compare.h"
#include "host/cli/exit.h"
#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

using history::Run;

std::string optional_text(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

void print_tables(const Comparison& comparison) {
  size_t width = 8;
  for (const WorkloadRow& row : comparison.workloads) width = std::max(width, row.label.size());
  fmt::print("{:<{}} {:>5} {:>11}", "workload", width, "evals", "Candidate-0");
  for (const std::string& policy : comparison.policies) fmt::print(" {:>11}", policy.substr(0, 11));
  fmt::print(" {:>11} {:>11} {:>11} {:>11}\n", "best known", "optimum", comparison.baseline_name,
             "lower bound");
  for (const WorkloadRow& row : comparison.workloads) {
    fmt::print("{:<{}} {:>5} {:>11}", row.label, width, row.evaluations, row.candidate0);
    for (const Cell& cell : row.cells)
      fmt::print(" {:>11}", cell.runs == 0 ? "-" : fmt::format("{:.0f}", cell.median));
    fmt::print(" {:>11} {:>11} {:>11} {:>11}\n", row.best_known,
               row.optimum ? std::to_string(*row.optimum) : "-", optional_text(row.baseline, "{:.0f}"),
               optional_text(row.bound, "{:.0f}"));
  }
  if (!comparison.workloads.empty())
    fmt::print("latencies: {}; of several seeds the median, at the evaluations of column evals\n",
               comparison.workloads[0].unit);
  fmt::print("\n{:<12} {:>9} {:>5} {:>8} {:>9} {:>15} {:>13} {:>14} {:>14} {:>6} {:>13}\n", "policy",
             "workloads", "runs", "verified", "speed-up", "worst-best seed",
             comparison.baseline_name + "/best", "disappointment", "regret (of)", "evals", "tokens/kernel");
  for (const PolicySummary& each : comparison.summaries)
    fmt::print("{:<12} {:>9} {:>5} {:>8} {:>8.3f}x {:>15} {:>13} {:>12.2f} % {:>14} {:>6.1f} {:>13}\n",
               each.policy, each.workloads, each.runs, each.verified, each.speedup,
               fmt::format("{:.2f}-{:.2f}x", each.speedup_low, each.speedup_high),
               optional_text(each.baseline, "{:.2f}x"), 100 * each.disappointment,
               each.regret ? fmt::format("{:.2f} % ({})", 100 * *each.regret, each.regret_workloads) : "-",
               each.evaluations, optional_text(each.tokens_per_kernel, "{:.0f}"));
  fmt::print(
      "speed-up: geometric mean over workloads of Candidate-0 / median best; disappointment: mean over runs "
      "of "
      "best / best known - 1;\nregret: mean over runs of best / optimum - 1, where a run has evaluated every "
      "legal plan\n");
  for (const PolicySummary& each : comparison.summaries) {
    if (each.ranked != 0)
      fmt::print("{}: the best is the fastest under every scenario in {} of {} run{}{}\n", each.policy,
                 each.stays, each.ranked, each.ranked == 1 ? "" : "s",
                 each.worst.empty() ? ""
                                    : fmt::format("; at most {:.2f} % behind the fastest ({})",
                                                  100 * each.worst_miss, each.worst));
    std::string means;
    for (const auto& [scenario, mean] : each.references)
      means += fmt::format("{}{} {:.2f}x", means.empty() ? "" : ", ", scenario, mean);
    if (!means.empty())
      fmt::print("{}: geometric mean of reference/best under each scenario: {}\n", each.policy, means);
  }
}

Json optional_json(const auto& value) {
  return value ? Json(*value) : Json();
}

Json comparison_json(const Comparison& comparison, const std::vector<std::string>& failures) {
  Json workloads = Json::array();
  for (const WorkloadRow& row : comparison.workloads) {
    Json cells = Json::object();
    for (size_t p = 0; p < row.cells.size(); ++p)
      cells[comparison.policies[p]] = {{"runs", row.cells[p].runs},
                                       {"median", row.cells[p].median},
                                       {"lowest", row.cells[p].low},
                                       {"highest", row.cells[p].high}};
    workloads.push_back({{"workload", row.label},
                         {"unit", row.unit},
                         {"evaluations", row.evaluations},
                         {"candidate0", row.candidate0},
                         {"best_known", row.best_known},
                         {"optimum", optional_json(row.optimum)},
                         {"baseline", optional_json(row.baseline)},
                         {"baseline_name", row.baseline_name},
                         {"lower_bound", optional_json(row.bound)},
                         {"policies", cells}});
  }
  Json policies = Json::array();
  for (const PolicySummary& each : comparison.summaries) {
    policies.push_back({{"policy", each.policy},
                        {"workloads", each.workloads},
                        {"runs", each.runs},
                        {"verified", each.verified},
                        {"geometric_mean_speedup", each.speedup},
                        {"geometric_mean_speedup_worst_seed", each.speedup_low},
                        {"geometric_mean_speedup_best_seed", each.speedup_high},
                        {"geometric_mean_baseline", optional_json(each.baseline)},
                        {"mean_disappointment", each.disappointment},
                        {"mean_regret", optional_json(each.regret)},
                        {"regret_workloads", each.regret_workloads},
                        {"mean_evaluations", each.evaluations},
                        {"tokens", each.tokens},
                        {"tokens_per_verified_kernel", optional_json(each.tokens_per_kernel)}});
    if (each.ranked != 0)
      policies.back()["ranking"] = {{"runs", each.ranked},
                                    {"stays_everywhere", each.stays},
                                    {"worst_miss", each.worst_miss},
                                    {"worst", each.worst}};
    for (const auto& [scenario, mean] : each.references)
      policies.back()["geometric_mean_reference"][scenario] = mean;
  }
  return {{"schema", "zomboss.compare/1"},
          {"policies", policies},
          {"workloads", workloads},
          {"warnings", comparison.warnings},
          {"failures", failures}};
}

}  // namespace

int print_comparison(const CommonOptions& common, const history::History& history,
                     const std::vector<int64_t>& jobs, const std::vector<std::string>& failures) {
  std::vector<Run> runs;
  for (const int64_t job : jobs) {
    if (const auto known = history.job(job); !known.ok()) return fail(common, known.status());
    auto of_job = history.runs(job);
    if (!of_job.ok()) return fail(common, of_job.status());
    runs.insert(runs.end(), of_job->begin(), of_job->end());
  }
  const auto comparison = compare_runs(history, runs);
  if (!comparison.ok()) return fail(common, comparison.status());
  if (common.json) {
    print_json(comparison_json(*comparison, failures));
    return kExitSuccess;
  }
  print_tables(*comparison);
  for (const std::string& warning : comparison->warnings)
    fmt::print(stderr, "zomboss: warning: {}\n", warning);
  return kExitSuccess;
}

}  // namespace zomboss::cli
