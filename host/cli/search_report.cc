#include "host/cli/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/cli/suite_summary.h"

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

std::string miss_text(double miss) {
  return fmt::format("{:.2f} %", 100 * miss);
}

std::string ranking_text(const search::Report& report, const search::Ranking& each) {
  std::string text = fmt::format("{}: the best, {}, ", each.scenario, each.best);
  text += each.stays()
              ? "is the fastest of all that was evaluated"
              : fmt::format("is {} behind {}, {}", miss_text(each.miss()), each.fastest_is, each.fastest);
  for (const search::Reference& reference : report.references) {
    const auto latency = search::latency_under(reference.candidate.evaluation.scenarios, each.scenario);
    if (reference.verified() && latency)
      text += fmt::format("; {}/best {:.2f}x", reference.name,
                          static_cast<double>(*latency) / static_cast<double>(each.best));
  }
  return text;
}

void print_reference(const search::Reference& reference, const std::string& unit, double best) {
  const evaluate::Evaluation& evaluation = reference.candidate.evaluation;
  const std::string source = reference.doc.empty() ? "" : " (" + reference.doc + ")";
  if (reference.verified())
    fmt::print("{:<13} {} {}{}; {}/best {:.2f}x\n", reference.name, evaluation.latency, unit, source,
               reference.name, static_cast<double>(evaluation.latency) / best);
  else
    fmt::print("{:<13} does not verify ({}): {}\n", reference.name, search::outcome_name(evaluation.outcome),
               evaluation.reason);
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
    fmt::print("{}geometric mean of {}/best over {}: {:.2f}x; slower than the {}: {}\n", where,
               summary.baseline_name, workloads(summary.with_baseline), summary.baseline,
               summary.baseline_name, summary.slower);
  if (summary.ranked != 0)
    fmt::print("{}the best is the fastest under every scenario in {} of {}{}\n", where, summary.stays,
               workloads(summary.ranked),
               summary.worst.empty() ? ""
                                     : fmt::format("; at most {} behind the fastest ({})",
                                                   miss_text(summary.worst_miss), summary.worst));
  std::string means;
  for (const Summary::Scenario& scenario : summary.scenarios)
    means += fmt::format("{}{} {:.2f}x", means.empty() ? "" : ", ", scenario.name, scenario.reference);
  if (!means.empty())
    fmt::print("{}geometric mean of {}/best under each scenario: {}\n", where, summary.reference_name, means);
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
  if (summary.ranked == 0) return;
  json["ranking"] = {{"workloads", summary.ranked},
                     {"stays_everywhere", summary.stays},
                     {"worst_miss", summary.worst_miss},
                     {"worst", summary.worst}};
  for (const Summary::Scenario& scenario : summary.scenarios)
    json["geometric_mean_reference"][scenario.name] = scenario.reference;
}

}  // namespace

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
  for (const search::Reference& reference : report.references)
    print_reference(reference, unit, latency_of(outcome));
  for (const search::Ranking& each : report.ranking)
    fmt::print("scenario      {}\n", ranking_text(report, each));
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
  std::vector<const Row*> all;
  for (const Row& row : rows) all.push_back(&row);
  const std::string baseline = baseline_name(all);
  fmt::print("{:<{}} {:>11} {:>11} {:>9} {:>11} {:>13} {:>11} {:>8} {:>5} {:>10}\n", "workload", width,
             "Candidate-0", "best", "speed-up", baseline, baseline + "/best", "lower bound", "of bound",
             "evals", "match rate");
  for (const Row& row : rows) print_row(row, width);
  for (const Row& row : rows) {
    if (row.outcome == nullptr) continue;
    const evaluate::Evaluation& evaluation = row.outcome->report.candidate0.evaluation;
    fmt::print("latencies: {} of the simulator {}\n", evaluation.unit, evaluation.simulation.simulator);
    break;
  }
  for (const auto& [source, count] : baseline_sources(rows))
    fmt::print("{}: {} ({})\n", baseline == "baseline" ? "baselines" : baseline, source, workloads(count));
  for (const Row& row : rows)
    if (row.outcome != nullptr && !row.repeated)
      for (const search::Reference& reference : row.outcome->report.references)
        if (!reference.verified())
          fmt::print("{}: {} does not verify ({}): {}\n", row.task.name, reference.name,
                     search::outcome_name(reference.candidate.evaluation.outcome),
                     reference.candidate.evaluation.reason);
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
  json["baseline_name"] = known && !task.baseline_name.empty() ? Json(task.baseline_name) : Json();
  json["baseline_source"] = known ? Json(task.baseline_source) : Json();
  json["baseline_over_best"] = known ? Json(*task.baseline / best) : Json();
}

}  // namespace zomboss::cli
