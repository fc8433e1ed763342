// zomboss search and zomboss suite: workloads x policies x seeds, one run each, in one job of the history.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "host/cli/campaign.h"
#include "host/cli/commands.h"
#include "host/cli/compare.h"
#include "host/cli/exit.h"
#include "host/cli/history_access.h"
#include "host/cli/interrupt.h"
#include "host/cli/search_run.h"
#include "host/cli/suite_summary.h"

namespace zomboss::cli {
namespace {

// Everything that a command searches, and what came of it, in order.
class Campaign {
 public:
  // `command`: of the job, which begins with the first workload that can be searched; `resumed`: the job to
  // go on with, 0 = a new one.
  Campaign(Session& session, std::vector<Task> tasks, Settings settings, history::History* history,
           std::string command, int64_t resumed)
      : session_(session),
        tasks_(std::move(tasks)),
        settings_(std::move(settings)),
        command_(std::move(command)),
        resumed_(resumed) {
    place_.history = history;
  }

  // Each policy and seed on each task that is not the same workload as an earlier one. Stops when it is
  // interrupted; `on_failure` is told of each task that failed.
  void run(const std::vector<std::string>& policies, const std::vector<uint64_t>& seeds) {
    const size_t jobs = job_count(session_.config());
    for (size_t t = 0; t < tasks_.size() && !stop_requested().load(); ++t) {
      if (add_repeated(t)) continue;
      uint64_t number = t * policies.size() * seeds.size();
      const auto hash = recorded_hash(number);
      auto bench = hash.ok() ? Workbench::open(session_, tasks_[t], jobs, *hash) : hash.status();
      if (bench.ok()) {
        if (const Status begun = begin_job(); !begun.ok()) bench = begun;
      }
      if (!bench.ok()) {
        add_failure(tasks_[t], bench.status());
        continue;
      }
      for (const std::string& policy : policies) {
        for (const uint64_t seed : seeds) {
          if (stop_requested().load()) return;
          place_.task = number++;
          settings_.policy = policy;
          settings_.seed = seed;
          search(**bench, tasks_[t]);
        }
      }
    }
  }

  int64_t job() const { return place_.job; }  // 0 = none was begun

  std::vector<Row> rows;
  std::vector<std::unique_ptr<Outcome>> outcomes;  // that the rows borrow
  std::vector<std::string> failures;
  int worst = kExitSuccess;
  Status last;  // failure

 private:
  Status begin_job() {
    if (place_.history == nullptr || place_.job != 0) return {};
    ZB_ASSIGN(place_.job, open_job(*place_.history, session_, command_, resumed_));
    return {};
  }

  // Of the workload of this run of the job that is resumed; empty when it has none.
  Result<std::string> recorded_hash(uint64_t number) const {
    if (place_.history == nullptr || resumed_ == 0) return std::string();
    ZB_ASSIGN(const auto run, place_.history->find_run(resumed_, number));
    if (!run) return std::string();
    ZB_ASSIGN(const history::Problem problem, place_.history->problem(run->problem));
    return problem.workload_hash;
  }

  // Several suites may list the same workload: it is searched once.
  bool add_repeated(size_t t) {
    bool repeated = false;
    const size_t before = rows.size();
    for (size_t i = 0; i < before; ++i) {
      if (rows[i].repeated || !rows[i].task.same_workload(tasks_[t])) continue;
      Row row{tasks_[t], rows[i].outcome, rows[i].failure, true};
      if (row.outcome != nullptr) row.task = with_baseline(row.task, row.outcome->report.references);
      rows.push_back(std::move(row));
      repeated = true;
    }
    return repeated;
  }

  void add_failure(const Task& task, const Status& status) {  // one bad instance does not end a suite
    Row row{task, nullptr, "", false};
    last = status;
    const std::string& why = last.message();
    if (row.task.name.empty()) row.task.name = task.hlo;
    row.failure = last.code() == Code::kAborted ? "does not verify" : "failed";
    failures.push_back(why.starts_with(task.hlo) ? why : fmt::format("{}: {}", task.hlo, why));
    worst = std::max(worst, exit_code(last));
    rows.push_back(std::move(row));
    if (tasks_.size() > 1) fmt::print(stderr, "zomboss: error: {}\n", failures.back());
  }

