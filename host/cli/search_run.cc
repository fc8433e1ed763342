#include "host/cli/search_run.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "host/cli/incumbent.h"
#include "host/cli/interrupt.h"
#include "host/cli/suite_summary.h"

namespace zomboss::cli {
namespace {

search::Budget resolve_budget(const search::Budget& asked, const mapping::Surface& surface) {
  search::Budget budget = search::default_budget(surface, asked.evaluations);
  if (asked.proposals != 0) budget.proposals = asked.proposals;
  budget.patience = asked.patience;
  budget.seconds = asked.seconds;
  budget.tokens = asked.tokens;
  budget.cost = asked.cost;
  return budget;
}

history::Budget to_history(const search::Budget& budget) {
  return {budget.evaluations, budget.proposals, budget.patience, budget.seconds, budget.tokens, budget.cost};
}

std::string budget_flags(const search::Budget& budget) {
  std::string flags = fmt::format(" --evaluations {} --proposals {}", budget.evaluations, budget.proposals);
  if (budget.patience != 0) flags += fmt::format(" --patience {}", budget.patience);
  if (budget.seconds > 0) flags += fmt::format(" --seconds {:g}", budget.seconds);
  if (budget.tokens != 0) flags += fmt::format(" --tokens {}", budget.tokens);
  if (budget.cost > 0) flags += fmt::format(" --cost {:g}", budget.cost);
  return flags;
}

std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

// A process of that number runs this program.
bool is_zomboss(int64_t process) {
  if (process <= 0) return false;
  std::ifstream stream(fmt::format("/proc/{}/comm", process));
  std::string name;
  return std::getline(stream, name) && name == "zomboss";
}

Json environment_json() {
  utsname system{};
  ::uname(&system);
  return {{"zomboss", ZB_VERSION},
          {"compiler", __VERSION__},
          {"processor", processor_name()},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)}};
}

Json candidate_json(const search::Candidate& candidate, uint32_t evaluation) {
  return {{"evaluation", evaluation},
          {"latency", candidate.evaluation.latency},
          {"verified_elements", candidate.evaluation.comparison.elements},
          {"match_rate", candidate.evaluation.comparison.match_rate()},
          {"worst_element", candidate.evaluation.comparison.worst_difference},
          {"plan", to_json(candidate.plan)},
          {"counters", counters_json(candidate.evaluation.simulation.counters)},
          {"scenarios", scenarios_json(candidate.evaluation.scenarios)}};
}

// What the history keeps of a run beside its trials: documents "references" and "ranking".
Status write_references(history::History& history, int64_t run, const Task& task,
                        const std::vector<search::Reference>& references, uint64_t best) {
  if (references.empty()) return {};
  Json list = Json::array();
  for (const search::Reference& reference : references) list.push_back(to_json(reference, best));
  const Json json = {{"baseline", task.baseline_name.empty() ? Json() : Json(task.baseline_name)},
                     {"references", list}};
  return history.set_document(run, "references", dump_json(json));
}

Json make_json(const Outcome& outcome, const Task& task, const Settings& settings,
               const search::Budget& budget, const Workbench& bench) {
  const search::Report& report = outcome.report;
  const Problem& problem = bench.problem();
  Json trials = Json::array();
  for (const search::Trial& trial : report.trials) trials.push_back(to_json(trial));
  Json json = {{"schema", "zomboss.search/1"},
               {"workload", problem.workload.message.name},
               {"workload_hash", problem.workload.message.hash},
               {"target", bench.target().id()},
               {"target_version", bench.target().version()},
               {"spec_hash", bench.target().model().spec_hash},
               {"policy", settings.policy},
               {"seed", settings.seed},
               {"simulator", report.candidate0.evaluation.simulation.simulator},
               {"unit", report.candidate0.evaluation.unit},
               {"candidate0", candidate_json(report.candidate0, 0)},
               {"best", candidate_json(report.best, report.best_evaluation)},
               {"speedup", report.speedup()}};
  json["references"] = Json::array();
  for (const search::Reference& reference : report.references)
    json["references"].push_back(to_json(reference, report.best.evaluation.latency));
  json["ranking"] = to_json(report.ranking);
  json["lower_bound"] = outcome.bound.has_value() ? to_json(*outcome.bound) : Json();
  add_baseline(json, task, static_cast<double>(report.best.evaluation.latency));
  json["budget"] = {{"evaluations", budget.evaluations}, {"proposals", budget.proposals},
                    {"patience", budget.patience},       {"seconds", budget.seconds},
                    {"tokens", budget.tokens},           {"cost", budget.cost}};
  json["evaluations"] = report.evaluations;
  json["proposals"] = report.proposals;
  json["stop_reason"] = report.stop_reason;
  json["rejections"] = report.rejections();
  if (report.usage.requests != 0) json["usage"] = to_json(search::Journal::to_history(report.usage));
  json["trials"] = trials;
  json["reproduce"] = outcome.reproduce;
  return json;
}

