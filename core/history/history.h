// The history of all searches in one folder: a SQLite file (WAL) with jobs, runs, proposals, trials and
// evaluations. What a search records is on disk when the recording function returns, so that nothing that was
// shown can be lost; a process that dies at any point leaves a file that resume continues from.
//
// A job is one command (`search`, `suite`); it has one run for each workload, policy and seed. A run is a
// sequence of proposals; each has trials, what came of each proposed intent or chosen plan. An evaluation
// belongs to a problem (workload, target, configuration) and a plan, not to a run: another run that meets the
// same plan of the same problem is answered from here.
//
// One writer at a time: a History is used by one thread; several processes may have the same file open, since
// every change is one short transaction. No function throws. Errors: unavailable (another process holds the
// file too long), resource exhausted (disk full; nothing of the change is kept), data loss (not a history, or
// damaged), failed precondition (written by a newer version of Zomboss), not found.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zomboss/sdk/status.h"

namespace zomboss::history {

// One command that searches.
struct Job {
  int64_t id = 0;                      // from 1
  std::string command;                 // "search", "suite", "ask"
  std::vector<std::string> arguments;  // the whole command line after the program's name
  std::string folder;                  // in which it was called
  std::string configuration;           // JSON: resolved configuration with origins
  std::string environment;             // JSON: version, compiler, host, processor
  std::string state;                   // "running", "complete", "interrupted", "failed"
  std::string started, ended;          // UTC, ISO 8601; written by the history
  int64_t process = 0;                 // of the last writer; 0 when it ended
};

// What makes two latencies of the same plan comparable. `key` is a hash over all the rest.
struct Problem {
  std::string key;
  std::string target, target_version, target_sha256;  // of the plugin's file
  std::string target_options;                         // "k=v" lines, TAIDL overrides included
  std::string spec_hash;
  std::string workload, workload_hash;  // name; hash of HLO and contract
  std::string surface;                  // JSON as `zomboss surface --json` prints it
  std::string unit, simulator;
};

struct Budget {
  uint64_t evaluations = 0, proposals = 0, patience = 0;  // patience 0 = no such rule
  double seconds = 0;                                     // 0 = no such rule, as below
  uint64_t tokens = 0;
  double cost = 0;
  bool operator==(const Budget&) const = default;
};

// Of language-model policies; sums over the proposals of a run.
struct Usage {
  uint64_t requests = 0, prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0, reasoning_tokens = 0;
  uint64_t malformed = 0;
  double cost = 0;
  bool cost_unknown = false, estimated = false;
  std::string currency;
  bool operator==(const Usage&) const = default;
};

struct Run {
  int64_t id = 0;  // from 1
  int64_t job = 0;
  uint64_t task = 0;     // its number in the job, from 0
  std::string label;     // "gemmini/gemm_c3", or the workload's name
  std::string suite;     // empty = none
  std::string problem;   // key
  std::string hlo;       // path as given
  std::string contract;  // likewise; empty = none
  std::string policy, policy_version, policy_sha256;
  std::string policy_options;  // "k=v" lines
  uint64_t seed = 0;
  Budget budget;
  // Candidate-0: its plan and latency are the problem's; the same for every run of it.
  std::string candidate0_plan;  // hash
  uint64_t candidate0_latency = 0;
  std::optional<double> bound;
  std::string bound_reason;
  std::optional<double> baseline;
  std::string baseline_source;
  // Kept up to date by record().
  uint64_t evaluations = 0, proposals = 0, trials = 0;
  uint64_t best_evaluation = 0;  // 0 = Candidate-0
  uint64_t best_latency = 0;
  std::string best_plan;  // hash
  Usage usage;
  double seconds = 0;  // of searching, over all its sessions
  std::string state;   // "running", "complete", "interrupted", "failed"
  std::string stop_reason;
  std::string started, ended;  // UTC
};

// What came of one proposed intent, or of one plan chosen from a region, or of a region as a whole.
struct Trial {
  uint64_t number = 0;      // in its run, from 1
  uint64_t proposal = 0;    // from 1
  uint64_t index = 0;       // in its proposal
  uint64_t evaluation = 0;  // from 1; 0 when it was rejected before evaluation
  std::string outcome;      // "valid", "wrong", "duplicate", ... as search::outcome_name
  std::string intent;       // as mapping::intent_text; of a region: its text
  std::string reason;       // of anything but "valid"
  std::string plan;         // hash; empty = none
  uint64_t latency = 0;
  double static_cost = 0;  // 0 = not known
  bool incumbent = false;  // it became the fastest verified candidate
  bool operator==(const Trial&) const = default;
};

// One proposal of a policy as it came, and its trials.
struct Proposal {
  uint64_t number = 0;  // from 1
  std::string bytes;    // the encoded wire::Proposal
  std::string rationale;
  Usage usage;
  std::vector<Trial> trials;
};

struct Evaluation {
  std::string plan;     // hash
  std::string outcome;  // never a rejection
  uint64_t latency = 0;
  std::string reason;
  uint64_t elements = 0;  // compared with the oracle
  double match_rate = 0;
  std::string worst;  // the element furthest off; empty = none
  std::vector<std::pair<std::string, double>> counters;
  double seconds = 0;  // what it took; not part of what must repeat
  bool operator==(const Evaluation&) const = default;
};

// Something worth telling that is no trial: a crash with the worker's last output, a plugin that wrote to
// stdout, a resume.
struct Event {
  std::string time;  // UTC; written by the history
  std::string kind;  // "crash", "timeout", "output", "resume", "interrupt"
  std::string text;
};

struct RunEnd {
  std::string state;  // "complete", "interrupted", "failed"
  std::string stop_reason;
  double seconds = 0;  // added
};

enum class Access { kReadWrite, kReadOnly };

class History {
 public:
  // Opens the file; read-write creates it, with the folders above it, and brings an older schema up to date.
  // Read-only: not found when there is none.
  static Result<std::unique_ptr<History>> open(const std::string& path, Access access);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  const std::string& path() const;

