#include "plugins/policies/llm/search_view.h"

#include <cmath>

#include "plugins/policies/llm/prompt.h"

namespace zomboss::policies::llm {

Status SearchView::start(const LlmOptions& llm_options, const wire::SearchContextT& context) {
  options = llm_options;
  ZB_ASSIGN(space, Space::from_context(context));
  if (space.catalog && space.rows.empty()) return invalid_argument("the catalog has no rows");
  seed = context.seed;
  target = context.target.empty() ? context.surface->target : context.target;
  unit = context.unit;
  bound = std::isfinite(context.bound) && context.bound > 0 ? context.bound : 0;
  vocabulary = Vocabulary::of(*context.surface, space);
  journal.start(context, space);
  facts = facts_text(context) + "\n" + surface_text(*context.surface, *this) + "\n" + default_text(*this);
  return {};
}

}  // namespace zomboss::policies::llm
