// zomboss resume and zomboss replay: going on with a job of the history, and proving one of its runs again.
#include <fmt/format.h>

#include <algorithm>

#include "core/mapping/convert.h"
#include "host/cli/campaign.h"
#include "host/cli/exit.h"
#include "host/cli/history_access.h"
#include "host/cli/interrupt.h"
#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

Result<int64_t> last_open_job(const history::History& history) {
  ZB_ASSIGN(const auto jobs, history.jobs());
  for (const history::Job& job : jobs)
    if (job.state != "complete" && job.command != "ask") return job.id;
  return Status(Code::kNotFound, "every job of the history is complete: there is nothing to resume");
}

struct Replayed {
  std::string what;      // "run 3", "run 3, trial 7"
  std::string mismatch;  // empty = all as recorded
  uint64_t evaluations = 0;
};

// One plan of the run, evaluated again.
Result<Replayed> replay_plan(const history::History& history, const history::Run& run,
                             const std::string& plan, const std::string& what, Workbench& bench) {
  Replayed replayed{what, "", 1};
  ZB_ASSIGN(const std::string text, history.plan(run.problem, plan));
  ZB_ASSIGN(const mapping::Intent intent,
            intent_of_plan_document(*bench.problem().surface, Source("plan " + plan, text)));
  ZB_ASSIGN(const mapping::Plan again, bench.problem().resolver->plan(intent));
  const evaluate::Evaluation evaluation =
      bench.evaluators().first().evaluate(mapping::to_wire(*bench.problem().surface, again));
  ZB_ASSIGN(const auto recorded, history.find_evaluation(run.problem, plan));
  const bool is_candidate0 = plan == run.candidate0_plan;
  if (!recorded && !is_candidate0)
    return data_loss(fmt::format("the history has no evaluation of plan {}", plan));
  const std::string outcome = recorded ? recorded->outcome : "valid";
  const uint64_t latency = recorded ? recorded->latency : run.candidate0_latency;
  const std::string now(search::outcome_name(evaluation.outcome));
  const uint64_t now_latency = evaluation.outcome == wire::Outcome::Valid ? evaluation.latency : 0;
  if (again.hash.hex() != plan)
    replayed.mismatch = fmt::format("the plan completes to {} now", again.hash.hex());
  else if (now != outcome || now_latency != latency)
    replayed.mismatch = fmt::format("recorded {} with latency {}, now {} with {}{}", outcome, latency, now,
                                    now_latency, evaluation.reason.empty() ? "" : ": " + evaluation.reason);
  return replayed;
}

// Why a reference does not come out as the history has it; "" when all do.
Result<std::string> compare_references(const history::History& history, const history::Run& run,
                                       const std::vector<search::Reference>& references) {
  for (const search::Reference& reference : references) {
    const evaluate::Evaluation& now = reference.candidate.evaluation;
    ZB_ASSIGN(const auto then, history.find_evaluation(run.problem, reference.candidate.plan.hash.hex()));
    const std::string outcome(search::outcome_name(now.outcome));
    const uint64_t latency = reference.verified() ? now.latency : 0;
    if (then && (then->outcome != outcome || then->latency != latency))
      return fmt::format("{}: recorded {} with latency {}, now {} with {}", reference.name, then->outcome,
                         then->latency, outcome, latency);
  }
  return std::string();
}

