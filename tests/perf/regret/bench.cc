#include "tests/perf/regret/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/source.h"
#include "core/config/contract_file.h"
#include "core/mapping/convert.h"
#include "zomboss/sdk/random.h"

namespace zomboss::regret {
namespace {

constexpr uint32_t kProposalsPerEvaluation = 20;  // as the controller's default budget

}  // namespace

Result<std::unique_ptr<Bench>> Bench::open(const config::Instance& instance, evaluate::Target& target,
                                           const std::string& identity, Costs& costs) {
  auto bench = std::make_unique<Bench>();
  bench->name_ = instance.name;
  bench->target_ = &target;
  bench->costs_ = &costs;
  ZB_ASSIGN(const Source source, read_source(instance.hlo));
  evaluate::Contract contract;
  if (!instance.contract.empty()) {
    ZB_ASSIGN(contract, config::read_contract(instance.contract));
  }
  Diagnostics diagnostics(source);
  ZB_ASSIGN(bench->workload_,
            evaluate::load_workload(source, instance.name, contract, diagnostics, target.model().storage));
  bench->identity_ = identity + "/" + bench->workload_.message.hash;
  ZB_ASSIGN(const wire::SurfaceT message, target.surface(bench->workload_.encoded));
  ZB_ASSIGN(const mapping::Surface full, mapping::from_wire(message));
  ZB_ASSIGN(mapping::Surface derived, resolver::derive_domains(full));
  bench->surface_ = std::make_unique<mapping::Surface>(std::move(derived));
  bench->resolver_ =
      std::make_unique<resolver::Resolver>(*bench->surface_, resolver::Options{.explain = false});
  ZB_ASSIGN(bench->candidate0_, bench->resolver_->plan({}));
  ZB_ASSIGN(const Entry* entry, bench->entry(bench->candidate0_));
  bench->candidate0_latency_ = entry->cost.latency;
  if (entry->cost.latency == 0) return internal_error(instance.name + ": Candidate-0 has no latency");
  return bench;
}

Result<const Bench::Entry*> Bench::entry(const mapping::Plan& plan) {
  if (const auto known = entries_.find(plan.hash); known != entries_.end()) return &known->second;
  Entry entry{mapping::to_wire(*surface_, plan), {}};
  const std::string key = identity_ + "/" + entry.message.hash;
  if (const Cost* cost = costs_->find(key)) {
    entry.cost = *cost;
  } else {
    const std::string encoded = encode(entry.message);
    if (const auto schedule = target_->schedule(workload_.encoded, encoded); schedule.ok())
      entry.cost.estimate = schedule->static_cost;
    if (const auto program = target_->lower(workload_.encoded, encoded); program.ok()) {
      if (inputs_.empty()) {
        ZB_ASSIGN(const evaluate::Reference reference, evaluate::make_reference(workload_));
        inputs_ = reference.encoded_inputs;
      }
      const auto simulation = target_->simulate(encode(*program), inputs_);
      if (simulation.ok()) entry.cost.latency = static_cast<double>(simulation->latency);
    }
    costs_->add(key, entry.cost);
  }
  if (entry.cost.latency > 0 && (best_ == 0 || entry.cost.latency < best_)) best_ = entry.cost.latency;
  return &entries_.emplace(plan.hash, std::move(entry)).first->second;
}

Result<std::vector<Cost>> Bench::measure_rows(bool offer_estimates) {
  std::vector<Cost> costs;
  const std::vector<wire::Origin> origins(surface_->knobs().size(), wire::Origin::Hard);
  for (size_t row = 0; row < surface_->row_count(); ++row) {
    std::vector<int64_t> values;
    for (size_t k = 0; k < surface_->knobs().size(); ++k)
      values.push_back(surface_->knob(k).values[surface_->row(row)[k]]);
    mapping::Plan plan = mapping::make_plan(*surface_, values, origins, {});
    ZB_ASSIGN(const Entry* found, entry(plan));
    costs.push_back(found->cost);
    rows_.emplace(std::move(values), std::move(plan));
  }
  for (const Cost& cost : costs) {
    latencies_.push_back(cost.latency);
    estimates_.push_back(cost.estimate);
  }
  const bool complete = std::find(estimates_.begin(), estimates_.end(), 0.0) == estimates_.end();
  if (!offer_estimates || !complete) estimates_.clear();
  return costs;
}

wire::SearchContextT Bench::context(uint64_t seed, uint32_t evaluations) {
  wire::SearchContextT context;
  context.surface = std::make_unique<wire::SurfaceT>(mapping::to_wire(*surface_));
  context.candidate0 = std::make_unique<wire::PlanT>(mapping::to_wire(*surface_, candidate0_));
  context.candidate0_latency = candidate0_latency_;
  context.unit = "cycles";
  context.seed = seed;
  context.evaluation_budget = evaluations;
  context.proposal_budget = kProposalsPerEvaluation * evaluations;
  context.static_costs = estimates_;
  return context;
}

// Leaves Candidate-0's row, the first, and draws among the others. Returns the optimum of what is left.
double Bench::drop_rows(uint64_t seed, uint32_t percent, wire::SearchContextT& context) const {
  constexpr uint64_t kStream = 77;
  Random random(seed, kStream);
  const auto width = static_cast<ptrdiff_t>(surface_->knobs().size());
  const std::vector<int64_t> all = std::exchange(context.surface->catalog, {});
  context.static_costs.clear();
  double optimum = candidate0_latency_;
  for (size_t row = 0; row < latencies_.size(); ++row) {
    if (row > 0 && random.below(100) < percent) continue;
    const auto first = all.begin() + static_cast<ptrdiff_t>(row) * width;
    context.surface->catalog.insert(context.surface->catalog.end(), first, first + width);
    if (!estimates_.empty()) context.static_costs.push_back(estimates_[row]);
    if (latencies_[row] > 0) optimum = std::min(optimum, latencies_[row]);
  }
  return optimum;
}

// Of a catalog, and an intent that sets every knob: that row, without asking the resolver.
Result<const mapping::Plan*> Bench::row_plan(const wire::IntentT& intent) {
  const mapping::Plan* none = nullptr;
  if (rows_.empty()) return none;
  std::vector<int64_t> values(surface_->knobs().size());
  size_t set = 0;
  for (const auto& assignment : intent.assignments) {
    const auto knob = surface_->find_knob(assignment->knob);
    if (!knob.has_value()) return invalid_argument("unknown knob " + assignment->knob);
    values[*knob] = assignment->value;
    set += assignment->strength != wire::Strength::Auto ? 1 : 0;
  }
  const auto found = set == values.size() ? rows_.find(values) : rows_.end();
  return found == rows_.end() ? none : &found->second;
}

Result<wire::FeedbackT> Bench::answer(const wire::IntentT& message, std::map<Hash, double>& known,
                                      Outcome& outcome) {
  wire::FeedbackT item;
  ZB_ASSIGN(const mapping::Plan* plan, row_plan(message));
  resolver::Completion completion;
  if (plan == nullptr) {
    ZB_ASSIGN(const mapping::Intent intent, mapping::intent_from_wire(*surface_, message));
    ZB_ASSIGN(completion, resolver_->complete_quietly(intent));
    if (!completion.plan.has_value()) {
      item.outcome = wire::Outcome::RejectedIllegal;
      ++outcome.illegal;
      return item;
    }
    plan = &*completion.plan;
  }
  const auto before = known.find(plan->hash);
  ZB_ASSIGN(const Entry* found, entry(*plan));
  item.plan = std::make_unique<wire::PlanT>(found->message);
  item.latency = found->cost.latency;
  item.static_cost = found->cost.estimate;
  if (before != known.end()) {
    item.outcome = wire::Outcome::RejectedDuplicate;
    ++outcome.duplicates;
    return item;
  }
  if (item.latency == 0) item.outcome = wire::Outcome::SimulationFailed;
  known[plan->hash] = item.latency;
  item.evaluation = ++outcome.evaluations;
  item.incumbent = item.latency > 0 && item.latency < outcome.best;
  if (item.incumbent) outcome.best = item.latency;
  return item;
}

Result<Outcome> Bench::search(search::Policy& policy, uint64_t seed, uint32_t evaluations, uint32_t drop) {
  Outcome outcome;
  outcome.best = candidate0_latency_;
  std::map<Hash, double> known = {{candidate0_.hash, candidate0_latency_}};
  wire::SearchContextT start = context(seed, evaluations);
  if (surface_->is_catalog()) outcome.optimum = drop_rows(seed, drop, start);
  ZB_TRY(policy.start(start));
  while (outcome.evaluations < evaluations && outcome.proposals < kProposalsPerEvaluation * evaluations) {
    wire::SearchStateT state;
    state.proposal = ++outcome.proposals;
    state.evaluations_left = evaluations - outcome.evaluations;
    state.proposals_left = kProposalsPerEvaluation * evaluations - outcome.proposals;
    state.incumbent_latency = outcome.best;
    ZB_ASSIGN(const wire::ProposalT proposal, policy.propose(state));
    if (proposal.kind == wire::ProposalKind::Stop) break;
    if (proposal.kind != wire::ProposalKind::Intents)
      return invalid_argument("this program answers intents alone, the policy proposed a region");
    wire::FeedbackBatchT feedback;
    for (size_t i = 0; i < proposal.intents.size() && outcome.evaluations < evaluations; ++i) {
      ZB_ASSIGN(wire::FeedbackT item, answer(*proposal.intents[i], known, outcome));
      item.proposal = outcome.proposals;
      item.index = static_cast<uint32_t>(i);
      feedback.items.push_back(std::make_unique<wire::FeedbackT>(std::move(item)));
    }
    ZB_TRY(policy.observe(feedback));
  }
  return outcome;
}

}  // namespace zomboss::regret
