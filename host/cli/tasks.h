// The workloads that a command names: HLO files, and the instances of suite files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/cli/session.h"

namespace zomboss::cli {

// One workload to search.
struct Task {
  std::string name;   // "SUITE/INSTANCE"; empty = the workload's own name
  std::string suite;  // empty = an HLO file of the command line
  std::string hlo, contract;
  std::optional<double> baseline;  // latency of what a user has today, in the simulator's unit
  std::string baseline_source;
  std::string baseline_name;  // of the reference that it is the latency of; empty = the suite states it

  bool same_workload(const Task& other) const { return hlo == other.hlo && contract == other.contract; }
};

bool is_suite(const std::string& input);

// The command's flags, with the target of its suites where no flag names one. Fails when they disagree.
Result<CommonOptions> with_target_of_suites(CommonOptions common, const std::vector<std::string>& inputs);

// `inputs`: HLO files or suite files (.toml); none = the bundled suites of the target, TARGET.toml and
// TARGET-*.toml in workloads/ of the current folder, except TARGET-extra.toml.
Result<std::vector<Task>> read_tasks(const Session& session, std::vector<std::string> inputs);

}  // namespace zomboss::cli