// The whole run: the policy proposes again, every plan is evaluated again, every step must agree.
Result<Replayed> replay_run(Session& session, const history::Run& run, history::History& history,
                            Workbench& bench) {
  Replayed replayed{fmt::format("run {}", run.id), "", 0};
  ZB_ASSIGN(PolicyHandle policy, open_policy(session, run.policy));
  ZB_ASSIGN(auto journal, search::Journal::open(history, run.problem, run.id, nullptr));
  journal.evaluate_again();
  search::Inputs inputs = bench.inputs();
  inputs.policy = policy.policy.get();
  inputs.journal = &journal;
  inputs.folder = run_folder(history, run.id);
  search::Options options;
  options.seed = run.seed;
  options.budget = {static_cast<uint32_t>(run.budget.evaluations),
                    static_cast<uint32_t>(run.budget.proposals),
                    static_cast<uint32_t>(run.budget.patience),
                    0,
                    run.budget.tokens,
                    run.budget.cost};
  options.cancelled = &stop_requested();
  options.halt = [] { return std::string("the end of the record"); };
  search::Observer observer;
  const auto report = search::run_search(inputs, options, observer);
  if (!report.ok()) {
    if (report.status().code() != Code::kFailedPrecondition) return report.status();
    replayed.mismatch = report.status().message();
    return replayed;
  }
  if (report->interrupted) return Status(Code::kCancelled, "interrupted");
  replayed.evaluations = report->evaluations;
  if (report->resumed != journal.past().size())
    replayed.mismatch = fmt::format("it ends after {} of {} proposals: {}", report->resumed,
                                    journal.past().size(), report->stop_reason);
  else if (report->best.evaluation.latency != run.best_latency)
    replayed.mismatch = fmt::format("its best is {} now, {} in the record", report->best.evaluation.latency,
                                    run.best_latency);
  if (replayed.mismatch.empty()) {
    ZB_ASSIGN(replayed.mismatch, compare_references(history, run, report->references));
  }
  return replayed;
}

Result<Replayed> replay(const CommonOptions& common, const HistoryOptions& options) {
  ZB_ASSIGN(const auto history, open_to_read(common, options));
  ZB_ASSIGN(const history::Run run, history->run(options.run));
  std::string plan, what;
  if (options.best) {
    plan = run.best_plan;
    what = fmt::format("run {}, best plan", run.id);
  } else if (options.trial != 0) {
    ZB_ASSIGN(const auto trial, history->trial(run.id, static_cast<uint64_t>(options.trial)));
    if (!trial || trial->plan.empty())
      return invalid_argument(fmt::format("run {} has no trial {} with a plan", run.id, options.trial));
    plan = trial->plan;
    what = fmt::format("run {}, trial {}", run.id, options.trial);
  }
  ZB_ASSIGN(const StoredJob stored, load_job(common, *history, run.job));
  if (plan.empty() && stored.job.command == "ask")
    return invalid_argument("a run of ask has no policy that could propose again; name a trial with --trial");
  ZB_ASSIGN(const Prepared prepared,
            prepare(stored.line->common, stored.line->search, stored.job.command == "suite"));
  ZB_ASSIGN(const history::Problem problem, history->problem(run.problem));
  ZB_ASSIGN(auto bench, Workbench::open(*prepared.session, prepared.task_of(run.task),
                                        job_count(prepared.session->config()), problem.workload_hash));
  if (bench->record().key != run.problem)
    fmt::print(stderr, "zomboss: warning: the target's file or its configuration changed since run {}\n",
               run.id);
  if (!plan.empty()) return replay_plan(*history, run, plan, what, *bench);
  return replay_run(*prepared.session, run, *history, *bench);
}

}  // namespace

int run_resume_command(const CommonOptions& common, const HistoryOptions& options) {
  std::unique_ptr<CommandLine> line;
  {
    const auto history = open_to_read(common, options);
    if (!history.ok()) return fail(common, history.status());
    auto job = options.job != 0 ? Result<int64_t>(options.job) : last_open_job(**history);
    if (!job.ok()) return fail(common, job.status());
    auto stored = load_job(common, **history, *job);
    if (!stored.ok()) return fail(common, stored.status());
    if (stored->job.command == "ask")
      return fail(common,
                  invalid_argument(fmt::format("job {} is driven from outside: go on with tell", *job)));
    line = std::move(stored->line);
    line->search.resumed_job = *job;
  }
  return line->action();
}

int run_replay_command(const CommonOptions& common, const HistoryOptions& options) {
  handle_interrupts();
  const auto replayed = replay(common, options);
  if (!replayed.ok()) return fail(common, replayed.status());
  const bool same = replayed->mismatch.empty();
  if (common.json)
    print_json({{"schema", "zomboss.replay/1"},
                {"what", replayed->what},
                {"same", same},
                {"mismatch", replayed->mismatch},
                {"evaluations", replayed->evaluations}});
  else if (same)
    fmt::print("{}: {} evaluations repeated, all as recorded\n", replayed->what, replayed->evaluations);
  else
    fmt::print("{}: MISMATCH: {}\n", replayed->what, replayed->mismatch);
  return same ? kExitSuccess : kExitCheckFailed;
}

}  // namespace zomboss::cli
