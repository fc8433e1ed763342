// What a search says about its workloads: one of them in full, or a table of many with what each suite comes
// to (suite_summary.h). Plain values and printing; the thread that searches.
#pragma once

#include <optional>
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

// The fields baseline, baseline_name, baseline_source and baseline_over_best; null when there is none.
// `best`: its latency.
void add_baseline(Json& json, const Task& task, double best);

void print_outcome(const Outcome& outcome);
void print_table(const std::vector<Row>& rows);
void print_suite_json(const std::vector<Row>& rows, const std::vector<std::string>& failures);

}  // namespace zomboss::cli
