// Evaluation of one plan: lower, simulate, compare with the oracle, time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/evaluate/compare.h"
#include "core/evaluate/target.h"
#include "core/evaluate/workload.h"

namespace zomboss::evaluate {

// The history keeps scenarios among the counters, under this and their name: no counter's name starts so.
inline constexpr std::string_view kScenarioCounter = "latency@";

// The latency under another condition of the machine around the accelerator.
struct Scenario {
  std::string name;
  uint64_t latency = 0;  // never 0
  bool operator==(const Scenario&) const = default;
};

// What came of one plan. outcome Valid: latency is meaningful and the complete output was accepted.
struct Evaluation {
  wire::Outcome outcome = wire::Outcome::Valid;
  uint64_t latency = 0;  // of the simulator, in `unit`
  std::string unit;
  std::string reason;      // why it is not Valid: stage, plugin's text or first difference
  bool abandoned = false;  // the call was interrupted from outside: it says nothing about the plan
  Comparison comparison;
  std::string program;           // the encoded Program, empty when lowering failed
  wire::SimulationT simulation;  // without its outputs and scenarios
  std::vector<Scenario> scenarios;
};

// Evaluates plans of one workload on one target: the plugin lowers and simulates, wherever its instance runs;
// the comparison with the oracle happens here. One thread at a time.
class Evaluator {
 public:
  virtual ~Evaluator() = default;
  // `plan` is legal in the workload's surface. Never fails as a call: whatever goes wrong is the
  // Evaluation's.
  virtual Evaluation evaluate(const wire::PlanT& plan) = 0;
  // The same for a program that comes from elsewhere (an imported kernel).
  virtual Evaluation evaluate_program(std::string encoded_program) = 0;
  // The target's cheap estimate of the plan's latency; nothing when it has none, or cannot say for this plan.
  virtual std::optional<double> static_cost(const wire::PlanT& plan) = 0;
};

// Borrows all three; they outlive it.
std::unique_ptr<Evaluator> make_evaluator(Target& target, const Workload& workload,
                                          const Reference& reference);

}  // namespace zomboss::evaluate
