#include <gtest/gtest.h>

#include <deque>

#include "core/mapping/convert.h"
#include "core/search/controller.h"

namespace zomboss::search {
namespace {

using wire::Outcome;

// Two knobs, tile_m and tile_n, of which the product may be at most 64.
mapping::Surface small_surface() {
  wire::SurfaceT message;
  message.target = "t";
  message.workload = "w";
  for (const char* name : {"tile_m", "tile_n"}) {
    auto knob = std::make_unique<wire::KnobT>();
    knob->name = name;
    knob->category = wire::Category::MatrixDecomposition;
    knob->values = {4, 8, 16};
    knob->default_policy = wire::DefaultPolicy::Smallest;
    message.knobs.push_back(std::move(knob));
  }
  auto constraint = std::make_unique<wire::ConstraintT>();
  constraint->name = "fits";
  constraint->kind = wire::ConstraintKind::Capacity;
  constraint->assertion = "(<= (* tile_m tile_n) 64)";
  constraint->needs = "(* tile_m tile_n)";
  constraint->available = "64";
  constraint->message = "the buffer needs {needs}, has {available}";
  message.constraints.push_back(std::move(constraint));
  auto surface = mapping::from_wire(message);
  EXPECT_TRUE(surface.ok()) << surface.status().message();
  return *std::move(surface);
}

// Latency 1000 / (m * n), rounded; tile_n = 8 computes wrong results.
class FakeEvaluator final : public evaluate::Evaluator {
 public:
  evaluate::Evaluation evaluate(const wire::PlanT& plan) override {
    ++calls;
    int64_t product = 1, n = 0;
    for (const auto& section : plan.sections)
      for (const auto& decision : section->decisions) {
        product *= decision->value;
        if (decision->knob == "tile_n") n = decision->value;
      }
    evaluate::Evaluation evaluation;
    evaluation.unit = "cycles";
    evaluation.program = "a program";
    evaluation.latency = static_cast<uint64_t>(1000 / product);
    if (n == wrong_n) {
      evaluation.outcome = Outcome::Wrong;
      evaluation.reason = "first: somewhere";
    }
    return evaluation;
  }
  evaluate::Evaluation evaluate_program(std::string) override { return {}; }
  std::optional<double> static_cost(const wire::PlanT&) override { return std::nullopt; }
  int calls = 0;
  int64_t wrong_n = 8;
};

// Proposes what the test wrote down and keeps the feedback.
class ScriptedPolicy final : public Policy {
 public:
  Status start(const wire::SearchContextT& context) override {
    seed = context.seed;
    candidate0_latency = context.candidate0_latency;
    return {};
  }
  Result<wire::ProposalT> propose(const wire::SearchStateT& state) override {
    states.push_back(state);
    wire::ProposalT proposal;
    if (script.empty()) {
      proposal.rationale = "script is over";
      return proposal;
    }
    proposal.kind = wire::ProposalKind::Intents;
    for (const auto& assignments : script.front()) {
      auto intent = std::make_unique<wire::IntentT>();
      for (const auto& [knob, value] : assignments) {
        auto assignment = std::make_unique<wire::AssignmentT>();
        assignment->knob = knob;
        assignment->value = value;
        intent->assignments.push_back(std::move(assignment));
      }
      proposal.intents.push_back(std::move(intent));
    }
    script.pop_front();
    return proposal;
  }
  Status observe(const wire::FeedbackBatchT& batch) override {
    for (const auto& item : batch.items) feedback.push_back(*item);
    return {};
  }
  Result<std::string> save() override { return std::string(); }
  Status load(std::string_view) override { return {}; }

  using Intent = std::vector<std::pair<std::string, int64_t>>;
  std::deque<std::vector<Intent>> script;
  std::vector<wire::SearchStateT> states;
  std::vector<wire::FeedbackT> feedback;
  uint64_t seed = 0;
  double candidate0_latency = 0;
};

struct Fixture {
  mapping::Surface surface = small_surface();
  resolver::Resolver resolver{surface};
  FakeEvaluator evaluator;
  ScriptedPolicy policy;
  Options options;
  Observer observer;

