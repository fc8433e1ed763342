// The report of a run of 100,000 trials, opening included.
#include <benchmark/benchmark.h>

#include "core/base/check.h"
#include "core/history/testing.h"
#include "core/report/report.h"
#include "core/report/sample.h"

namespace zomboss::report {
namespace {

const std::string& large_history() {
  static const history::testing::TempFolder folder;
  static const std::string path = [] {
    std::string file = folder.file("history.db");
    auto history = history::History::open(file, history::Access::kReadWrite);
    ZB_CHECK(history.ok(), "a history");
    SampleOptions options;
    options.policies = {"random"};
    options.seeds = 1;
    options.evaluations = 74'000;  // 100,000 trials with what is rejected
    write_sample(**history, options);
    return file;
  }();
  return path;
}

void BM_ReportOf100000Trials(benchmark::State& state) {
  const std::string& path = large_history();
  size_t bytes = 0;
  for (auto _ : state) {
    auto history = history::History::open(path, history::Access::kReadOnly);
    ZB_CHECK(history.ok(), "the history opens");
    const auto html = html_report(**history, std::vector<int64_t>{1}, {});
    ZB_CHECK(html.ok(), "a report");
    bytes = html->size();
    state.counters["trials"] = static_cast<double>((*history)->run(1)->trials);
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(BM_ReportOf100000Trials)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zomboss::report
