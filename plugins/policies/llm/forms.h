// The forms in which the model answers: the schema, what the task says of it, the rules that the schema
// cannot say, and the proposal that an answer means. One form serves a whole search.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/policies/llm/search_view.h"

namespace zomboss::policies::llm {

class Form {
 public:
  virtual ~Form() = default;
  virtual Json schema() const = 0;
  // How to fill it in: a few lines for the prompt.
  virtual std::string task() const = 0;
  // Everything that is wrong with an answer that obeys the schema; empty = it means something.
  virtual std::vector<std::string> errors(const Json& answer) const = 0;
  // Of an answer without errors: kind Intents (one intent), or Region.
  virtual wire::ProposalT proposal(const Json& answer) const = 0;
};

// What the model proposes alone (agent naive): a row of a catalog, a region, or, with specification =
// complete, all decisions hard. `view` must outlive the form.
std::unique_ptr<Form> proposal_form(const SearchView& view);
// What the executor writes (agent accelopt): one intent.
std::unique_ptr<Form> intent_form(const SearchView& view);

// A random proposal of the same kind, for a turn in which the model gave none: a row or a region that was not
// tried.
wire::ProposalT random_proposal(const SearchView& view, uint64_t turn);

// Shared by the forms.
Json object_schema(Json properties);
Json text_schema();
Json names_schema(const Json& names);  // enum
Json list_schema(Json items, size_t low, size_t high);
Json assignments_schema(const Vocabulary& vocabulary, size_t high);  // [{knob, value}]

struct KnobValue {
  size_t knob = 0;
  uint32_t value = 0;
};
// The [{knob, value}] of a list; a line for each unknown knob and value outside its domain.
std::vector<KnobValue> read_assignments(const SearchView& view, const Json& list, const std::string& path,
                                        std::vector<std::string>& errors);
std::unique_ptr<wire::AssignmentT> assignment_of(const SearchView& view, const KnobValue& value,
                                                 wire::Strength strength);
// The rows nearest to a point that is none, for the error.
std::string nearest_rows(const SearchView& view, const Point& point);

}  // namespace zomboss::policies::llm
