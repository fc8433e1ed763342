// zomboss search: one workload, or every workload of suite files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/export.h"
#include "host/cli/json.h"
#include "host/cli/progress.h"

namespace zomboss::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // set in a signal handler

extern "C" void on_interrupt(int) {
  if (interrupted.exchange(true)) _exit(kExitInterrupted);  // the second one does not wait
}

struct Task {
  std::string name, hlo, contract;
};

struct Settings {
  std::string policy, output;
  search::Budget budget;  // 0 = by the surface
  uint64_t seed = 1;
  bool export_kernels = true;
};

// Everything that is said about one finished search.
struct Outcome {
  Task task;
  search::Report report;
  std::optional<wire::BoundT> bound;
  Exported exported;
  std::string reproduce, check;
  Json json;
};

// The suite files of a target in workloads/ of the current folder: TARGET.toml and TARGET-*.toml, by name.
Result<std::vector<std::string>> bundled_suites(const std::string& target) {
  std::vector<std::string> suites;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("workloads", error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".toml") && (name == target + ".toml" || name.starts_with(target + "-")))
      suites.push_back(entry.path().string());
  }
  std::sort(suites.begin(), suites.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  if (suites.empty())
    return invalid_argument(
        fmt::format("no input is given, and workloads/ of the current folder has no suite of {}: name an HLO "
                    "or suite file",
                    target));
  return suites;
}

Result<std::vector<Task>> read_tasks(Session& session, const SearchOptions& options) {
  std::vector<std::string> inputs = options.inputs;
  if (inputs.empty()) {
    ZB_ASSIGN(inputs, bundled_suites(session.target_id()));
  }
  std::vector<Task> tasks;
  for (const std::string& input : inputs) {
    if (!input.ends_with(".toml")) {
      tasks.push_back({"", input, session.options().contract});
      continue;
    }
    ZB_ASSIGN(const config::Suite suite, config::read_suite(input));
    for (const config::Instance& instance : suite.instances)
      tasks.push_back({suite.name + "/" + instance.name, instance.hlo,
                       instance.contract.empty() ? session.options().contract : instance.contract});
  }
  return tasks;
}

Settings read_settings(const config::Config& config, const SearchOptions& options) {
  Settings settings;
  settings.policy = config.text("search.policy");
  settings.output = config.text("output.directory");
  settings.budget.evaluations = static_cast<uint32_t>(config.integer("search.evaluations"));
  settings.budget.proposals = static_cast<uint32_t>(config.integer("search.proposals"));
  settings.budget.patience = static_cast<uint32_t>(config.integer("search.patience"));
  settings.seed = static_cast<uint64_t>(config.integer("search.seed"));
  settings.export_kernels = !options.no_export;
  return settings;
}

search::Budget resolve_budget(const search::Budget& asked, const mapping::Surface& surface) {
  search::Budget budget = search::default_budget(surface, asked.evaluations);
  if (asked.proposals != 0) budget.proposals = asked.proposals;
  budget.patience = asked.patience;
  return budget;
}

Json candidate_json(const search::Candidate& candidate, uint32_t evaluation) {
  Json counters = Json::object();
  for (const auto& counter : candidate.evaluation.simulation.counters)
    counters[counter->name] = counter->value;
  return {{"evaluation", evaluation},
          {"latency", candidate.evaluation.latency},
          {"verified_elements", candidate.evaluation.comparison.elements},
          {"match_rate", candidate.evaluation.comparison.match_rate()},
          {"worst_element", candidate.evaluation.comparison.worst_difference},
          {"plan", to_json(candidate.plan)},
          {"counters", counters}};
}

