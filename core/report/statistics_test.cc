#include "core/report/statistics.h"

#include <gtest/gtest.h>

#include "core/history/testing.h"
#include "core/report/sample.h"

namespace zomboss::report {
namespace {

RunView run_of(std::vector<Step> steps, uint64_t evaluations) {
  RunView view;
  view.run.candidate0_latency = steps.front().latency;
  view.run.best_latency = steps.back().latency;
  view.run.evaluations = evaluations;
  view.steps = std::move(steps);
  return view;
}

TEST(Statistics, Quantiles) {
  EXPECT_EQ(median_of({}), 0);
  EXPECT_EQ(median_of({3}), 3);
  EXPECT_EQ(median_of({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(quantile_of({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_DOUBLE_EQ(geometric_mean_of({1, 4}), 2);
  EXPECT_EQ(geometric_mean_of({}), 0);
}

TEST(Statistics, ACurveIsTheMedianAndTheRangeOfTheSeeds) {
  const RunView a = run_of({{0, 100}, {2, 50}}, 5), b = run_of({{0, 100}, {3, 80}, {4, 20}}, 6),
                c = run_of({{0, 100}}, 6);
  const Curve curve = curve_of({&a, &b, &c});
  EXPECT_EQ(curve.seeds, 3u);
  EXPECT_FALSE(curve.quartiles);
  EXPECT_EQ(curve.evaluation, (std::vector<double>{0, 2, 3, 4, 5, 6}));
  EXPECT_EQ(curve.median, (std::vector<double>{100, 100, 80, 50, 50, 50}));
  EXPECT_EQ(curve.low, (std::vector<double>{100, 50, 50, 20, 20, 20}));
  EXPECT_EQ(curve.high, (std::vector<double>{100, 100, 100, 100, 100, 100}));
  EXPECT_TRUE(curve_of({&a, &b, &c, &a, &b}).quartiles);
  EXPECT_TRUE(curve_of({}).evaluation.empty());
}

TEST(Statistics, LongCurvesAreThinnedAndKeepTheirEnds) {
  std::vector<Step> steps;
  for (uint64_t i = 0; i <= 50'000; ++i) steps.push_back({i, 100'000 - i});
  const RunView view = run_of(steps, 60'000);
  const Curve curve = curve_of({&view}, 500);
  EXPECT_LE(curve.evaluation.size(), 500u);
  EXPECT_EQ(curve.evaluation.front(), 0);
  EXPECT_EQ(curve.evaluation.back(), 60'000);
  EXPECT_EQ(curve.median.back(), 50'000);
}

TEST(Statistics, ScoresLeaveOutRunsThatVerifiedNothing) {
  const RunView a = run_of({{0, 100}, {2, 50}}, 5), b = run_of({{0, 100}, {3, 80}}, 6);
  RunView failed;
  const Score score = score_of({&a, &b, &failed});
  EXPECT_EQ(score.runs, 3u);
  EXPECT_EQ(score.median, 65);
  EXPECT_EQ(score.low, 50);
  EXPECT_EQ(score.high, 80);
  EXPECT_EQ(score_of({&failed}).median, 0);
}

// The sample's latency is a product of one factor for each knob; the effects must find that again.
TEST(Statistics, KnobEffectsFindTheKnobsThatMatter) {
  const history::testing::TempFolder folder;
  auto history = *history::History::open(folder.file("h.db"), history::Access::kReadWrite);
  SampleOptions options;
  options.policies = {"random"};
  options.evaluations = 400;
  const auto runs = write_sample(*history, options);
  const auto data = collect(*history, runs);
  ASSERT_TRUE(data.ok()) << data.status().message();
  ASSERT_EQ(data->groups.size(), 1u);
  const KnobEffects effects = knob_effects_of(*data, data->groups[0]);
  EXPECT_EQ(effects.missing, 0u);
  EXPECT_EQ(effects.plans, data->groups[0].plans.size());
  EXPECT_EQ(effects.fixed, std::vector<std::string>{"accumulator"});
  ASSERT_EQ(effects.varied.size(), 8u);
  const auto place = [&](const std::string& knob) {
    for (size_t i = 0; i < effects.varied.size(); ++i)
      if (effects.varied[i].knob == knob) return i;
    return effects.varied.size();
  };
  EXPECT_LT(place("tile_m"), 2u);
  EXPECT_LT(place("buffering"), 2u);
  EXPECT_EQ(place("load_order"), 7u);
  const KnobEffect& tile = effects.varied[place("tile_m")];
  ASSERT_EQ(tile.values.size(), 5u);
  EXPECT_EQ(tile.values[0].value, "16");  // by size, not by the alphabet
  EXPECT_EQ(tile.values[4].value, "256");
  const KnobEffect& schedule = effects.varied[place("store_schedule")];
  EXPECT_EQ(schedule.values[0].value, "early");  // as in the surface's domain
  EXPECT_EQ(schedule.values[2].value, "deferred");
  EXPECT_GT(tile.values[0].median, tile.values[2].median);
  for (const ValueEffect& value : tile.values) {
    EXPECT_LE(value.best, value.median);
    EXPECT_LE(value.median, value.worst);
  }
}

}  // namespace
}  // namespace zomboss::report
