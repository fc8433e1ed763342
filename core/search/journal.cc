#include "core/search/journal.h"

#include <cmath>

namespace zomboss::search {

Result<Journal> Journal::open(history::History& history, std::string problem, int64_t run,
                              PlanJson plan_json) {
  Journal journal(history, std::move(problem), run, std::move(plan_json));
  ZB_ASSIGN(const history::Run record, history.run(run));
  journal.past_seconds_ = record.seconds;
  ZB_TRY(history.each_proposal(run, [&](const history::Proposal& proposal) {
    journal.past_.push_back(proposal);
    return true;
  }));
  return journal;
}

Result<std::optional<evaluate::Evaluation>> Journal::recall(const mapping::Plan& plan,
                                                            const std::string& unit, bool replaying) const {
  if (again_) return std::optional<evaluate::Evaluation>();
  ZB_ASSIGN(const auto found, history_->find_evaluation(problem_, plan.hash.hex()));
  if (!found) return std::optional<evaluate::Evaluation>();
  const auto outcome = outcome_of_name(found->outcome);
  if (!outcome) return data_loss("the history has an evaluation with the outcome '" + found->outcome + "'");
  const bool of_the_machine = *outcome == wire::Outcome::Crashed || *outcome == wire::Outcome::TimedOut;
  if (of_the_machine && !replaying) return std::optional<evaluate::Evaluation>();
  evaluate::Evaluation evaluation;
  evaluation.outcome = *outcome;
  evaluation.latency = found->latency;
  evaluation.unit = unit;
  evaluation.reason = found->reason;
  evaluation.comparison.accepted = *outcome == wire::Outcome::Valid;
  evaluation.comparison.elements = found->elements;
  evaluation.comparison.mismatches =
      static_cast<uint64_t>(std::llround((1 - found->match_rate) * static_cast<double>(found->elements)));
  evaluation.comparison.worst_difference = found->worst;
  for (const auto& [name, value] : found->counters) {
    if (name.starts_with(evaluate::kScenarioCounter)) {
      evaluation.scenarios.push_back(
          {name.substr(evaluate::kScenarioCounter.size()), static_cast<uint64_t>(std::llround(value))});
      continue;
    }
    auto counter = std::make_unique<wire::CounterT>();
    counter->name = name;
    counter->value = value;
    evaluation.simulation.counters.push_back(std::move(counter));
  }
  return std::optional(std::move(evaluation));
}

Status Journal::evaluated(const mapping::Plan& plan, const evaluate::Evaluation& evaluation, double seconds) {
  if (again_) return {};
  const std::string hash = plan.hash.hex();
  ZB_TRY(history_->add_plan(problem_, hash, plan_json_(plan)));
  history::Evaluation record;
  record.plan = hash;
  record.outcome = outcome_name(evaluation.outcome);
  record.latency = evaluation.outcome == wire::Outcome::Valid ? evaluation.latency : 0;
  record.reason = evaluation.reason;
  record.elements = evaluation.comparison.elements;
  record.match_rate = evaluation.comparison.match_rate();
  record.worst = evaluation.comparison.worst_difference;
  for (const auto& counter : evaluation.simulation.counters)
    record.counters.emplace_back(counter->name, counter->value);
  for (const evaluate::Scenario& scenario : evaluation.scenarios)
    record.counters.emplace_back(std::string(evaluate::kScenarioCounter) + scenario.name,
                                 static_cast<double>(scenario.latency));
  record.seconds = seconds;
  return history_->add_evaluation(problem_, record);
}

Status Journal::proposed(uint32_t number, const std::string& bytes, const wire::ProposalT& proposal,
                         const std::vector<Trial>& trials, uint64_t first_trial) {
  if (again_) return {};
  history::Proposal record;
  record.number = number;
  record.bytes = bytes;
  record.rationale = proposal.rationale;
  if (proposal.usage != nullptr) record.usage = to_history(*proposal.usage);
  for (const Trial& trial : trials) record.trials.push_back(to_history(trial, first_trial++));
  return history_->record(run_, record);
}

Status Journal::event(const std::string& kind, const std::string& text) {
  if (again_) return {};
  return history_->add_event(run_, kind, text);
}

history::Trial Journal::to_history(const Trial& trial, uint64_t number) {
  history::Trial record;
  record.number = number;
  record.proposal = trial.proposal;
  record.index = trial.index;
  record.evaluation = trial.evaluation;
  record.outcome = outcome_name(trial.outcome);
  record.intent = trial.intent;
  record.reason = trial.reason;
  if (trial.plan) record.plan = trial.plan->hash.hex();
  record.latency = trial.latency;
  record.static_cost = trial.static_cost;
  record.incumbent = trial.incumbent;
  return record;
}

history::Usage Journal::to_history(const wire::UsageT& usage) {
  history::Usage record;
  record.requests = usage.requests;
  record.prompt_tokens = usage.prompt_tokens;
  record.completion_tokens = usage.completion_tokens;
  record.cached_tokens = usage.cached_tokens;
  record.reasoning_tokens = usage.reasoning_tokens;
  record.malformed = usage.malformed;
  record.cost = usage.cost;
  record.cost_unknown = usage.cost_unknown;
  record.estimated = usage.estimated;
  record.currency = usage.currency;
  return record;
}

}  // namespace zomboss::search
