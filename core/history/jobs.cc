#include <fmt/format.h>
#include <unistd.h>

#include "core/history/impl.h"
#include "core/history/list_text.h"

namespace zomboss::history {
namespace {

#define ZB_SQL_JOB                                                                                          \
  "SELECT id, command, arguments, folder, configuration, environment, state, started, ended, process FROM " \
  "jobs "

Result<Job> read_job(Statement& row) {
  Job job;
  job.id = row.integer();
  job.command = row.text();
  ZB_ASSIGN(job.arguments, split_list(row.text()));
  job.folder = row.text();
  job.configuration = row.text();
  job.environment = row.text();
  job.state = row.text();
  job.started = row.text();
  job.ended = row.text();
  job.process = row.integer();
  return job;
}

Status no_job(int64_t id) {
  return not_found(fmt::format("the history has no job {}", id));
}

}  // namespace

Result<int64_t> History::create_job(const Job& job) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(database.run(
      "INSERT INTO jobs (command, arguments, folder, configuration, environment, state, started, "
      "ended, process) VALUES (?, ?, ?, ?, ?, 'running', " ZB_SQL_NOW ", '', ?)",
      job.command, join_list(job.arguments), job.folder, job.configuration, job.environment, getpid()));
  const int64_t id = database.last_id();
  ZB_TRY(transaction.commit());
  return id;
}

Status History::reopen_job(int64_t job) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(
      database.run("UPDATE jobs SET state = 'running', ended = '', process = ? WHERE id = ?", getpid(), job));
  if (database.changes() == 0) return no_job(job);
  return transaction.commit();
}

Status History::end_job(int64_t job, const std::string& state) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(database.run("UPDATE jobs SET state = ?, ended = " ZB_SQL_NOW ", process = 0 WHERE id = ?", state,
                      job));
  if (database.changes() == 0) return no_job(job);
  return transaction.commit();
}

Result<Job> History::job(int64_t id) const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_JOB "WHERE id = ?", id));
  ZB_ASSIGN(const bool found, row.next());
  if (!found) return no_job(id);
  return read_job(row);
}

Result<std::vector<Job>> History::jobs() const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_JOB "ORDER BY id DESC"));
  std::vector<Job> jobs;
  while (true) {
    ZB_ASSIGN(const bool found, row.next());
    if (!found) return jobs;
    ZB_ASSIGN(Job job, read_job(row));
    jobs.push_back(std::move(job));
  }
}

}  // namespace zomboss::history
