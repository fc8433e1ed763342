// zomboss runs, show, compare, report, plugins release: what the history says. They read; only release
// writes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "core/report/report.h"
#include "host/cli/commands.h"
#include "host/cli/compare.h"
#include "host/cli/exit.h"
#include "host/cli/export.h"
#include "host/cli/history_access.h"
#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

using history::History;
using history::Run;

double speedup(const Run& run) {
  return run.best_latency == 0
             ? 1.0
             : static_cast<double>(run.candidate0_latency) / static_cast<double>(run.best_latency);
}

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const Run& run) {
  return {{"run", run.id},
          {"job", run.job},
          {"workload", run.label},
          {"suite", run.suite},
          {"hlo", run.hlo},
          {"contract", run.contract},
          {"policy", run.policy},
          {"policy_version", run.policy_version},
          {"policy_options", run.policy_options},
          {"seed", run.seed},
          {"state", run.state},
          {"stop_reason", run.stop_reason},
          {"candidate0", run.candidate0_latency},
          {"best", run.best_latency},
          {"best_evaluation", run.best_evaluation},
          {"best_plan", run.best_plan},
          {"speedup", speedup(run)},
          {"lower_bound", optional_json(run.bound)},
          {"baseline", optional_json(run.baseline)},
          {"evaluations", run.evaluations},
          {"evaluation_budget", run.budget.evaluations},
          {"proposals", run.proposals},
          {"trials", run.trials},
          {"usage", cli::to_json(run.usage)},
          {"seconds", run.seconds},
          {"started", run.started},
          {"ended", run.ended}};
}

Json to_json(const history::Trial& trial) {
  Json json = {{"trial", trial.number},
               {"proposal", trial.proposal},
               {"index", trial.index},
               {"evaluation", trial.evaluation},
               {"outcome", trial.outcome},
               {"intent", trial.intent},
               {"plan", trial.plan},
               {"latency", trial.latency},
               {"static_cost", trial.static_cost},
               {"incumbent", trial.incumbent}};
  if (!trial.reason.empty()) json["reason"] = trial.reason;
  return json;
}

Json evaluation_json(const history::Evaluation& evaluation) {
  Json counters = Json::object();
  for (const auto& [name, value] : evaluation.counters) counters[name] = value;
  return {{"outcome", evaluation.outcome},
          {"latency", evaluation.latency},
          {"elements", evaluation.elements},
          {"match_rate", evaluation.match_rate},
          {"worst", evaluation.worst},
          {"seconds", evaluation.seconds},
          {"counters", counters}};
}

void print_run_line(const Run& run, size_t width) {
  fmt::print("{:>5} {:>5}  {:<{}} {:<12} {:>6} {:<12} {:>11} {:>11} {:>8.2f}x {:>6}  {}\n", run.id, run.job,
             run.label, width, run.policy, run.seed, run.state, run.candidate0_latency, run.best_latency,
             speedup(run), run.evaluations, run.started);
}

int list_runs(const CommonOptions& common, const History& history, int64_t job) {
  auto runs = history.runs(job == 0 ? std::nullopt : std::optional(job));
  if (!runs.ok()) return fail(common, runs.status());
  if (common.json) {
    Json list = Json::array();
    for (const Run& run : *runs) list.push_back(to_json(run));
    print_json({{"schema", "zomboss.runs/1"}, {"runs", list}});
    return kExitSuccess;
  }
  size_t width = 8;
  for (const Run& run : *runs) width = std::max(width, run.label.size());
  fmt::print("{:>5} {:>5}  {:<{}} {:<12} {:>6} {:<12} {:>11} {:>11} {:>9} {:>6}  {}\n", "run", "job",
             "workload", width, "policy", "seed", "state", "Candidate-0", "best", "speed-up", "evals",
             "started");
  for (const Run& run : *runs) print_run_line(run, width);
  return kExitSuccess;
}

void print_plan_sections(const std::string& text) {
  const Json plan = Json::parse(text, nullptr, false);
  if (!plan.is_object() || !plan.contains("sections")) return;
  for (const auto& [category, decisions] : plan["sections"].items()) {
    std::string line;
    for (const auto& [knob, decision] : decisions.items())
      line +=
          fmt::format(" {}={}", knob, decision.is_object() ? decision.value("value", "") : decision.dump());
    if (!line.empty()) fmt::print("  {:<22}{}\n", category, line);
  }
}

