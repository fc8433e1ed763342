#include "core/evaluate/evaluator.h"

#include <fmt/format.h>

namespace zomboss::evaluate {
namespace {

class InProcessEvaluator final : public Evaluator {
 public:
  InProcessEvaluator(Target& target, const Workload& workload, const Reference& reference)
      : target_(target), workload_(workload), reference_(reference) {}

  Evaluation evaluate(const wire::PlanT& plan) override {
    auto program = target_.lower(workload_.encoded, encode(plan));
    if (!program.ok()) {
      Evaluation evaluation;
      evaluation.outcome = wire::Outcome::LoweringFailed;
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
      evaluation.outcome = simulation.status().code() == Code::kDeadlineExceeded
                               ? wire::Outcome::TimedOut
                               : wire::Outcome::SimulationFailed;
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

 private:
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

std::unique_ptr<Evaluator> make_in_process_evaluator(Target& target, const Workload& workload,
                                                     const Reference& reference) {
  return std::make_unique<InProcessEvaluator>(target, workload, reference);
}

}  // namespace zomboss::evaluate
