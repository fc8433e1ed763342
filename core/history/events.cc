// What hangs on runs and plugins beside the trials: events, documents, the health of plugin files.
#include <fmt/format.h>

#include "core/history/impl.h"

namespace zomboss::history {
namespace {

Status require_run(Database& database, int64_t run) {
  ZB_ASSIGN(const int64_t found, database.integer("SELECT COUNT(*) FROM runs WHERE id = ?", run));
  return found != 0 ? Status() : not_found(fmt::format("the history has no run {}", run));
}

History::PluginHealth read_health(Statement& row) {
  History::PluginHealth health;
  health.sha256 = row.text();
  health.id = row.text();
  health.version = row.text();
  health.failures = row.number();
  health.quarantined = row.flag();
  health.last_failure = row.text();
  return health;
}

#define ZB_SQL_PLUGIN "SELECT sha256, id, version, failures, quarantined, last_failure FROM plugins "

}  // namespace

Status History::add_event(int64_t run, const std::string& kind, const std::string& text) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(require_run(database, run));
  ZB_TRY(database.run("INSERT INTO events (run, time, kind, text) VALUES (?, " ZB_SQL_NOW ", ?, ?)", run,
                      kind, text));
  return transaction.commit();
}

Result<std::vector<Event>> History::events(int64_t run) const {
  ZB_ASSIGN(Statement row,
            impl_->database().query("SELECT time, kind, text FROM events WHERE run = ? ORDER BY id", run));
  std::vector<Event> events;
  while (true) {
    ZB_ASSIGN(const bool found, row.next());
    if (!found) return events;
    Event event;
    event.time = row.text();
    event.kind = row.text();
    event.text = row.text();
    events.push_back(std::move(event));
  }
}

Status History::set_document(int64_t run, const std::string& name, const std::string& content) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(require_run(database, run));
  ZB_TRY(
      database.run("INSERT INTO documents (run, name, content) VALUES (?, ?, ?) "
                   "ON CONFLICT DO UPDATE SET content = excluded.content",
                   run, name, content));
  return transaction.commit();
}

Result<std::optional<std::string>> History::document(int64_t run, const std::string& name) const {
  ZB_ASSIGN(Statement row,
            impl_->database().query("SELECT content FROM documents WHERE run = ? AND name = ?", run, name));
  ZB_ASSIGN(const bool found, row.next());
  return found ? std::optional<std::string>(row.text()) : std::nullopt;
}

Status History::note_plugin(const PluginHealth& health) {
  Database& database = impl_->database();
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_TRY(database.run(
      "INSERT OR REPLACE INTO plugins (sha256, id, version, failures, quarantined, last_failure) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      health.sha256, health.id, health.version, health.failures, health.quarantined, health.last_failure));
  return transaction.commit();
}

Result<std::optional<History::PluginHealth>> History::plugin_health(const std::string& sha256) const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_PLUGIN "WHERE sha256 = ?", sha256));
  ZB_ASSIGN(const bool found, row.next());
  return found ? std::optional<PluginHealth>(read_health(row)) : std::nullopt;
}

Result<std::vector<History::PluginHealth>> History::plugins() const {
  ZB_ASSIGN(Statement row, impl_->database().query(ZB_SQL_PLUGIN "ORDER BY id, version, sha256"));
  std::vector<PluginHealth> all;
  while (true) {
    ZB_ASSIGN(const bool found, row.next());
    if (!found) return all;
    all.push_back(read_health(row));
  }
}

}  // namespace zomboss::history
