#include "plugins/policies/hill/forecast.h"

#include <cmath>

#include "plugins/policies/common/policy_checks.h"
#include "plugins/policies/common/portable_math.h"
#include "plugins/policies/hill/hill_policy.h"

namespace zomboss::policies {
namespace {

using testing::kSmallStart;
using testing::no_call;
using testing::small_surface;
using testing::TestSearch;
using testing::TestSurface;
using testing::Values;

TEST(PortableMath, AgreesWithTheStandardLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 1.7) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-15 * std::max(1.0, std::fabs(std::log(x))) * 4) << x;
  }
  for (double x = -690; x < 690; x += 0.37) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1, 2e-13) << x;
  EXPECT_EQ(portable_exp(-1e9), 0);
  EXPECT_EQ(portable_log(1), 0);
  for (double z = -8; z < 8; z += 0.13) {
    EXPECT_NEAR(normal_share(z) / (0.5 * std::erfc(-z / std::sqrt(2.0))), 1, 1.3e-7) << z;
    EXPECT_NEAR(normal_density(z), std::exp(-0.5 * z * z) / std::sqrt(2 * std::acos(-1.0)), 1e-15);
  }
}

class ForecastTest : public ::testing::Test {
 protected:
  const Space space_ = *Space::from_context(small_surface(true).context(kSmallStart, 1));
};

TEST_F(ForecastTest, KnowsWhatItWasToldAndIsUnsureFarFromIt) {
  Forecast forecast(space_, false);
  forecast.learn({0, 0, 0, 0}, 0, 300);
  forecast.learn({4, 2, 1, 1}, 0, 100);
  EXPECT_NEAR(forecast.expect({0, 0, 0, 0}, 0).log_latency, std::log(300), 1e-4);
  EXPECT_NEAR(forecast.expect({4, 2, 1, 1}, 0).log_latency, std::log(100), 1e-4);
  EXPECT_LT(forecast.expect({4, 2, 1, 1}, 0).deviation, 2e-3);
  const double near = forecast.expect({4, 2, 1, 0}, 0).deviation;
  const double far = forecast.expect({2, 0, 2, 0}, 0).deviation;
  EXPECT_GT(near, 0.1);
  EXPECT_GT(far, near);
  EXPECT_LT(forecast.expect({4, 2, 1, 0}, 0).log_latency, forecast.expect({0, 0, 1, 0}, 0).log_latency);
}

// An ordered knob: the middle is more like the end than the other end is.
TEST_F(ForecastTest, ReadsAnOrderedKnobAsALine) {
  Forecast forecast(space_, false);
  forecast.learn({0, 0, 0, 0}, 0, 100);
  EXPECT_LT(forecast.expect({1, 0, 0, 0}, 0).deviation, forecast.expect({4, 0, 0, 0}, 0).deviation);
  EXPECT_EQ(forecast.expect({0, 0, 1, 0}, 0).deviation, forecast.expect({0, 0, 2, 0}, 0).deviation)
      << "the values of a choice have no order";
}

TEST_F(ForecastTest, FollowsStaticCostsButNotOneToOne) {
  Forecast forecast(space_, true);
  forecast.learn({0, 0, 0, 0}, 400, 400);
  const double gained = std::log(400) - forecast.expect({0, 0, 0, 1}, 200).log_latency;
  EXPECT_GT(gained, 0.5 * std::log(2));
  EXPECT_LT(gained, std::log(2));
  EXPECT_GT(expected_gain(forecast.expect({0, 0, 0, 1}, 200), 400),
            expected_gain(forecast.expect({0, 0, 0, 1}, 300), 400));
}

// The same point a second time, with another latency: no division by zero, something in between.
TEST_F(ForecastTest, SurvivesAPointLearnedTwice) {
  Forecast forecast(space_, false);
  forecast.learn({0, 0, 0, 0}, 0, 100);
  forecast.learn({0, 0, 0, 0}, 0, 100);
  EXPECT_NEAR(forecast.expect({0, 0, 0, 0}, 0).log_latency, std::log(100), 1e-3);
  EXPECT_TRUE(std::isfinite(expected_gain(forecast.expect({3, 0, 0, 0}, 0), 100)));
}

TEST(HillForecast, StartsAtTheStaticallyBestRow) {
  TestSurface surface = small_surface(true);
  surface.cost = [](const Values& v) { return v == Values{2, 4, 2, 0} ? 1.0 : 2.0; };
  TestSearch<HillPolicy> search(surface, kSmallStart, 1);
  search.step(12);
  EXPECT_EQ(search.history, (std::vector<Values>{{2, 4, 2, 0}}));
}

// The estimate takes c = 0 to be the best, and it is the worst: one measurement of it is enough.
TEST(HillForecast, CorrectsAMisleadingEstimate) {
  TestSurface surface = small_surface(true);
  const auto truth = surface.latency;
  surface.latency = [truth](const Values& v) { return truth(v) * (v[2] == 0 ? 1.4 : 1.0); };
  surface.cost = [truth](const Values& v) { return truth(v) * (v[2] == 0 ? 0.9 : 1.0); };
  TestSearch<HillPolicy> search(surface, kSmallStart, 1);
  search.run(6);
  EXPECT_EQ(search.best(), surface.optimum());
}

TEST(HillForecast, IgnoresEstimatesThatAreNotThereForAllRows) {
  TestSurface surface = small_surface(true);
  TestSearch<HillPolicy> blind(surface, kSmallStart, 1);
  blind.run(12);
  surface.cost = [](const Values& v) { return v[0] == 3 ? 0.0 : static_cast<double>(v[0]); };
  TestSearch<HillPolicy> partly(surface, kSmallStart, 1);
  partly.run(12);
  EXPECT_EQ(blind.history, partly.history);
}

TEST(HillForecast, RefusesCostsOfAnotherNumberOfRows) {
  EXPECT_EQ(testing::start_status<HillPolicy>([](auto& c) {
              c.static_costs = {1, 2};
            }).message(),
            "there are 2 static costs for 114 rows");
}

TEST(HillForecast, FillsABatchWithDifferentRows) {
  TestSurface surface = small_surface(true);
  surface.cost = surface.latency;
  TestSearch<HillPolicy> search(surface, kSmallStart, 1, testing::options({{"batch", "8"}}));
  search.step(100);
  EXPECT_EQ(std::set<Values>(search.history.begin(), search.history.end()).size(), 8u);
  EXPECT_EQ(search.best(), surface.optimum()) << "the estimate is exact";
}

// 12,000 rows, 150 evaluations: more rows and evaluations than the forecast looks at.
TEST(HillForecast, CopesWithLargeCatalogsAndLongSearches) {
  TestSurface surface;
  surface.catalog = true;
  for (const char* name : {"a", "b", "c"}) surface.knobs.push_back({name, {}});
  for (int64_t i = 0; i < 30; ++i) surface.knobs[0].values.push_back(i);
  for (int64_t i = 0; i < 20; ++i) surface.knobs[1].values.push_back(i);
  for (int64_t i = 0; i < 20; ++i) surface.knobs[2].values.push_back(i);
  surface.latency = [](const Values& v) {
    const auto square = [](int64_t x) { return static_cast<double>(x * x); };
    return 1000 + square(v[0] - 21) + square(v[1] - 4) + 3 * square(v[2] - 13);
  };
  TestSearch<HillPolicy> search(surface, {0, 0, 0}, 1);
  search.run(150);
  EXPECT_EQ(search.history.size(), 150u);
  EXPECT_LE(search.best(), 1.01 * surface.optimum());
}

}  // namespace
}  // namespace zomboss::policies