Json make_json(const Outcome& outcome, const Settings& settings, const search::Budget& budget,
               const Problem& problem, const evaluate::Target& target) {
  const search::Report& report = outcome.report;
  Json trials = Json::array();
  for (const search::Trial& trial : report.trials) trials.push_back(to_json(trial));
  Json json = {{"schema", "zomboss.search/1"},
               {"workload", problem.workload.message.name},
               {"workload_hash", problem.workload.message.hash},
               {"target", target.id()},
               {"target_version", target.version()},
               {"spec_hash", target.model().spec_hash},
               {"policy", settings.policy},
               {"seed", settings.seed},
               {"simulator", report.candidate0.evaluation.simulation.simulator},
               {"unit", report.candidate0.evaluation.unit},
               {"candidate0", candidate_json(report.candidate0, 0)},
               {"best", candidate_json(report.best, report.best_evaluation)},
               {"speedup", report.speedup()}};
  json["lower_bound"] = outcome.bound.has_value() ? to_json(*outcome.bound) : Json();
  json["budget"] = {
      {"evaluations", budget.evaluations}, {"proposals", budget.proposals}, {"patience", budget.patience}};
  json["evaluations"] = report.evaluations;
  json["proposals"] = report.proposals;
  json["stop_reason"] = report.stop_reason;
  json["rejections"] = report.rejections();
  json["trials"] = trials;
  json["reproduce"] = outcome.reproduce;
  return json;
}

Result<Outcome> search_one(Session& session, const Task& task, const Settings& settings) {
  const auto started = std::chrono::steady_clock::now();
  Outcome outcome;
  outcome.task = task;
  ZB_ASSIGN(const Problem problem, session.problem(task.hlo, task.contract));
  if (outcome.task.name.empty()) outcome.task.name = problem.workload.message.name;
  ZB_ASSIGN(const evaluate::Reference reference, evaluate::make_reference(problem.workload));
  ZB_ASSIGN(evaluate::Target * target, session.target());
  ZB_ASSIGN(const auto policy, session.policy(settings.policy));
  const auto evaluator = evaluate::make_in_process_evaluator(*target, problem.workload, reference);
  search::Options options;
  options.budget = resolve_budget(settings.budget, *problem.surface);
  options.seed = settings.seed;
  options.cancelled = &interrupted;
  {
    Progress progress(outcome.task.name, options.budget.evaluations);
    ZB_ASSIGN(outcome.report, search::run_search(*problem.resolver, *evaluator, *policy,
                                                 problem.workload.message, options, progress));
  }
  if (auto bound = target->bound(problem.workload.encoded); bound.ok())
    outcome.bound = *std::move(bound);
  else if (bound.status().code() != Code::kUnimplemented)
    return std::move(bound).status();
  outcome.reproduce = fmt::format(
      "{} search {}{} --policy {} --seed {} --evaluations {} --proposals {}{}",
      shell_word(session.options().program), shell_word(task.hlo), session.reproduce_flags(task.contract),
      settings.policy, settings.seed, options.budget.evaluations, options.budget.proposals,
      options.budget.patience == 0 ? "" : fmt::format(" --patience {}", options.budget.patience));
  outcome.json = make_json(outcome, settings, options.budget, problem, *target);
  if (settings.export_kernels) {
    ZB_ASSIGN(outcome.exported, export_kernel(*target, problem, reference, outcome.report.best.plan,
                                              outcome.report.best.evaluation.program,
                                              settings.output + "/" + outcome.task.name, outcome.json));
    if (!outcome.exported.kernel.empty())
      outcome.check = fmt::format("{} check {} --workload {}{}", shell_word(session.options().program),
                                  shell_word(outcome.exported.kernel), shell_word(task.hlo),
                                  session.reproduce_flags(task.contract));
  }
  outcome.json["exported"] = outcome.exported.files;
  outcome.json["check"] = outcome.check;
  outcome.json["timing"] = {
      {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count()}};
  return outcome;
}

std::string rejections_text(const search::Report& report) {
  std::string text;
  for (const auto& [name, count] : report.rejections())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text.empty() ? "none" : text;
}

void print_outcome(const Outcome& outcome) {
  const search::Report& report = outcome.report;
  const auto& unit = report.candidate0.evaluation.unit;
  fmt::print("workload      {}\n", outcome.task.name);
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
               outcome.bound->reason,
               100 * outcome.bound->latency / static_cast<double>(report.best.evaluation.latency));
  fmt::print("evaluations   {} of {} proposals; stopped by {}\n", report.evaluations, report.proposals,
             report.stop_reason);
  fmt::print("rejections    {}\n", rejections_text(report));
  fmt::print("plan          ");
  for (const auto& section : report.best.plan.sections)
    for (const mapping::Decision& decision : section) fmt::print("{}={} ", decision.knob, decision.text);
  fmt::print("\nreproduce     {}\n", outcome.reproduce);
  for (const std::string& file : outcome.exported.files) fmt::print("wrote         {}\n", file);
  if (!outcome.check.empty()) fmt::print("check         {}\n", outcome.check);
}

