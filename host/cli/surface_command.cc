// zomboss surface: the knobs of a workload, their domains, the constraints and the size of the surface.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/text.h"
#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

constexpr uint64_t kCountLimit = 1'000'000;

std::string size_text(const resolver::Resolver::Count& count) {
  return count.complete ? fmt::format("{} legal plans", count.legal)
                        : fmt::format("more than {} legal plans", count.legal);
}

void print_knobs(const mapping::Surface& surface) {
  int section = -1;
  for (const mapping::Knob& knob : surface.knobs()) {
    if (static_cast<int>(knob.category) != section) {
      section = static_cast<int>(knob.category);
      fmt::print("{}\n", mapping::category_name(knob.category));
    }
    fmt::print("  {:<18} {:<34} {}\n", knob.name, domain_text(knob) + (knob.fixed() ? " (fixed)" : ""),
               knob.doc);
  }
}

// The capacities that the surface was derived from, so that an override shows.
void print_machine(const evaluate::Target& target) {
  fmt::print("machine (spec {})\n", target.model().spec_hash.substr(0, 12));
  std::vector<std::string> params;
  for (const auto& param : target.model().params)
    params.push_back(fmt::format("{}={}", param->name, param->value));
  fmt::print("  {}\n", fmt::join(params, " "));
  for (const auto& memory : target.model().memories) {
    if (memory->offchip || memory->rows == 0) continue;
    fmt::print("  {:<18} {} rows x {} B = {}\n", memory->name, memory->rows, memory->unit_bytes,
               format_bytes(memory->rows * memory->unit_bytes));
  }
}

}  // namespace

int run_surface_command(const CommonOptions& common, const std::string& hlo, bool rows) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  const auto problem = (*session)->problem(hlo, common.contract);
  if (!problem.ok()) return fail(common, problem.status());
  const auto target = (*session)->target();
  const mapping::Surface& surface = *problem->surface;
  const auto count = problem->resolver->count_legal(kCountLimit);
  Json row_list = Json::array();
  Status enumerated;
  if (rows) {
    enumerated = problem->resolver->enumerate([&](std::span<const int64_t> values) {
      Json row = Json::array();
      for (size_t k = 0; k < values.size(); ++k)
        row.push_back(mapping::value_text(surface.knob(k), values[k]));
      row_list.push_back(std::move(row));
      return row_list.size() < kCountLimit;
    });
  }
  if (common.json) {
    Json json = {{"schema", "zomboss.surface/1"}};
    json.update(to_json(surface));
    json["legal_plans"] = count.legal;
    json["legal_plans_complete"] = count.complete;
    if (rows) json["plans"] = row_list;
    print_json(json);
    return kExitSuccess;
  }
  fmt::print("surface of {} on {} {}: {}, {}, {} knobs, {} free\n", surface.workload(), (*target)->id(),
             (*target)->version(), surface.is_catalog() ? "catalog" : "conditional", size_text(count),
             surface.knobs().size(), surface.free_knobs().size());
  print_machine(**target);
  print_knobs(surface);
  if (!surface.constraints().empty()) fmt::print("constraints\n");
  for (const mapping::Constraint& constraint : surface.constraints())
    fmt::print("  {:<18} {:<12} {}\n", constraint.name, mapping::constraint_kind_name(constraint.kind),
               constraint.message_text);
  for (const mapping::Reference& reference : surface.references()) {
    std::string decisions;
    for (size_t k = 0; k < surface.knobs().size(); ++k)
      decisions += fmt::format(" {}={}", surface.knob(k).name,
                               mapping::value_text(surface.knob(k), reference.values[k]));
    fmt::print("reference {}:{}{}\n", reference.name, decisions,
               reference.doc.empty() ? "" : " (" + reference.doc + ")");
  }
  for (const std::string& note : surface.notes()) fmt::print("note: {}\n", note);
  for (const mapping::DroppedValue& value : surface.dropped())
    fmt::print("dropped: {}={}: {}\n", surface.knob(value.knob).name, value.text, value.reason);
  if (rows) {
    fmt::print("plans ({})\n", fmt::join(surface.knob_names(), " "));
    for (const Json& row : row_list) {
      std::string line = " ";
      for (const Json& value : row) line += " " + value.get<std::string>();
      fmt::print("{}\n", line);
    }
    if (!enumerated.ok()) fmt::print("(not all plans: {})\n", enumerated.message());
  }
  return kExitSuccess;
}

}  // namespace zomboss::cli
