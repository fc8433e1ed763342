// Candidate-0 of every instance of the suites meets its contract, is no faster than the lower bound, and is
// estimated to the right order of magnitude.
#include <gtest/gtest.h>

#include "core/config/suite.h"
#include "core/mapping/convert.h"
#include "plugins/targets/plena/tests/plena_case.h"
#include "zomboss/sdk/message.h"

namespace zomboss::plena {
namespace {

std::vector<std::string> instances() {
  std::vector<std::string> names;
  for (const char* suite_name : {"plena", "plena-decoder", "plena-extra"}) {
    const auto suite = config::read_suite(std::string(ZB_SOURCE_DIR "/workloads/") + suite_name + ".toml");
    EXPECT_TRUE(suite.ok()) << suite.status().message();
    if (!suite.ok()) continue;
    for (const config::Instance& each : suite->instances) names.push_back(each.name);
  }
  return names;
}

class Candidate0 : public testing::TestWithParam<std::string> {};

TEST_P(Candidate0, MeetsTheContract) {
  CaseOptions options;
  options.instruction_limit = uint64_t{1} << 30;
  const auto workload = PlenaCase::of_file(GetParam(), options);
  ASSERT_NE(workload, nullptr);
  const auto plan = workload->plan("");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  const evaluate::Evaluation evaluation = workload->evaluate(*plan);
  ASSERT_EQ(evaluation.outcome, wire::Outcome::Valid) << evaluation.reason;
  const auto latency = static_cast<double>(evaluation.latency);
  const auto bound = workload->target().bound(workload->workload().encoded);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_GT(bound->latency, 0);
  EXPECT_LE(bound->latency, latency);
  const auto schedule = workload->target().schedule(workload->workload().encoded,
                                                    encode(mapping::to_wire(workload->surface(), *plan)));
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  EXPECT_GT(schedule->static_cost, latency / 3);
  EXPECT_LT(schedule->static_cost, latency * 3);
  // The timeline: regions without gaps, from the start to the end; below each the engines fill its time.
  uint64_t regions = 0, engines = 0;
  for (const auto& span : evaluation.simulation.timeline) {
    if (span->engine != "region") {
      engines += span->end - span->start;
      continue;
    }
    EXPECT_EQ(span->start, regions) << span->label;
    regions = span->end;
  }
  EXPECT_EQ(regions, evaluation.latency);
  EXPECT_EQ(engines, evaluation.latency);
}

INSTANTIATE_TEST_SUITE_P(Plena, Candidate0, testing::ValuesIn(instances()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace zomboss::plena