// What happens in the workers, on its way into the record; and whether the target has failed too often.
class Recorder final : public search::Observer {
 public:
  Recorder(Session& session, search::Journal* journal, Progress& progress)
      : session_(session), journal_(journal), progress_(progress) {
    limit_ = static_cast<uint32_t>(session.config().integer("plugins.quarantine"));
  }
  void on_candidate0(const search::Candidate& candidate) override {
    drain();
    progress_.on_candidate0(candidate);
  }
  void on_reference(const search::Reference& reference, const std::string& unit) override {
    drain();
    progress_.on_reference(reference, unit);
  }
  void on_trial(const search::Trial& trial, const search::Report& report) override {
    drain();
    if (trial.evaluation != 0) {
      const bool died = trial.outcome == wire::Outcome::Crashed || trial.outcome == wire::Outcome::TimedOut;
      failures_ = died ? failures_ + 1 : 0;
      if (died) last_failure_ = trial.reason;
    }
    progress_.on_trial(trial, report);
  }
  void drain() {
    for (const EventLog::Event& event : session_.events().take()) {
      events.push_back(event.kind + ": " + event.text);
      if (journal_ != nullptr && written.ok()) written = journal_->event(event.kind, event.text);
    }
  }
  // Why the search must end, or "".
  std::string halt() const {
    if (!written.ok()) return written.message();
    if (limit_ == 0 || failures_ < limit_) return {};
    return fmt::format("target {} is quarantined after {} crashes and time-outs in a row; the last: {}",
                       session_.target_id(), failures_, last_failure_);
  }
  bool quarantine() const { return limit_ != 0 && failures_ >= limit_; }
  const std::string& last_failure() const { return last_failure_; }
  uint32_t failures() const { return failures_; }

  std::vector<std::string> events;
  Status written;

 private:
  Session& session_;
  search::Journal* journal_;
  Progress& progress_;
  uint32_t limit_ = 0;
  uint32_t failures_ = 0;  // in a row
  std::string last_failure_;
};

// A run as it would be recorded now.
history::Run make_run(const Workbench& bench, const Task& task, const Settings& settings,
                      const search::Budget& budget, const PolicyHandle& policy, const RunPlace& place) {
  history::Run run;
  run.job = place.job;
  run.task = place.task;
  run.label = task.name.empty() ? bench.problem().workload.message.name : task.name;
  run.suite = task.suite;
  run.problem = bench.record().key;
  run.hlo = task.hlo;
  run.contract = task.contract;
  run.policy = policy.identity.id;
  run.policy_version = policy.identity.version;
  run.policy_sha256 = policy.identity.sha256;
  run.policy_options = policy.options;
  run.seed = settings.seed;
  run.budget = to_history(budget);
  run.candidate0_plan = bench.candidate0().plan.hash.hex();
  run.candidate0_latency = bench.candidate0().evaluation.latency;
  if (bench.bound()) {
    run.bound = bench.bound()->latency;
    run.bound_reason = bench.bound()->reason;
  }
  run.baseline = task.baseline;
  run.baseline_source = task.baseline_source;
  run.best_latency = run.candidate0_latency;
  run.best_plan = run.candidate0_plan;
  return run;
}

// A run goes on only as what it was.
Status check_same(const history::Run& then, const history::Run& now) {
  const auto differ = [&](const std::string& what, const std::string& a, const std::string& b) {
    return failed_precondition(
        fmt::format("run {} ({}) cannot be resumed: its {} was {}, now it is {}; start a new search instead",
                    then.id, then.label, what, a, b));
  };
  if (then.problem != now.problem)
    return differ("problem (workload, target, configuration)", then.problem, now.problem);
  if (then.policy != now.policy) return differ("policy", then.policy, now.policy);
  if (then.policy_sha256 != now.policy_sha256)
    return differ("policy's file", then.policy_version + " sha256 " + then.policy_sha256,
                  now.policy_version + " sha256 " + now.policy_sha256);
  if (then.policy_options != now.policy_options)
    return differ("policy's options", then.policy_options, now.policy_options);
  if (then.seed != now.seed) return differ("seed", std::to_string(then.seed), std::to_string(now.seed));
  if (!(then.budget == now.budget)) return differ("budget", "another", "this one");
  return {};
}

