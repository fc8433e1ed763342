// The sub-commands of zomboss. Each returns an exit code (exit.h), prints data to stdout and talk to stderr.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/cli/session.h"

namespace zomboss::cli {

struct SearchOptions {
  std::vector<std::string> inputs;  // HLO files or suite files (.toml); empty = the target's bundled suites
  // Empty = the configuration's.
  std::string policy, seed, evaluations, proposals, patience, seconds, tokens, cost, jobs, output;
  std::string policies, seeds;  // of suite: "random,hill", "1..5"
  std::string history;
  bool history_given = false;  // --history, which may name nothing
  bool no_export = false;
  int64_t resumed_job = 0;  // 0 = a new one
};
int run_search_command(const CommonOptions& common, const SearchOptions& options);
int run_suite_command(const CommonOptions& common, const SearchOptions& options);

struct HistoryOptions {
  std::string history;        // file; empty = the configuration's
  int64_t run = 0, job = 0;   // 0 = not given
  std::vector<int64_t> jobs;  // of compare; of report: runs
  int64_t trial = 0;
  bool best = false, trials = false, canonical = false;
  std::string output;
};
int run_runs_command(const CommonOptions& common, const HistoryOptions& options);
int run_show_command(const CommonOptions& common, const HistoryOptions& options);
int run_compare_command(const CommonOptions& common, const HistoryOptions& options);
int run_report_command(const CommonOptions& common, const HistoryOptions& options);
// Go on with what stands in the history: the stored command line says what.
int run_resume_command(const CommonOptions& common, const HistoryOptions& options);
int run_replay_command(const CommonOptions& common, const HistoryOptions& options);
// Runs that an external program drives. `run`: 0 = begin one.
int run_ask_command(const CommonOptions& common, const SearchOptions& search, int64_t run);
int run_tell_command(const CommonOptions& common, const HistoryOptions& options);
int run_plugin_release_command(const CommonOptions& common, const std::string& id);

int run_surface_command(const CommonOptions& common, const std::string& hlo, bool rows);

struct IntentOptions {
  std::string hlo;
  std::vector<std::string> assignments;  // "tile_m=64", "buffering~double"
  std::string intent_file;               // the same in a file
  std::string plan_file;                 // plan.json of an export
  std::string output;
};
int run_complete_command(const CommonOptions& common, const IntentOptions& options);
int run_compile_command(const CommonOptions& common, const IntentOptions& options);

int run_check_command(const CommonOptions& common, const std::string& kernel, const std::string& hlo);

// `print`: the canonical text instead of a summary.
int run_taidl_command(const CommonOptions& common, const std::string& path, bool print);

int run_plugins_command(const CommonOptions& common);
int run_plugin_info_command(const CommonOptions& common, const std::string& id);
int run_plugin_allow_command(const CommonOptions& common, const std::string& id,
                             const std::string& lock_file);
int run_doctor_command(const CommonOptions& common);
int run_config_command(const CommonOptions& common);

// Prints the failure to stderr, and with --json an error document to stdout. Returns its exit code.
int fail(const CommonOptions& common, const Status& status);

}  // namespace zomboss::cli
