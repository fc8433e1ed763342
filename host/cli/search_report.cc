#include "host/cli/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace zomboss::cli {
namespace {

double latency_of(const Outcome& outcome) {
  return static_cast<double>(outcome.report.best.evaluation.latency);
}

std::string workloads(size_t count) {
  return fmt::format("{} workload{}", count, count == 1 ? "" : "s");
}

std::string rejections_text(const search::Report& report) {
  std::string text;
  for (const auto& [name, count] : report.rejections())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text.empty() ? "none" : text;
}

std::string usage_text(const wire::UsageT& usage) {
  return fmt::format("{} requests, {} + {} tokens{}, cost {}{}", usage.requests, usage.prompt_tokens,
                     usage.completion_tokens, usage.estimated ? " (partly estimated)" : "",
                     usage.cost_unknown ? "unknown" : fmt::format("{:.4f} {}", usage.cost, usage.currency),
                     usage.malformed == 0 ? "" : fmt::format(", {} answers malformed", usage.malformed));
}

// The suites of the rows in their order, and "all" when there are several. A workload counts once in "all".
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

// Each source of baselines with the number of its rows, in the order of the rows.
std::vector<std::pair<std::string, size_t>> baseline_sources(const std::vector<Row>& rows) {
  std::vector<std::pair<std::string, size_t>> sources;
  for (const Row& row : rows) {
    if (row.repeated || !row.task.baseline.has_value()) continue;
    const std::string name = row.task.baseline_source.empty() ? "not stated" : row.task.baseline_source;
    const auto found =
        std::find_if(sources.begin(), sources.end(), [&](const auto& each) { return each.first == name; });
    if (found == sources.end())
      sources.emplace_back(name, 1);
    else
      ++found->second;
  }
  return sources;
}

void print_row(const Row& row, size_t width) {
  if (row.outcome == nullptr) {
    fmt::print("{:<{}} {}\n", row.task.name, width, row.failure);
    return;
  }
  const search::Report& report = row.outcome->report;
  const double best = latency_of(*row.outcome);
  std::string baseline = "-", gain = "-", bound = "-", share = "-";
  if (row.task.baseline.has_value()) {
    baseline = fmt::format("{:.0f}", *row.task.baseline);
    gain = fmt::format("{:.2f}x", *row.task.baseline / best);
  }
  if (row.outcome->bound.has_value()) {
    bound = fmt::format("{:.0f}", row.outcome->bound->latency);
    share = fmt::format("{:.0f} %", 100 * row.outcome->bound->latency / best);
  }
  fmt::print("{:<{}} {:>11} {:>11} {:>8.2f}x {:>11} {:>13} {:>11} {:>8} {:>5} {:>8.2f} %\n", row.task.name,
             width, report.candidate0.evaluation.latency, report.best.evaluation.latency, report.speedup(),
             baseline, gain, bound, share, report.evaluations,
             100 * report.best.evaluation.comparison.match_rate());
}

void print_summary(const Summary& summary) {
  const std::string where = summary.name.empty() ? "" : summary.name + ": ";
  fmt::print("{}{} of {} verified\n", where, summary.verified, workloads(summary.workloads));
  if (summary.verified != 0)
    fmt::print("{}geometric mean of the speed-ups over Candidate-0: {:.2f}x\n", where, summary.speedup);
  if (summary.with_baseline != 0)
    fmt::print("{}geometric mean of baseline/best over {}: {:.2f}x; slower than the baseline: {}\n", where,
               workloads(summary.with_baseline), summary.baseline, summary.slower);
}

Json mean_json(size_t count, double mean) {
  return count == 0 ? Json() : Json(mean);
}

void add_summary(Json& json, const Summary& summary) {
  json["workloads"] = summary.workloads;
  json["verified"] = summary.verified;
  json["geometric_mean_speedup"] = mean_json(summary.verified, summary.speedup);
  json["with_baseline"] = summary.with_baseline;
  json["geometric_mean_baseline"] = mean_json(summary.with_baseline, summary.baseline);
  json["slower_than_baseline"] = summary.slower;
}

}  // namespace

Summary summarize(std::string name, std::span<const Row* const> rows) {
  Summary summary;
  summary.name = std::move(name);
  double speedups = 0, baselines = 0;  // sums of logarithms
  for (const Row* row : rows) {
    ++summary.workloads;
    if (row->outcome == nullptr) continue;
    ++summary.verified;
    speedups += std::log(row->outcome->report.speedup());
    if (!row->task.baseline.has_value()) continue;
    ++summary.with_baseline;
    const double gain = *row->task.baseline / latency_of(*row->outcome);
    baselines += std::log(gain);
    if (gain < 1) ++summary.slower;
  }
  if (summary.verified != 0) summary.speedup = std::exp(speedups / static_cast<double>(summary.verified));
  if (summary.with_baseline != 0)
    summary.baseline = std::exp(baselines / static_cast<double>(summary.with_baseline));
  return summary;
}

