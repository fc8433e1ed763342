// Recording proposals with their trials, and reading them back.
#include <fmt/format.h>

#include "core/history/impl.h"

namespace zomboss::history {
namespace {

#define ZB_SQL_TRIAL                                                                                     \
  "SELECT number, proposal, position, evaluation, outcome, intent, reason, plan, latency, static_cost, " \
  "incumbent FROM trials WHERE run = ? "

Trial read_trial(Statement& row) {
  Trial trial;
  trial.number = row.number();
  trial.proposal = row.number();
  trial.index = row.number();
  trial.evaluation = row.number();
  trial.outcome = row.text();
  trial.intent = row.text();
  trial.reason = row.text();
  trial.plan = row.text();
  trial.latency = row.number();
  trial.static_cost = row.real();
  trial.incumbent = row.flag();
  return trial;
}

// What record() changes of a run.
struct Progress {
  uint64_t evaluations = 0, proposals = 0, trials = 0;
  uint64_t best_evaluation = 0, best_latency = 0;
  std::string best_plan;
  Usage usage;
};

Result<Progress> read_progress(Database& database, int64_t run) {
  ZB_ASSIGN(Statement row,
            database.query("SELECT evaluations, proposals, trials, best_evaluation, best_latency, "
                           "best_plan, " ZB_SQL_USAGE " FROM runs WHERE id = ?",
                           run));
  ZB_ASSIGN(const bool found, row.next());
  if (!found) return not_found(fmt::format("the history has no run {}", run));
  Progress progress;
  progress.evaluations = row.number();
  progress.proposals = row.number();
  progress.trials = row.number();
  progress.best_evaluation = row.number();
  progress.best_latency = row.number();
  progress.best_plan = row.text();
  progress.usage = read_usage(row);
  return progress;
}

Status write_progress(Database& database, int64_t run, const Progress& progress) {
  const Usage& usage = progress.usage;
  return database.run(
      "UPDATE runs SET evaluations = ?, proposals = ?, trials = ?, best_evaluation = ?, best_latency = ?, "
      "best_plan = ?, requests = ?, prompt_tokens = ?, completion_tokens = ?, cached_tokens = ?, "
      "reasoning_tokens = ?, malformed = ?, cost = ?, cost_unknown = ?, estimated = ?, currency = ? WHERE id "
      "= ?",
      progress.evaluations, progress.proposals, progress.trials, progress.best_evaluation,
      progress.best_latency, progress.best_plan, usage.requests, usage.prompt_tokens, usage.completion_tokens,
      usage.cached_tokens, usage.reasoning_tokens, usage.malformed, usage.cost, usage.cost_unknown,
      usage.estimated, usage.currency, run);
}

// Counts the trial in; failed precondition when its numbers do not continue the run's.
Status advance(Progress& progress, int64_t run, const Proposal& proposal, const Trial& trial) {
  const auto wrong = [&](const char* what, uint64_t is, uint64_t wanted) {
    return failed_precondition(fmt::format("run {}, proposal {}: a trial has {} {} where {} comes next", run,
                                           proposal.number, what, is, wanted));
  };
  if (trial.number != progress.trials + 1) return wrong("number", trial.number, progress.trials + 1);
  if (trial.proposal != proposal.number) return wrong("proposal", trial.proposal, proposal.number);
  if (trial.evaluation != 0 && trial.evaluation != progress.evaluations + 1)
    return wrong("evaluation", trial.evaluation, progress.evaluations + 1);
  progress.trials = trial.number;
  if (trial.evaluation != 0) progress.evaluations = trial.evaluation;
  if (trial.incumbent) {
    progress.best_evaluation = trial.evaluation;
    progress.best_latency = trial.latency;
    progress.best_plan = trial.plan;
  }
  return {};
}

Status insert_trial(Database& database, int64_t run, const Trial& trial) {
  ZB_TRY(database.run(
      "INSERT INTO trials (run, number, proposal, position, evaluation, outcome, intent, reason, "
      "plan, latency, static_cost, incumbent) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      run, trial.number, trial.proposal, trial.index, trial.evaluation, trial.outcome, trial.intent,
      trial.reason, trial.plan, trial.latency, trial.static_cost, trial.incumbent));
  return database.run(
      "INSERT INTO outcomes (run, outcome, trials) VALUES (?, ?, 1) "
      "ON CONFLICT DO UPDATE SET trials = trials + 1",
      run, trial.outcome);
}

}  // namespace

Status History::record(int64_t run, const Proposal& proposal) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_ASSIGN(Progress progress, read_progress(database, run));
  if (proposal.number != progress.proposals + 1)
    return failed_precondition(fmt::format("run {} has {} proposals; proposal {} cannot be its next", run,
                                           progress.proposals, proposal.number));
  progress.proposals = proposal.number;
  add_usage(progress.usage, proposal.usage);
  const Usage& usage = proposal.usage;
  ZB_TRY(
      database.run("INSERT INTO proposals (run, number, bytes, rationale, first_trial, trials, " ZB_SQL_USAGE
                   ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   run, proposal.number, Blob{proposal.bytes}, proposal.rationale, progress.trials + 1,
                   proposal.trials.size(), usage.requests, usage.prompt_tokens, usage.completion_tokens,
                   usage.cached_tokens, usage.reasoning_tokens, usage.malformed, usage.cost,
                   usage.cost_unknown, usage.estimated, usage.currency));
  for (const Trial& trial : proposal.trials) {
    ZB_TRY(advance(progress, run, proposal, trial));
    ZB_TRY(insert_trial(database, run, trial));
  }
  ZB_TRY(write_progress(database, run, progress));
  return transaction.commit();
}

