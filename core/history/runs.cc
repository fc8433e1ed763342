#include <fmt/format.h>

#include "core/history/impl.h"

namespace zomboss::history {
namespace {

#define ZB_SQL_RUN                                                                                         \
  "SELECT runs.id, job, task, label, suite, problems.key, hlo, contract, policy, policy_version, "         \
  "policy_sha256, policy_options, seed, budget_evaluations, budget_proposals, budget_patience, "           \
  "budget_seconds, budget_tokens, budget_cost, candidate0_plan, candidate0_latency, bound, bound_reason, " \
  "baseline, baseline_source, evaluations, proposals, trials, best_evaluation, best_latency, "             \
  "best_plan, " ZB_SQL_USAGE                                                                               \
  ", seconds, state, stop_reason, started, ended FROM runs JOIN problems ON problems.id = runs.problem "

Run read_run(Statement& row) {
  Run run;
  run.id = row.integer();
  run.job = row.integer();
  run.task = row.number();
  run.label = row.text();
  run.suite = row.text();
  run.problem = row.text();
  run.hlo = row.text();
  run.contract = row.text();
  run.policy = row.text();
  run.policy_version = row.text();
  run.policy_sha256 = row.text();
  run.policy_options = row.text();
  run.seed = row.number();
  run.budget.evaluations = row.number();
  run.budget.proposals = row.number();
  run.budget.patience = row.number();
  run.budget.seconds = row.real();
  run.budget.tokens = row.number();
  run.budget.cost = row.real();
  run.candidate0_plan = row.text();
  run.candidate0_latency = row.number();
  run.bound = row.optional_real();
  run.bound_reason = row.text();
  run.baseline = row.optional_real();
  run.baseline_source = row.text();
  run.evaluations = row.number();
  run.proposals = row.number();
  run.trials = row.number();
  run.best_evaluation = row.number();
  run.best_latency = row.number();
  run.best_plan = row.text();
  run.usage = read_usage(row);
  run.seconds = row.real();
  run.state = row.text();
  run.stop_reason = row.text();
  run.started = row.text();
  run.ended = row.text();
  return run;
}

Result<std::vector<Run>> read_runs(Statement row) {
  std::vector<Run> runs;
  while (true) {
    ZB_ASSIGN(const bool found, row.next());
    if (!found) return runs;
    runs.push_back(read_run(row));
  }
}

Status no_run(int64_t id) {
  return not_found(fmt::format("the history has no run {}", id));
}

}  // namespace

Usage read_usage(Statement& row) {
  Usage usage;
  usage.requests = row.number();
  usage.prompt_tokens = row.number();
  usage.completion_tokens = row.number();
  usage.cached_tokens = row.number();
  usage.reasoning_tokens = row.number();
  usage.malformed = row.number();
  usage.cost = row.real();
  usage.cost_unknown = row.flag();
  usage.estimated = row.flag();
  usage.currency = row.text();
  return usage;
}

void add_usage(Usage& sum, const Usage& usage) {
  sum.requests += usage.requests;
  sum.prompt_tokens += usage.prompt_tokens;
  sum.completion_tokens += usage.completion_tokens;
  sum.cached_tokens += usage.cached_tokens;
  sum.reasoning_tokens += usage.reasoning_tokens;
  sum.malformed += usage.malformed;
  sum.cost += usage.cost;
  sum.cost_unknown |= usage.cost_unknown;
  sum.estimated |= usage.estimated;
  if (!usage.currency.empty()) sum.currency = usage.currency;
}

// The search starts with Candidate-0 as its best.
Result<int64_t> History::create_run(const Run& run) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_ASSIGN(const int64_t problem, impl_->problem_id(run.problem));
  ZB_ASSIGN(const int64_t jobs, database.integer("SELECT COUNT(*) FROM jobs WHERE id = ?", run.job));
  if (jobs == 0) return not_found(fmt::format("the history has no job {}", run.job));
  ZB_ASSIGN(const int64_t twin,
            database.integer("SELECT id FROM runs WHERE job = ? AND task = ?", run.job, run.task));
  if (twin != 0)
    return Status(Code::kAlreadyExists,
                  fmt::format("task {} of job {} already is run {}", run.task, run.job, twin));
  ZB_TRY(database.run(
      "INSERT INTO runs (job, task, label, suite, problem, hlo, contract, policy, policy_version, "
      "policy_sha256, "
      "policy_options, seed, budget_evaluations, budget_proposals, budget_patience, budget_seconds, "
      "budget_tokens, budget_cost, candidate0_plan, candidate0_latency, bound, bound_reason, baseline, "
      "baseline_source, evaluations, proposals, trials, best_evaluation, best_latency, "
      "best_plan, " ZB_SQL_USAGE
      ", seconds, state, stop_reason, started, ended) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, "
      "?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', 0, 'running', '', " ZB_SQL_NOW
      ", '')",
      run.job, run.task, run.label, run.suite, problem, run.hlo, run.contract, run.policy, run.policy_version,
      run.policy_sha256, run.policy_options, run.seed, run.budget.evaluations, run.budget.proposals,
      run.budget.patience, run.budget.seconds, run.budget.tokens, run.budget.cost, run.candidate0_plan,
      run.candidate0_latency, run.bound, run.bound_reason, run.baseline, run.baseline_source,
      run.candidate0_latency, run.candidate0_plan));
  const int64_t id = database.last_id();
  ZB_TRY(transaction.commit());
  return id;
}

Status History::reopen_run(int64_t run) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(database.run("UPDATE runs SET state = 'running', stop_reason = '', ended = '' WHERE id = ?", run));
  if (database.changes() == 0) return no_run(run);
  return transaction.commit();
}

Status History::end_run(int64_t run, const RunEnd& end) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(database.run("UPDATE runs SET state = ?, stop_reason = ?, seconds = seconds + ?, ended = " ZB_SQL_NOW
                      " WHERE id = ?",
                      end.state, end.stop_reason, end.seconds, run));
  if (database.changes() == 0) return no_run(run);
  return transaction.commit();
}

Result<Run> History::run(int64_t id) const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_RUN "WHERE runs.id = ?", id));
  ZB_ASSIGN(const bool found, row.next());
  if (!found) return no_run(id);
  return read_run(row);
}

Result<std::vector<Run>> History::runs(std::optional<int64_t> job) const {
  if (!job) {
    ZB_ASSIGN(Statement rows, impl_->database().query(ZB_SQL_RUN "ORDER BY runs.id"));
    return read_runs(std::move(rows));
  }
  ZB_ASSIGN(Statement rows, impl_->database().query(ZB_SQL_RUN "WHERE job = ? ORDER BY runs.id", *job));
  return read_runs(std::move(rows));
}

Result<std::optional<Run>> History::find_run(int64_t job, uint64_t task) const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_RUN "WHERE job = ? AND task = ?", job, task));
  ZB_ASSIGN(const bool found, row.next());
  return found ? std::optional<Run>(read_run(row)) : std::nullopt;
}

}  // namespace zomboss::history
