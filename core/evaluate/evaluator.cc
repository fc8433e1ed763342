#include "core/evaluate/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zomboss::evaluate {
namespace {

constexpr size_t kScenarioLimit = 16;
constexpr size_t kScenarioNameLimit = 32;              // characters
constexpr uint64_t kLatencyLimit = uint64_t{1} << 53;  // the history keeps them as counters

// Visible ASCII, so that names fit tables and the history's counters.
bool is_scenario_name(const std::string& name) {
  return !name.empty() && name.size() <= kScenarioNameLimit &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// Takes them out of the message. What is wrong, or "".
std::string take_scenarios(wire::SimulationT& simulation, std::vector<Scenario>& scenarios) {
  if (simulation.scenarios.size() > kScenarioLimit)
    return fmt::format("there are {}, the limit is {}", simulation.scenarios.size(), kScenarioLimit);
  for (size_t i = 0; i < simulation.scenarios.size(); ++i) {
    const auto& scenario = simulation.scenarios[i];
    if (scenario == nullptr || !is_scenario_name(scenario->name))
      return fmt::format("the name of number {} is not 1 to {} visible ASCII characters", i,
                         kScenarioNameLimit);
    for (const Scenario& other : scenarios)
      if (other.name == scenario->name) return fmt::format("'{}' is there twice", scenario->name);
    if (scenario->latency == 0 || scenario->latency > kLatencyLimit)
      return fmt::format("'{}' has the latency {}", scenario->name, scenario->latency);
    scenarios.push_back({scenario->name, scenario->latency});
  }
  simulation.scenarios.clear();
  for (const auto& counter : simulation.counters)
    if (counter->name.starts_with(kScenarioCounter))
      return fmt::format("the counter '{}' has a name that is theirs", counter->name);
  return {};
}

class TargetEvaluator final : public Evaluator {
 public:
  TargetEvaluator(Target& target, const Workload& workload, const Reference& reference)
      : target_(target), workload_(workload), reference_(reference) {}

  Evaluation evaluate(const wire::PlanT& plan) override {
    auto program = target_.lower(workload_.encoded, encode(plan));
    if (!program.ok()) {
      Evaluation evaluation;
      evaluation.outcome = outcome_of(program.status(), wire::Outcome::LoweringFailed);
      evaluation.abandoned = program.status().code() == Code::kCancelled;
      evaluation.reason = program.status().message();
      return evaluation;
    }
    return evaluate_program(encode(*program));
  }

  Evaluation evaluate_program(std::string encoded_program) override {
    Evaluation evaluation;
    evaluation.program = std::move(encoded_program);
    auto simulation = target_.simulate(evaluation.program, reference_.encoded_inputs);
    if (!simulation.ok()) {
      evaluation.outcome = outcome_of(simulation.status(), wire::Outcome::SimulationFailed);
      evaluation.abandoned = simulation.status().code() == Code::kCancelled;
      evaluation.reason = simulation.status().message();
      return evaluation;
    }
    evaluation.simulation = *std::move(simulation);
    evaluation.latency = evaluation.simulation.latency;
    evaluation.unit = evaluation.simulation.unit;
    if (const std::string wrong = take_scenarios(evaluation.simulation, evaluation.scenarios);
        !wrong.empty()) {
      evaluation.outcome = wire::Outcome::SimulationFailed;
      evaluation.reason = "the simulator's scenarios are damaged: " + wrong;
      return evaluation;
    }
    compare_outputs(evaluation);
    evaluation.simulation.outputs.clear();
    return evaluation;
  }

  std::optional<double> static_cost(const wire::PlanT& plan) override {
    const auto schedule = target_.schedule(workload_.encoded, encode(plan));
    if (!schedule.ok() || !(schedule->static_cost > 0) || !std::isfinite(schedule->static_cost))
      return std::nullopt;
    return schedule->static_cost;
  }

 private:
  // `failed`: the stage whose call did not succeed.
  wire::Outcome outcome_of(const Status& status, wire::Outcome failed) const {
    if (target_.fate() == wire::Fate::kCrashed) return wire::Outcome::Crashed;
    if (target_.fate() == wire::Fate::kTimedOut || status.code() == Code::kDeadlineExceeded)
      return wire::Outcome::TimedOut;
    return failed;
  }

  void compare_outputs(Evaluation& evaluation) const {
    std::vector<oracle::Tensor> outputs;
    for (const auto& message : evaluation.simulation.outputs) {
      auto tensor = oracle::from_wire(*message);
      if (!tensor.ok()) {
        evaluation.outcome = wire::Outcome::SimulationFailed;
        evaluation.reason = "the simulator's output is damaged: " + tensor.status().message();
        return;
      }
      outputs.push_back(*std::move(tensor));
    }
    evaluation.comparison = compare(reference_.outputs, outputs, *workload_.message.contract);
    if (evaluation.comparison.accepted) return;
    evaluation.outcome = wire::Outcome::Wrong;
    evaluation.reason = evaluation.comparison.reason;
  }

  Target& target_;
  const Workload& workload_;
  const Reference& reference_;
};

}  // namespace

std::unique_ptr<Evaluator> make_evaluator(Target& target, const Workload& workload,
                                          const Reference& reference) {
  return std::make_unique<TargetEvaluator>(target, workload, reference);
}

}  // namespace zomboss::evaluate
