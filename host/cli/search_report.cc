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

// What the baselines of the rows are called: the name of the reference that all of them are, else "baseline".
std::string baseline_name(std::span<const Row* const> rows) {
  std::optional<std::string> name;
  for (const Row* row : rows) {
    if (row->outcome == nullptr || !row->task.baseline.has_value()) continue;
    if (name && *name != row->task.baseline_name) return "baseline";
    name = row->task.baseline_name;
  }
  return name.value_or("").empty() ? "baseline" : *name;
}

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
    const double gain = *row->task.baseline / latency_of(*row->outcome);
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
