#include <fmt/format.h>

#include "core/history/impl.h"

namespace zomboss::history {
namespace {

// Each finds the first run whose row disagrees with what is recorded of it, with both numbers.
struct Rule {
  const char* what;
  const char* sql;
};

constexpr Rule kRules[] = {
    {"proposals",
     "SELECT id, proposals, n FROM (SELECT id, proposals, (SELECT COUNT(*) FROM proposals p WHERE p.run = "
     "r.id) n "
     "FROM runs r) WHERE proposals != n"},
    {"the highest proposal",
     "SELECT id, proposals, n FROM (SELECT id, proposals, (SELECT IFNULL(MAX(number), 0) FROM proposals p "
     "WHERE p.run = r.id) n FROM runs r) WHERE proposals != n"},
    {"trials",
     "SELECT id, trials, n FROM (SELECT id, trials, (SELECT COUNT(*) FROM trials t WHERE t.run = r.id) n "
     "FROM runs r) WHERE trials != n"},
    {"the highest trial",
     "SELECT id, trials, n FROM (SELECT id, trials, (SELECT IFNULL(MAX(number), 0) FROM trials t "
     "WHERE t.run = r.id) n FROM runs r) WHERE trials != n"},
    {"trials of its proposals",
     "SELECT id, trials, n FROM (SELECT id, trials, (SELECT IFNULL(SUM(trials), 0) FROM proposals p "
     "WHERE p.run = r.id) n FROM runs r) WHERE trials != n"},
    {"trials by outcome",
     "SELECT id, trials, n FROM (SELECT id, trials, (SELECT IFNULL(SUM(trials), 0) FROM outcomes o "
     "WHERE o.run = r.id) n FROM runs r) WHERE trials != n"},
    {"evaluations",
     "SELECT id, evaluations, n FROM (SELECT id, evaluations, (SELECT COUNT(*) FROM trials t "
     "WHERE t.run = r.id AND evaluation > 0) n FROM runs r) WHERE evaluations != n"},
    {"the evaluation of the best",
     "SELECT id, best_evaluation, n FROM (SELECT id, best_evaluation, IFNULL((SELECT evaluation FROM trials "
     "t "
     "WHERE t.run = r.id AND incumbent ORDER BY number DESC LIMIT 1), 0) n FROM runs r) "
     "WHERE best_evaluation != n"},
    {"the latency of the best",
     "SELECT id, best_latency, n FROM (SELECT id, best_latency, IFNULL((SELECT latency FROM trials t "
     "WHERE t.run = r.id AND incumbent ORDER BY number DESC LIMIT 1), candidate0_latency) n FROM runs r) "
     "WHERE best_latency != n"},
};

}  // namespace

Status History::check() const {
  Database& database = impl_->database();
  ZB_ASSIGN(Statement integrity, database.query("PRAGMA integrity_check(1)"));
  ZB_ASSIGN(const bool answered, integrity.next());
  if (const std::string finding = answered ? integrity.text() : "no answer"; finding != "ok")
    return data_loss(fmt::format("{} is damaged: {}", path(), finding));
  ZB_ASSIGN(Statement links, database.query("PRAGMA foreign_key_check"));
  ZB_ASSIGN(const bool broken, links.next());
  if (broken) {
    const std::string table = links.text();
    (void)links.integer();  // rowid
    return data_loss(
        fmt::format("{}: a row of {} names a row of {} that is not there", path(), table, links.text()));
  }
  for (const Rule& rule : kRules) {
    ZB_ASSIGN(Statement row, database.query(rule.sql));
    ZB_ASSIGN(const bool found, row.next());
    if (!found) continue;
    const int64_t run = row.integer();
    const int64_t stated = row.integer();
    return data_loss(fmt::format("{}: run {} states {} for {}, its records say {}", path(), run, stated,
                                 rule.what, row.integer()));
  }
  return {};
}

}  // namespace zomboss::history
