// What an evaluation takes of a simulation: its outputs against the oracle, and scenarios that can be
// trusted.
#include "core/evaluate/evaluator.h"

#include <gtest/gtest.h>

#include <functional>

namespace zomboss::evaluate {
namespace {

constexpr const char* kTaidl = R"(target fake "A fake" {
  engine vec;
  memory hbm : s32[*] offchip;
  instr add(n: int in 1..8, a: addr hbm, b: addr hbm) engine vec {
    read x = hbm[a +: n];
    write hbm[b +: n] = y;
    sem { y = s32[n] add(x, x) }
    cost cycles = n;
    emit "add {n}, {a}, {b}";
  }
}
)";
constexpr const char* kHlo = R"(HloModule double

ENTRY main {
  a = s32[4] parameter(0)
  ROOT b = s32[4] add(a, a)
}
)";

// Answers with the right outputs, and with what a test adds.
class FakeInstance final : public wire::Instance {
 public:
  using Change = std::function<void(wire::SimulationT&)>;
  FakeInstance(const Reference& reference, Change change)
      : reference_(reference), change_(std::move(change)) {}

  Result<std::string> call(wire::Operation operation, std::initializer_list<std::string_view>) override {
    if (operation == wire::Operation::kDescribe) return std::string(kTaidl);
    if (operation == wire::Operation::kLower) return encode(wire::ProgramT());
    if (operation != wire::Operation::kSimulate) return std::string();
    wire::SimulationT simulation;
    simulation.latency = 7;
    simulation.unit = "cycles";
    for (const oracle::Tensor& output : reference_.outputs)
      simulation.outputs.push_back(std::make_unique<wire::TensorT>(oracle::to_wire(output, "b")));
    change_(simulation);
    return encode(simulation);
  }
  const Identity& identity() const override { return identity_; }

 private:
  const Reference& reference_;
  Change change_;
  Identity identity_ = {"target", "fake", "1", ""};
};

Evaluation evaluate(const FakeInstance::Change& change) {
  const Source source("double.hlo", kHlo);
  Diagnostics diagnostics(source);
  const auto workload = load_workload(source, "double", {}, diagnostics);
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  const auto reference = make_reference(*workload);
  EXPECT_TRUE(reference.ok()) << reference.status().message();
  const auto target = Target::open(std::make_unique<FakeInstance>(*reference, change), {});
  EXPECT_TRUE(target.ok()) << target.status().message();
  return make_evaluator(**target, *workload, *reference)->evaluate(wire::PlanT());
}

void add(wire::SimulationT& simulation, const std::string& name, uint64_t latency) {
  auto scenario = std::make_unique<wire::ScenarioT>();
  scenario->name = name;
  scenario->latency = latency;
  simulation.scenarios.push_back(std::move(scenario));
}

TEST(Evaluator, TakesScenariosOfAVerifiedSimulation) {
  const Evaluation none = evaluate([](auto&) {});
  EXPECT_EQ(none.outcome, wire::Outcome::Valid) << none.reason;
  EXPECT_TRUE(none.scenarios.empty());
  const Evaluation two = evaluate([](auto& simulation) {
    add(simulation, "L=20", 7);
    add(simulation, "L=40", 9);
  });
  EXPECT_EQ(two.outcome, wire::Outcome::Valid) << two.reason;
  EXPECT_EQ(two.latency, 7u);
  EXPECT_EQ(two.scenarios, (std::vector<Scenario>{{"L=20", 7}, {"L=40", 9}}));
  EXPECT_TRUE(two.simulation.scenarios.empty());
}

TEST(Evaluator, RefusesScenariosThatCannotBeTrusted) {
  const auto reason = [](const FakeInstance::Change& change) {
    const Evaluation evaluation = evaluate(change);
    EXPECT_EQ(evaluation.outcome, wire::Outcome::SimulationFailed);
    const std::string prefix = "the simulator's scenarios are damaged: ";
    EXPECT_EQ(evaluation.reason.substr(0, prefix.size()), prefix);
    return evaluation.reason.substr(std::min(prefix.size(), evaluation.reason.size()));
  };
  const auto one = [&](const std::string& name, uint64_t latency) {
    return reason([&](auto& simulation) { add(simulation, name, latency); });
  };
  EXPECT_EQ(one("", 7), "the name of number 0 is not 1 to 32 visible ASCII characters");
  EXPECT_EQ(one("a b", 7), "the name of number 0 is not 1 to 32 visible ASCII characters");
  EXPECT_EQ(one("\x1b[2J", 7), "the name of number 0 is not 1 to 32 visible ASCII characters");
  EXPECT_EQ(one(std::string(33, 'a'), 7), "the name of number 0 is not 1 to 32 visible ASCII characters");
  EXPECT_EQ(one("L=20", 0), "'L=20' has the latency 0");
  EXPECT_EQ(one("L=20", UINT64_MAX), "'L=20' has the latency 18446744073709551615");
  EXPECT_EQ(reason([](auto& simulation) {
              add(simulation, "L=20", 7);
              add(simulation, "L=20", 8);
            }),
            "'L=20' is there twice");
  EXPECT_EQ(reason([](auto& simulation) {
              for (int i = 0; i < 17; ++i) add(simulation, "L=" + std::to_string(i), 7);
            }),
            "there are 17, the limit is 16");
  EXPECT_EQ(reason([](auto& simulation) {
              simulation.counters.push_back(std::make_unique<wire::CounterT>());
              simulation.counters[0]->name = "latency@L=20";
            }),
            "the counter 'latency@L=20' has a name that is theirs");
}

}  // namespace
}  // namespace zomboss::evaluate
