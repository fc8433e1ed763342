#include "plugins/policies/hill/hill_policy.h"

#include "plugins/policies/common/policy_checks.h"

namespace zomboss::policies {
namespace {

using testing::kSmallStart;
using testing::no_call;
using testing::small_surface;
using testing::TestSearch;
using testing::TestSurface;
using testing::Values;

const wire::OptionsT kBest = testing::options({{"improvement", "best"}});
const wire::OptionsT kFirst = testing::options({{"improvement", "first"}});

TEST(HillPolicy, GivesTheSameHistoryForTheSameSeed) {
  testing::expect_same_history_for_same_seed<HillPolicy>(true);
  testing::expect_same_history_for_same_seed<HillPolicy>(false);
}
TEST(HillPolicy, NeverRequestsAPointTwice) {
  testing::expect_no_point_requested_twice<HillPolicy>(true);
  testing::expect_no_point_requested_twice<HillPolicy>(false);
}
TEST(HillPolicy, StopsWhenTheCatalogIsExhausted) {
  testing::expect_catalog_exhausted_then_stop<HillPolicy>();
}
TEST(HillPolicy, ContinuesEquallyAfterSaveAndLoad) {
  for (const bool catalog : {true, false}) {
    testing::expect_save_and_load_continue_equally<HillPolicy>(catalog);
    testing::expect_save_and_load_continue_equally<HillPolicy>(catalog, kBest);
    testing::expect_save_and_load_continue_equally<HillPolicy>(catalog, kFirst);
    testing::expect_save_and_load_continue_equally<HillPolicy>(catalog, testing::options({{"batch", "3"}}));
  }
}
TEST(HillPolicy, RefusesDamagedStates) {
  testing::expect_damaged_states_are_errors<HillPolicy>();
}
TEST(HillPolicy, RefusesStatesOfOtherSearches) {
  testing::expect_states_of_other_searches_refused<HillPolicy>();
}
TEST(HillPolicy, RefusesSenselessContexts) {
  testing::expect_senseless_contexts_refused<HillPolicy>();
  EXPECT_EQ(testing::start_status<HillPolicy>([](auto& c) { c.candidate0_latency = 0; }).message(),
            "the latency of Candidate-0 is not positive");
}

TEST(HillPolicy, FindsTheOnlyOptimumWithEveryImprovementRule) {
  for (const bool catalog : {true, false}) {
    const TestSurface surface = small_surface(catalog);
    TestSearch<HillPolicy> expected(surface, kSmallStart, 1);
    expected.run(15);
    EXPECT_EQ(expected.best(), surface.optimum());
    TestSearch<HillPolicy> best(surface, kSmallStart, 1, kBest);
    best.run(45);
    EXPECT_EQ(best.best(), surface.optimum());
    TestSearch<HillPolicy> first(surface, kSmallStart, 1, kFirst);
    first.run(15);
    EXPECT_EQ(first.best(), surface.optimum()) << "first improvement needs fewer evaluations";
  }
}

TEST(HillPolicy, BestImprovementTriesAllNeighboursBeforeItMoves) {
  const TestSurface surface = small_surface(true);
  TestSearch<HillPolicy> search(surface, kSmallStart, 1, kBest);
  const size_t neighbours = 4 + 3 + 2 + 1;
  search.run(neighbours + 1);
  Values best = kSmallStart;
  for (size_t i = 0; i < neighbours; ++i) {
    EXPECT_EQ(search.surface.knobs.size() - 1,
              static_cast<size_t>(std::inner_product(kSmallStart.begin(), kSmallStart.end(),
                                                     search.history[i].begin(), 0, std::plus<>(),
                                                     [](auto a, auto b) { return a == b ? 1 : 0; })));
    if (surface.latency(search.history[i]) < surface.latency(best)) best = search.history[i];
  }
  EXPECT_EQ(best, (Values{5, 1, 0, 0}));
  EXPECT_EQ(search.history[neighbours][0], 5) << "a neighbour of the best one";
}

TEST(HillPolicy, StopsAtALocalOptimumWithoutRestarts) {
  const TestSurface surface = small_surface(false);
  TestSearch<HillPolicy> search(surface, kSmallStart, 1, testing::options({{"restarts", "0"}}));
  search.run(100'000);
  EXPECT_TRUE(search.stopped);
  EXPECT_EQ(search.rationale, "local optimum, and all 0 restarts are used up");
  EXPECT_EQ(search.best(), surface.optimum());
  EXPECT_LT(search.history.size(), 40u);
}

// Two valleys, the start in the shallow one: only a restart leaves it.
TEST(HillPolicy, LeavesALocalOptimumByARestart) {
  TestSurface surface;
  surface.knobs = {{"x", {0, 1, 2, 3, 4, 5, 6, 7}}, {"y", {0, 1, 2, 3, 4, 5, 6, 7}}};
  surface.latency = [](const Values& v) {
    const auto valley = [&](int64_t x, int64_t y, double depth) {
      const auto d = static_cast<double>(std::abs(v[0] - x) + std::abs(v[1] - y));
      return depth + d;
    };
    return 50 + std::min({valley(0, 0, 5), valley(6, 6, 0), 9.0});
  };
  TestSearch<HillPolicy> stuck(surface, {0, 1}, 1, testing::options({{"restarts", "0"}}));
  stuck.run(1000);
  EXPECT_EQ(stuck.best(), 55);
  TestSearch<HillPolicy> free(surface, {0, 1}, 1);
  free.run(63);
  EXPECT_EQ(free.best(), 50);
}

// No two rows of this catalog differ in one decision alone.
TEST(HillPolicy, TakesTheNearestRowsWhenNoneDiffersInOneDecision) {
  TestSurface surface;
  surface.catalog = true;
  surface.knobs = {{"x", {0, 1, 2, 3}}, {"y", {0, 1, 2, 3}}, {"z", {0, 1, 2, 3}}};
  surface.legal = [](const Values& v) { return (v[0] + v[1] + v[2]) % 4 == 0; };
  surface.latency = [](const Values& v) { return static_cast<double>(20 - v[0] - 2 * v[1]); };
  TestSearch<HillPolicy> search(
      surface, {0, 0, 0}, 1, testing::options({{"improvement", "first"}, {"reach", "1"}, {"restarts", "0"}}));
  search.run(100);
  EXPECT_EQ(search.best(), 11);
  const Values& first = search.history[0];
  EXPECT_EQ(std::count(first.begin(), first.end(), 0), 1);
}

TEST(HillPolicy, PrefersTheIncumbentAndDemandsTheChangeOnAConditionalSurface) {
  const TestSurface surface = small_surface(false);
  TestSearch<HillPolicy> search(surface, kSmallStart, 1);
  const auto proposal = *search.policy->propose(no_call(), {});
  ASSERT_EQ(proposal.intents.size(), 1u);
  size_t hard = 0;
  for (size_t k = 0; k < 4; ++k) {
    const auto& assignment = *proposal.intents[0]->assignments[k];
    if (assignment.strength == wire::Strength::Hard) {
      ++hard;
      EXPECT_NE(assignment.value, kSmallStart[k]);
    } else {
      EXPECT_EQ(assignment.strength, wire::Strength::Preferred);
      EXPECT_EQ(assignment.value, kSmallStart[k]);
    }
  }
  EXPECT_EQ(hard, 1u);
}

// The host may realize another plan than the one asked for: the climb stands where it really is.
TEST(HillPolicy, GoesOnFromTheRealizedPlan) {
  const TestSurface surface = small_surface(false);
  TestSearch<HillPolicy> search(surface, kSmallStart, 1);
  wire::FeedbackBatchT feedback;
  const Values realized = {4, 2, 2, 1};
  ASSERT_TRUE(search.policy->propose(no_call(), {}).ok());
  feedback.items.push_back(std::make_unique<wire::FeedbackT>());
  feedback.items[0]->plan = surface.plan(realized);
  feedback.items[0]->latency = surface.latency(realized);
  ASSERT_TRUE(search.policy->observe(no_call(), feedback).ok());
  const auto next = *search.policy->propose(no_call(), {});
  size_t same = 0;
  for (size_t k = 0; k < 4; ++k) same += next.intents[0]->assignments[k]->value == realized[k] ? 1 : 0;
  EXPECT_EQ(same, 3u);
}

TEST(HillPolicy, DoesNotMoveToPlansThatFailed) {
  const TestSurface surface = small_surface(false);
  TestSearch<HillPolicy> search(surface, kSmallStart, 1, testing::options({{"restarts", "0"}}));
  for (int i = 0; i < 10; ++i) {
    const auto proposal = *search.policy->propose(no_call(), {});
    ASSERT_EQ(proposal.kind, wire::ProposalKind::Intents);
    wire::FeedbackBatchT feedback;
    feedback.items.push_back(std::make_unique<wire::FeedbackT>());
    feedback.items[0]->plan = surface.plan(search.values_of(*proposal.intents[0]));
    feedback.items[0]->outcome = i % 2 == 0 ? wire::Outcome::Wrong : wire::Outcome::Crashed;
    feedback.items[0]->latency = 1;
    ASSERT_TRUE(search.policy->observe(no_call(), feedback).ok());
  }
  EXPECT_EQ(search.policy->propose(no_call(), {})->kind, wire::ProposalKind::Stop)
      << "all ten neighbours failed";
}

TEST(HillPolicy, NamesItsOptionsWhenOneIsWrong) {
  const auto error = [](const wire::OptionsT& options) {
    return HillPolicy::create(no_call(), options).status().message();
  };
  EXPECT_EQ(error(testing::options({{"improvment", "best"}})),
            "policy hill has no option 'improvment'; its options: improvement, reach, restarts, batch");
  EXPECT_EQ(error(testing::options({{"improvement", "steepest"}})),
            "policy hill: option 'improvement' must be one of: expected, first, best");
  EXPECT_EQ(error(testing::options({{"restarts", "-1"}})),
            "policy hill: option 'restarts' must be a whole number of 0..1000000");
}

TEST(HillEffects, ReadsAnOrderedKnobAsACurve) {
  const TestSurface surface = small_surface(false);
  Effects effects(*Space::from_context(surface.context(kSmallStart, 1)));
  EXPECT_EQ(effects.expect(0, 0, 2), effects.expect(0, 0, 4)) << "nothing known: all alike";
  effects.learn(0, 0, 2, 0.5);
  EXPECT_EQ(effects.expect(0, 2, 0), 2.0);
  EXPECT_LT(effects.expect(0, 2, 4), 1.0) << "onwards in the direction that paid";
  EXPECT_LT(effects.expect(0, 2, 1), 1.0) << "between two known values there may be a dip";
  EXPECT_GT(effects.expect(0, 2, 1), effects.expect(0, 2, 4));
  effects.learn(0, 2, 3, 1.5);
  EXPECT_GT(effects.expect(0, 2, 4), 1.5) << "beyond a value that was worse";
}

}  // namespace
}  // namespace zomboss::policies
