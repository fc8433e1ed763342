// Problems and the plans that were seen for them.
#include <fmt/format.h>

#include "core/history/impl.h"

namespace zomboss::history {

Result<int64_t> History::Impl::problem_id(const std::string& key) {
  if (const auto known = problem_ids_.find(key); known != problem_ids_.end()) return known->second;
  ZB_ASSIGN(const int64_t id, database_->integer("SELECT id FROM problems WHERE key = ?", key));
  if (id == 0) return not_found(fmt::format("the history has no problem '{}'", key));
  problem_ids_.emplace(key, id);
  return id;
}

Status History::add_problem(const Problem& problem) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(
      database.run("INSERT INTO problems (key, target, target_version, target_sha256, target_options, "
                   "spec_hash, workload, "
                   "workload_hash, unit, simulator, surface) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON "
                   "CONFLICT DO NOTHING",
                   problem.key, problem.target, problem.target_version, problem.target_sha256,
                   problem.target_options, problem.spec_hash, problem.workload, problem.workload_hash,
                   problem.unit, problem.simulator, problem.surface));
  return transaction.commit();
}

Result<Problem> History::problem(const std::string& key) const {
  ZB_ASSIGN(
      Statement row,
      impl_->database().query("SELECT key, target, target_version, target_sha256, target_options, spec_hash, "
                              "workload, workload_hash, unit, simulator, surface FROM problems WHERE key = ?",
                              key));
  ZB_ASSIGN(const bool found, row.next());
  if (!found) return not_found(fmt::format("the history has no problem '{}'", key));
  Problem problem;
  problem.key = row.text();
  problem.target = row.text();
  problem.target_version = row.text();
  problem.target_sha256 = row.text();
  problem.target_options = row.text();
  problem.spec_hash = row.text();
  problem.workload = row.text();
  problem.workload_hash = row.text();
  problem.unit = row.text();
  problem.simulator = row.text();
  problem.surface = row.text();
  return problem;
}

Status History::add_plan(const std::string& problem, const std::string& hash, const std::string& json) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_ASSIGN(const int64_t id, impl_->problem_id(problem));
  ZB_TRY(database.run("INSERT INTO plans (problem, hash, json) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", id,
                      hash, json));
  return transaction.commit();
}

Result<std::string> History::plan(const std::string& problem, const std::string& hash) const {
  ZB_ASSIGN(const int64_t id, impl_->problem_id(problem));
  ZB_ASSIGN(Statement row,
            impl_->database().query("SELECT json FROM plans WHERE problem = ? AND hash = ?", id, hash));
  ZB_ASSIGN(const bool found, row.next());
  if (!found) return not_found(fmt::format("the history has no plan {} of problem '{}'", hash, problem));
  return row.text();
}

}  // namespace zomboss::history
