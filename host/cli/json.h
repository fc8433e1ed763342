// The machine-readable forms that the commands print with --json. Every document names its schema and
// revision.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/mapping/intent.h"
#include "core/mapping/plan.h"
#include "core/search/controller.h"

namespace zomboss::cli {

using Json = nlohmann::ordered_json;

Json to_json(const mapping::Plan& plan);
Json to_json(const mapping::Surface& surface);
Json to_json(const search::Trial& trial);
// Latencies by name.
Json scenarios_json(const std::vector<evaluate::Scenario>& scenarios);
Json to_json(const search::Reference& reference, uint64_t best);  // `best`: the latency of the best plan
Json to_json(const std::vector<search::Ranking>& ranking);
Json to_json(const wire::BoundT& bound);
Json to_json(const history::Usage& usage);  // null when no language model was asked

// Values by name.
Json counters_json(const std::vector<std::unique_ptr<wire::CounterT>>& counters);
// A value of a decision as mapping::parse_assignment takes it; a number keeps all of its digits.
Result<std::string> assignment_text(const Json& value);

// A plan file: {"schema": "zomboss.plan/1", "target", "workload", "hash", "sections": ...}.
Json plan_document(const mapping::Surface& surface, const mapping::Plan& plan);
// All decisions of a plan file as hard assignments. Errors name the file and what is wrong.
Result<mapping::Intent> intent_of_plan_document(const mapping::Surface& surface, const Source& source);

// On one line. Text that is no UTF-8 (what a plugin wrote, say) is replaced rather than thrown over.
std::string dump_json(const Json& json);
// One document on stdout, followed by a line end.
void print_json(const Json& json);

}  // namespace zomboss::cli
