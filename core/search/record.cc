#include "core/search/record.h"

#include <array>
#include <utility>

#include "core/search/budget.h"

namespace zomboss::search {
namespace {

using wire::Outcome;

constexpr std::array<std::pair<Outcome, std::string_view>, 9> kOutcomes = {{
    {Outcome::Valid, "valid"},
    {Outcome::Wrong, "wrong"},
    {Outcome::LoweringFailed, "lowering failed"},
    {Outcome::SimulationFailed, "simulation failed"},
    {Outcome::TimedOut, "timed out"},
    {Outcome::Crashed, "crashed"},
    {Outcome::RejectedDuplicate, "duplicate"},
    {Outcome::RejectedIllegal, "illegal"},
    {Outcome::RejectedInvalid, "invalid"},
}};

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
  for (const auto& [value, name] : kOutcomes)
    if (value == outcome) return name;
  return "unknown";
}

std::optional<Outcome> outcome_of_name(std::string_view wanted) {
  for (const auto& [value, name] : kOutcomes)
    if (name == wanted) return value;
  return std::nullopt;
}

void add_usage(wire::UsageT& sum, const wire::UsageT& usage) {
  sum.requests += usage.requests;
  sum.prompt_tokens += usage.prompt_tokens;
  sum.completion_tokens += usage.completion_tokens;
  sum.cached_tokens += usage.cached_tokens;
  sum.reasoning_tokens += usage.reasoning_tokens;
  sum.malformed += usage.malformed;
  sum.cost += usage.cost;
  sum.cost_unknown |= usage.cost_unknown;
  sum.estimated |= usage.estimated;
  if (!usage.currency.empty()) sum.currency = usage.currency;
}

}  // namespace zomboss::search
