#include "core/search/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/mapping/convert.h"
#include "core/search/region.h"

namespace zomboss::search {
namespace {

using evaluate::Evaluation;
using evaluate::Evaluator;
using mapping::Plan;
using wire::Outcome;

constexpr size_t kIntentLimit = 256;  // intents that one proposal may hold
// Streams of the root seed for the regions of each proposal, away from those that policies use.
constexpr uint64_t kRegionStream = 0x5247'0000'0000'0000u;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Controller {
 public:
  Controller(const Inputs& inputs, const Options& options, Observer& observer)
      : in_(inputs), resolver_(*inputs.resolver), options_(options), observer_(observer) {}

  Result<Report> run() {
    ZB_TRY(start());
    while (!finished()) {
      ++report_.proposals;
      auto proposal = in_.policy->propose(state());
      if (!proposal.ok()) {
        // A policy that is driven from outside says so when its driver is gone.
        if (cancelled() || proposal.status().code() == Code::kCancelled)
          interrupt();
        else
          fail("the policy failed: " + proposal.status().message());
        --report_.proposals;
        break;
      }
      ZB_ASSIGN(const bool complete, handle(*proposal));
      if (!complete) {
        --report_.proposals;
        interrupt();
        break;
      }
      if (proposal->kind == wire::ProposalKind::Stop) break;
      if (const Status told = in_.policy->observe(feedback_); !told.ok()) {
        if (cancelled())
          interrupt();
        else
          fail("the policy failed: " + told.message());
        break;
      }
    }
    ZB_TRY(complete_best());
    report_.ranking = rank_scenarios(report_);
    report_.seconds = elapsed();
    return std::move(report_);
  }

 private:
  const mapping::Surface& surface() const { return resolver_.surface(); }
  bool cancelled() const { return options_.cancelled != nullptr && options_.cancelled->load(); }
  bool spent() const { return report_.evaluations >= options_.budget.evaluations; }
  double elapsed() const {
    return seconds_since(started_) + (in_.journal != nullptr ? in_.journal->past_seconds() : 0);
  }
  // The proposal at hand was recorded by an earlier session.
  bool replaying() const { return in_.journal != nullptr && report_.proposals <= in_.journal->past().size(); }
  uint64_t tokens() const { return report_.usage.prompt_tokens + report_.usage.completion_tokens; }

  Status start() {
    if (in_.candidate0 != nullptr) {
      report_.candidate0 = *in_.candidate0;
    } else {
      ZB_ASSIGN(report_.candidate0, evaluate_candidate0(resolver_, in_.evaluators->first()));
    }
    report_.best = report_.candidate0;
    ZB_TRY(remember(report_.candidate0.plan, 0, report_.candidate0.evaluation.latency));
    observer_.on_candidate0(report_.candidate0);
    if (in_.references != nullptr) {
      report_.references = *in_.references;
    } else {
      ZB_ASSIGN(report_.references,
                evaluate_references(surface(), report_.candidate0, in_.evaluators->first(), in_.journal));
    }
    for (const Reference& reference : report_.references)
      observer_.on_reference(reference, report_.candidate0.evaluation.unit);
    return in_.policy->start(context());
  }

  // Later proposals for this plan are duplicates.
  Status remember(const Plan& plan, uint32_t evaluation, uint64_t latency) {
    known_[plan.hash] = {evaluation, latency, evaluated_.size()};
    ZB_ASSIGN(Values values, mapping::plan_values(surface(), plan));
    evaluated_.push_back(std::move(values));
    return {};
  }

  void interrupt() {
    report_.interrupted = true;
    report_.stop_reason = "interrupted";
  }
  void fail(const std::string& why) {
    report_.failed = true;
    report_.stop_reason = why;
  }