Result<int64_t> begin_run(const history::Run& run, const RunPlace& place) {
  ZB_ASSIGN(const auto found, place.history->find_run(place.job, place.task));
  if (!found) return place.history->create_run(run);
  ZB_TRY(check_same(*found, run));
  if (found->state != "running" || found->proposals != 0) {
    ZB_TRY(place.history->reopen_run(found->id));
  }
  return found->id;
}

// True when the search saw every legal plan.
bool saw_everything(const Workbench& bench, const search::Report& report) {
  const uint64_t seen = report.evaluations + 1;  // and Candidate-0
  const auto count = bench.problem().resolver->count_legal(seen);
  return count.complete && count.legal == seen;
}

}  // namespace

Result<Settings> read_settings(const config::Config& config) {
  constexpr int64_t kMost = 100'000'000;  // of what is counted in 32 bits, twenty proposals each included
  const auto count = [&](const std::string& key, uint32_t& value) -> Status {
    if (config.integer(key) > kMost)
      return invalid_argument(fmt::format("'{}' is {} ({}), expected at most {}", key, config.integer(key),
                                          config.origin(key), kMost));
    value = static_cast<uint32_t>(config.integer(key));
    return {};
  };
  Settings settings;
  settings.policy = config.text("search.policy");
  settings.output = config.text("output.directory");
  ZB_TRY(count("search.evaluations", settings.budget.evaluations));
  ZB_TRY(count("search.proposals", settings.budget.proposals));
  ZB_TRY(count("search.patience", settings.budget.patience));
  settings.budget.seconds = config.number("search.seconds");
  settings.budget.tokens = static_cast<uint64_t>(config.integer("search.tokens"));
  settings.budget.cost = config.number("search.cost");
  settings.seed = static_cast<uint64_t>(config.integer("search.seed"));
  return settings;
}

Result<PolicyHandle> open_policy(Session& session, const std::string& id) {
  const wire::OptionsT options = session.config().plugin_options("policy", id);
  ZB_ASSIGN(auto instance, session.instance("policy", id, options));
  PolicyHandle handle;
  handle.identity = instance->identity();
  handle.options = options_text(options);
  handle.policy = search::make_policy(std::move(instance));
  return handle;
}

std::string run_folder(const history::History& history, int64_t run) {
  return (std::filesystem::path(history.path()).parent_path() / "runs" / std::to_string(run)).string();
}

Result<int64_t> open_job(history::History& history, const Session& session, const std::string& command,
                         int64_t resumed) {
  if (resumed != 0) {
    ZB_ASSIGN(const history::Job job, history.job(resumed));
    if (job.state == "running" && job.process != ::getpid() && is_zomboss(job.process))
      return failed_precondition(fmt::format(
          "job {} is running in process {}; let it end, or interrupt it first", resumed, job.process));
    ZB_TRY(history.reopen_job(resumed));
    return resumed;
  }
  history::Job job;
  job.command = command;
  job.arguments = session.options().arguments;
  job.folder = std::filesystem::current_path().string();
  Json configuration = Json::array();
  for (const auto& [key, value, origin] : session.config().all())
    configuration.push_back({{"key", key}, {"value", value}, {"origin", origin}});
  job.configuration = dump_json(configuration);
  job.environment = environment_json().dump(-1, ' ', false, Json::error_handler_t::replace);
  job.process = ::getpid();
  return history.create_job(job);
}

