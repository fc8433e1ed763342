#include "host/cli/json.h"

#include <fmt/format.h>

#include <cstdio>

namespace zomboss::cli {
namespace {

const char* origin_name(wire::Origin origin) {
  switch (origin) {
    case wire::Origin::Hard:
      return "hard";
    case wire::Origin::Preferred:
      return "preferred";
    default:
      return "default";
  }
}

Json value_json(const mapping::Knob& knob, int64_t value) {
  if (knob.type == wire::KnobType::Integer) return value;
  if (knob.type == wire::KnobType::Boolean) return value != 0;
  return mapping::value_text(knob, value);
}

}  // namespace

Result<std::string> assignment_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return std::string(value.get<bool>() ? "true" : "false");
  if (value.is_number_unsigned()) return std::to_string(value.get<uint64_t>());
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  return invalid_argument(
      fmt::format("expected a number, a string or a boolean, found {}", value.type_name()));
}

Json counters_json(const std::vector<std::unique_ptr<wire::CounterT>>& counters) {
  Json json = Json::object();
  for (const auto& counter : counters) json[counter->name] = counter->value;
  return json;
}

Json to_json(const mapping::Plan& plan) {
  Json sections = Json::object();
  for (size_t category = 0; category < plan.sections.size(); ++category) {
    Json decisions = Json::object();
    for (const mapping::Decision& decision : plan.sections[category])
      decisions[decision.knob] = {{"value", decision.text}, {"origin", origin_name(decision.origin)}};
    sections[std::string(mapping::category_name(static_cast<mapping::Category>(category)))] = decisions;
  }
  Json relaxations = Json::array();
  for (const mapping::Relaxation& relaxation : plan.relaxations)
    relaxations.push_back({{"knob", relaxation.knob},
                           {"requested", relaxation.requested},
                           {"realized", relaxation.realized},
                           {"reason", relaxation.reason}});
  return {{"hash", plan.hash.hex()}, {"sections", sections}, {"relaxations", relaxations}};
}

Json to_json(const mapping::Surface& surface) {
  Json knobs = Json::array();
  for (const mapping::Knob& knob : surface.knobs()) {
    Json values = Json::array();
    for (const int64_t value : knob.values) values.push_back(value_json(knob, value));
    knobs.push_back({{"name", knob.name},
                     {"category", mapping::category_name(knob.category)},
                     {"fixed", knob.fixed()},
                     {"values", values},
                     {"doc", knob.doc}});
  }
  Json constraints = Json::array();
  for (const mapping::Constraint& constraint : surface.constraints())
    constraints.push_back({{"name", constraint.name},
                           {"kind", mapping::constraint_kind_name(constraint.kind)},
                           {"assertion", constraint.assertion_text},
                           {"message", constraint.message_text}});
  Json dropped = Json::array();
  for (const mapping::DroppedValue& value : surface.dropped())
    dropped.push_back(
        {{"knob", surface.knob(value.knob).name}, {"value", value.text}, {"reason", value.reason}});
  Json json = {{"target", surface.target()},
               {"workload", surface.workload()},
               {"kind", surface.is_catalog() ? "catalog" : "conditional"},
               {"knobs", knobs},
               {"constraints", constraints},
               {"dropped", dropped},
               {"notes", surface.notes()}};
  // Part of the key of problems in the history, which stays for surfaces without any.
  for (const mapping::Reference& reference : surface.references()) {
    Json decisions = Json::object();
    for (size_t k = 0; k < surface.knobs().size(); ++k)
      decisions[surface.knob(k).name] = value_json(surface.knob(k), reference.values[k]);
    json["references"].push_back(
        {{"name", reference.name}, {"doc", reference.doc}, {"decisions", decisions}});
  }
  return json;
}

Json to_json(const search::Trial& trial) {
  Json json = {{"proposal", trial.proposal},
               {"index", trial.index},
               {"outcome", search::outcome_name(trial.outcome)},
               {"intent", trial.intent}};
  if (trial.evaluation != 0) json["evaluation"] = trial.evaluation;
  if (trial.latency != 0) json["latency"] = trial.latency;
  if (trial.plan.has_value()) json["plan"] = trial.plan->hash.hex();
  if (!trial.reason.empty()) json["reason"] = trial.reason;
  json["incumbent"] = trial.incumbent;
  return json;
}

