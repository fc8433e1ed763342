#include "plugins/policies/exhaustive/exhaustive_policy.h"

#include "plugins/policies/common/policy_checks.h"

namespace zomboss::policies {
namespace {

using testing::kSmallStart;
using testing::no_call;
using testing::small_surface;
using testing::TestSearch;
using testing::TestSurface;
using testing::Values;

TEST(ExhaustivePolicy, GivesTheSameHistoryForTheSameSeed) {
  testing::expect_same_history_for_same_seed<ExhaustivePolicy>(true);
  testing::expect_same_history_for_same_seed<ExhaustivePolicy>(false);
}
TEST(ExhaustivePolicy, NeverRequestsAPointTwice) {
  testing::expect_no_point_requested_twice<ExhaustivePolicy>(true);
  testing::expect_no_point_requested_twice<ExhaustivePolicy>(false);
}
TEST(ExhaustivePolicy, StopsWhenTheCatalogIsExhausted) {
  testing::expect_catalog_exhausted_then_stop<ExhaustivePolicy>();
}
TEST(ExhaustivePolicy, ContinuesEquallyAfterSaveAndLoad) {
  for (const bool catalog : {true, false})
    testing::expect_save_and_load_continue_equally<ExhaustivePolicy>(catalog,
                                                                     testing::options({{"batch", "5"}}));
}
TEST(ExhaustivePolicy, RefusesDamagedStates) {
  testing::expect_damaged_states_are_errors<ExhaustivePolicy>();
}
TEST(ExhaustivePolicy, RefusesStatesOfOtherSearches) {
  testing::expect_states_of_other_searches_refused<ExhaustivePolicy>();
}
TEST(ExhaustivePolicy, RefusesSenselessContexts) {
  testing::expect_senseless_contexts_refused<ExhaustivePolicy>();
}

TEST(ExhaustivePolicy, ProvesTheOptimumOfACatalog) {
  const TestSurface surface = small_surface(true);
  TestSearch<ExhaustivePolicy> search(surface, kSmallStart, 1);
  search.run(1000);
  EXPECT_TRUE(search.stopped);
  EXPECT_EQ(search.best(), surface.optimum());
  EXPECT_EQ(search.rationale, "every one of the " + std::to_string(surface.legal_points().size()) +
                                  " mappings was evaluated: the best is the optimum");
}

// 5 x 4 x 3 x 2 combinations; 5 * 4 > 16 makes six of them illegal. Candidate-0 lies in the middle of the
// order.
TEST(ExhaustivePolicy, ProvesTheOptimumOfAConditionalSurface) {
  const TestSurface surface = small_surface(false);
  TestSearch<ExhaustivePolicy> search(surface, {3, 2, 1, 0}, 1, testing::options({{"batch", "7"}}));
  search.run(1000);
  EXPECT_TRUE(search.stopped);
  EXPECT_EQ(search.history.size(), 113u);
  EXPECT_EQ(search.requested.size(), 119u);
  EXPECT_EQ(search.duplicates, 0u);
  EXPECT_EQ(search.best(), surface.optimum());
  EXPECT_EQ(search.rationale,
            "every one of the 120 combinations was tried, all 114 legal ones were evaluated: the best is the "
            "optimum");
}

TEST(ExhaustivePolicy, SaysHowFarItGot) {
  const TestSurface surface = small_surface(false);
  TestSearch<ExhaustivePolicy> search(surface, kSmallStart, 1, testing::options({{"batch", "10"}}));
  search.step(15);
  EXPECT_EQ(search.rationale, "combinations 2 to 11 of 120");
  search.step(15);
  EXPECT_EQ(search.history.size(), 15u);
  EXPECT_EQ(search.rationale, "combinations 12 to 21 of 120");
  search.step(100);
  EXPECT_EQ(search.rationale, "combinations 17 to 26 of 120") << "on from where the budget ended";
}

TEST(ExhaustivePolicy, TakesTheStaticallyBestRowsFirst) {
  TestSurface surface = small_surface(true);
  surface.cost = [](const Values& v) { return 1000.0 - static_cast<double>(100 * v[0] + 10 * v[1] + v[2]); };
  TestSearch<ExhaustivePolicy> search(surface, kSmallStart, 1);
  search.step(3);
  EXPECT_EQ(search.rationale, "rows 1 to 3 of 114, by static cost");
  EXPECT_EQ(search.history, (std::vector<Values>{{5, 3, 2, 0}, {5, 3, 2, 1}, {5, 3, 1, 0}}));
  surface.cost = nullptr;
  TestSearch<ExhaustivePolicy> blind(surface, kSmallStart, 1);
  blind.step(2);
  EXPECT_EQ(blind.history, (std::vector<Values>{{1, 1, 0, 1}, {1, 1, 1, 0}}));
}

TEST(ExhaustivePolicy, CountsWhatFailed) {
  const TestSurface surface = small_surface(true);
  TestSearch<ExhaustivePolicy> search(surface, kSmallStart, 1);
  wire::SearchStateT state;
  state.evaluations_left = 200;
  const auto proposal = *search.policy->propose(no_call(), state);
  wire::FeedbackBatchT feedback;
  for (size_t i = 0; i < proposal.intents.size(); ++i) {
    feedback.items.push_back(std::make_unique<wire::FeedbackT>());
    if (i % 50 == 0) feedback.items.back()->outcome = wire::Outcome::Crashed;
  }
  ASSERT_TRUE(search.policy->observe(no_call(), feedback).ok());
  EXPECT_EQ(search.policy->propose(no_call(), state)->rationale,
            "every one of the 114 mappings was evaluated: the best is the optimum but for 3 that failed");
}

// 3^64 points: lazily, and with a small state.
TEST(ExhaustivePolicy, WalksSurfacesThatNobodyCanFinish) {
  TestSurface surface;
  for (int k = 0; k < 64; ++k) surface.knobs.push_back({"knob" + std::to_string(k), {0, 1, 2}});
  surface.latency = [](const Values& v) { return 10.0 - static_cast<double>(v[63]); };
  TestSearch<ExhaustivePolicy> search(surface, Values(64, 0), 1);
  search.step(80);
  EXPECT_EQ(search.rationale, "combinations 2 to 257 of more than 9223372036854775808");
  EXPECT_EQ(search.history.size(), 80u);
  EXPECT_LT(search.policy->save(no_call())->size(), 64u);
}

TEST(ExhaustivePolicy, NamesItsOptionsWhenOneIsWrong) {
  EXPECT_EQ(ExhaustivePolicy::create(no_call(), testing::options({{"batch", "257"}})).status().message(),
            "policy exhaustive: option 'batch' must be a whole number of 1..256");
}

}  // namespace
}  // namespace zomboss::policies
