// Comparing policies over the runs of a history: the same workloads, the same evaluation counts, several
// seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/history/history.h"
#include "host/cli/commands.h"

namespace zomboss::cli {

// What one policy did on one workload, over its seeds.
struct Cell {
  size_t runs = 0;
  double median = 0, low = 0, high = 0;  // of the best latencies
};

struct PolicySummary {
  std::string policy;
  size_t workloads = 0, runs = 0, verified = 0;
  double speedup = 0;                        // geometric mean over workloads of Candidate-0 / median best
  double speedup_low = 0, speedup_high = 0;  // the same with the worst and the best seed of each workload
  std::optional<double> baseline;            // geometric mean of baseline / median best
  double disappointment = 0;                 // mean over runs of best / best known - 1
  std::optional<double> regret;              // mean over runs of best / optimum - 1
  size_t regret_workloads = 0;               // those whose optimum is known
  double evaluations = 0;                    // mean of a run
  uint64_t tokens = 0;
  std::optional<double> tokens_per_kernel;  // verified runs
  // Runs whose simulator states scenarios, and those of them whose best is the fastest under each.
  size_t ranked = 0, stays = 0;
  double worst_miss = 0;  // how far a best is behind the fastest of its run, at most
  std::string worst;      // "WORKLOAD under SCENARIO"; empty = nowhere
  // By scenario, over the runs whose first reference verified: geometric mean of it / best.
  std::vector<std::pair<std::string, double>> references;
};

struct WorkloadRow {
  std::string label;
  uint64_t evaluations = 0;  // at which the policies are compared
  uint64_t candidate0 = 0, best_known = 0;
  std::optional<uint64_t> optimum;
  std::optional<double> bound, baseline;
  std::string baseline_name;  // of the reference that it is the latency of; empty = the suite states it
  std::string unit;
  std::vector<Cell> cells;  // one per policy
};

struct Comparison {
  std::vector<std::string> policies;  // in the order of their first runs
  std::vector<WorkloadRow> workloads;
  std::vector<PolicySummary> summaries;
  std::string baseline_name;          // of all baselines; "baseline" when they differ
  std::vector<std::string> warnings;  // what makes it less than fair
};

// Only complete runs count. Invalid argument when there is none.
Result<Comparison> compare_runs(const history::History& history, const std::vector<history::Run>& runs);

// Prints the comparison of all runs of these jobs, as tables or JSON. Returns the exit code.
int print_comparison(const CommonOptions& common, const history::History& history,
                     const std::vector<int64_t>& jobs, const std::vector<std::string>& failures);

}  // namespace zomboss::cli