// Of the speed-ups; at least one outcome.
double geometric_mean(const std::vector<Outcome>& outcomes) {
  double log_sum = 0;
  for (const Outcome& outcome : outcomes) log_sum += std::log(outcome.report.speedup());
  return std::exp(log_sum / static_cast<double>(outcomes.size()));
}

void print_table(const std::vector<Outcome>& outcomes) {
  fmt::print("{:<24} {:>12} {:>12} {:>9} {:>12} {:>6} {:>7} {}\n", "workload", "Candidate-0", "best",
             "speed-up", "lower bound", "evals", "props", "rejections");
  for (const Outcome& outcome : outcomes) {
    const search::Report& report = outcome.report;
    fmt::print("{:<24} {:>12} {:>12} {:>8.2f}x {:>12} {:>6} {:>7} {}\n", outcome.task.name,
               report.candidate0.evaluation.latency, report.best.evaluation.latency, report.speedup(),
               outcome.bound.has_value() ? fmt::format("{:.0f}", outcome.bound->latency) : "-",
               report.evaluations, report.proposals, rejections_text(report));
  }
  if (!outcomes.empty())
    fmt::print("geometric mean of the speed-ups over {} workloads: {:.2f}x\n", outcomes.size(),
               geometric_mean(outcomes));
}

void print_suite_json(const std::vector<Outcome>& outcomes, const std::vector<std::string>& failures) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) list.push_back(outcome.json);
  Json json = {{"schema", "zomboss.suite/1"}, {"instances", list}, {"failures", failures}};
  json["geometric_mean_speedup"] = outcomes.empty() ? Json() : Json(geometric_mean(outcomes));
  print_json(json);
}

std::vector<std::array<std::string, 3>> flag_settings(const SearchOptions& options) {
  std::vector<std::array<std::string, 3>> flags;
  const auto add = [&](const std::string& value, const char* key, const char* flag) {
    if (!value.empty()) flags.push_back({key, value, flag});
  };
  add(options.policy, "search.policy", "--policy");
  add(options.seed, "search.seed", "--seed");
  add(options.evaluations, "search.evaluations", "--evaluations");
  add(options.proposals, "search.proposals", "--proposals");
  add(options.patience, "search.patience", "--patience");
  add(options.output, "output.directory", "--output");
  return flags;
}

}  // namespace

int run_search_command(const CommonOptions& common, const SearchOptions& options) {
  auto session = Session::open(common, flag_settings(options));
  if (!session.ok()) return fail(common, session.status());
  const auto tasks = read_tasks(**session, options);
  if (!tasks.ok()) return fail(common, tasks.status());
  const Settings settings = read_settings((*session)->config(), options);
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  std::vector<Outcome> outcomes;
  std::vector<std::string> failures;
  int worst = kExitSuccess;
  for (const Task& task : *tasks) {
    auto outcome = search_one(**session, task, settings);
    if (outcome.ok()) {
      outcomes.push_back(*std::move(outcome));
    } else if (tasks->size() == 1) {
      return fail(common, outcome.status());
    } else {  // one bad instance does not end a suite
      const std::string& why = outcome.status().message();
      failures.push_back(why.starts_with(task.hlo) ? why : fmt::format("{}: {}", task.hlo, why));
      fmt::print(stderr, "zomboss: error: {}\n", failures.back());
      worst = std::max(worst, exit_code(outcome.status()));
    }
    if (interrupted.load()) break;
  }
  if (tasks->size() == 1) {
    if (common.json)
      print_json(outcomes[0].json);
    else
      print_outcome(outcomes[0]);
  } else if (common.json) {
    print_suite_json(outcomes, failures);
  } else {
    print_table(outcomes);
    fmt::print("{} of {} workloads verified\n", outcomes.size(), tasks->size());
  }
  return interrupted.load() ? kExitInterrupted : worst;
}

}  // namespace zomboss::cli