  bool finished() {
    const Budget& budget = options_.budget;
    const uint32_t idle = report_.evaluations - last_improvement_;
    if (cancelled())
      interrupt();
    else if (spent())
      report_.stop_reason = fmt::format("evaluation budget ({})", budget.evaluations);
    else if (report_.proposals >= budget.proposals)
      report_.stop_reason = fmt::format("proposal budget ({})", budget.proposals);
    else if (budget.patience != 0 && idle >= budget.patience)
      report_.stop_reason = fmt::format("patience ({} evaluations without improvement)", budget.patience);
    else if (budget.tokens != 0 && tokens() >= budget.tokens)
      report_.stop_reason = fmt::format("token budget ({})", budget.tokens);
    else if (budget.cost > 0 && report_.usage.cost >= budget.cost)
      report_.stop_reason = fmt::format("cost budget ({:g} {})", budget.cost, report_.usage.currency);
    else if (budget.seconds > 0 && !replaying_next() && elapsed() >= budget.seconds)
      report_.stop_reason = fmt::format("time budget ({:g} s)", budget.seconds);
    else if (const std::string why = options_.halt && !replaying_next() ? options_.halt() : ""; !why.empty())
      fail(why);
    return !report_.stop_reason.empty();
  }
  bool replaying_next() const {
    return in_.journal != nullptr && report_.proposals < in_.journal->past().size();
  }

  wire::SearchContextT context() const {
    wire::SearchContextT context;
    context.surface = std::make_unique<wire::SurfaceT>(mapping::to_wire(surface()));
    context.surface->references.clear();  // what others chose is not the policy's to copy
    context.workload = std::make_unique<wire::WorkloadT>(*in_.workload);
    for (auto& node : context.workload->nodes) node->data.clear();  // constants are nothing to a policy
    context.candidate0 = std::make_unique<wire::PlanT>(mapping::to_wire(surface(), report_.candidate0.plan));
    context.candidate0_latency = static_cast<double>(report_.candidate0.evaluation.latency);
    context.unit = report_.candidate0.evaluation.unit;
    context.seed = options_.seed;
    context.evaluation_budget = options_.budget.evaluations;
    context.proposal_budget = options_.budget.proposals;
    context.target = surface().target();
    if (in_.facts != nullptr) context.facts = *in_.facts;
    context.candidate0_counters = counters_of(report_.candidate0.evaluation);
    if (in_.bound != nullptr) context.bound = in_.bound->latency;
    if (in_.static_costs != nullptr) context.static_costs = *in_.static_costs;
    context.token_budget = options_.budget.tokens;
    context.cost_budget = options_.budget.cost;
    context.folder = in_.folder;
    return context;
  }

  static std::vector<std::unique_ptr<wire::CounterT>> counters_of(const Evaluation& evaluation) {
    std::vector<std::unique_ptr<wire::CounterT>> counters;
    for (const auto& counter : evaluation.simulation.counters) {
      auto copy = std::make_unique<wire::CounterT>();
      copy->name = counter->name;  // the history keeps names and values, so a resumed search has no units
      copy->value = counter->value;
      counters.push_back(std::move(copy));
    }
    return counters;
  }

  wire::SearchStateT state() const {
    wire::SearchStateT state;
    state.proposal = report_.proposals;
    state.evaluations_left = options_.budget.evaluations - report_.evaluations;
    state.proposals_left = options_.budget.proposals - report_.proposals;
    state.incumbent = std::make_unique<wire::PlanT>(mapping::to_wire(surface(), report_.best.plan));
    state.incumbent_latency = static_cast<double>(report_.best.evaluation.latency);
    if (options_.budget.tokens != 0) state.tokens_left = options_.budget.tokens - tokens();
    if (options_.budget.cost > 0) state.cost_left = options_.budget.cost - report_.usage.cost;
    return state;
  }

  // Everything that follows from one proposal. False: it was interrupted, and nothing of it counts.
  Result<bool> handle(const wire::ProposalT& proposal) {
    const std::string bytes = encode(proposal);
    ZB_TRY(check_repeated(bytes));
    trials_.clear();
    evaluations_.clear();
    feedback_ = {};
    switch (proposal.kind) {
      case wire::ProposalKind::Stop:
        break;
      case wire::ProposalKind::Region:
        ZB_TRY(try_region(proposal));
        break;
      default:
        try_intents(proposal);
    }
    ZB_ASSIGN(const bool complete, evaluate_trials());
    if (!complete) return false;
    if (proposal.usage != nullptr) add_usage(report_.usage, *proposal.usage);
    for (size_t i = 0; i < trials_.size(); ++i) {
      ZB_TRY(settle(i));
    }
    ZB_TRY(write_down(bytes, proposal));
    for (Trial& trial : trials_) {
      report_.trials.push_back(std::move(trial));
      observer_.on_trial(report_.trials.back(), report_);
    }
    if (proposal.kind == wire::ProposalKind::Stop)
      report_.stop_reason =
          "policy: " + (proposal.rationale.empty() ? "nothing left to try" : proposal.rationale);
    return true;
  }

