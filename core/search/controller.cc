#include "core/search/controller.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/mapping/convert.h"

namespace zomboss::search {
namespace {

using mapping::Plan;
using wire::Outcome;

constexpr size_t kIntentLimit = 256;  // intents that one proposal may hold

class Controller {
 public:
  Controller(resolver::Resolver& resolver, evaluate::Evaluator& evaluator, Policy& policy,
             const Options& options, Observer& observer)
      : resolver_(resolver), evaluator_(evaluator), policy_(policy), options_(options), observer_(observer) {}

  Result<Report> run(const wire::WorkloadT& workload) {
    ZB_ASSIGN(report_.candidate0, evaluate_candidate0(resolver_, evaluator_));
    report_.best = report_.candidate0;
    known_[report_.candidate0.plan.hash] = report_.candidate0.evaluation.latency;
    observer_.on_candidate0(report_.candidate0);
    ZB_TRY(policy_.start(context(workload)));
    while (!finished()) {
      ++report_.proposals;
      ZB_ASSIGN(const wire::ProposalT proposal, policy_.propose(state()));
      if (proposal.kind == wire::ProposalKind::Stop) {
        report_.stop_reason =
            "policy: " + (proposal.rationale.empty() ? "nothing left to try" : proposal.rationale);
        break;
      }
      wire::FeedbackBatchT feedback;
      try_proposal(proposal, feedback);
      ZB_TRY(policy_.observe(feedback));
    }
    return std::move(report_);
  }

 private:
  const mapping::Surface& surface() const { return resolver_.surface(); }

  bool spent() const { return report_.evaluations >= options_.budget.evaluations; }

  bool finished() {
    const uint32_t idle = report_.evaluations - last_improvement_;
    if (options_.cancelled != nullptr && options_.cancelled->load())
      report_.stop_reason = "interrupted";
    else if (spent())
      report_.stop_reason = fmt::format("evaluation budget ({})", options_.budget.evaluations);
    else if (report_.proposals >= options_.budget.proposals)
      report_.stop_reason = fmt::format("proposal budget ({})", options_.budget.proposals);
    else if (options_.budget.patience != 0 && idle >= options_.budget.patience)
      report_.stop_reason =
          fmt::format("patience ({} evaluations without improvement)", options_.budget.patience);
    return !report_.stop_reason.empty();
  }

  wire::SearchContextT context(const wire::WorkloadT& workload) const {
    wire::SearchContextT context;
    context.surface = std::make_unique<wire::SurfaceT>(mapping::to_wire(surface()));
    context.workload = std::make_unique<wire::WorkloadT>(workload);
    for (auto& node : context.workload->nodes) node->data.clear();  // constants are nothing to a policy
    context.candidate0 = std::make_unique<wire::PlanT>(mapping::to_wire(surface(), report_.candidate0.plan));
    context.candidate0_latency = static_cast<double>(report_.candidate0.evaluation.latency);
    context.unit = report_.candidate0.evaluation.unit;
    context.seed = options_.seed;
    context.evaluation_budget = options_.budget.evaluations;
    context.proposal_budget = options_.budget.proposals;
    return context;
  }

  wire::SearchStateT state() const {
    wire::SearchStateT state;
    state.proposal = report_.proposals;
    state.evaluations_left = options_.budget.evaluations - report_.evaluations;
    state.proposals_left = options_.budget.proposals - report_.proposals;
    state.incumbent = std::make_unique<wire::PlanT>(mapping::to_wire(surface(), report_.best.plan));
    state.incumbent_latency = static_cast<double>(report_.best.evaluation.latency);
    return state;
  }

  void try_proposal(const wire::ProposalT& proposal, wire::FeedbackBatchT& feedback) {
    if (proposal.kind != wire::ProposalKind::Intents || proposal.intents.empty() ||
        proposal.intents.size() > kIntentLimit) {
      Trial trial = new_trial(0);
      trial.outcome = Outcome::RejectedInvalid;
      trial.reason = proposal.kind == wire::ProposalKind::Region
                         ? "regions are not taken by this version of the host: propose intents"
                         : fmt::format("a proposal has {} intents, expected 1 to {}", proposal.intents.size(),
                                       kIntentLimit);
      record(std::move(trial), feedback);
      return;
    }
    for (size_t i = 0; i < proposal.intents.size(); ++i) {
      if (spent() || (options_.cancelled != nullptr && options_.cancelled->load())) return;
      record(try_intent(*proposal.intents[i], new_trial(static_cast<uint32_t>(i))), feedback);
    }
  }

  Trial new_trial(uint32_t index) const {
    Trial trial;
    trial.proposal = report_.proposals;
    trial.index = index;
    return trial;
  }

