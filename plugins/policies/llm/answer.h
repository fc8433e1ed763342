// From the body of a chat completion to the one JSON object that was asked for.
#pragma once

#include <string>
#include <vector>

#include "plugins/policies/llm/json_text.h"

namespace zomboss::policies::llm {

struct Extracted {
  Json value;              // the object; null when there is none
  std::string text;        // what the model said, for the conversation
  std::string problem;     // why there is no object
  bool truncated = false;  // it ran out of tokens before the object ended
};

// Takes tool calls whatever the finish reason, content as text, list of parts or null, fences, prose around
// the object, arguments encoded twice.
Extracted extract_answer(const Json& body);

// Makes what is meant right: numbers and booleans where the schema wants their text, missing nullable
// members.
void normalise(const Json& schema, Json& value);

// Every way in which the value breaks the schema: "$.knob: why". Knows type, enum, properties, required,
// additionalProperties, items, minItems, maxItems. The server is not trusted to have enforced any.
std::vector<std::string> schema_errors(const Json& schema, const Json& value);

// A small value that the schema allows, for models that only follow examples.
Json example_of(const Json& schema);

}  // namespace zomboss::policies::llm