  Trial new_trial(size_t index) const {
    Trial trial;
    trial.proposal = report_.proposals;
    trial.index = static_cast<uint32_t>(index);
    return trial;
  }

  void reject(std::string text, Outcome outcome, std::string reason) {
    Trial trial = new_trial(0);
    trial.intent = std::move(text);
    trial.outcome = outcome;
    trial.reason = std::move(reason);
    trials_.push_back(std::move(trial));
  }

  void try_intents(const wire::ProposalT& proposal) {
    if (proposal.intents.empty() || proposal.intents.size() > kIntentLimit)
      return reject(
          "", Outcome::RejectedInvalid,
          fmt::format("a proposal has {} intents, expected 1 to {}", proposal.intents.size(), kIntentLimit));
    uint32_t planned = report_.evaluations;
    for (size_t i = 0; i < proposal.intents.size() && planned < options_.budget.evaluations; ++i) {
      if (proposal.intents[i] == nullptr) continue;
      trials_.push_back(complete_intent(*proposal.intents[i], new_trial(i)));
      planned += find_duplicate(trials_.size() - 1) ? 0 : trials_.back().outcome == Outcome::Valid;
    }
  }

  Trial complete_intent(const wire::IntentT& message, Trial trial) {
    const auto intent = mapping::intent_from_wire(surface(), message);
    if (!intent.ok()) {
      trial.outcome = Outcome::RejectedInvalid;
      trial.reason = intent.status().message();
      return trial;
    }
    complete(*intent, trial);
    return trial;
  }

  void complete(const mapping::Intent& intent, Trial& trial) {
    trial.intent = mapping::intent_text(surface(), intent);
    auto completion = resolver_.complete(intent);
    if (completion.ok() && completion->plan.has_value()) {
      trial.plan = *std::move(completion->plan);
      return;
    }
    trial.outcome = Outcome::RejectedIllegal;
    trial.reason = completion.ok() ? completion->conflict->text : completion.status().message();
  }

  // Marks the trial when its plan was evaluated before, or stands in front of it in the same proposal.
  bool find_duplicate(size_t position) {
    Trial& trial = trials_[position];
    if (trial.outcome != Outcome::Valid) return false;
    bool repeated = known_.contains(trial.plan->hash);
    for (size_t i = 0; i < position && !repeated; ++i)
      repeated = trials_[i].outcome == Outcome::Valid && trials_[i].plan->hash == trial.plan->hash;
    if (repeated) {
      trial.outcome = Outcome::RejectedDuplicate;
      trial.reason = "the same plan was evaluated before";
    }
    return repeated;
  }

  Status try_region(const wire::ProposalT& proposal) {
    if (proposal.region == nullptr) {
      reject("", Outcome::RejectedInvalid, "a proposal of a region has no region");
      return {};
    }
    const std::string text = region_text(*proposal.region);
    const auto region =
        read_region(surface(), *proposal.region, [this](const std::string& hash) { return values_of(hash); });
    if (!region.ok()) {
      reject(text, Outcome::RejectedInvalid, region.status().message());
      return {};
    }
    auto pool = sample_region(resolver_, *region, evaluated_,
                              Random(options_.seed, kRegionStream | report_.proposals));
    if (!pool.ok()) {
      const bool seen = pool.status().code() == Code::kAlreadyExists;
      reject(text, seen ? Outcome::RejectedDuplicate : Outcome::RejectedIllegal, pool.status().message());
      return {};
    }
    estimate(*pool);
    drop_worst_quarter(*pool);
    const uint32_t left = options_.budget.evaluations - report_.evaluations;
    for (const size_t chosen : choose_two(*pool, region->axes[0], evaluated_)) {
      if (trials_.size() >= left) break;
      trials_.push_back(new_trial(trials_.size()));
      trials_.back().static_cost = (*pool)[chosen].static_cost;
      complete((*pool)[chosen].intent, trials_.back());  // again, with the reasons of what was relaxed
    }
    return {};
  }

  std::optional<Values> values_of(const std::string& hash) const {
    for (const auto& [known, what] : known_)
      if (known.hex() == hash && what.latency != 0) return evaluated_[what.position];
    return std::nullopt;
  }