Result<Outcome> search_run(Session& session, Workbench& bench, const Task& given, const Settings& settings,
                           PolicyHandle policy, const RunPlace& place) {
  const auto started = std::chrono::steady_clock::now();
  Outcome outcome;
  const search::Journal::PlanJson plan_json = [&bench](const mapping::Plan& plan) {
    return dump_json(plan_document(*bench.problem().surface, plan));
  };
  std::optional<search::Journal> journal;
  if (place.history != nullptr) {
    ZB_TRY(place.history->add_problem(bench.record()));
    journal = search::Journal::of_problem(*place.history, bench.record().key, plan_json);
  }
  ZB_ASSIGN(const auto* references, bench.references(journal ? &*journal : nullptr));
  const Task task = with_baseline(given, *references);
  outcome.name = task.name.empty() ? bench.problem().workload.message.name : task.name;
  outcome.bound = bench.bound();
  search::Options options;
  options.budget = resolve_budget(settings.budget, *bench.problem().surface);
  options.seed = settings.seed;
  options.cancelled = &stop_requested();
  search::Inputs inputs = bench.inputs();
  inputs.policy = policy.policy.get();
  if (place.history != nullptr) {
    ZB_TRY(place.history->add_plan(bench.record().key, bench.candidate0().plan.hash.hex(),
                                   plan_json(bench.candidate0().plan)));
    ZB_ASSIGN(outcome.run, begin_run(make_run(bench, task, settings, options.budget, policy, place), place));
    inputs.folder = run_folder(*place.history, outcome.run);
    std::error_code error;
    std::filesystem::create_directories(inputs.folder, error);
    if (error)
      return failed_precondition(
          fmt::format("cannot create the folder {}: {}", inputs.folder, error.message()));
    ZB_ASSIGN(journal, search::Journal::open(*place.history, bench.record().key, outcome.run, plan_json));
    ZB_TRY(write_references(*place.history, outcome.run, task, *references,
                            bench.candidate0().evaluation.latency));
    inputs.journal = &*journal;
    outcome.history = place.history->path();
  }
  {
    Progress progress(outcome.name, options.budget.evaluations, settings.quiet);
    Recorder recorder(session, journal ? &*journal : nullptr, progress);
    options.halt = [&recorder] { return recorder.halt(); };
    auto report = search::run_search(inputs, options, recorder);
    recorder.drain();
    if (!report.ok()) {
      if (place.history != nullptr)
        (void)place.history->end_run(outcome.run, {"failed", report.status().message(), 0});
      return std::move(report).status();
    }
    outcome.report = *std::move(report);
    outcome.events = recorder.events;
    ZB_TRY(recorder.written);
    if (place.history != nullptr && recorder.quarantine()) {
      ZB_TRY(place.history->note_plugin({bench.target().id(), bench.target().version(),
                                         bench.target().identity().sha256, recorder.failures(), true,
                                         recorder.last_failure()}));
    }
  }
  outcome.reproduce = fmt::format(
      "{} search {}{} --policy {} --seed {}{}", shell_word(session.options().program), shell_word(task.hlo),
      session.reproduce_flags(task.contract), settings.policy, settings.seed, budget_flags(options.budget));
  outcome.json = make_json(outcome, task, settings, options.budget, bench);
  if (settings.export_kernels && !outcome.report.interrupted) {
    ZB_ASSIGN(outcome.exported,
              export_kernel(bench.target(), bench.problem(), bench.reference(), outcome.report.best.plan,
                            outcome.report.best.evaluation.program, settings.output + "/" + outcome.name,
                            outcome.json));
    if (!outcome.exported.kernel.empty())
      outcome.check = fmt::format("{} check {} --workload {}{}", shell_word(session.options().program),
                                  shell_word(outcome.exported.kernel), shell_word(task.hlo),
                                  session.reproduce_flags(task.contract));
  }
  outcome.json["exported"] = outcome.exported.files;
  outcome.json["check"] = outcome.check;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (place.history != nullptr) {
    const search::Report& report = outcome.report;
    ZB_TRY(place.history->set_document(outcome.run, "incumbent",
                                       dump_json(incumbent_json(bench, report.best, outcome.reproduce))));
    ZB_TRY(write_references(*place.history, outcome.run, task, *references, report.best.evaluation.latency));
    if (!report.ranking.empty()) {
      ZB_TRY(place.history->set_document(outcome.run, "ranking", dump_json(to_json(report.ranking))));
    }
    if (saw_everything(bench, report)) {
      ZB_TRY(place.history->set_document(outcome.run, "optimum",
                                         std::to_string(report.best.evaluation.latency)));
    }
    const std::string state = report.interrupted ? "interrupted" : report.failed ? "failed" : "complete";
    ZB_TRY(place.history->end_run(outcome.run, {state, report.stop_reason, seconds}));
    std::error_code ignored;
    std::filesystem::remove(inputs.folder, ignored);  // when the policy kept nothing there
    outcome.json["history"] = {{"file", outcome.history},
                               {"run", outcome.run},
                               {"recalled", report.recalled},
                               {"resumed_proposals", report.resumed},
                               {"events", outcome.events}};
  }
  outcome.json["timing"] = {{"seconds", seconds}};
  return outcome;
}

}  // namespace zomboss::cli