  Trial try_intent(const wire::IntentT& message, Trial trial) {
    auto intent = mapping::intent_from_wire(surface(), message);
    if (!intent.ok()) {
      trial.outcome = Outcome::RejectedInvalid;
      trial.reason = intent.status().message();
      return trial;
    }
    trial.intent = mapping::intent_text(surface(), *intent);
    auto completion = resolver_.complete(*intent);
    if (!completion.ok() || !completion->plan.has_value()) {
      trial.outcome = Outcome::RejectedIllegal;
      trial.reason = completion.ok() ? completion->conflict->text : completion.status().message();
      return trial;
    }
    trial.plan = *std::move(completion->plan);
    if (const auto known = known_.find(trial.plan->hash); known != known_.end()) {
      trial.outcome = Outcome::RejectedDuplicate;
      trial.reason = "the same plan was evaluated before";
      trial.latency = known->second;
      return trial;
    }
    evaluate(trial);
    return trial;
  }

  void evaluate(Trial& trial) {
    evaluate::Evaluation evaluation = evaluator_.evaluate(mapping::to_wire(surface(), *trial.plan));
    trial.evaluation = ++report_.evaluations;
    trial.outcome = evaluation.outcome;
    trial.reason = evaluation.reason;
    trial.latency = evaluation.outcome == Outcome::Valid ? evaluation.latency : 0;
    known_[trial.plan->hash] = trial.latency;
    if (trial.outcome != Outcome::Valid || trial.latency >= report_.best.evaluation.latency) return;
    trial.incumbent = true;
    last_improvement_ = report_.evaluations;
    report_.best = {*trial.plan, std::move(evaluation)};
    report_.best_evaluation = trial.evaluation;
  }

  void record(Trial trial, wire::FeedbackBatchT& feedback) {
    auto item = std::make_unique<wire::FeedbackT>();
    item->proposal = trial.proposal;
    item->index = trial.index;
    item->outcome = trial.outcome;
    item->latency = static_cast<double>(trial.latency);
    item->reason = trial.reason;
    item->incumbent = trial.incumbent;
    if (trial.plan.has_value()) {
      item->plan = std::make_unique<wire::PlanT>(mapping::to_wire(surface(), *trial.plan));
      add_changes(*trial.plan, *item);
    }
    feedback.items.push_back(std::move(item));
    report_.trials.push_back(std::move(trial));
    observer_.on_trial(report_.trials.back(), report_);
  }

  // The realized decisions that differ from Candidate-0.
  void add_changes(const Plan& plan, wire::FeedbackT& item) const {
    for (const auto& section : plan.sections) {
      for (const mapping::Decision& decision : section) {
        const mapping::Decision* before = report_.candidate0.plan.find(decision.knob);
        if (before == nullptr || before->value == decision.value) continue;
        auto change = std::make_unique<wire::ChangeT>();
        change->knob = decision.knob;
        change->default_value = before->value;
        change->value = decision.value;
        item.changes.push_back(std::move(change));
      }
    }
  }

  resolver::Resolver& resolver_;
  evaluate::Evaluator& evaluator_;
  Policy& policy_;
  const Options& options_;
  Observer& observer_;
  Report report_;
  std::map<Hash, uint64_t> known_;  // latency of every evaluated plan, 0 when it was not Valid
  uint32_t last_improvement_ = 0;
};

}  // namespace

Budget default_budget(const mapping::Surface& surface, uint32_t evaluations) {
  Budget budget;
  budget.evaluations = evaluations != 0 ? evaluations : surface.is_catalog() ? 12 : 80;
  budget.proposals = 20 * budget.evaluations;
  return budget;
}

double Report::speedup() const {
  const auto latency = best.evaluation.latency;
  return latency == 0 ? 1.0
                      : static_cast<double>(candidate0.evaluation.latency) / static_cast<double>(latency);
}

std::map<std::string, uint32_t> Report::rejections() const {
  std::map<std::string, uint32_t> counts;
  for (const Trial& trial : trials)
    if (trial.outcome != Outcome::Valid) ++counts[std::string(outcome_name(trial.outcome))];
  return counts;
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::Valid:
      return "valid";
    case Outcome::Wrong:
      return "wrong";
    case Outcome::LoweringFailed:
      return "lowering failed";
    case Outcome::SimulationFailed:
      return "simulation failed";
    case Outcome::TimedOut:
      return "timed out";
    case Outcome::Crashed:
      return "crashed";
    case Outcome::RejectedDuplicate:
      return "duplicate";
    case Outcome::RejectedIllegal:
      return "illegal";
    case Outcome::RejectedInvalid:
      return "invalid";
  }
  return "unknown";
}

Result<Candidate> evaluate_candidate0(resolver::Resolver& resolver, evaluate::Evaluator& evaluator) {
  ZB_ASSIGN(Plan plan, resolver.plan(mapping::Intent()));
  evaluate::Evaluation evaluation = evaluator.evaluate(mapping::to_wire(resolver.surface(), plan));
  if (evaluation.outcome != Outcome::Valid)
    return Status(Code::kAborted, fmt::format("Candidate-0 does not verify ({}): {}",
                                              outcome_name(evaluation.outcome), evaluation.reason));
  return Candidate{std::move(plan), std::move(evaluation)};
}

Result<Report> run_search(resolver::Resolver& resolver, evaluate::Evaluator& evaluator, Policy& policy,
                          const wire::WorkloadT& workload, const Options& options, Observer& observer) {
  return Controller(resolver, evaluator, policy, options, observer).run(workload);
}

}  // namespace zomboss::search