  void estimate(std::vector<Sample>& pool) const {
    std::vector<wire::PlanT> plans;
    for (const Sample& sample : pool) plans.push_back(mapping::to_wire(surface(), sample.plan));
    in_.evaluators->run(
        pool.size(),
        [&](Evaluator& evaluator, size_t i) {
          pool[i].static_cost = evaluator.static_cost(plans[i]).value_or(0);
        },
        [&](size_t i) { return pool[i].static_cost > 0 && !cancelled(); });
  }

  // Evaluates what is left of the trials, side by side. False when it was interrupted.
  Result<bool> evaluate_trials() {
    evaluations_.resize(trials_.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < trials_.size(); ++i) {
      if (trials_[i].outcome != Outcome::Valid) continue;
      if (in_.journal != nullptr) {
        ZB_ASSIGN(evaluations_[i],
                  in_.journal->recall(*trials_[i].plan, report_.candidate0.evaluation.unit, replaying()));
        report_.recalled += evaluations_[i].has_value() ? 1 : 0;
      }
      if (!evaluations_[i]) open.push_back(i);
    }
    std::vector<wire::PlanT> plans;
    for (const size_t i : open) plans.push_back(mapping::to_wire(surface(), *trials_[i].plan));
    std::vector<double> seconds(open.size());
    size_t done = 0;
    Status written;
    in_.evaluators->run(
        open.size(),
        [&](Evaluator& evaluator, size_t k) {
          const auto start = std::chrono::steady_clock::now();
          evaluations_[open[k]] = evaluator.evaluate(plans[k]);
          seconds[k] = seconds_since(start);
        },
        [&](size_t k) {
          const Evaluation& evaluation = *evaluations_[open[k]];
          if (evaluation.abandoned && cancelled()) return false;
          ++done;
          if (in_.journal != nullptr)
            written = in_.journal->evaluated(*trials_[open[k]].plan, evaluation, seconds[k]);
          return written.ok() && !cancelled();
        });
    ZB_TRY(written);
    return done == open.size();
  }

  // Gives a trial its result.
  Status settle(size_t position) {
    Trial& trial = trials_[position];
    if (trial.outcome == Outcome::RejectedDuplicate && trial.plan) {
      const Known& first = known_.at(trial.plan->hash);
      trial.latency = first.latency;
      trial.known = first.evaluation;
    }
    if (evaluations_[position]) {
      Evaluation& evaluation = *evaluations_[position];
      trial.evaluation = ++report_.evaluations;
      trial.outcome = evaluation.outcome;
      trial.reason = evaluation.reason;
      trial.latency = evaluation.outcome == Outcome::Valid ? evaluation.latency : 0;
      if (evaluation.outcome == Outcome::Valid) trial.scenarios = evaluation.scenarios;
      ZB_TRY(remember(*trial.plan, trial.evaluation, trial.latency));
      if (trial.outcome == Outcome::Valid && trial.latency < report_.best.evaluation.latency) {
        trial.incumbent = true;
        last_improvement_ = report_.evaluations;
      }
    }
    tell(trial, position);
    if (trial.incumbent) {
      report_.best = {*trial.plan, *std::move(evaluations_[position])};
      report_.best_evaluation = trial.evaluation;
    }
    return {};
  }