  void search(Workbench& bench, const Task& task) {
    auto policy = open_policy(session_, settings_.policy);
    if (!policy.ok()) return add_failure(task, policy.status());
    auto outcome = search_run(session_, bench, task, settings_, *std::move(policy), place_);
    if (!outcome.ok()) return add_failure(task, outcome.status());
    outcomes.push_back(std::make_unique<Outcome>(*std::move(outcome)));
    Row row{with_baseline(task, outcomes.back()->report.references), outcomes.back().get(), "", false};
    if (row.task.name.empty()) row.task.name = row.outcome->name;
    if (row.outcome->report.failed) worst = std::max(worst, kExitPlugin);
    rows.push_back(std::move(row));
  }

  Session& session_;
  std::vector<Task> tasks_;
  Settings settings_;
  RunPlace place_;
  std::string command_;
  int64_t resumed_;
};

// Refuses a target that crashed too often before.
Status check_quarantine(history::History* history, const evaluate::Target& target) {
  if (history == nullptr || target.identity().sha256.empty()) return {};
  ZB_ASSIGN(const auto health, history->plugin_health(target.identity().sha256));
  if (!health || !health->quarantined) return {};
  return failed_precondition(fmt::format(
      "{} is quarantined: {} crashes and time-outs in a row, the last: {}\nnext: a rebuilt plugin is another "
      "file and runs; to use this one again: zomboss plugins release {}",
      target.identity().text(), health->failures, health->last_failure, health->id));
}

int finish(const CommonOptions& common, const Campaign& campaign, bool single) {
  if (single && !campaign.last.ok()) return fail(common, campaign.last);
  if (single && campaign.outcomes.empty()) {
    fmt::print(stderr, "zomboss: interrupted before the search began\n");
  } else if (single && common.json) {
    print_json(campaign.outcomes[0]->json);
  } else if (single) {
    print_outcome(*campaign.outcomes[0]);
  } else if (common.json) {
    print_suite_json(campaign.rows, campaign.failures);
  } else {
    print_table(campaign.rows);
  }
  return campaign.worst;
}

int run(const CommonOptions& given, const SearchOptions& options, bool suite) {
  auto prepared = prepare(given, options, suite);
  if (!prepared.ok()) return fail(given, prepared.status());
  Session& session = *prepared->session;
  Settings settings = prepared->settings;
  settings.export_kernels = !options.no_export && !suite;
  handle_interrupts();
  // Plugins that cannot be opened are reported once, not for each workload.
  const auto target = session.target();
  if (!target.ok()) return fail(given, target.status());
  for (const std::string& policy : prepared->policies)
    if (const auto opened = open_policy(session, policy); !opened.ok()) return fail(given, opened.status());
  auto history = open_history(session.config());
  if (!history.ok()) return fail(given, history.status());
  if (suite && *history == nullptr)
    return fail(given, invalid_argument("suite compares runs of the history, and history.file is empty"));
  if (const Status healthy = check_quarantine(history->get(), **target); !healthy.ok())
    return fail(given, healthy);
  const bool single = !suite && prepared->tasks.size() == 1 && prepared->tasks.front().suite.empty();
  Campaign campaign(session, std::move(prepared->tasks), settings, history->get(), suite ? "suite" : "search",
                    options.resumed_job);
  campaign.run(prepared->policies, prepared->seeds);
  const bool interrupted = stop_requested().load();
  if (campaign.job() != 0) {
    const std::string state = interrupted                      ? "interrupted"
                              : campaign.worst != kExitSuccess ? "failed"
                                                               : "complete";
    if (const Status ended = (*history)->end_job(campaign.job(), state); !ended.ok())
      return fail(given, ended);
  }
  if (suite && campaign.job() == 0) return fail(given, campaign.last);
  const int code = suite ? std::max(print_comparison(given, **history, {campaign.job()}, campaign.failures),
                                    campaign.worst)
                         : finish(given, campaign, single);
  if (!interrupted) return code;
  if (campaign.job() != 0)
    fmt::print(stderr, "zomboss: interrupted; nothing is lost, go on with: {} resume {}{}\n",
               shell_word(given.program), campaign.job(),
               options.history_given ? " --history " + shell_word(options.history) : "");
  return kExitInterrupted;
}

}  // namespace

int run_search_command(const CommonOptions& given, const SearchOptions& options) {
  return run(given, options, false);
}

int run_suite_command(const CommonOptions& given, const SearchOptions& options) {
  return run(given, options, true);
}

}  // namespace zomboss::cli
