// References beside Candidate-0, and rankings under scenarios.
#include "core/search/references.h"

#include <gtest/gtest.h>

#include "core/history/testing.h"
#include "core/mapping/testing.h"
#include "core/search/controller.h"

namespace zomboss::search {
namespace {

using wire::Outcome;

// One knob, tile = 1, 2, 4 or 8, and two references.
mapping::Surface named_surface() {
  mapping::testing::SurfaceBuilder builder;
  builder.knob("tile", {1, 2, 4, 8}).reference("library", {4}, "a library").reference("other", {8});
  auto surface = builder.build();
  EXPECT_TRUE(surface.ok()) << surface.status().message();
  return *std::move(surface);
}

int64_t tile_of(const wire::PlanT& plan) {
  for (const auto& section : plan.sections)
    for (const auto& decision : section->decisions) return decision->value;
  return 0;
}

// Latency 100 / tile; with a slow memory 200 / tile, but 40 for a tile of 4; a tile of 8 computes wrong
// results.
class FakeEvaluator final : public evaluate::Evaluator {
 public:
  evaluate::Evaluation evaluate(const wire::PlanT& plan) override {
    const int64_t tile = tile_of(plan);
    evaluated.push_back(tile);
    evaluate::Evaluation evaluation;
    evaluation.unit = "cycles";
    evaluation.program = "a program";
    evaluation.latency = static_cast<uint64_t>(100 / tile);
    const auto slow = static_cast<uint64_t>(tile == 4 ? slow_latency : 200 / tile);
    evaluation.scenarios = {{"fast", evaluation.latency}, {"slow", slow}};
    auto counter = std::make_unique<wire::CounterT>();
    counter->name = "loads";
    counter->value = 0.5;
    evaluation.simulation.counters.push_back(std::move(counter));
    if (tile == 8) {
      evaluation.outcome = Outcome::Wrong;
      evaluation.reason = "first: somewhere";
    }
    return evaluation;
  }
  evaluate::Evaluation evaluate_program(std::string) override { return {}; }
  std::optional<double> static_cost(const wire::PlanT&) override { return std::nullopt; }
  std::vector<int64_t> evaluated;
  int64_t slow_latency = 40;
};

// Proposes one tile after the other.
class TilePolicy final : public Policy {
 public:
  explicit TilePolicy(std::vector<int64_t> tiles) : tiles_(std::move(tiles)) {}
  Status start(const wire::SearchContextT& context) override {
    told = context.surface->references.size();
    return {};
  }
  Result<wire::ProposalT> propose(const wire::SearchStateT&) override {
    wire::ProposalT proposal;
    if (next_ == tiles_.size()) return proposal;
    proposal.kind = wire::ProposalKind::Intents;
    proposal.intents.push_back(std::make_unique<wire::IntentT>());
    auto assignment = std::make_unique<wire::AssignmentT>();
    assignment->knob = "tile";
    assignment->value = tiles_[next_++];
    proposal.intents[0]->assignments.push_back(std::move(assignment));
    return proposal;
  }
  Status observe(const wire::FeedbackBatchT&) override { return {}; }
  Result<std::string> save() override { return std::string(); }
  Status load(std::string_view) override { return {}; }

  size_t told = 99;

 private:
  std::vector<int64_t> tiles_;
  size_t next_ = 0;
};

struct Search {
  mapping::Surface surface = named_surface();
  resolver::Resolver resolver{surface};
  FakeEvaluator evaluator;
  Observer observer;
  size_t told = 0;