  // Jobs. `id`, times and state "running" are the history's.
  Result<int64_t> create_job(const Job& job);
  Status reopen_job(int64_t job);  // running again, by this process
  Status end_job(int64_t job, const std::string& state);
  Result<Job> job(int64_t id) const;
  Result<std::vector<Job>> jobs() const;  // newest first

  // Problems. Adding a known one is no error.
  Status add_problem(const Problem& problem);
  Result<Problem> problem(const std::string& key) const;

  // Runs. `id`, times, counts and state "running" are the history's.
  Result<int64_t> create_run(const Run& run);
  Status reopen_run(int64_t run);
  Status end_run(int64_t run, const RunEnd& end);
  Result<Run> run(int64_t id) const;
  Result<std::vector<Run>> runs(std::optional<int64_t> job = std::nullopt) const;  // by id
  Result<std::optional<Run>> find_run(int64_t job, uint64_t task) const;

  // Plans: the JSON of a plan ("zomboss.plan/1") by its hash, per problem. Adding a known one is no error.
  Status add_plan(const std::string& problem, const std::string& hash, const std::string& json);
  Result<std::string> plan(const std::string& problem, const std::string& hash) const;

  // Evaluations. A later one of the same plan replaces the earlier.
  Status add_evaluation(const std::string& problem, const Evaluation& evaluation);
  Result<std::optional<Evaluation>> find_evaluation(const std::string& problem,
                                                    const std::string& plan) const;

  // One proposal with its trials, in one transaction; the run's counts and best follow. The next number of
  // the run, or failed precondition.
  Status record(int64_t run, const Proposal& proposal);
  // In order, with trials when asked. `visit` returns false to stop.
  Status each_proposal(int64_t run, const std::function<bool(const Proposal&)>& visit) const;
  Status each_trial(int64_t run, const std::function<bool(const Trial&)>& visit) const;
  Result<std::optional<Trial>> trial(int64_t run, uint64_t number) const;
  // Trials of the run by outcome name, sorted by name.
  Result<std::vector<std::pair<std::string, uint64_t>>> outcomes(int64_t run) const;

  Status add_event(int64_t run, const std::string& kind, const std::string& text);
  Result<std::vector<Event>> events(int64_t run) const;

  // Named documents of a run, e.g. "incumbent" (what the report shows of its plan). Replaces.
  Status set_document(int64_t run, const std::string& name, const std::string& content);
  Result<std::optional<std::string>> document(int64_t run, const std::string& name) const;

  // Crashes and time-outs of a plugin file, by its sha256, over all runs: for the quarantine.
  struct PluginHealth {
    std::string id, version, sha256;
    uint64_t failures = 0;  // in a row, since the last success or release
    bool quarantined = false;
    std::string last_failure;  // for people
  };
  Status note_plugin(const PluginHealth& health);  // replaces
  Result<std::optional<PluginHealth>> plugin_health(const std::string& sha256) const;
  Result<std::vector<PluginHealth>> plugins() const;

  // Everything of a run that must repeat (no times, no seconds, no ids of other runs): one text line for each
  // proposal and trial and, behind them, the totals. Two runs with the same history have the same bytes here.
  Result<std::string> canonical_text(int64_t run) const;

  // SQLite's own integrity check, and ours (counts, numbering). Data loss with the first finding.
  Status check() const;

 private:
  class Impl;
  explicit History(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace zomboss::history
