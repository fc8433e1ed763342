// Recording, and reading a run of 100,000 trials.
#include <benchmark/benchmark.h>

#include "core/base/check.h"
#include "core/history/history.h"
#include "core/history/testing.h"

namespace zomboss::history {
namespace {

using testing::sample_proposal;
using testing::start_run;
using testing::TempFolder;

std::unique_ptr<History> open(const std::string& path, Access access) {
  auto history = History::open(path, access);
  ZB_CHECK(history.ok(), "the history opens");
  return *std::move(history);
}

// One proposal with one trial.
void BM_Record(benchmark::State& state) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"), Access::kReadWrite);
  const int64_t run = start_run(*history);
  uint64_t number = 0;
  for (auto _ : state) ZB_CHECK(history->record(run, sample_proposal(++number)).ok(), "recorded");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Record)->Unit(benchmark::kMicrosecond);

// All that an evaluated trial writes: its plan, its evaluation, its proposal.
void BM_RecordWithPlanAndEvaluation(benchmark::State& state) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"), Access::kReadWrite);
  const int64_t run = start_run(*history);
  const std::string json(1500, 'j');
  uint64_t number = 0;
  for (auto _ : state) {
    const Proposal proposal = sample_proposal(++number);
    Evaluation evaluation;
    evaluation.plan = proposal.trials[0].plan;
    evaluation.outcome = "valid";
    for (int i = 0; i < 20; ++i)
      evaluation.counters.emplace_back("engine.counter" + std::to_string(i), i * 1e5);
    ZB_CHECK(history->add_plan("5f3a", evaluation.plan, json).ok(), "added");
    ZB_CHECK(history->add_evaluation("5f3a", evaluation).ok(), "added");
    ZB_CHECK(history->record(run, proposal).ok(), "recorded");
  }
}
BENCHMARK(BM_RecordWithPlanAndEvaluation)->Unit(benchmark::kMicrosecond);

// A history of 100,000 trials, made once.
const std::string& large_history() {
  static const TempFolder folder;
  static const std::string path = [] {
    std::string file = folder.file("history.db");
    auto history = open(file, Access::kReadWrite);
    const int64_t run = start_run(*history);
    for (uint64_t i = 1; i <= 100'000; ++i)
      ZB_CHECK(history->record(run, sample_proposal(i)).ok(), "recorded");
    return file;
  }();
  return path;
}

// What `show --best` asks: opening, the run with its best, its outcomes.
void BM_OpenAndBestOf100000(benchmark::State& state) {
  const std::string& path = large_history();
  for (auto _ : state) {
    auto history = open(path, Access::kReadOnly);
    const auto run = history->run(1);
    ZB_CHECK(run.ok() && run->best_latency == 0 && run->trials == 100'000, "the best");
    benchmark::DoNotOptimize(history->outcomes(1));
  }
}
BENCHMARK(BM_OpenAndBestOf100000)->Unit(benchmark::kMillisecond);

void BM_EachTrialOf100000(benchmark::State& state) {
  auto history = open(large_history(), Access::kReadOnly);
  for (auto _ : state) {
    uint64_t sum = 0;
    ZB_CHECK(history->each_trial(1, [&](const Trial& trial) { return (sum += trial.latency) > 0; }).ok(),
             "read");
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(BM_EachTrialOf100000)->Unit(benchmark::kMillisecond);

void BM_CanonicalTextOf100000(benchmark::State& state) {
  auto history = open(large_history(), Access::kReadOnly);
  for (auto _ : state) benchmark::DoNotOptimize(history->canonical_text(1));
}
BENCHMARK(BM_CanonicalTextOf100000)->Unit(benchmark::kMillisecond);

void BM_CheckOf100000(benchmark::State& state) {
  auto history = open(large_history(), Access::kReadOnly);
  for (auto _ : state) ZB_CHECK(history->check().ok(), "sound");
}
BENCHMARK(BM_CheckOf100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zomboss::history
