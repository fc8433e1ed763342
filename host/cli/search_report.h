// What a search says about its workloads: one of them in full, or a table of many with the geometric means of
// each suite. Plain values and printing; the thread that searches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/search/controller.h"
#include "host/cli/export.h"
#include "host/cli/json.h"
#include "host/cli/tasks.h"

namespace zomboss::cli {

// Everything that is said about one finished search.
struct Outcome {
  std::string name;
  search::Report report;
  std::optional<wire::BoundT> bound;
  Exported exported;
  std::string reproduce, check;
  std::string history;              // file; empty = not recorded
  int64_t run = 0;                  // in it
  std::vector<std::string> events;  // crashes, time-outs and output of plugins
  Json json;
};

// A line of the table. Several suites may list the same workload: it is searched once.
struct Row {
  Task task;
  const Outcome* outcome = nullptr;  // borrowed; null when it failed
  std::string failure;               // "does not verify" or "failed" then
  bool repeated = false;             // an earlier row has the same outcome
};

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

// The fields baseline, baseline_name, baseline_source and baseline_over_best; null when there is none.
// `best`: its latency.
void add_baseline(Json& json, const Task& task, double best);

void print_outcome(const Outcome& outcome);
void print_table(const std::vector<Row>& rows);
void print_suite_json(const std::vector<Row>& rows, const std::vector<std::string>& failures);

}  // namespace zomboss::cli
