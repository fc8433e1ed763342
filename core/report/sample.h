// A made-up history with all that a report shows, for tests, the benchmark and a look at the page.
#pragma once

#include <cstdint>
#include <vector>

#include "core/history/history.h"

namespace zomboss::report {

struct SampleOptions {
  size_t workloads = 1;
  std::vector<std::string> policies = {"random", "hill", "genetic", "llm"};
  uint64_t seeds = 5;
  uint64_t evaluations = 80;
  bool plain = false;  // without documents, events, plans, baseline, bound and usage
};

// Writes the runs; their ids. Aborts when the history refuses them.
std::vector<int64_t> write_sample(history::History& history, const SampleOptions& options);

}  // namespace zomboss::report