  void tell(const Trial& trial, size_t position) {
    auto item = std::make_unique<wire::FeedbackT>();
    item->proposal = trial.proposal;
    item->index = trial.index;
    item->outcome = trial.outcome;
    item->latency = static_cast<double>(trial.latency);
    item->reason = trial.reason;
    item->incumbent = trial.incumbent;
    item->evaluation = trial.evaluation != 0 ? trial.evaluation : trial.known;
    item->static_cost = trial.static_cost;
    if (trial.outcome == Outcome::Valid) item->counters = counters_of(*evaluations_[position]);
    if (trial.plan.has_value()) {
      item->plan = std::make_unique<wire::PlanT>(mapping::to_wire(surface(), *trial.plan));
      add_changes(*trial.plan, *item);
    }
    feedback_.items.push_back(std::move(item));
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

  // A proposal of an earlier session must come again as it was.
  Status check_repeated(const std::string& bytes) const {
    if (!replaying() || in_.journal->past()[report_.proposals - 1].bytes == bytes) return {};
    return failed_precondition(
        fmt::format("the run cannot be resumed: the policy's proposal {} is not the one that was recorded",
                    report_.proposals));
  }

  Status write_down(const std::string& bytes, const wire::ProposalT& proposal) {
    if (in_.journal == nullptr) return {};
    const uint64_t first = report_.trials.size() + 1;
    if (!replaying()) return in_.journal->proposed(report_.proposals, bytes, proposal, trials_, first);
    ++report_.resumed;
    const history::Proposal& past = in_.journal->past()[report_.proposals - 1];
    for (size_t i = 0; i < std::max(trials_.size(), past.trials.size()); ++i) {
      if (i < trials_.size() && i < past.trials.size() &&
          Journal::to_history(trials_[i], first + i) == past.trials[i])
        continue;
      return failed_precondition(
          fmt::format("the run cannot be resumed: trial {} of proposal {} does not come out as recorded",
                      first + i, report_.proposals));
    }
    return {};
  }

  // The best candidate with its program and timeline, which the history does not have. Evaluated again, it
  // must come out the same.
  Status complete_best() {
    if (!report_.best.evaluation.program.empty() || report_.best_evaluation == 0) return {};
    Evaluation again = in_.evaluators->first().evaluate(mapping::to_wire(surface(), report_.best.plan));
    if (again.abandoned) return {};
    if (again.outcome != Outcome::Valid || again.latency != report_.best.evaluation.latency)
      return internal_error(fmt::format(
          "the best plan does not repeat: the history has {} {}, evaluated again it is {} with {}",
          report_.best.evaluation.latency, report_.best.evaluation.unit, outcome_name(again.outcome),
          again.outcome == Outcome::Valid ? std::to_string(again.latency) : again.reason));
    report_.best.evaluation = std::move(again);
    return {};
  }

  struct Known {
    uint32_t evaluation = 0;
    uint64_t latency = 0;  // 0 when it was not Valid
    size_t position = 0;   // in evaluated_
  };

  const Inputs& in_;
  resolver::Resolver& resolver_;
  const Options& options_;
  Observer& observer_;
  Report report_;
  std::map<Hash, Known> known_;    // every evaluated plan
  std::vector<Values> evaluated_;  // the same, in order
  uint32_t last_improvement_ = 0;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  // Of the proposal at hand.
  std::vector<Trial> trials_;
  std::vector<std::optional<Evaluation>> evaluations_;
  wire::FeedbackBatchT feedback_;
};

}  // namespace

Result<Candidate> evaluate_candidate0(resolver::Resolver& resolver, Evaluator& evaluator) {
  ZB_ASSIGN(Plan plan, resolver.plan(mapping::Intent()));
  Evaluation evaluation = evaluator.evaluate(mapping::to_wire(resolver.surface(), plan));
  if (evaluation.abandoned) return Status(Code::kCancelled, "interrupted");
  if (evaluation.outcome != Outcome::Valid)
    return Status(Code::kAborted, fmt::format("Candidate-0 does not verify ({}): {}",
                                              outcome_name(evaluation.outcome), evaluation.reason));
  return Candidate{std::move(plan), std::move(evaluation)};
}

std::vector<double> catalog_costs(const mapping::Surface& surface, evaluate::EvaluatorPool& evaluators) {
  std::vector<double> costs(surface.is_catalog() ? surface.row_count() : 0);
  const std::vector<mapping::Origin> origins(surface.knobs().size(), mapping::Origin::Hard);
  std::vector<mapping::Plan> plans;
  bool known = true;
  const auto plan_of = [&](size_t row) {
    std::vector<int64_t> values;
    for (size_t k = 0; k < surface.knobs().size(); ++k)
      values.push_back(surface.knob(k).values[surface.row(row)[k]]);
    return mapping::make_plan(surface, values, origins, {});
  };
  evaluators.run(
      costs.size(),
      [&](Evaluator& evaluator, size_t row) {
        costs[row] = evaluator.static_cost(mapping::to_wire(surface, plan_of(row))).value_or(0);
      },
      [&](size_t row) { return known = costs[row] > 0; });
  return known ? costs : std::vector<double>();
}

Result<Report> run_search(const Inputs& inputs, const Options& options, Observer& observer) {
  return Controller(inputs, options, observer).run();
}

}  // namespace zomboss::search