  Result<Report> run() {
    evaluate::EvaluatorPool evaluators({&evaluator});
    const wire::WorkloadT workload;
    Inputs inputs;
    inputs.resolver = &resolver;
    inputs.evaluators = &evaluators;
    inputs.policy = &policy;
    inputs.workload = &workload;
    return run_search(inputs, options, observer);
  }
};

TEST(Controller, VerifiesCandidate0OutsideTheBudgetAndStopsWhenThePolicyDoes) {
  Fixture f;
  f.options.seed = 42;
  const auto report = f.run();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(f.evaluator.calls, 1);
  EXPECT_EQ(report->evaluations, 0u);
  EXPECT_EQ(report->candidate0.evaluation.latency, 62u);  // 4 x 4
  EXPECT_EQ(report->best_evaluation, 0u);
  EXPECT_EQ(report->stop_reason, "policy: script is over");
  EXPECT_EQ(f.policy.seed, 42u);
  EXPECT_EQ(f.policy.candidate0_latency, 62);
}

TEST(Controller, OnlyAStrictImprovementReplacesTheIncumbent) {
  Fixture f;
  f.policy.script = {
      {{{"tile_m", 8}, {"tile_n", 4}}}, {{{"tile_m", 16}, {"tile_n", 4}}}, {{{"tile_m", 4}, {"tile_n", 16}}}};
  const auto report = f.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->best_evaluation, 2u);
  EXPECT_EQ(report->best.evaluation.latency, 15u);
  EXPECT_TRUE(report->trials[1].incumbent);
  EXPECT_FALSE(report->trials[2].incumbent) << "equal latency is no improvement";
  EXPECT_EQ(f.policy.feedback[2].latency, 15);
  ASSERT_EQ(f.policy.feedback[1].changes.size(), 1u);
  EXPECT_EQ(f.policy.feedback[1].changes[0]->knob, "tile_m");
  EXPECT_EQ(f.policy.feedback[1].changes[0]->default_value, 4);
}

TEST(Controller, RejectionsConsumeProposalsButNoEvaluations) {
  Fixture f;
  f.policy.script = {
      {{{"tile_m", 4}}},                   // Candidate-0 again
      {{{"tile_m", 16}, {"tile_n", 16}}},  // does not fit
      {{{"tile_x", 16}}},                  // no such knob
      {{{"tile_m", 5}}},                   // outside the domain
      {},                                  // no intents at all
      {{{"tile_n", 8}}},                   // computes wrong results
  };
  const auto report = f.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(f.evaluator.calls, 2);
  EXPECT_EQ(report->evaluations, 1u);
  EXPECT_EQ(report->proposals, 7u);
  EXPECT_EQ(report->rejections(), (std::map<std::string, uint32_t>{
                                      {"duplicate", 1}, {"illegal", 1}, {"invalid", 3}, {"wrong", 1}}));
  EXPECT_EQ(f.policy.feedback[0].latency, 62) << "a duplicate is answered with the known latency";
  EXPECT_NE(f.policy.feedback[1].reason.find("the buffer needs 256, has 64"), std::string::npos)
      << f.policy.feedback[1].reason;
  EXPECT_EQ(report->best_evaluation, 0u) << "a wrong kernel is never the incumbent, however fast";
}

TEST(Controller, StopsAtEachBudgetAndNamesIt) {
  const auto all = [](Fixture& f) {
    for (const int64_t m : {8, 16, 4})
      for (const int64_t n : {4, 16}) f.policy.script.push_back({{{"tile_m", m}, {"tile_n", n}}});
  };
  Fixture evaluations;
  all(evaluations);
  evaluations.options.budget = {2, 100};
  EXPECT_EQ(evaluations.run()->stop_reason, "evaluation budget (2)");
  EXPECT_EQ(evaluations.evaluator.calls, 3);
  Fixture proposals;
  all(proposals);
  proposals.options.budget = {100, 2};
  EXPECT_EQ(proposals.run()->stop_reason, "proposal budget (2)");
  Fixture patience;
  patience.policy.script = {
      {{{"tile_m", 16}}}, {{{"tile_m", 8}}}, {{{"tile_m", 4}, {"tile_n", 16}}}, {{{"tile_m", 4}}}};
  patience.options.budget = {100, 100, 2};
  EXPECT_EQ(patience.run()->stop_reason, "patience (2 evaluations without improvement)");
}

TEST(Controller, ABatchIsCutAtTheEvaluationBudget) {
  Fixture f;
  f.policy.script = {{{{"tile_m", 8}}, {{"tile_m", 16}}, {{"tile_n", 16}}}};
  f.options.budget = {2, 100};
  const auto report = f.run();
  EXPECT_EQ(report->evaluations, 2u);
  EXPECT_EQ(report->trials.size(), 2u);
}

TEST(Controller, TheStateCountsWhatIsLeft) {
  Fixture f;
  f.policy.script = {{{{"tile_m", 8}}}, {{{"tile_m", 8}}}};
  f.options.budget = {10, 20};
  ASSERT_TRUE(f.run().ok());
  ASSERT_EQ(f.policy.states.size(), 3u);
  EXPECT_EQ(f.policy.states[2].evaluations_left, 9u);
  EXPECT_EQ(f.policy.states[2].proposals_left, 17u);
  EXPECT_EQ(f.policy.states[1].incumbent_latency, 31);
}

TEST(Controller, ACandidate0ThatDoesNotVerifyEndsTheRunWithTheDifference) {
  Fixture f;
  f.evaluator.wrong_n = 4;
  const auto report = f.run();
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Code::kAborted);
  EXPECT_EQ(report.status().message(), "Candidate-0 does not verify (wrong): first: somewhere");
}

TEST(Controller, AnInterruptEndsTheRunWithWhatItHas) {
  Fixture f;
  std::atomic<bool> cancelled{true};
  f.options.cancelled = &cancelled;
  f.policy.script = {{{{"tile_m", 8}}}};
  const auto report = f.run();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->stop_reason, "interrupted");
  EXPECT_EQ(report->evaluations, 0u);
}

}  // namespace
}  // namespace zomboss::search
