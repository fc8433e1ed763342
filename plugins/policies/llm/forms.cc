#include "plugins/policies/llm/forms.h"

#include <algorithm>
#include <tuple>

#include "zomboss/sdk/random.h"

namespace zomboss::policies::llm {
namespace {

constexpr uint64_t kRandomStream = 0x4c4c4d;
constexpr int kDraws = 200;

}  // namespace

Json object_schema(Json properties) {
  Json required = Json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", std::move(required)},
          {"properties", std::move(properties)}};
}

Json text_schema() {
  return {{"type", "string"}};
}

Json names_schema(const Json& names) {
  return {{"type", "string"}, {"enum", names}};
}

Json list_schema(Json items, size_t low, size_t high) {
  Json schema = {{"type", "array"}, {"maxItems", high}, {"items", std::move(items)}};
  if (low > 0) schema["minItems"] = low;
  return schema;
}

Json assignments_schema(const Vocabulary& vocabulary, size_t high) {
  return list_schema(
      object_schema({{"knob", names_schema(vocabulary.knob_names())}, {"value", text_schema()}}), 0, high);
}

std::vector<KnobValue> read_assignments(const SearchView& view, const Json& list, const std::string& path,
                                        std::vector<std::string>& errors) {
  std::vector<KnobValue> values;
  if (!list.is_array()) return values;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string name = text_of(list[i], "knob"), text = text_of(list[i], "value");
    const std::string where = path + "[" + std::to_string(i) + "]: ";
    const auto knob = view.vocabulary.find(name);
    if (!knob.has_value()) {
      errors.push_back(where + "there is no knob '" + name + "'");
      continue;
    }
    const auto value = view.vocabulary.value(*knob, text);
    if (!value.has_value()) {
      errors.push_back(where + name + " has no value '" + text + "', only " + view.vocabulary.domain(*knob));
      continue;
    }
    values.push_back({*knob, *value});
  }
  return values;
}

std::unique_ptr<wire::AssignmentT> assignment_of(const SearchView& view, const KnobValue& value,
                                                 wire::Strength strength) {
  auto assignment = std::make_unique<wire::AssignmentT>();
  assignment->knob = view.space.knobs[value.knob].name;
  assignment->value = view.space.knobs[value.knob].values[value.value];
  assignment->strength = strength;
  return assignment;
}

std::string nearest_rows(const SearchView& view, const Point& point) {
  constexpr size_t kShown = 3;
  // By changed knobs, then by how far their values are apart.
  std::vector<std::tuple<size_t, size_t, size_t>> near;
  for (size_t row = 0; row < view.space.rows.size(); ++row) {
    const std::vector<size_t> changed = changed_knobs(point, view.space.rows[row]);
    size_t steps = 0;
    for (const size_t k : changed) {
      const auto& rank = view.space.knobs[k].rank;
      const uint32_t a = rank[point[k]], b = rank[view.space.rows[row][k]];
      steps += a < b ? b - a : a - b;
    }
    near.emplace_back(changed.size(), steps, row);
  }
  const size_t count = std::min(kShown, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : "; ") + row_label(std::get<2>(near[i])) + " (" +
            view.vocabulary.changes(point, view.space.rows[std::get<2>(near[i])]) + ")";
  return text;
}

wire::ProposalT random_proposal(const SearchView& view, uint64_t turn) {
  Random random(view.seed, (kRandomStream << 32) | turn);
  const Space& space = view.space;
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Intents;
  if (space.catalog) {
    std::vector<size_t> fresh;
    for (size_t row = 0; row < space.rows.size(); ++row)
      if (view.journal.find_point(space.rows[row]) == nullptr) fresh.push_back(row);
    if (fresh.empty()) {
      proposal.kind = wire::ProposalKind::Stop;
      proposal.rationale = "every row of the catalog was tried";
      return proposal;
    }
    proposal.intents.push_back(space.exact_intent(space.rows[fresh[random.below(fresh.size())]]));
    return proposal;
  }
  const bool complete = view.options.specification == "complete";
  const std::vector<size_t>& knobs = view.vocabulary.order();
  if (complete || knobs.size() < 2) {
    Point point;
    for (int draw = 0; draw < kDraws && (point.empty() || view.journal.find_point(point) != nullptr);
         ++draw) {
      point.clear();
      for (const SpaceKnob& knob : space.knobs)
        point.push_back(static_cast<uint32_t>(random.below(knob.values.size())));
    }
    proposal.intents.push_back(complete ? space.exact_intent(point) : space.preferred_intent(point, {}));
    return proposal;
  }
  proposal.kind = wire::ProposalKind::Region;
  proposal.region = std::make_unique<wire::RegionT>();
  const size_t first = random.below(knobs.size());
  const size_t second = (first + 1 + random.below(knobs.size() - 1)) % knobs.size();
  proposal.region->diversity_axes = {space.knobs[knobs[first]].name, space.knobs[knobs[second]].name};
  return proposal;
}

}  // namespace zomboss::policies::llm
