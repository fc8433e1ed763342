#include <algorithm>
#include <set>

#include "plugins/policies/llm/form_classes.h"

namespace zomboss::policies::llm {
namespace {

constexpr size_t kHard = 12;
constexpr size_t kPreferred = 24;
constexpr size_t kAxes = 4;
constexpr size_t kRadius = 8;

std::vector<size_t> read_names(const SearchView& view, const Json& list) {
  std::vector<size_t> knobs;
  for (const Json& name : list)
    if (const auto knob = name.is_string() ? view.vocabulary.find(name.get<std::string>()) : std::nullopt)
      knobs.push_back(*knob);
  return knobs;
}

}  // namespace

struct PartialForm::Content {
  std::vector<KnobValue> hard, preferred;
  std::vector<size_t> automatic, axes;
};

Json PartialForm::schema() const {
  const Json names = view_.vocabulary.knob_names();
  Json properties = {{"hard", assignments_schema(view_.vocabulary, kHard)},
                     {"preferred", assignments_schema(view_.vocabulary, kPreferred)},
                     {"auto", list_schema(names_schema(names), 0, kPreferred)},
                     {"reason", text_schema()}};
  if (region_) {
    Json radii = Json::array();
    for (size_t radius = 1; radius <= kRadius; ++radius) radii.push_back(std::to_string(radius));
    properties["diversity"] = list_schema(names_schema(names), 1, kAxes);
    properties["center_plan"] = {{"type", {"string", "null"}}};
    properties["radius"] = names_schema(radii);
  }
  return object_schema(std::move(properties));
}

std::string PartialForm::task() const {
  const std::string lists =
      "`hard` assignments must hold; `preferred` ones may be relaxed; `auto` knobs are decided by the "
      "compiler. A "
      "knob may stand in one list only. ";
  if (!region_) return "Describe one mapping. " + lists + "Knobs that you leave out stay as the parent's.";
  return "Propose a region of mappings; the controller samples it and evaluates two of its plans. " + lists +
         "Knobs that you leave out vary freely. `diversity` names 1 to 4 knobs, neither hard nor auto, along "
         "which "
         "plans should differ; at least two knobs must be free of hard. `center_plan` is an evaluated plan "
         "(p0, p1, "
         "...) or null; with one, 1 to `radius` decisions change, diversity knobs first; without, the region "
         "is "
         "sampled widely around the preferences.";
}

PartialForm::Content PartialForm::read(const Json& answer, std::vector<std::string>& errors) const {
  Content content;
  content.hard = read_assignments(view_, member(answer, "hard"), "$.hard", errors);
  content.preferred = read_assignments(view_, member(answer, "preferred"), "$.preferred", errors);
  content.automatic = read_names(view_, member(answer, "auto"));
  content.axes = read_names(view_, member(answer, "diversity"));
  return content;
}

std::vector<std::string> PartialForm::errors(const Json& answer) const {
  std::vector<std::string> errors;
  const Content content = read(answer, errors);
  std::set<size_t> listed;
  const auto once = [&](size_t knob) {
    if (!listed.insert(knob).second)
      errors.push_back("$: knob '" + view_.vocabulary.knobs()[knob].name +
                       "' is named twice in hard, preferred and auto");
  };
  for (const KnobValue& value : content.hard) once(value.knob);
  for (const KnobValue& value : content.preferred) once(value.knob);
  for (const size_t knob : content.automatic) once(knob);
  if (region_) check_region(answer, content, errors);
  return errors;
}

void PartialForm::check_region(const Json& answer, const Content& content,
                               std::vector<std::string>& errors) const {
  std::set<size_t> hard;
  for (const KnobValue& value : content.hard) hard.insert(value.knob);
  bool free_axis = false;
  for (const size_t axis : content.axes) {
    const bool is_auto =
        std::find(content.automatic.begin(), content.automatic.end(), axis) != content.automatic.end();
    if (hard.count(axis) != 0 || is_auto)
      errors.push_back("$.diversity: knob '" + view_.vocabulary.knobs()[axis].name + "' is " +
                       (is_auto ? "auto" : "hard"));
    else
      free_axis = true;
  }
  if (view_.vocabulary.order().size() - hard.size() < 2)
    errors.push_back("$.hard: at least two knobs must stay free of hard");
  if (!free_axis) errors.push_back("$.diversity: at least one knob that is neither hard nor auto is needed");
  const Json& center = member(answer, "center_plan");
  if (!center.is_string()) return;
  const std::string name = center.get<std::string>();
  const Tried* tried = view_.journal.find_name(name);
  if (tried == nullptr)
    errors.push_back("$.center_plan: there is no plan '" + valid_utf8(name.substr(0, 40)) +
                     "'; plans are p0 to p" + std::to_string(view_.journal.evaluations()));
  else if (!tried->verified)
    errors.push_back("$.center_plan: plan '" + name + "' did not verify");
}

wire::ProposalT PartialForm::proposal(const Json& answer) const {
  std::vector<std::string> ignored;
  const Content content = read(answer, ignored);
  std::vector<std::unique_ptr<wire::AssignmentT>> assignments;
  for (const KnobValue& value : content.hard)
    assignments.push_back(assignment_of(view_, value, wire::Strength::Hard));
  for (const KnobValue& value : content.preferred)
    assignments.push_back(assignment_of(view_, value, wire::Strength::Preferred));
  for (const size_t knob : content.automatic)
    assignments.push_back(assignment_of(view_, {knob, 0}, wire::Strength::Auto));
  wire::ProposalT proposal;
  if (!region_) {
    proposal.kind = wire::ProposalKind::Intents;
    proposal.intents.push_back(std::make_unique<wire::IntentT>());
    proposal.intents[0]->assignments = std::move(assignments);
    return proposal;
  }
  proposal.kind = wire::ProposalKind::Region;
  proposal.region = std::make_unique<wire::RegionT>();
  proposal.region->assignments = std::move(assignments);
  auto& axes = proposal.region->diversity_axes;
  for (const size_t axis : content.axes)
    if (const std::string& name = view_.space.knobs[axis].name;
        std::find(axes.begin(), axes.end(), name) == axes.end())
      axes.push_back(name);
  proposal.region->radius = static_cast<uint32_t>(text_of(answer, "radius").at(0) - '0');
  const Json& center = member(answer, "center_plan");
  if (const Tried* tried = center.is_string() ? view_.journal.find_name(center.get<std::string>()) : nullptr)
    proposal.region->center = tried->hash;
  return proposal;
}

std::unique_ptr<Form> proposal_form(const SearchView& view) {
  if (view.space.catalog) return std::make_unique<CatalogForm>(view);
  if (view.options.specification == "complete") return std::make_unique<CompleteForm>(view);
  return std::make_unique<PartialForm>(view, view.vocabulary.order().size() >= 2);
}

std::unique_ptr<Form> intent_form(const SearchView& view) {
  if (view.space.catalog) return std::make_unique<CatalogForm>(view);
  if (view.options.specification == "complete") return std::make_unique<CompleteForm>(view);
  return std::make_unique<PartialForm>(view, false);
}

}  // namespace zomboss::policies::llm