int show_plan(const CommonOptions& common, const History& history, const Run& run,
              const history::Trial& trial) {
  Json json = to_json(trial);
  std::string plan;
  std::optional<history::Evaluation> evaluation;
  if (!trial.plan.empty()) {
    auto text = history.plan(run.problem, trial.plan);
    if (text.ok()) plan = *std::move(text);
    auto found = history.find_evaluation(run.problem, trial.plan);
    if (!found.ok()) return fail(common, found.status());
    evaluation = *std::move(found);
  }
  if (common.json) {
    json["schema"] = "zomboss.trial/1";
    json["run"] = run.id;
    json["plan_document"] = plan.empty() ? Json() : Json::parse(plan, nullptr, false);
    json["measured"] = evaluation ? evaluation_json(*evaluation) : Json();
    print_json(json);
    return kExitSuccess;
  }
  fmt::print("run {}, {}: trial {}, evaluation {}: {}, latency {}{}\n", run.id, run.label, trial.number,
             trial.evaluation, trial.outcome, trial.latency, trial.incumbent ? ", new best" : "");
  if (!trial.intent.empty()) fmt::print("intent  {}\n", trial.intent);
  if (!trial.reason.empty()) fmt::print("reason  {}\n", trial.reason);
  if (!trial.plan.empty()) fmt::print("plan    {}\n", trial.plan);
  print_plan_sections(plan);
  if (evaluation)
    for (const auto& [name, value] : evaluation->counters) fmt::print("  {:<34} {:g}\n", name, value);
  return kExitSuccess;
}

// The trial of Candidate-0, which is none.
history::Trial candidate0_trial(const Run& run) {
  history::Trial trial;
  trial.outcome = "valid";
  trial.plan = run.candidate0_plan;
  trial.latency = run.candidate0_latency;
  trial.incumbent = true;
  return trial;
}

int show_best(const CommonOptions& common, const History& history, const Run& run) {
  history::Trial trial = candidate0_trial(run);
  if (run.best_evaluation != 0) {
    trial.evaluation = run.best_evaluation;
    trial.plan = run.best_plan;
    trial.latency = run.best_latency;
  }
  return show_plan(common, history, run, trial);
}

int show_trials(const CommonOptions& common, const History& history, const Run& run) {
  Json list = Json::array();
  const Status read = history.each_trial(run.id, [&](const history::Trial& trial) {
    if (common.json) {
      list.push_back(to_json(trial));
      return true;
    }
    fmt::print("{:>6} {:>6} {:>6} {:<18} {:>11}{} {}{}{}\n", trial.number, trial.proposal, trial.evaluation,
               trial.outcome, trial.latency, trial.incumbent ? " *" : "  ", trial.intent,
               trial.reason.empty() ? "" : "  # ", trial.reason);
    return true;
  });
  if (!read.ok()) return fail(common, read);
  if (common.json) print_json({{"schema", "zomboss.trials/1"}, {"run", run.id}, {"trials", list}});
  return kExitSuccess;
}

int show_run(const CommonOptions& common, const History& history, const Run& run) {
  const auto outcomes = history.outcomes(run.id);
  if (!outcomes.ok()) return fail(common, outcomes.status());
  const auto events = history.events(run.id);
  if (!events.ok()) return fail(common, events.status());
  const auto problem = history.problem(run.problem);
  if (!problem.ok()) return fail(common, problem.status());
  if (common.json) {
    Json json = {{"schema", "zomboss.run/1"}};
    json.update(to_json(run));
    json["target"] = problem->target;
    json["target_version"] = problem->target_version;
    json["simulator"] = problem->simulator;
    json["unit"] = problem->unit;
    for (const auto& [name, count] : *outcomes) json["outcomes"][name] = count;
    for (const auto& event : *events)
      json["events"].push_back({{"time", event.time}, {"kind", event.kind}, {"text", event.text}});
    print_json(json);
    return kExitSuccess;
  }
  fmt::print("run           {} of job {}, {}\n", run.id, run.job, run.state);
  fmt::print("workload      {} ({})\n", run.label, run.hlo);
  fmt::print("target        {} {}; {}\n", problem->target, problem->target_version, problem->simulator);
  fmt::print("policy        {} {}, seed {}\n", run.policy, run.policy_version, run.seed);
  fmt::print("Candidate-0   {} {}\n", run.candidate0_latency, problem->unit);
  fmt::print("best          {} {} at evaluation {}, {:.2f}x\n", run.best_latency, problem->unit,
             run.best_evaluation, speedup(run));
  fmt::print("evaluations   {} of {}, {} proposals, {} trials; stopped by {}\n", run.evaluations,
             run.budget.evaluations, run.proposals, run.trials, run.stop_reason);
  std::string counts;
  for (const auto& [name, count] : *outcomes)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", name, count);
  fmt::print("trials        {}\n", counts);
  for (const auto& event : *events)
    fmt::print("event         {} {}: {}\n", event.time, event.kind, event.text);
  fmt::print("started       {}, {:.1f} s\n", run.started, run.seconds);
  return kExitSuccess;
}

}  // namespace