Json scenarios_json(const std::vector<evaluate::Scenario>& scenarios) {
  Json json = Json::object();
  for (const evaluate::Scenario& scenario : scenarios) json[scenario.name] = scenario.latency;
  return json;
}

Json to_json(const search::Reference& reference, uint64_t best) {
  const evaluate::Evaluation& evaluation = reference.candidate.evaluation;
  Json json = {{"name", reference.name},
               {"doc", reference.doc},
               {"plan", reference.candidate.plan.hash.hex()},
               {"outcome", search::outcome_name(evaluation.outcome)}};
  if (reference.verified()) {
    json["latency"] = evaluation.latency;
    json["over_best"] = static_cast<double>(evaluation.latency) / static_cast<double>(best);
    json["scenarios"] = scenarios_json(evaluation.scenarios);
  } else {
    json["reason"] = evaluation.reason;
  }
  return json;
}

Json to_json(const std::vector<search::Ranking>& ranking) {
  Json list = Json::array();
  for (const search::Ranking& each : ranking)
    list.push_back({{"scenario", each.scenario},
                    {"best", each.best},
                    {"fastest", each.fastest},
                    {"fastest_is", each.fastest_is},
                    {"stays", each.stays()},
                    {"miss", each.miss()}});
  return list;
}

Json to_json(const wire::BoundT& bound) {
  return {{"latency", bound.latency}, {"unit", bound.unit}, {"reason", bound.reason}};
}

Json to_json(const history::Usage& usage) {
  if (usage.requests == 0) return {};
  return {{"requests", usage.requests},
          {"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"cached_tokens", usage.cached_tokens},
          {"reasoning_tokens", usage.reasoning_tokens},
          {"malformed", usage.malformed},
          {"cost", usage.cost_unknown ? Json() : Json(usage.cost)},
          {"currency", usage.currency},
          {"estimated", usage.estimated}};
}

Json plan_document(const mapping::Surface& surface, const mapping::Plan& plan) {
  Json json = {{"schema", "zomboss.plan/1"}, {"target", surface.target()}, {"workload", surface.workload()}};
  json.update(to_json(plan));
  return json;
}

Result<mapping::Intent> intent_of_plan_document(const mapping::Surface& surface, const Source& source) {
  const auto wrong = [&](const std::string& what) {
    return invalid_argument(fmt::format("{}: not a plan file: {}", source.name(), what));
  };
  Json json;
  try {
    json = Json::parse(source.text());
  } catch (const Json::parse_error& error) {
    const Location where = source.location(error.byte == 0 ? 0 : error.byte - 1);
    return invalid_argument(
        fmt::format("{}:{}:{}: error: not valid JSON", source.name(), where.line, where.column));
  }
  if (!json.is_object() || json.value("schema", Json()) != "zomboss.plan/1")
    return wrong("its \"schema\" is not \"zomboss.plan/1\"");
  if (!json.contains("sections") || !json["sections"].is_object()) return wrong("it has no \"sections\"");
  mapping::Intent intent;
  for (const auto& [section, decisions] : json["sections"].items()) {
    if (!decisions.is_object()) return wrong(fmt::format("section \"{}\" is no object", section));
    for (const auto& [knob, decision] : decisions.items()) {
      const bool wrapped = decision.is_object() && decision.contains("value");
      auto text = assignment_text(wrapped ? decision["value"] : decision);
      if (!text.ok()) return wrong(fmt::format("decision \"{}\": {}", knob, text.status().message()));
      auto assignment = mapping::parse_assignment(surface, knob, *text, wire::Strength::Hard);
      if (!assignment.ok()) return std::move(assignment).status().with_prefix(source.name());
      intent.set(*assignment);
    }
  }
  return intent;
}

std::string dump_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_json(const Json& json) {
  // Text that is no UTF-8 (a file name, say) is replaced rather than thrown over.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace zomboss::cli
