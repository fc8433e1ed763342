#include "core/history/impl.h"
#include "core/history/list_text.h"

namespace zomboss::history {

Status History::add_evaluation(const std::string& problem, const Evaluation& evaluation) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_ASSIGN(const int64_t id, impl_->problem_id(problem));
  ZB_TRY(database.run(
      "INSERT INTO evaluations (problem, plan, outcome, latency, reason, elements, match_rate, worst, "
      "counters, "
      "seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET outcome = excluded.outcome, "
      "latency = excluded.latency, reason = excluded.reason, elements = excluded.elements, "
      "match_rate = excluded.match_rate, worst = excluded.worst, counters = excluded.counters, "
      "seconds = excluded.seconds",
      id, evaluation.plan, evaluation.outcome, evaluation.latency, evaluation.reason, evaluation.elements,
      evaluation.match_rate, evaluation.worst, join_counters(evaluation.counters), evaluation.seconds));
  return transaction.commit();
}

Result<std::optional<Evaluation>> History::find_evaluation(const std::string& problem,
                                                           const std::string& plan) const {
  auto id = impl_->problem_id(problem);
  if (id.status().code() == Code::kNotFound) return std::optional<Evaluation>();
  ZB_TRY(std::move(id));
  ZB_ASSIGN(
      Statement row,
      impl_->database().query("SELECT plan, outcome, latency, reason, elements, match_rate, worst, counters, "
                              "seconds FROM evaluations WHERE problem = ? AND plan = ?",
                              *id, plan));
  ZB_ASSIGN(const bool found, row.next());
  if (!found) return std::optional<Evaluation>();
  Evaluation evaluation;
  evaluation.plan = row.text();
  evaluation.outcome = row.text();
  evaluation.latency = row.number();
  evaluation.reason = row.text();
  evaluation.elements = row.number();
  evaluation.match_rate = row.real();
  evaluation.worst = row.text();
  ZB_ASSIGN(evaluation.counters, split_counters(row.text()));
  evaluation.seconds = row.real();
  return std::optional<Evaluation>(std::move(evaluation));
}

}  // namespace zomboss::history
