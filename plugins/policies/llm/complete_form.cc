// Answers that name one complete mapping: a row of a catalog, or all knobs of a conditional surface.
#include "plugins/policies/llm/form_classes.h"

namespace zomboss::policies::llm {
namespace {

Json knob_properties(const Vocabulary& vocabulary) {
  Json properties = Json::object();
  for (const size_t k : vocabulary.order())
    properties[vocabulary.knobs()[k].property] = names_schema(vocabulary.value_names(k));
  return properties;
}

Point named_point(const Vocabulary& vocabulary, const Json& answer) {
  Point point(vocabulary.knobs().size(), 0);
  for (const size_t k : vocabulary.order())
    point[k] = vocabulary.value(k, text_of(answer, vocabulary.knobs()[k].property)).value_or(0);
  return point;
}

wire::ProposalT exact_proposal(const SearchView& view, const Point& point) {
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Intents;
  proposal.intents.push_back(view.space.exact_intent(point));
  return proposal;
}

}  // namespace

Json CatalogForm::schema() const {
  Json properties = knob_properties(view_.vocabulary);
  properties["mapping_id"] = {{"type", {"string", "null"}}};
  properties["reason"] = text_schema();
  return object_schema(std::move(properties));
}

std::string CatalogForm::task() const {
  return "Choose one mapping that was not tried. `mapping_id` names a row and wins over the knobs; when it "
         "is null, the "
         "knobs must name exactly one row of the catalog.";
}

std::optional<size_t> CatalogForm::row(const Json& answer, std::vector<std::string>& errors) const {
  const Json& id = member(answer, "mapping_id");
  if (id.is_string()) {
    const std::string name = id.get<std::string>();
    for (size_t row = 0; row < view_.space.rows.size(); ++row)
      if (row_label(row) == name) return row;
    errors.push_back("$.mapping_id: unknown mapping '" + valid_utf8(name.substr(0, 40)) + "', rows are " +
                     row_label(0) + " to " + row_label(view_.space.rows.size() - 1));
    return std::nullopt;
  }
  const Point point = named_point(view_.vocabulary, answer);
  const auto row = view_.journal.row_of(point);
  if (!row.has_value())
    errors.push_back("$: unknown mapping: no row has these knobs; nearest rows: " +
                     nearest_rows(view_, point));
  return row;
}

std::vector<std::string> CatalogForm::errors(const Json& answer) const {
  std::vector<std::string> errors;
  row(answer, errors);
  return errors;
}

wire::ProposalT CatalogForm::proposal(const Json& answer) const {
  std::vector<std::string> ignored;
  return exact_proposal(view_, view_.space.rows[row(answer, ignored).value_or(0)]);
}

Json CompleteForm::schema() const {
  Json properties = knob_properties(view_.vocabulary);
  properties["reason"] = text_schema();
  return object_schema(std::move(properties));
}

std::string CompleteForm::task() const {
  return "Set every knob. All of them must hold together.";
}

wire::ProposalT CompleteForm::proposal(const Json& answer) const {
  return exact_proposal(view_, named_point(view_.vocabulary, answer));
}

}  // namespace zomboss::policies::llm
