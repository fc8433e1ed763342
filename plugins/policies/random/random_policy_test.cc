#include "plugins/policies/random/random_policy.h"

#include "plugins/policies/common/policy_checks.h"

namespace zomboss::policies {
namespace {

using testing::kSmallStart;
using testing::no_call;
using testing::small_surface;
using testing::TestSearch;
using testing::TestSurface;
using testing::Values;

TEST(RandomPolicy, GivesTheSameHistoryForTheSameSeed) {
  testing::expect_same_history_for_same_seed<RandomPolicy>(true);
  testing::expect_same_history_for_same_seed<RandomPolicy>(false);
}
TEST(RandomPolicy, NeverRequestsAPointTwice) {
  testing::expect_no_point_requested_twice<RandomPolicy>(true);
  testing::expect_no_point_requested_twice<RandomPolicy>(false);
}
TEST(RandomPolicy, StopsWhenTheCatalogIsExhausted) {
  testing::expect_catalog_exhausted_then_stop<RandomPolicy>();
}
TEST(RandomPolicy, ContinuesEquallyAfterSaveAndLoad) {
  testing::expect_save_and_load_continue_equally<RandomPolicy>(true);
  testing::expect_save_and_load_continue_equally<RandomPolicy>(false);
}
TEST(RandomPolicy, RefusesDamagedStates) {
  testing::expect_damaged_states_are_errors<RandomPolicy>();
}
TEST(RandomPolicy, RefusesStatesOfOtherSearches) {
  testing::expect_states_of_other_searches_refused<RandomPolicy>();
}
TEST(RandomPolicy, RefusesSenselessContexts) {
  testing::expect_senseless_contexts_refused<RandomPolicy>();
}

TEST(RandomPolicy, GivesAnotherHistoryForAnotherSeed) {
  const TestSurface surface = small_surface(true);
  TestSearch<RandomPolicy> one(surface, kSmallStart, 1), two(surface, kSmallStart, 2);
  one.run(40);
  two.run(40);
  EXPECT_NE(one.history, two.history);
}

TEST(RandomPolicy, RequestsTheSamePointsWhateverTheBatch) {
  const TestSurface surface = small_surface(true);
  TestSearch<RandomPolicy> one(surface, kSmallStart, 1, testing::options({{"batch", "1"}}));
  TestSearch<RandomPolicy> many(surface, kSmallStart, 1, testing::options({{"batch", "16"}}));
  one.run(30);
  many.run(30);
  EXPECT_EQ(one.history, many.history);
}

// 10 rows but Candidate-0's, first pick over 5000 seeds: a uniform pick gives 500 each with deviation 21.
TEST(RandomPolicy, PicksRowsUniformly) {
  TestSurface surface;
  surface.catalog = true;
  surface.knobs = {{"a", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}};
  surface.latency = [](const Values&) { return 1.0; };
  std::vector<int> picks(11, 0);
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    TestSearch<RandomPolicy> search(surface, {4}, seed);
    search.step(1);
    ++picks[static_cast<size_t>(search.history[0][0])];
  }
  EXPECT_EQ(picks[4], 0);
  for (size_t value = 0; value < picks.size(); ++value) {
    if (value != 4) {
      EXPECT_NEAR(picks[value], 500, 110) << value;
    }
  }
}

TEST(RandomPolicy, PrefersAllKnobsOnAConditionalSurfaceAndFixesAllOnACatalog) {
  for (const bool catalog : {false, true}) {
    const TestSurface surface = small_surface(catalog);
    TestSearch<RandomPolicy> search(surface, kSmallStart, 1);
    wire::SearchStateT state;
    state.evaluations_left = 3;
    const auto proposal = *search.policy->propose(no_call(), state);
    ASSERT_EQ(proposal.intents.size(), 3u) << "no more than evaluations are left";
    for (const auto& intent : proposal.intents) {
      ASSERT_EQ(intent->assignments.size(), 4u);
      for (const auto& assignment : intent->assignments)
        EXPECT_EQ(assignment->strength, catalog ? wire::Strength::Hard : wire::Strength::Preferred);
    }
  }
}

TEST(RandomPolicy, StopsAfterManyDuplicatesInARow) {
  const TestSurface surface = small_surface(false);
  TestSearch<RandomPolicy> search(surface, kSmallStart, 1);
  wire::SearchStateT state;
  state.evaluations_left = 1;
  size_t proposals = 0;
  while (search.policy->propose(no_call(), state)->kind != wire::ProposalKind::Stop) {
    ASSERT_LT(++proposals, 100u);
    wire::FeedbackBatchT feedback;
    feedback.items.push_back(std::make_unique<wire::FeedbackT>());
    feedback.items[0]->outcome = wire::Outcome::RejectedDuplicate;
    feedback.items[0]->plan = surface.plan(kSmallStart);
    ASSERT_TRUE(search.policy->observe(no_call(), feedback).ok());
  }
  EXPECT_EQ(proposals, 64u);
}

TEST(RandomPolicy, NamesItsOptionsWhenOneIsWrong) {
  const auto error = [](const wire::OptionsT& options) {
    return RandomPolicy::create(no_call(), options).status().message();
  };
  EXPECT_EQ(error(testing::options({{"batches", "3"}})),
            "policy random has no option 'batches'; its options: batch");
  EXPECT_EQ(error(testing::options({{"batch", "0"}})),
            "policy random: option 'batch' must be a whole number of 1..64");
  EXPECT_EQ(error(testing::options({{"batch", "3x"}})),
            "policy random: option 'batch' must be a whole number of 1..64");
  EXPECT_EQ(error(testing::options({{"batch", "3"}, {"batch", "4"}})),
            "policy random: option 'batch' is given twice");
}

}  // namespace
}  // namespace zomboss::policies