int run_runs_command(const CommonOptions& common, const HistoryOptions& options) {
  const auto history = open_to_read(common, options);
  if (!history.ok()) return fail(common, history.status());
  return list_runs(common, **history, options.job);
}

int run_show_command(const CommonOptions& common, const HistoryOptions& options) {
  const auto history = open_to_read(common, options);
  if (!history.ok()) return fail(common, history.status());
  const auto run = (*history)->run(options.run);
  if (!run.ok()) return fail(common, run.status());
  if (options.canonical) {
    const auto text = (*history)->canonical_text(run->id);
    if (!text.ok()) return fail(common, text.status());
    fmt::print("{}", *text);
    return kExitSuccess;
  }
  if (options.best) return show_best(common, **history, *run);
  if (options.trials) return show_trials(common, **history, *run);
  if (options.trial == 0) return show_run(common, **history, *run);
  const auto trial = (*history)->trial(run->id, static_cast<uint64_t>(options.trial));
  if (!trial.ok()) return fail(common, trial.status());
  if (!*trial)
    return fail(common, Status(Code::kNotFound, fmt::format("run {} has {} trials, none with number {}",
                                                            run->id, run->trials, options.trial)));
  return show_plan(common, **history, *run, **trial);
}

int run_compare_command(const CommonOptions& common, const HistoryOptions& options) {
  const auto history = open_to_read(common, options);
  if (!history.ok()) return fail(common, history.status());
  std::vector<int64_t> jobs = options.jobs;
  if (jobs.empty()) {
    const auto all = (*history)->jobs();
    if (!all.ok()) return fail(common, all.status());
    for (const history::Job& job : *all)
      if (job.command == "suite" && jobs.empty()) jobs.push_back(job.id);
    if (jobs.empty())
      return fail(common,
                  invalid_argument("the history has no suite; name the jobs to compare (zomboss runs)"));
  }
  return print_comparison(common, **history, jobs, {});
}

int run_report_command(const CommonOptions& common, const HistoryOptions& options) {
  const auto history = open_to_read(common, options);
  if (!history.ok()) return fail(common, history.status());
  std::vector<int64_t> runs = options.jobs;  // of report: runs
  if (options.job != 0 || runs.empty()) {
    int64_t job = options.job;
    if (job == 0) {
      const auto all = (*history)->jobs();
      if (!all.ok()) return fail(common, all.status());
      if (all->empty()) return fail(common, invalid_argument("the history has no run yet"));
      job = all->front().id;
    }
    if (const auto known = (*history)->job(job); !known.ok()) return fail(common, known.status());
    const auto of_job = (*history)->runs(job);
    if (!of_job.ok()) return fail(common, of_job.status());
    for (const Run& run : *of_job) runs.push_back(run.id);
  }
  if (runs.empty()) return fail(common, invalid_argument("the job has no run yet"));
  if (common.json) {
    const auto text = report::json_report(**history, runs, {});
    if (!text.ok()) return fail(common, text.status());
    fmt::print("{}\n", *text);
    return kExitSuccess;
  }
  const auto html = report::html_report(**history, runs, {});
  if (!html.ok()) return fail(common, html.status());
  const std::string path = options.output.empty() ? "report.html" : options.output;
  if (const Status written = write_file(path, *html); !written.ok()) return fail(common, written);
  fmt::print("wrote {}: {} runs, {} KiB\n", path, runs.size(), html->size() / 1024);
  return kExitSuccess;
}

int run_plugin_release_command(const CommonOptions& common, const std::string& id) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  auto history = open_history((*session)->config());
  if (!history.ok()) return fail(common, history.status());
  if (*history == nullptr)
    return fail(common, invalid_argument("no history is kept (history.file is empty)"));
  const auto plugins = (*history)->plugins();
  if (!plugins.ok()) return fail(common, plugins.status());
  size_t released = 0;
  for (History::PluginHealth health : *plugins) {
    if (health.id != id || !health.quarantined) continue;
    health.quarantined = false;
    health.failures = 0;
    if (const Status noted = (*history)->note_plugin(health); !noted.ok()) return fail(common, noted);
    ++released;
  }
  if (released == 0)
    return fail(common, Status(Code::kNotFound, fmt::format("no plugin '{}' is quarantined", id)));
  fmt::print("released {}: it is used again\n", id);
  return kExitSuccess;
}

}  // namespace zomboss::cli
