#include "core/evaluate/evaluator.h"

#include <fmt/format.h>

#include <cmath>

namespace zomboss::evaluate {
namespace {

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