  Report run(std::vector<int64_t> tiles, Journal* journal = nullptr) {
    TilePolicy policy(std::move(tiles));
    evaluate::EvaluatorPool evaluators({&evaluator});
    const wire::WorkloadT workload;
    Inputs inputs;
    inputs.resolver = &resolver;
    inputs.evaluators = &evaluators;
    inputs.policy = &policy;
    inputs.workload = &workload;
    inputs.journal = journal;
    auto report = run_search(inputs, {}, observer);
    EXPECT_TRUE(report.ok()) << report.status().message();
    told = policy.told;
    return *std::move(report);
  }
};

TEST(References, AreEvaluatedOutsideTheBudgetAndThePolicyIsNotTold) {
  Search search;
  const Report report = search.run({2});
  EXPECT_EQ(search.evaluator.evaluated, (std::vector<int64_t>{1, 4, 8, 2}));
  EXPECT_EQ(report.evaluations, 1u);
  EXPECT_EQ(search.told, 0u);
  ASSERT_EQ(report.references.size(), 2u);
  EXPECT_EQ(report.references[0].name, "library");
  EXPECT_EQ(report.references[0].doc, "a library");
  EXPECT_TRUE(report.references[0].verified());
  EXPECT_EQ(report.references[0].candidate.evaluation.latency, 25u);
  EXPECT_FALSE(report.references[1].verified()) << "one that fails is told, not dropped";
  EXPECT_EQ(report.references[1].candidate.evaluation.reason, "first: somewhere");
  EXPECT_EQ(report.best.evaluation.latency, 50u) << "a reference is no result of the search";
}

TEST(References, ProposedByThePolicyAreEvaluationsOfTheirOwn) {
  Search search;
  const Report report = search.run({4, 4});
  EXPECT_EQ(report.evaluations, 1u);
  EXPECT_EQ(report.best_evaluation, 1u);
  EXPECT_EQ(report.best.evaluation.latency, 25u);
  EXPECT_EQ(report.trials[1].outcome, Outcome::RejectedDuplicate);
}

TEST(References, ThePlanOfCandidate0IsNotEvaluatedTwice) {
  Search search;
  mapping::testing::SurfaceBuilder builder;
  builder.knob("tile", {1, 2}).reference("library", {1});
  search.surface = *builder.build();
  search.resolver = resolver::Resolver(search.surface);
  const Report report = search.run({});
  EXPECT_EQ(search.evaluator.evaluated, (std::vector<int64_t>{1}));
  EXPECT_EQ(report.references[0].candidate.evaluation.latency, 100u);
}

TEST(References, TheHistoryAnswersForThemWithTheirScenarios) {
  const history::testing::TempFolder folder;
  auto history = history::History::open(folder.file("history.db"), history::Access::kReadWrite);
  ASSERT_TRUE(history.ok());
  history::Problem problem;
  problem.key = "p";
  ASSERT_TRUE((*history)->add_problem(problem).ok());
  Journal journal = Journal::of_problem(**history, "p", [](const mapping::Plan&) { return "{}"; });
  Search search;
  const Candidate candidate0 = *evaluate_candidate0(search.resolver, search.evaluator);
  const auto first = evaluate_references(search.surface, candidate0, search.evaluator, &journal);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(search.evaluator.evaluated.size(), 3u);
  const auto again = evaluate_references(search.surface, candidate0, search.evaluator, &journal);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(search.evaluator.evaluated.size(), 3u) << "nothing is evaluated again";
  for (size_t i = 0; i < 2; ++i) {
    const evaluate::Evaluation& a = (*first)[i].candidate.evaluation;
    const evaluate::Evaluation& b = (*again)[i].candidate.evaluation;
    EXPECT_EQ(a.outcome, b.outcome);
    EXPECT_EQ(a.reason, b.reason);
    EXPECT_EQ(a.scenarios, b.scenarios);
    ASSERT_EQ(b.simulation.counters.size(), 1u) << "scenarios are no counters";
    EXPECT_EQ(b.simulation.counters[0]->name, "loads");
  }
  const auto stored = (*history)->find_evaluation("p", (*first)[0].candidate.plan.hash.hex());
  ASSERT_TRUE(stored.ok() && *stored);
  EXPECT_EQ((*stored)->counters, (std::vector<std::pair<std::string, double>>{
                                     {"loads", 0.5}, {"latency@fast", 25}, {"latency@slow", 40}}));
}

TEST(Ranking, NamesTheFastestUnderEachScenario) {
  Search search;
  const Report report = search.run({2});  // 50, and 100 with the slow memory; the library has 25 and 40
  ASSERT_EQ(report.ranking.size(), 2u);
  EXPECT_EQ(report.ranking[0].scenario, "fast");
  EXPECT_EQ(report.ranking[1].best, 100u);
  EXPECT_EQ(report.ranking[1].fastest, 40u);
  EXPECT_EQ(report.ranking[1].fastest_is, "library");
  EXPECT_FALSE(report.ranking[1].stays());
  EXPECT_DOUBLE_EQ(report.ranking[1].miss(), 1.5);
}

TEST(Ranking, TheWinnerMayLoseToAnEvaluationOrToCandidate0) {
  Search search;
  search.evaluator.slow_latency = 150;
  const Report evaluation = search.run({2, 4});
  EXPECT_TRUE(evaluation.ranking[0].stays());
  EXPECT_EQ(evaluation.ranking[0].fastest_is, "evaluation 2");
  EXPECT_EQ(evaluation.ranking[1].fastest_is, "evaluation 1");
  search.evaluator.slow_latency = 300;
  const Report candidate0 = search.run({4});
  EXPECT_EQ(candidate0.ranking[1].fastest_is, "Candidate-0");
  EXPECT_EQ(candidate0.ranking[1].fastest, 200u);
}

TEST(Ranking, ATieIsNoLoss) {
  Search search;
  const Report report = search.run({4});  // the library's own plan
  for (const Ranking& ranking : report.ranking) {
    EXPECT_TRUE(ranking.stays());
    EXPECT_EQ(ranking.fastest_is, "evaluation 1");
    EXPECT_EQ(ranking.miss(), 0);
  }
}

}  // namespace
}  // namespace zomboss::search
