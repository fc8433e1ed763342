// The parts of the prompt that do not change during a search.
#include <algorithm>

#include "plugins/policies/llm/numbers.h"
#include "plugins/policies/llm/prompt.h"

namespace zomboss::policies::llm {
namespace {

constexpr size_t kNodes = 120;

std::string type_text(const wire::TensorTypeT* type) {
  if (type == nullptr) return "?";
  std::string name = wire::EnumNameDType(type->dtype);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  std::string dims;
  for (const int64_t dim : type->dims) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  return name + "[" + dims + "]";
}

std::string attribute_text(const wire::AttributeT& attribute) {
  std::string value = attribute.text;
  if (attribute.ints.size() == 1 && value.empty()) value = std::to_string(attribute.ints[0]);
  if (attribute.ints.size() > 1) {
    value = "{";
    for (const int64_t number : attribute.ints)
      value += (value.size() == 1 ? "" : ",") + std::to_string(number);
    value += "}";
  }
  if (attribute.ints.empty() && value.empty())
    for (const double number : attribute.floats) value += (value.empty() ? "" : ",") + number_text(number);
  return attribute.key + "=" + value;
}

std::string attributes_text(const std::vector<std::unique_ptr<wire::AttributeT>>& attributes) {
  std::string text;
  for (const auto& attribute : attributes) text += " " + attribute_text(*attribute);
  return text;
}

std::string workload_text(const wire::WorkloadT& workload) {
  std::string text = "WORKLOAD " + workload.name + "\n";
  for (size_t i = 0; i < workload.nodes.size() && i < kNodes; ++i) {
    const wire::NodeT& node = *workload.nodes[i];
    std::string operands;
    for (const uint32_t operand : node.operands)
      operands += (operands.empty() ? "" : ", ") + std::string("n") + std::to_string(operand);
    const bool output =
        std::find(workload.outputs.begin(), workload.outputs.end(), node.id) != workload.outputs.end();
    text += "n" + std::to_string(node.id) + " = " + node.op + "(" + operands + ") " +
            type_text(node.type.get()) + attributes_text(node.attributes) + (output ? " (output)" : "") +
            "\n";
  }
  if (workload.nodes.size() > kNodes)
    text += "... and " + std::to_string(workload.nodes.size() - kNodes) + " more operators\n";
  if (workload.contract == nullptr) return text;
  const wire::ContractT& contract = *workload.contract;
  text += contract.acceptance == wire::Acceptance::Exact
              ? "accepted: bit-exact"
              : "accepted: absolute " + number_text(contract.absolute) + ", relative " +
                    number_text(contract.relative) + ", share of matching elements " +
                    number_text(contract.match_rate);
  if (!contract.storage.empty()) text += "; storage:" + attributes_text(contract.storage);
  return text + "\n";
}

std::string knob_line(const SearchView& view, size_t k) {
  const KnobWords& knob = view.vocabulary.knobs()[k];
  return std::string(category_name(knob.category)) + " . " + knob.name + " : " + view.vocabulary.domain(k) +
         " default=" + knob.values[view.space.start[k]] + (knob.doc.empty() ? "" : " [" + knob.doc + "]") +
         "\n";
}

std::string row_line(const SearchView& view, size_t row) {
  std::string text = row_label(row) + " | " + view.vocabulary.point(view.space.rows[row]);
  if (view.journal.has_costs()) text += " | est " + number_text(view.journal.row_cost(row));
  return text + "\n";
}

// A long catalog: the rows that the target expects most of.
std::string promising_rows(const SearchView& view) {
  constexpr size_t kShown = 24;
  if (!view.journal.has_costs()) return "";
  std::vector<size_t> rows(view.space.rows.size());
  for (size_t row = 0; row < rows.size(); ++row) rows[row] = row;
  std::stable_sort(rows.begin(), rows.end(),
                   [&](size_t a, size_t b) { return view.journal.row_cost(a) < view.journal.row_cost(b); });
  rows.resize(std::min(rows.size(), kShown));
  std::string text = "rows with the lowest estimates:\n";
  for (const size_t row : rows) text += row_line(view, row);
  return text;
}

}  // namespace

std::string system_text() {
  return "You choose mappings for a tensor kernel. A compiler owns instruction selection, addresses, memory "
         "allocation, "
         "synchronisation and correctness. You never write code. You see a workload, the decisions you may "
         "set, the "
         "default mapping and measured results. Reply with exactly one JSON object that matches the schema; "
         "no prose "
         "outside it. Goal: lowest verified latency. Only verified measurements count; the controller keeps "
         "the best one. "
         "Repeating an evaluated mapping wastes a proposal. Use `reason` (max 60 words) to state the "
         "bottleneck you "
         "attack and the expected effect, in terms of decisions, not instructions.";
}

std::string facts_text(const wire::SearchContextT& context) {
  std::string text = context.workload == nullptr ? "" : workload_text(*context.workload) + "\n";
  const std::string target = context.target.empty() ? context.surface->target : context.target;
  text += "TARGET " + target + "\n";
  for (const std::string& fact : context.facts) text += fact + "\n";
  return text;
}

std::string surface_text(const wire::SurfaceT& surface, const SearchView& view) {
  std::string text;
  if (view.space.catalog) {
    text = "SURFACE a catalog of " + std::to_string(view.space.rows.size()) +
           " mappings; only its rows are legal\n";
    for (const size_t k : view.vocabulary.order()) text += knob_line(view, k);
    if (view.rows_listed()) {
      for (size_t row = 0; row < view.space.rows.size(); ++row) text += row_line(view, row);
    } else {
      text += promising_rows(view);
    }
    if (view.journal.has_costs()) text += "est: the target's estimate of the latency, not a measurement\n";
  } else {
    text = "SURFACE category . knob : {values} default\n";
    for (const size_t k : view.vocabulary.order()) text += knob_line(view, k);
    text +=
        "knobs interact; a preference that a constraint forbids is relaxed; knobs with one value are left "
        "out\n";
  }
  for (const auto& constraint : surface.constraints)
    text += "constraint " + constraint->name + ": " + constraint->message + "\n";
  for (const std::string& note : surface.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace zomboss::policies::llm