void print_outcome(const Outcome& outcome) {
  const search::Report& report = outcome.report;
  const auto& unit = report.candidate0.evaluation.unit;
  fmt::print("workload      {}\n", outcome.name);
  fmt::print("simulator     {}\n", report.candidate0.evaluation.simulation.simulator);
  fmt::print("Candidate-0   {} {}, {} elements verified\n", report.candidate0.evaluation.latency, unit,
             report.candidate0.evaluation.comparison.elements);
  fmt::print("best          {} {} at evaluation {}\n", report.best.evaluation.latency, unit,
             report.best_evaluation);
  if (const auto& comparison = report.best.evaluation.comparison; !comparison.exact)
    fmt::print("accuracy      {}\n", comparison.summary());
  fmt::print("speed-up      {:.2f}x over Candidate-0\n", report.speedup());
  if (outcome.bound.has_value())
    fmt::print("lower bound   {:.0f} {} ({}); best reaches {:.0f} % of it\n", outcome.bound->latency, unit,
               outcome.bound->reason, 100 * outcome.bound->latency / latency_of(outcome));
  fmt::print("evaluations   {} of {} proposals; stopped by {}\n", report.evaluations, report.proposals,
             report.stop_reason);
  fmt::print("rejections    {}\n", rejections_text(report));
  if (report.usage.requests != 0) fmt::print("model         {}\n", usage_text(report.usage));
  for (const std::string& event : outcome.events) fmt::print("event         {}\n", event);
  fmt::print("plan          ");
  for (const auto& section : report.best.plan.sections)
    for (const mapping::Decision& decision : section) fmt::print("{}={} ", decision.knob, decision.text);
  fmt::print("\nreproduce     {}\n", outcome.reproduce);
  for (const std::string& file : outcome.exported.files) fmt::print("wrote         {}\n", file);
  if (!outcome.check.empty()) fmt::print("check         {}\n", outcome.check);
  if (!outcome.history.empty()) {
    const std::string recalled =
        report.recalled == 0 ? "" : fmt::format("; {} evaluations were known from it", report.recalled);
    fmt::print("history       run {} in {}{}\n", outcome.run, outcome.history, recalled);
  }
}

void print_table(const std::vector<Row>& rows) {
  size_t width = 20;
  for (const Row& row : rows) width = std::max(width, row.task.name.size());
  fmt::print("{:<{}} {:>11} {:>11} {:>9} {:>11} {:>13} {:>11} {:>8} {:>5} {:>10}\n", "workload", width,
             "Candidate-0", "best", "speed-up", "baseline", "baseline/best", "lower bound", "of bound",
             "evals", "match rate");
  for (const Row& row : rows) print_row(row, width);
  for (const Row& row : rows) {
    if (row.outcome == nullptr) continue;
    const evaluate::Evaluation& evaluation = row.outcome->report.candidate0.evaluation;
    fmt::print("latencies: {} of the simulator {}\n", evaluation.unit, evaluation.simulation.simulator);
    break;
  }
  for (const auto& [source, count] : baseline_sources(rows))
    fmt::print("baselines: {} ({})\n", source, workloads(count));
  for (const Summary& summary : summaries(rows)) print_summary(summary);
}

void print_suite_json(const std::vector<Row>& rows, const std::vector<std::string>& failures) {
  Json list = Json::array();
  std::vector<const Row*> once;
  for (const Row& row : rows) {
    if (!row.repeated) once.push_back(&row);
    if (row.outcome == nullptr) continue;
    Json json = row.outcome->json;
    json["instance"] = row.task.name;
    json["suite"] = row.task.suite.empty() ? Json() : Json(row.task.suite);
    add_baseline(json, row.task, latency_of(*row.outcome));
    list.push_back(std::move(json));
  }
  Json suites = Json::array();
  for (const Summary& summary : summaries(rows)) {
    suites.push_back({{"name", summary.name}});
    add_summary(suites.back(), summary);
  }
  Json json = {{"schema", "zomboss.suite/1"}};
  add_summary(json, summarize("", once));
  json["suites"] = suites;
  json["failures"] = failures;
  json["instances"] = list;
  print_json(json);
}

void add_baseline(Json& json, const Task& task, double best) {
  const bool known = task.baseline.has_value();
  json["baseline"] = known ? Json(*task.baseline) : Json();
  json["baseline_source"] = known ? Json(task.baseline_source) : Json();
  json["baseline_over_best"] = known ? Json(*task.baseline / best) : Json();
}

}  // namespace zomboss::cli
