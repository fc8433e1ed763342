// What the report reads from the history, once: runs, grouped by what they search, with their trials in
// short.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/history/history.h"

namespace zomboss::report {

using Json = nlohmann::json;

// A trial in short.
struct Point {
  uint64_t number = 0;
  uint64_t latency = 0;  // 0 = none
  uint8_t outcome = 0;   // index into Data::outcomes
  bool incumbent = false;
};

// The best so far, from this evaluation on.
struct Step {
  uint64_t evaluation = 0;
  uint64_t latency = 0;
};

// Why trials of one outcome were rejected: reasons that differ in their numbers alone are one.
struct Reason {
  std::string outcome, example;
  uint64_t trials = 0;
};

struct RunView {
  history::Run run;
  size_t policy = 0;  // index into Data::policies
  std::vector<Step> steps;
  std::vector<Point> points;
  std::vector<history::Trial> incumbents;                  // the last hundred
  std::vector<std::pair<std::string, uint64_t>> outcomes;  // from the history, sorted by name
  std::vector<history::Event> events;
  std::map<std::string, Reason> reasons;  // by outcome and reason without numbers

  bool verified() const { return run.candidate0_latency != 0; }
};

// Runs of the same workload on the same machine: their latencies compare.
struct Group {
  std::string name;  // unique in the report
  history::Problem problem;
  std::vector<size_t> runs;  // indices into Data::runs
  size_t best = 0;           // the run with the lowest latency, of those the first
  // Distinct plans that trials verified, with their latency, sorted by hash. Without Candidate-0, which is
  // the measure of the others.
  std::vector<std::pair<std::string, uint64_t>> plans;

  double candidate0 = 0, best_latency = 0;  // 0 = nothing was verified
  std::optional<double> baseline, bound;
  std::string baseline_name;  // of the reference that it is the latency of; empty = the suite states it
  std::string baseline_source, bound_reason;
  std::string baseline_label() const { return baseline_name.empty() ? "Baseline" : baseline_name; }
  // Documents of the best run: the plans that the target names, and whether the best plan stays the best
  // under other conditions. Null when it has none.
  Json references, ranking;
  double speedup() const { return best_latency > 0 ? candidate0 / best_latency : 0; }
};

struct Data {
  const history::History* history = nullptr;
  std::vector<RunView> runs;
  std::vector<Group> groups;          // in the order of their first run
  std::vector<std::string> policies;  // names to show, in the order of their first run
  std::vector<std::string> outcomes;  // names, in the order of first use
  std::vector<history::Job> jobs;
  Status trials;  // why trials are missing, if some could not be read

  // The group's runs of a policy.
  std::vector<const RunView*> of(const Group& group, size_t policy) const;
  const RunView& best(const Group& group) const { return runs[group.best]; }
};

Result<Data> collect(const history::History& history, std::span<const int64_t> runs);

// JSON that somebody else wrote: nothing throws, a wrong type is an absent value.
Json parse_json(std::string_view text);  // null when it is none
const Json& member(const Json& object, const char* key);
std::string text_of(const Json& value);  // strings as they are, numbers and booleans as JSON prints them
std::optional<double> number_of(const Json& value);

// The decisions of a plan's "sections", in the order in which preferences are added: by section, then by
// name.
struct Decision {
  std::string section, knob, value, origin;
};
std::vector<Decision> decisions_of(const Json& plan);

}  // namespace zomboss::report
