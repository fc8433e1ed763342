#include "plugins/policies/genetic/genetic_policy.h"

#include "plugins/policies/common/policy_checks.h"
#include "plugins/policies/random/random_policy.h"

namespace zomboss::policies {
namespace {

using testing::kSmallStart;
using testing::no_call;
using testing::small_surface;
using testing::TestSearch;
using testing::TestSurface;
using testing::Values;

TEST(GeneticPolicy, GivesTheSameHistoryForTheSameSeed) {
  testing::expect_same_history_for_same_seed<GeneticPolicy>(true);
  testing::expect_same_history_for_same_seed<GeneticPolicy>(false);
}
TEST(GeneticPolicy, NeverRequestsAPointTwice) {
  testing::expect_no_point_requested_twice<GeneticPolicy>(true);
  testing::expect_no_point_requested_twice<GeneticPolicy>(false);
}
TEST(GeneticPolicy, StopsWhenTheCatalogIsExhausted) {
  testing::expect_catalog_exhausted_then_stop<GeneticPolicy>();
}
TEST(GeneticPolicy, ContinuesEquallyAfterSaveAndLoad) {
  for (const bool catalog : {true, false}) {
    testing::expect_save_and_load_continue_equally<GeneticPolicy>(catalog);
    testing::expect_save_and_load_continue_equally<GeneticPolicy>(catalog,
                                                                  testing::options({{"batch", "256"}}));
  }
}
TEST(GeneticPolicy, RefusesDamagedStates) {
  testing::expect_damaged_states_are_errors<GeneticPolicy>();
}
TEST(GeneticPolicy, RefusesStatesOfOtherSearches) {
  testing::expect_states_of_other_searches_refused<GeneticPolicy>();
}
TEST(GeneticPolicy, RefusesSenselessContexts) {
  testing::expect_senseless_contexts_refused<GeneticPolicy>();
  EXPECT_EQ(testing::start_status<GeneticPolicy>([](auto& c) { c.candidate0_latency = 0; }).message(),
            "the latency of Candidate-0 is not positive");
}

TEST(GeneticPolicy, GivesAnotherHistoryForAnotherSeed) {
  const TestSurface surface = small_surface(true);
  TestSearch<GeneticPolicy> one(surface, kSmallStart, 1), two(surface, kSmallStart, 2);
  one.run(40);
  two.run(40);
  EXPECT_NE(one.history, two.history);
}

// 11 x 10 x 10 x 5 x 2 = 11,000 points with a known optimum, 100; knobs of one section interact.
TestSurface known_optimum(bool catalog) {
  TestSurface surface;
  surface.catalog = catalog;
  using wire::Category;
  using wire::KnobType;
  surface.knobs = {
      {"u", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, KnobType::Integer, Category::MatrixDecomposition},
      {"v", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, KnobType::Integer, Category::MatrixDecomposition},
      {"w", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, KnobType::Integer, Category::MemoryPipeline},
      {"x", {0, 1, 2, 3, 4}, KnobType::Choice, Category::MemoryPipeline},
      {"y", {0, 1}, KnobType::Boolean, Category::LoopStructure}};
  surface.latency = [](const Values& v) {
    const auto square = [](int64_t a) { return static_cast<double>(a * a); };
    return 100 + 3 * square(v[0] - v[1] - 3) + square(v[0] - 8) + 2 * square(v[2] - (v[3] == 2 ? 7 : 3)) +
           (v[3] == 2 ? 0 : 12) + (v[4] == 1 ? 0 : 9);
  };
  return surface;
}
const Values kKnownStart = {0, 10, 10, 0, 0};

template <typename Policy>
double median_best(const TestSurface& surface, size_t evaluations) {
  std::vector<double> bests;
  for (uint64_t seed = 1; seed <= 21; ++seed) {
    TestSearch<Policy> search(surface, kKnownStart, seed);
    search.run(evaluations);
    bests.push_back(search.best());
  }
  std::sort(bests.begin(), bests.end());
  return bests[bests.size() / 2];
}

TEST(GeneticPolicy, BeatsRandomSamplingOnMedianAtTheSameBudget) {
  for (const bool catalog : {true, false}) {
    const TestSurface surface = known_optimum(catalog);
    for (const size_t evaluations : {80, 240}) {
      const double genetic = median_best<GeneticPolicy>(surface, evaluations);
      EXPECT_LT(genetic, median_best<RandomPolicy>(surface, evaluations)) << catalog << " " << evaluations;
      if (evaluations == 240) {
        EXPECT_LE(genetic, 102) << "the optimum is 100";
      }
    }
  }
}

// Generation 0 has population - 1 children, later ones population - elite; no proposal crosses their border.
TEST(GeneticPolicy, ProposesAGenerationInBatches) {
  const TestSurface surface = known_optimum(true);
  TestSearch<GeneticPolicy> search(surface, kKnownStart, 1,
                                   testing::options({{"population", "10"}, {"elite", "3"}, {"batch", "4"}}));
  std::vector<size_t> sizes;
  for (int i = 0; i < 7; ++i) {
    const size_t before = search.requested.size();
    search.step(1000);
    sizes.push_back(search.requested.size() - before);
  }
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 4, 1, 4, 3, 4, 3}));
  EXPECT_EQ(search.rationale, "generation 2, 4 of 7 children known");
}

