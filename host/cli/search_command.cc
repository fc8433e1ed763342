// zomboss search: one workload, or every workload of suite files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/export.h"
#include "host/cli/json.h"
#include "host/cli/progress.h"
#include "host/cli/search_report.h"

namespace zomboss::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // set in a signal handler

extern "C" void on_interrupt(int) {
  if (interrupted.exchange(true)) _exit(kExitInterrupted);  // the second one does not wait
}

struct Settings {
  std::string policy, output;
  search::Budget budget;  // 0 = by the surface
  uint64_t seed = 1;
  bool export_kernels = true;
};

// The suite files of a target in workloads/ of the current folder: TARGET.toml and TARGET-*.toml, by name.
// TARGET-extra.toml is for those who name it.
Result<std::vector<std::string>> bundled_suites(const std::string& target) {
  std::vector<std::string> suites;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("workloads", error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".toml") && name != target + "-extra.toml" &&
        (name == target + ".toml" || name.starts_with(target + "-")))
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

bool is_suite(const std::string& input) {
  return input.ends_with(".toml");
}

// The command's flags, with the target of its suites where no flag names one. Fails when they disagree.
Result<CommonOptions> with_target_of_suites(CommonOptions common, const std::vector<std::string>& inputs) {
  const bool named = !common.target.empty() ||
                     std::any_of(common.settings.begin(), common.settings.end(),
                                 [](const std::string& each) { return each.starts_with("search.target="); });
  std::string first;
  for (const std::string& input : inputs) {
    if (named || !is_suite(input)) continue;
    ZB_ASSIGN(const config::Suite suite, config::read_suite(input));
    if (!common.target.empty() && suite.target != common.target)
      return invalid_argument(
          fmt::format("{} is for target {} and {} for target {}: search them one after the other, or name a "
                      "target with --target",
                      first, common.target, input, suite.target));
    if (first.empty()) first = input;
    common.target = suite.target;
  }
  return common;
}

Task task_of(const config::Suite& suite, const config::Instance& instance, const Session& session) {
  Task task;
  task.name = suite.name + "/" + instance.name;
  task.suite = suite.name;
  task.hlo = instance.hlo;
  task.contract = instance.contract.empty() ? session.options().contract : instance.contract;
  if (suite.target == session.target_id()) {  // of another machine it says nothing
    task.baseline = instance.baseline;
    task.baseline_source = instance.baseline_source;
  }
  return task;
}

Result<std::vector<Task>> read_tasks(Session& session, const SearchOptions& options) {
  std::vector<std::string> inputs = options.inputs;
  if (inputs.empty()) {
    ZB_ASSIGN(inputs, bundled_suites(session.target_id()));
  }
  std::vector<Task> tasks;
  for (const std::string& input : inputs) {
    if (!is_suite(input)) {
      tasks.push_back({"", "", input, session.options().contract, {}, ""});
      continue;
    }
    ZB_ASSIGN(const config::Suite suite, config::read_suite(input));
    for (const config::Instance& instance : suite.instances)
      tasks.push_back(task_of(suite, instance, session));
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

Json make_json(const Outcome& outcome, const Task& task, const Settings& settings,
               const search::Budget& budget, const Problem& problem, const evaluate::Target& target) {
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
  add_baseline(json, task, static_cast<double>(report.best.evaluation.latency));
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
  ZB_ASSIGN(const Problem problem, session.problem(task.hlo, task.contract));
  outcome.name = task.name.empty() ? problem.workload.message.name : task.name;
  ZB_ASSIGN(const evaluate::Reference reference, evaluate::make_reference(problem.workload));
  ZB_ASSIGN(evaluate::Target * target, session.target());
  ZB_ASSIGN(const auto policy, session.policy(settings.policy));
  const auto evaluator = evaluate::make_in_process_evaluator(*target, problem.workload, reference);
  search::Options options;
  options.budget = resolve_budget(settings.budget, *problem.surface);
  options.seed = settings.seed;
  options.cancelled = &interrupted;
  {
    Progress progress(outcome.name, options.budget.evaluations);
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
  outcome.json = make_json(outcome, task, settings, options.budget, problem, *target);
  if (settings.export_kernels) {
    ZB_ASSIGN(outcome.exported, export_kernel(*target, problem, reference, outcome.report.best.plan,
                                              outcome.report.best.evaluation.program,
                                              settings.output + "/" + outcome.name, outcome.json));
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

// Searches the tasks one after the other; what came of them, in their order.
struct Run {
  std::vector<Row> rows;
  std::vector<std::unique_ptr<Outcome>> outcomes;  // that the rows borrow
  std::vector<std::string> failures;
  int worst = kExitSuccess;
  Status last;  // failure
};

void run_task(Session& session, const Task& task, const Settings& settings, Run& run) {
  Row row{task, nullptr, "", false};
  for (const Row& earlier : run.rows) {
    if (earlier.task.hlo != task.hlo || earlier.task.contract != task.contract) continue;
    row.outcome = earlier.outcome;
    row.failure = earlier.failure;
    row.repeated = true;
    run.rows.push_back(std::move(row));
    return;
  }
  auto outcome = search_one(session, task, settings);
  if (outcome.ok()) {
    run.outcomes.push_back(std::make_unique<Outcome>(*std::move(outcome)));
    row.outcome = run.outcomes.back().get();
    if (row.task.name.empty()) row.task.name = row.outcome->name;
  } else {  // one bad instance does not end a suite
    run.last = outcome.status();
    const std::string& why = run.last.message();
    if (row.task.name.empty()) row.task.name = task.hlo;
    row.failure = run.last.code() == Code::kAborted ? "does not verify" : "failed";
    run.failures.push_back(why.starts_with(task.hlo) ? why : fmt::format("{}: {}", task.hlo, why));
    run.worst = std::max(run.worst, exit_code(run.last));
  }
  run.rows.push_back(std::move(row));
}

}  // namespace

int run_search_command(const CommonOptions& given, const SearchOptions& options) {
  const auto common = with_target_of_suites(given, options.inputs);
  if (!common.ok()) return fail(given, common.status());
  auto session = Session::open(*common, flag_settings(options));
  if (!session.ok()) return fail(given, session.status());
  const auto tasks = read_tasks(**session, options);
  if (!tasks.ok()) return fail(given, tasks.status());
  const Settings settings = read_settings((*session)->config(), options);
  // Plugins that cannot be opened are reported once, not for each workload.
  if (const auto target = (*session)->target(); !target.ok()) return fail(given, target.status());
  if (const auto policy = (*session)->policy(settings.policy); !policy.ok())
    return fail(given, policy.status());
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const bool single = tasks->size() == 1 && tasks->front().suite.empty();
  Run run;
  for (const Task& task : *tasks) {
    const size_t failures = run.failures.size();
    run_task(**session, task, settings, run);
    if (single && !run.last.ok()) return fail(given, run.last);
    if (run.failures.size() != failures) fmt::print(stderr, "zomboss: error: {}\n", run.failures.back());
    if (interrupted.load()) break;
  }
  if (single && given.json)
    print_json(run.outcomes[0]->json);
  else if (single)
    print_outcome(*run.outcomes[0]);
  else if (given.json)
    print_suite_json(run.rows, run.failures);
  else
    print_table(run.rows);
  return interrupted.load() ? kExitInterrupted : run.worst;
}

}  // namespace zomboss::cli
