// For tests: a synthetic surface with a latency in closed form, and a controller that answers a policy as the
// host would (duplicates and illegal intents are rejected without an evaluation).
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "plugins/policies/common/space.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::policies::testing {

struct TestKnob {
  std::string name;
  std::vector<int64_t> values;
  wire::KnobType type = wire::KnobType::Integer;
  wire::Category category = wire::Category::Algorithm;
};
using Values = std::vector<int64_t>;

struct TestSurface {
  std::vector<TestKnob> knobs;
  bool catalog = false;
  std::function<bool(const Values&)> legal = [](const Values&) { return true; };
  std::function<double(const Values&)> latency;
  std::function<double(const Values&)> cost;  // of a catalog: the target's estimate; none = it has none

  // All legal value tuples, the last knob fastest.
  std::vector<Values> legal_points() const {
    std::vector<Values> points;
    std::vector<size_t> digits(knobs.size(), 0);
    for (;;) {
      Values values;
      for (size_t k = 0; k < knobs.size(); ++k) values.push_back(knobs[k].values[digits[k]]);
      if (legal(values)) points.push_back(values);
      size_t k = knobs.size();
      while (k > 0 && ++digits[k - 1] == knobs[k - 1].values.size()) digits[--k] = 0;
      if (k == 0) return points;
    }
  }
  double optimum() const {
    double best = 1e300;
    for (const Values& values : legal_points()) best = std::min(best, latency(values));
    return best;
  }
  std::unique_ptr<wire::PlanT> plan(const Values& values) const {
    auto plan = std::make_unique<wire::PlanT>();
    plan->target = "test";
    plan->workload = "test";
    plan->hash = "test";
    for (int category = 0; category < 8; ++category) {
      plan->sections.push_back(std::make_unique<wire::SectionT>());
      plan->sections.back()->category = static_cast<wire::Category>(category);
    }
    for (size_t k = 0; k < knobs.size(); ++k) {
      auto decision = std::make_unique<wire::DecisionT>();
      decision->knob = knobs[k].name;
      decision->value = values[k];
      plan->sections[k % 8]->decisions.push_back(std::move(decision));
    }
    return plan;
  }
  wire::SearchContextT context(const Values& candidate0, uint64_t seed) const {
    wire::SearchContextT context;
    context.surface = std::make_unique<wire::SurfaceT>();
    context.surface->kind = catalog ? wire::SurfaceKind::Catalog : wire::SurfaceKind::Conditional;
    for (const TestKnob& knob : knobs) {
      auto message = std::make_unique<wire::KnobT>();
      message->name = knob.name;
      message->type = knob.type;
      message->category = knob.category;
      message->values = knob.values;
      context.surface->knobs.push_back(std::move(message));
    }
    if (catalog) {
      for (const Values& values : legal_points()) {
        context.surface->catalog.insert(context.surface->catalog.end(), values.begin(), values.end());
        if (cost) context.static_costs.push_back(cost(values));
      }
    }
    context.candidate0 = plan(candidate0);
    context.candidate0_latency = latency(candidate0);
    context.seed = seed;
    return context;
  }
};

inline sdk::Call& no_call() {
  static zb_call raw{};
  static sdk::Call call(&raw);
  return call;
}

// Drives one policy. `history` has every evaluated point in order.
template <typename Policy>
struct TestSearch {
  const TestSurface& surface;
  std::unique_ptr<Policy> policy;
  std::map<Values, double> known;  // evaluated, with latency; Candidate-0 included
  std::vector<Values> history;
  std::vector<Values> requested;
  size_t duplicates = 0;
  bool stopped = false;
  std::string rationale;

  TestSearch(const TestSurface& s, const Values& candidate0, uint64_t seed,
             const wire::OptionsT& options = {})
      : surface(s), policy(*Policy::create(no_call(), options)) {
    const Status status = policy->start(no_call(), surface.context(candidate0, seed));
    if (!status.ok()) throw std::runtime_error(status.message());
    known[candidate0] = surface.latency(candidate0);
  }

  double best() const {
    double best = 1e300;
    for (const auto& [values, latency] : known) best = std::min(best, latency);
    return best;
  }
  // The value of each knob that the intent names.
  Values values_of(const wire::IntentT& intent) const {
    Values values;
    for (const TestKnob& knob : surface.knobs)
      for (const auto& assignment : intent.assignments)
        if (assignment->knob == knob.name) values.push_back(assignment->value);
    return values;
  }
  wire::FeedbackT answer(const Values& values) {
    wire::FeedbackT item;
    if (!surface.legal(values)) {
      item.outcome = wire::Outcome::RejectedIllegal;
      return item;
    }
    item.plan = surface.plan(values);
    item.latency = surface.latency(values);
    if (surface.cost) item.static_cost = surface.cost(values);
    if (known.count(values) != 0) {
      item.outcome = wire::Outcome::RejectedDuplicate;
      ++duplicates;
    } else {
      known[values] = item.latency;
      history.push_back(values);
    }
    return item;
  }
  // One proposal, answered. False when the policy stopped.
  bool step(size_t budget) {
    wire::SearchStateT state;
    state.evaluations_left = static_cast<uint32_t>(budget - history.size());
    auto proposal = policy->propose(no_call(), state);
    if (!proposal.ok()) throw std::runtime_error(proposal.status().message());
    rationale = proposal->rationale;
    stopped = proposal->kind == wire::ProposalKind::Stop;
    if (stopped) return false;
    wire::FeedbackBatchT feedback;
    for (const auto& intent : proposal->intents) {
      if (history.size() >= budget) break;  // the rest is not looked at, as by the host
      requested.push_back(values_of(*intent));
      feedback.items.push_back(std::make_unique<wire::FeedbackT>(answer(requested.back())));
    }
    const Status status = policy->observe(no_call(), feedback);
    if (!status.ok()) throw std::runtime_error(status.message());
    return true;
  }
  void run(size_t budget, size_t proposals = 100'000) {
    while (history.size() < budget && proposals-- > 0 && step(budget)) {
    }
  }
};

inline wire::OptionsT options(const std::vector<std::pair<std::string, std::string>>& values) {
  wire::OptionsT message;
  for (const auto& [key, text] : values) {
    message.values.push_back(std::make_unique<wire::AttributeT>());
    message.values.back()->key = key;
    message.values.back()->text = text;
  }
  return message;
}

}  // namespace zomboss::policies::testing