Status History::each_proposal(int64_t run, const std::function<bool(const Proposal&)>& visit) const {
  Database& database = impl_->database();
  // While this statement runs, all reads of the connection see the same moment of the file.
  ZB_ASSIGN(Statement row,
            database.query("SELECT number, bytes, rationale, first_trial, trials, " ZB_SQL_USAGE
                           " FROM proposals WHERE run = ? ORDER BY number",
                           run));
  while (true) {
    ZB_ASSIGN(const bool found, row.next());
    if (!found) return {};
    Proposal proposal;
    proposal.number = row.number();
    proposal.bytes = row.text();
    proposal.rationale = row.text();
    const uint64_t first = row.number();
    const uint64_t count = row.number();
    proposal.usage = read_usage(row);
    ZB_ASSIGN(Statement trials, database.query(ZB_SQL_TRIAL "AND number >= ? AND number < ? ORDER BY number",
                                               run, first, first + count));
    while (true) {
      ZB_ASSIGN(const bool more, trials.next());
      if (!more) break;
      proposal.trials.push_back(read_trial(trials));
    }
    if (!visit(proposal)) return {};
  }
}

Status History::each_trial(int64_t run, const std::function<bool(const Trial&)>& visit) const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_TRIAL "ORDER BY number", run));
  while (true) {
    ZB_ASSIGN(const bool found, row.next());
    if (!found || !visit(read_trial(row))) return {};
  }
}

Result<std::optional<Trial>> History::trial(int64_t run, uint64_t number) const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_TRIAL "AND number = ?", run, number));
  ZB_ASSIGN(const bool found, row.next());
  return found ? std::optional<Trial>(read_trial(row)) : std::nullopt;
}

Result<std::vector<std::pair<std::string, uint64_t>>> History::outcomes(int64_t run) const {
  ZB_ASSIGN(Statement row, impl_->database().query(
                               "SELECT outcome, trials FROM outcomes WHERE run = ? ORDER BY outcome", run));
  std::vector<std::pair<std::string, uint64_t>> counts;
  while (true) {
    ZB_ASSIGN(const bool found, row.next());
    if (!found) return counts;
    std::string outcome = row.text();
    counts.emplace_back(std::move(outcome), row.number());
  }
}

}  // namespace zomboss::history
