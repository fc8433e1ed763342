// What a command line of `search`, `suite` or `ask` asks for, ready to be begun or gone on with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/history/history.h"
#include "host/cli/command_line.h"
#include "host/cli/search_run.h"

namespace zomboss::cli {

// Run number (task * policies + policy) * seeds + seed of a job is one search.
struct Prepared {
  std::unique_ptr<Session> session;
  std::vector<Task> tasks;
  Settings settings;
  std::vector<std::string> policies;
  std::vector<uint64_t> seeds;

  const Task& task_of(uint64_t number) const { return tasks[number / (policies.size() * seeds.size())]; }
};
Result<Prepared> prepare(const CommonOptions& given, const SearchOptions& options, bool suite);

// A job of the history with its command line read again. The current folder becomes that of the job, and the
// options name the history that it was found in.
struct StoredJob {
  history::Job job;
  std::unique_ptr<CommandLine> line;
};
Result<StoredJob> load_job(const CommonOptions& common, const history::History& history, int64_t job);

}  // namespace zomboss::cli
