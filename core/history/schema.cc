#include "core/history/schema.h"

namespace zomboss::history {
namespace {

// Numbers in trials and proposals count from 1 in their run. A problem's key is long and stands in many rows,
// so rows name it by its rowid. Large texts (surface, plans, documents) are in tables of their own, so that
// the row that changes with each proposal stays small.
constexpr const char* kTables = R"sql(
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  command TEXT NOT NULL, arguments TEXT NOT NULL, folder TEXT NOT NULL,
  configuration TEXT NOT NULL, environment TEXT NOT NULL,
  state TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL, process INTEGER NOT NULL
);
CREATE TABLE problems (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
  target TEXT NOT NULL, target_version TEXT NOT NULL, target_sha256 TEXT NOT NULL,
  target_options TEXT NOT NULL, spec_hash TEXT NOT NULL,
  workload TEXT NOT NULL, workload_hash TEXT NOT NULL,
  unit TEXT NOT NULL, simulator TEXT NOT NULL, surface TEXT NOT NULL
);
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  job INTEGER NOT NULL REFERENCES jobs(id), task INTEGER NOT NULL,
  label TEXT NOT NULL, suite TEXT NOT NULL,
  problem INTEGER NOT NULL REFERENCES problems(id),
  hlo TEXT NOT NULL, contract TEXT NOT NULL,
  policy TEXT NOT NULL, policy_version TEXT NOT NULL, policy_sha256 TEXT NOT NULL, policy_options TEXT NOT NULL,
  seed INTEGER NOT NULL,
  budget_evaluations INTEGER NOT NULL, budget_proposals INTEGER NOT NULL, budget_patience INTEGER NOT NULL,
  budget_seconds REAL, budget_tokens INTEGER NOT NULL, budget_cost REAL,
  candidate0_plan TEXT NOT NULL, candidate0_latency INTEGER NOT NULL,
  bound REAL, bound_reason TEXT NOT NULL, baseline REAL, baseline_source TEXT NOT NULL,
  evaluations INTEGER NOT NULL, proposals INTEGER NOT NULL, trials INTEGER NOT NULL,
  best_evaluation INTEGER NOT NULL, best_latency INTEGER NOT NULL, best_plan TEXT NOT NULL,
  requests INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, malformed INTEGER NOT NULL,
  cost REAL, cost_unknown INTEGER NOT NULL, estimated INTEGER NOT NULL, currency TEXT NOT NULL,
  seconds REAL, state TEXT NOT NULL, stop_reason TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL,
  UNIQUE (job, task)
);
CREATE TABLE plans (
  problem INTEGER NOT NULL REFERENCES problems(id), hash TEXT NOT NULL, json TEXT NOT NULL,
  PRIMARY KEY (problem, hash)
);
CREATE TABLE evaluations (
  problem INTEGER NOT NULL REFERENCES problems(id), plan TEXT NOT NULL,
  outcome TEXT NOT NULL, latency INTEGER NOT NULL, reason TEXT NOT NULL, elements INTEGER NOT NULL,
  match_rate REAL, worst TEXT NOT NULL, counters TEXT NOT NULL, seconds REAL,
  PRIMARY KEY (problem, plan)
);
CREATE TABLE proposals (
  run INTEGER NOT NULL REFERENCES runs(id), number INTEGER NOT NULL,
  bytes BLOB NOT NULL, rationale TEXT NOT NULL, first_trial INTEGER NOT NULL, trials INTEGER NOT NULL,
  requests INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL, malformed INTEGER NOT NULL,
  cost REAL, cost_unknown INTEGER NOT NULL, estimated INTEGER NOT NULL, currency TEXT NOT NULL,
  PRIMARY KEY (run, number)
) WITHOUT ROWID;
CREATE TABLE trials (
  run INTEGER NOT NULL, number INTEGER NOT NULL, proposal INTEGER NOT NULL, position INTEGER NOT NULL,
  evaluation INTEGER NOT NULL, outcome TEXT NOT NULL, intent TEXT NOT NULL, reason TEXT NOT NULL,
  plan TEXT NOT NULL, latency INTEGER NOT NULL, static_cost REAL, incumbent INTEGER NOT NULL,
  PRIMARY KEY (run, number),
  FOREIGN KEY (run, proposal) REFERENCES proposals(run, number)
) WITHOUT ROWID;
CREATE TABLE events (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id),
  time TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX events_of_run ON events (run);
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id), name TEXT NOT NULL, content TEXT NOT NULL,
  UNIQUE (run, name)
);
)sql";

// Counts that would need a scan of a run's trials; the health of plugins.
constexpr const char* kCounts = R"sql(
CREATE TABLE outcomes (
  run INTEGER NOT NULL REFERENCES runs(id), outcome TEXT NOT NULL, trials INTEGER NOT NULL,
  PRIMARY KEY (run, outcome)
) WITHOUT ROWID;
INSERT INTO outcomes SELECT run, outcome, COUNT(*) FROM trials GROUP BY run, outcome;
CREATE TABLE plugins (
  sha256 TEXT NOT NULL PRIMARY KEY, id TEXT NOT NULL, version TEXT NOT NULL,
  failures INTEGER NOT NULL, quarantined INTEGER NOT NULL, last_failure TEXT NOT NULL
);
)sql";

constexpr const char* kSteps[] = {kTables, kCounts};

}  // namespace

std::span<const char* const> schema_steps() {
  return kSteps;
}

}  // namespace zomboss::history
