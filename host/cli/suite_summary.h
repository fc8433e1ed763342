// What the rows of suites come to: means over workloads, how many are slower than their baseline, and in how
// many the best plan stays the best under every scenario. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/cli/search_report.h"

namespace zomboss::cli {

// What the rows of a suite, or of all, come to. Means are over the rows that have what they need; 0 when none
// has.
struct Summary {
  // Under one scenario, over the rows with a verified reference.
  struct Scenario {
    std::string name;
    size_t workloads = 0;
    double reference = 0;  // geometric mean of the first reference / best
  };

  std::string name;
  size_t workloads = 0, verified = 0;
  double speedup = 0;         // geometric mean of Candidate-0 / best
  size_t with_baseline = 0;   // verified rows that have one
  double baseline = 0;        // geometric mean of baseline / best
  size_t slower = 0;          // rows whose best is slower than their baseline
  std::string baseline_name;  // of the reference that all of these baselines are; else "baseline"
  size_t ranked = 0;          // verified rows whose simulator states scenarios
  size_t stays = 0;           // of them, where the best is the fastest under every scenario
  double worst_miss = 0;      // how far the best is behind the fastest, at most: 0.02 = 2 %
  std::string worst;          // "WORKLOAD under SCENARIO"; empty = nowhere
  std::vector<Scenario> scenarios;
  std::string reference_name;  // of the first reference of all rows; else "reference"
};

// Where the suite states no baseline: the latency of the first reference, when it verified.
Task with_baseline(Task task, const std::vector<search::Reference>& references);

Summary summarize(std::string name, std::span<const Row* const> rows);

// The suites of the rows in their order, and "all" when there are several. A workload counts once in "all".
std::vector<Summary> summaries(const std::vector<Row>& rows);

// What the baselines of the rows are called: the name of the reference that all of them are, else "baseline".
std::string baseline_name(std::span<const Row* const> rows);

}  // namespace zomboss::cli
