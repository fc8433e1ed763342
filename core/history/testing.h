// For tests and benchmarks: a folder that goes away, and a run whose proposals are made from their numbers.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "core/base/check.h"
#include "core/history/history.h"

namespace zomboss::history::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "zomboss-XXXXXX").string();
    ZB_CHECK(mkdtemp(name.data()) != nullptr, "a temporary folder");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline Problem sample_problem() {
  Problem problem;
  problem.key = "5f3a";
  problem.target = "gemmini";
  problem.target_version = "0.1.0";
  problem.target_sha256 = "aa11";
  problem.target_options = "DIM=16\n";
  problem.spec_hash = "bb22";
  problem.workload = "gemm_c3";
  problem.workload_hash = "cc33";
  problem.surface = R"({"schema": "zomboss.surface/1"})";
  problem.unit = "cycles";
  problem.simulator = "gemmini cycle model";
  return problem;
}

inline Run sample_run(int64_t job, uint64_t task) {
  Run run;
  run.job = job;
  run.task = task;
  run.label = "gemmini/gemm_c3";
  run.suite = "gemmini";
  run.problem = sample_problem().key;
  run.hlo = "workloads/gemmini/gemm_c3.hlo";
  run.policy = "hill";
  run.policy_version = "0.1.0";
  run.policy_sha256 = "dd44";
  run.policy_options = "restarts=3\n";
  run.seed = 1;
  run.budget = {.evaluations = 80, .proposals = 1600, .patience = 0, .seconds = 0, .tokens = 0, .cost = 0};
  run.candidate0_plan = "plan0";
  run.candidate0_latency = 100'000;
  run.bound = 20'000;
  run.bound_reason = "64 x 64 x 64 products on 256 multipliers";
  run.baseline = 50'000;
  run.baseline_source = "the vendor's loop";
  return run;
}

// Proposal `number` with one trial, which is evaluated and faster than all before it.
inline Proposal sample_proposal(uint64_t number) {
  Proposal proposal;
  proposal.number = number;
  proposal.bytes = std::string("\0bytes ", 7) + std::to_string(number);
  proposal.rationale = "larger tiles";
  Trial trial;
  trial.number = number;
  trial.proposal = number;
  trial.evaluation = number;
  trial.outcome = "valid";
  trial.intent = "tile_m=" + std::to_string(number);
  trial.plan = "plan" + std::to_string(number);
  trial.latency = 100'000 - number;
  trial.static_cost = 0.5 * static_cast<double>(number);
  trial.incumbent = true;
  proposal.trials.push_back(trial);
  return proposal;
}

// A job with the sample run; its id.
inline int64_t start_run(History& history, uint64_t task = 0) {
  Job job;
  job.command = "search";
  const auto id = history.create_job(job);
  ZB_CHECK(id.ok(), "a job");
  ZB_CHECK(history.add_problem(sample_problem()).ok(), "a problem");
  const auto run = history.create_run(sample_run(*id, task));
  ZB_CHECK(run.ok(), "a run");
  return *run;
}

}  // namespace zomboss::history::testing