// Without mutation and with elitism, children take each section whole from one of two parents.
TEST(GeneticPolicy, RecombinesWholeSections) {
  TestSurface surface = known_optimum(false);
  TestSearch<GeneticPolicy> search(
      surface, kKnownStart, 3,
      testing::options(
          {{"mutation", "0"}, {"crossover", "1"}, {"population", "16"}, {"elite", "8"}, {"batch", "16"}}));
  search.step(1000);
  std::set<std::pair<int64_t, int64_t>> matrix, memory;
  const auto note = [&](const Values& v) {
    matrix.insert({v[0], v[1]});
    memory.insert({v[2], v[3]});
  };
  note(kKnownStart);
  for (const Values& v : search.history) note(v);
  const size_t first = search.requested.size();
  search.step(1000);
  size_t whole = 0;
  for (size_t i = first; i < search.requested.size(); ++i) {
    const Values& v = search.requested[i];
    whole += matrix.count({v[0], v[1]}) + memory.count({v[2], v[3]});
  }
  // A child equal to a parent mutates in one knob, so at most one of the two is new.
  EXPECT_GE(whole, search.requested.size() - first);
  EXPECT_GT(whole, 12u);
}

TEST(GeneticPolicy, StartsFromStaticallyGoodRows) {
  TestSurface surface = known_optimum(true);
  const auto first_generation = [&](uint64_t seed) {
    TestSearch<GeneticPolicy> search(surface, kKnownStart, seed, testing::options({{"batch", "16"}}));
    search.step(11);
    double sum = 0;
    for (const Values& v : search.history) sum += surface.latency(v);
    return sum / static_cast<double>(search.history.size());
  };
  double with = 0, without = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    surface.cost = surface.latency;
    with += first_generation(seed);
    surface.cost = nullptr;
    without += first_generation(seed);
  }
  EXPECT_LT(with, 0.8 * without);
}

// The host may realize another plan than the one asked for: that one is the child.
TEST(GeneticPolicy, BreedsFromRealizedPlans) {
  const TestSurface surface = known_optimum(false);
  TestSearch<GeneticPolicy> search(surface, kKnownStart, 1,
                                   testing::options({{"population", "4"},
                                                     {"elite", "1"},
                                                     {"mutation", "0"},
                                                     {"crossover", "0"},
                                                     {"tournament", "16"}}));
  const Values realized = {8, 5, 7, 2, 1};
  wire::SearchStateT state;
  state.evaluations_left = 80;
  const auto proposal = *search.policy->propose(no_call(), state);
  ASSERT_EQ(proposal.intents.size(), 3u);
  wire::FeedbackBatchT feedback;
  for (size_t i = 0; i < 3; ++i) {
    feedback.items.push_back(std::make_unique<wire::FeedbackT>());
    feedback.items[i]->plan = surface.plan(i == 1 ? realized : search.values_of(*proposal.intents[i]));
    feedback.items[i]->latency = i == 1 ? 100 : 500;
  }
  ASSERT_TRUE(search.policy->observe(no_call(), feedback).ok());
  const auto next = *search.policy->propose(no_call(), state);
  const Values child = search.values_of(*next.intents[0]);
  size_t same = 0;
  for (size_t k = 0; k < child.size(); ++k) same += child[k] == realized[k] ? 1 : 0;
  EXPECT_EQ(same, 4u) << "a mutation of the fastest";
  for (const auto& assignment : next.intents[0]->assignments)
    EXPECT_EQ(assignment->strength, wire::Strength::Preferred);
}

TEST(GeneticPolicy, StopsAfterManyDuplicatesInARow) {
  const TestSurface surface = small_surface(false);
  TestSearch<GeneticPolicy> search(surface, kSmallStart, 1, testing::options({{"batch", "1"}}));
  wire::SearchStateT state;
  state.evaluations_left = 1;
  size_t proposals = 0;
  while (search.policy->propose(no_call(), state)->kind != wire::ProposalKind::Stop) {
    ASSERT_LT(++proposals, 200u);
    wire::FeedbackBatchT feedback;
    feedback.items.push_back(std::make_unique<wire::FeedbackT>());
    feedback.items[0]->outcome = wire::Outcome::RejectedDuplicate;
    feedback.items[0]->plan = surface.plan(kSmallStart);
    ASSERT_TRUE(search.policy->observe(no_call(), feedback).ok());
  }
  EXPECT_LE(proposals, 128u);
}

TEST(GeneticPolicy, RefusesAStateOfOtherOptions) {
  const TestSurface surface = small_surface(false);
  TestSearch<GeneticPolicy> large(surface, kSmallStart, 1, testing::options({{"population", "40"}}));
  for (int i = 0; i < 3; ++i) large.step(100);
  const std::string state = *large.policy->save(no_call());
  TestSearch<GeneticPolicy> small(surface, kSmallStart, 1, testing::options({{"population", "5"}}));
  EXPECT_EQ(small.policy->load(no_call(), as_bytes(state)).message(),
            "the saved state of the genetic policy is of other options");
}

TEST(GeneticPolicy, NamesItsOptionsWhenOneIsWrong) {
  const auto error = [](const wire::OptionsT& options) {
    return GeneticPolicy::create(no_call(), options).status().message();
  };
  EXPECT_EQ(error(testing::options({{"mutatoin", "0.1"}})),
            "policy genetic has no option 'mutatoin'; its options: population, elite, mutation, crossover, "
            "tournament, batch");
  EXPECT_EQ(error(testing::options({{"mutation", "1.5"}})),
            "policy genetic: option 'mutation' must be a number of 0..1");
  EXPECT_EQ(error(testing::options({{"mutation", "nan"}})),
            "policy genetic: option 'mutation' must be a number of 0..1");
  EXPECT_EQ(error(testing::options({{"elite", "12"}})),
            "policy genetic: option 'elite' (12) must be less than 'population' (12)");
  wire::OptionsT half;
  half.values.push_back(std::make_unique<wire::AttributeT>());
  half.values[0]->key = "crossover";
  half.values[0]->floats = {0.5};
  EXPECT_EQ(error(half), "");
}

}  // namespace
}  // namespace zomboss::policies
