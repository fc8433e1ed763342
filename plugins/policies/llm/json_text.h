// JSON as this policy reads and writes it: one canonical text, parsing that survives what servers and models
// send, and the first difference between two values. Nothing here throws.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace zomboss::policies::llm {

using Json = nlohmann::json;  // object keys are sorted

// Compact, keys sorted; bytes that are no UTF-8 are replaced.
std::string canonical(const Json& value);

// The text with everything that is no UTF-8 replaced: what was received is stored, hashed and read as this.
std::string valid_utf8(std::string_view text);

// Nothing when the text is not JSON, or nested more than 64 deep.
std::optional<Json> parse_json(std::string_view text);

// The first balanced {...} of the text that is a JSON object: prose and fences around it do not matter.
std::optional<Json> first_object(std::string_view text);

// The member of an object, or null: never throws, whatever `value` is.
const Json& member(const Json& value, std::string_view key);
// A text member; empty when it is missing or another type.
std::string text_of(const Json& value, std::string_view key);
// A number member that is a whole number from 0 up.
std::optional<uint64_t> count_of(const Json& value, std::string_view key);
double number_of(const Json& value, std::string_view key, double otherwise = 0);

// "$.messages[2].content: ... here, ... there", or empty when equal.
std::string first_difference(const Json& here, const Json& there);

}  // namespace zomboss::policies::llm
