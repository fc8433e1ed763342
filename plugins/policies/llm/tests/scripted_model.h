// The rule-based model of the scripted server: reads surface, tried plans and task out of the prompt, and
// answers with an object of the schema. A pure function of the request.
#pragma once

#include "plugins/policies/llm/json_text.h"

namespace zomboss::policies::llm::testing {

// The schema that the request asks for, wherever it stands; null when nowhere.
Json schema_of(const Json& request);

Json model_answer(const Json& request);
// The same, but a value that is in no domain.
Json wrong_answer(const Json& request);
// The default mapping, as the prompt gives it.
Json default_answer(const Json& request);

}  // namespace zomboss::policies::llm::testing
