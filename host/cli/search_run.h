// One search of one workload by one policy and seed, recorded in the history: begun, or resumed where an
// earlier command was cut off.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/history/history.h"
#include "host/cli/progress.h"
#include "host/cli/search_report.h"
#include "host/cli/workbench.h"

namespace zomboss::cli {

struct Settings {
  std::string policy, output;
  search::Budget budget;  // 0 = by the surface
  uint64_t seed = 1;
  bool export_kernels = true;
  bool quiet = false;  // no progress on stderr
};

// Invalid argument: a budget that is too large to count.
Result<Settings> read_settings(const config::Config& config);

// Where a run is recorded. Borrowed; a null history records nothing.
struct RunPlace {
  history::History* history = nullptr;
  int64_t job = 0;
  uint64_t task = 0;  // number in the job
};

// A policy with what the history says of it.
struct PolicyHandle {
  std::unique_ptr<search::Policy> policy;
  wire::Instance::Identity identity;
  std::string options;  // "k=v" lines
};
Result<PolicyHandle> open_policy(Session& session, const std::string& id);

// Where the policy of a run keeps its files.
std::string run_folder(const history::History& history, int64_t run);
// A new job for this command line, or `resumed` (0 = none) reopened.
Result<int64_t> open_job(history::History& history, const Session& session, const std::string& command,
                         int64_t resumed);

// Fails before anything is searched when the run cannot be resumed (another plugin, budget, ...), when the
// target is quarantined, or when the history cannot be written.
Result<Outcome> search_run(Session& session, Workbench& bench, const Task& task, const Settings& settings,
                           PolicyHandle policy, const RunPlace& place);

}  // namespace zomboss::cli
