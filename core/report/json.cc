// The report's numbers as JSON.
#include "core/report/report.h"
#include "core/report/sections.h"

namespace zomboss::report {
namespace {

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json usage_json(const history::Usage& usage) {
  return {{"requests", usage.requests},
          {"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"cached_tokens", usage.cached_tokens},
          {"reasoning_tokens", usage.reasoning_tokens},
          {"malformed", usage.malformed},
          {"cost", usage.cost},
          {"cost_unknown", usage.cost_unknown},
          {"estimated", usage.estimated},
          {"currency", usage.currency}};
}

Json run_json(const Data& data, const RunView& view) {
  const history::Run& run = view.run;
  Json outcomes = Json::object();
  for (const auto& [outcome, trials] : view.outcomes) outcomes[outcome] = trials;
  Json events = Json::array();
  for (const history::Event& event : view.events)
    events.push_back({{"time", event.time}, {"kind", event.kind}, {"text", event.text}});
  return {
      {"id", run.id},
      {"job", run.job},
      {"policy", data.policies[view.policy]},
      {"seed", run.seed},
      {"state", run.state},
      {"stop_reason", run.stop_reason},
      {"evaluations", run.evaluations},
      {"proposals", run.proposals},
      {"trials", run.trials},
      {"best", {{"evaluation", run.best_evaluation}, {"latency", run.best_latency}, {"plan", run.best_plan}}},
      {"outcomes", outcomes},
      {"usage", usage_json(run.usage)},
      {"seconds", run.seconds},
      {"events", events}};
}

Json curve_json(const Curve& curve) {
  return {{"evaluation", curve.evaluation},
          {"median", curve.median},
          {"low", curve.low},
          {"high", curve.high},
          {"band", curve.quartiles ? "quartiles" : "range"}};
}

Json knobs_json(const KnobEffects& effects) {
  Json knobs = Json::array();
  for (const KnobEffect& effect : effects.varied) {
    Json values = Json::array();
    for (const ValueEffect& value : effect.values)
      values.push_back({{"value", value.value},
                        {"plans", value.plans},
                        {"best", value.best},
                        {"median", value.median},
                        {"worst", value.worst}});
    knobs.push_back({{"knob", effect.knob},
                     {"section", effect.section},
                     {"explained", effect.explained},
                     {"values", values}});
  }
  return {
      {"plans", effects.plans}, {"verified", effects.verified}, {"varied", knobs}, {"fixed", effects.fixed}};
}

Json group_json(const Data& data, const Group& group) {
  Json policies = Json::array();
  for (size_t policy = 0; policy < data.policies.size(); ++policy) {
    const auto runs = data.of(group, policy);
    if (runs.empty()) continue;
    const Score score = score_of(runs);
    policies.push_back({{"policy", data.policies[policy]},
                        {"runs", score.runs},
                        {"best", {{"median", score.median}, {"low", score.low}, {"high", score.high}}},
                        {"speedup", score.median > 0 ? Json(group.candidate0 / score.median) : Json()},
                        {"best_so_far", curve_json(curve_of(runs))}});
  }
  Json runs = Json::array();
  for (const size_t index : group.runs) runs.push_back(run_json(data, data.runs[index]));
  const auto incumbent = incumbent_of(data, group);
  return {{"workload", group.name},
          {"target", group.problem.target},
          {"problem", group.problem.key},
          {"unit", group.problem.unit},
          {"simulator", group.problem.simulator},
          {"candidate0", group.candidate0},
          {"best", group.best_latency},
          {"best_run", data.best(group).run.id},
          {"speedup", group.best_latency > 0 ? Json(group.speedup()) : Json()},
          {"baseline", optional_json(group.baseline)},
          {"baseline_name", group.baseline_name},
          {"baseline_source", group.baseline_source},
          {"references", group.references},
          {"ranking", group.ranking},
          {"bound", optional_json(group.bound)},
          {"bound_reason", group.bound_reason},
          {"policies", policies},
          {"runs", runs},
          {"knobs", group.candidate0 > 0 ? knobs_json(knob_effects_of(data, group)) : Json()},
          {"incumbent", incumbent.ok() ? *incumbent : Json()}};
}

}  // namespace

Result<std::string> json_report(const history::History& history, std::span<const int64_t> runs,
                                const ReportOptions& options) {
  ZB_ASSIGN(const Data data, collect(history, runs));
  ZB_TRY(data.trials);
  Json workloads = Json::array();
  for (const Group& group : data.groups) workloads.push_back(group_json(data, group));
  const Json report = {{"schema", "zomboss.report/1"},
                       {"title", options.title},
                       {"policies", data.policies},
                       {"workloads", workloads}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace zomboss::report
