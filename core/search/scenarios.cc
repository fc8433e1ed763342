// Whether the best plan stays the best under the other conditions that the simulator states.
#include "core/search/record.h"

namespace zomboss::search {
namespace {

// Lower latencies replace the fastest; of equal ones the first stays, and the best plan is asked first.
void consider(Ranking& ranking, const std::vector<evaluate::Scenario>& scenarios, const std::string& name) {
  const auto latency = latency_under(scenarios, ranking.scenario);
  if (!latency || *latency >= ranking.fastest) return;
  ranking.fastest = *latency;
  ranking.fastest_is = name;
}

}  // namespace

std::optional<uint64_t> latency_under(const std::vector<evaluate::Scenario>& scenarios,
                                      std::string_view name) {
  for (const evaluate::Scenario& scenario : scenarios)
    if (scenario.name == name) return scenario.latency;
  return std::nullopt;
}

std::vector<Ranking> rank_scenarios(const Report& report) {
  const auto evaluation_name = [](uint32_t number) { return "evaluation " + std::to_string(number); };
  std::vector<Ranking> rankings;
  for (const evaluate::Scenario& scenario : report.best.evaluation.scenarios) {
    Ranking ranking;
    ranking.scenario = scenario.name;
    ranking.best = ranking.fastest = scenario.latency;
    ranking.fastest_is =
        report.best_evaluation == 0 ? "Candidate-0" : evaluation_name(report.best_evaluation);
    consider(ranking, report.candidate0.evaluation.scenarios, "Candidate-0");
    for (const Reference& reference : report.references)
      if (reference.verified()) consider(ranking, reference.candidate.evaluation.scenarios, reference.name);
    for (const Trial& trial : report.trials)
      if (trial.evaluation != 0) consider(ranking, trial.scenarios, evaluation_name(trial.evaluation));
    rankings.push_back(std::move(ranking));
  }
  return rankings;
}

}  // namespace zomboss::search
