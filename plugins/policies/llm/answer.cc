#include "plugins/policies/llm/answer.h"

#include <algorithm>

namespace zomboss::policies::llm {
namespace {

constexpr size_t kErrors = 8;
constexpr size_t kShown = 60;

// Text, or a list of parts of which those with text count; reasoning parts do not.
std::string content_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const Json& part : content) {
    if (part.is_string()) text += part.get<std::string>();
    const std::string type = text_of(part, "type");
    if (type.empty() || type == "text" || type == "output_text") text += text_of(part, "text");
  }
  return text;
}

// The object in a text that may hold it directly, as a JSON text (encoded twice), or within prose.
Json object_in(const std::string& text) {
  if (const auto whole = parse_json(text); whole.has_value() && whole->is_string())
    return first_object(whole->get<std::string>()).value_or(Json());
  return first_object(text).value_or(Json());
}

// The arguments of the first tool call, null when there is no call.
Json tool_arguments(const Json& message) {
  const Json& calls = member(message, "tool_calls");
  if (calls.is_array() && !calls.empty()) return member(member(calls[0], "function"), "arguments");
  return member(member(message, "function_call"), "arguments");
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  return type == "number" && value.is_number();
}

std::vector<std::string> types_of(const Json& schema) {
  const Json& type = member(schema, "type");
  std::vector<std::string> types;
  if (type.is_string()) types.push_back(type.get<std::string>());
  if (type.is_array())
    for (const Json& each : type)
      if (each.is_string()) types.push_back(each.get<std::string>());
  return types;
}

std::string shown(const Json& value) {
  const std::string text = canonical(value);
  return text.size() <= kShown ? text : valid_utf8(text.substr(0, kShown)) + "...";
}

void check(const Json& schema, const Json& value, const std::string& path, std::vector<std::string>& errors) {
  if (errors.size() >= kErrors) return;
  const auto types = types_of(schema);
  if (!types.empty() &&
      std::none_of(types.begin(), types.end(), [&](const auto& type) { return has_type(value, type); })) {
    errors.push_back(path + ": expected " + types[0] + ", got " + shown(value));
    return;
  }
  const Json& allowed = member(schema, "enum");
  if (allowed.is_array() && std::find(allowed.begin(), allowed.end(), value) == allowed.end())
    errors.push_back(path + ": " + shown(value) + " is not one of " + canonical(allowed));
  if (value.is_object()) {
    const Json& properties = member(schema, "properties");
    for (const Json& name : member(schema, "required"))
      if (!value.contains(name.get<std::string>()))
        errors.push_back(path + "." + name.get<std::string>() + ": missing");
    for (const auto& [name, item] : value.items()) {
      if (const Json& inner = member(properties, name); !inner.is_null())
        check(inner, item, path + "." + name, errors);
      else
        errors.push_back(path + "." + name.substr(0, kShown) + ": no such member");
    }
  }
  if (value.is_array()) {
    const auto low = count_of(schema, "minItems"), high = count_of(schema, "maxItems");
    if (low.has_value() && value.size() < *low)
      errors.push_back(path + ": at least " + std::to_string(*low) + " items");
    if (high.has_value() && value.size() > *high)
      errors.push_back(path + ": at most " + std::to_string(*high) + " items");
    for (size_t i = 0; i < value.size(); ++i)
      check(member(schema, "items"), value[i], path + "[" + std::to_string(i) + "]", errors);
  }
}

}  // namespace

Extracted extract_answer(const Json& body) {
  Extracted answer;
  const Json& choices = member(body, "choices");
  if (!choices.is_array() || choices.empty()) {
    answer.problem = "the answer has no choices";
    return answer;
  }
  const Json& message = member(choices[0], "message");
  const std::string finish = text_of(choices[0], "finish_reason");
  const std::string content = content_text(member(message, "content"));
  const Json arguments = tool_arguments(message);
  if (arguments.is_object()) {
    answer.value = arguments;
    answer.text = canonical(arguments);
  } else {
    answer.text = arguments.is_string() ? arguments.get<std::string>() : content;
    answer.value = object_in(answer.text);
    if (answer.value.is_null() && arguments.is_string()) answer.value = object_in(content);
  }
  const std::string refusal = text_of(message, "refusal");
  if (!refusal.empty() || finish == "content_filter") {
    answer.value = nullptr;
    answer.problem = finish == "content_filter" ? "the server's content filter stopped the answer"
                                                : "the model refused: " + refusal.substr(0, 200);
  } else if (answer.value.is_null()) {
    answer.truncated = finish == "length";
    answer.problem = answer.truncated      ? "the answer was cut off at the token limit"
                     : answer.text.empty() ? "the answer is empty"
                                           : "the answer holds no JSON object";
  }
  return answer;
}

void normalise(const Json& schema, Json& value) {
  const auto types = types_of(schema);
  const auto takes = [&](const char* type) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  const Json& allowed = member(schema, "enum");
  const bool texts = allowed.is_array() ? std::all_of(allowed.begin(), allowed.end(),
                                                      [](const Json& each) { return each.is_string(); })
                                        : takes("string");
  if (texts && (value.is_number() || value.is_boolean())) value = canonical(value);
  if (value.is_object()) {
    const Json& properties = member(schema, "properties");
    if (!properties.is_object()) return;
    for (const auto& [name, inner] : properties.items()) {
      const auto inner_types = types_of(inner);
      if (!value.contains(name)) {
        if (std::find(inner_types.begin(), inner_types.end(), "null") != inner_types.end())
          value[name] = nullptr;
      } else {
        normalise(inner, value[name]);
      }
    }
  }
  if (value.is_array())
    for (Json& item : value) normalise(member(schema, "items"), item);
}

std::vector<std::string> schema_errors(const Json& schema, const Json& value) {
  std::vector<std::string> errors;
  check(schema, value, "$", errors);
  if (errors.size() > kErrors) errors.resize(kErrors);
  return errors;
}

Json example_of(const Json& schema) {
  const Json& allowed = member(schema, "enum");
  if (allowed.is_array() && !allowed.empty()) return allowed[0];
  const auto types = types_of(schema);
  const std::string type = types.empty() ? "string" : types[0];
  if (type == "object") {
    Json value = Json::object();
    for (const auto& [name, inner] : member(schema, "properties").items()) value[name] = example_of(inner);
    return value;
  }
  if (type == "array") {
    Json value = Json::array();
    for (uint64_t i = 0; i < count_of(schema, "minItems").value_or(0); ++i)
      value.push_back(example_of(member(schema, "items")));
    return value;
  }
  if (type == "number") return 0;
  if (type == "boolean") return false;
  return type == "null" ? Json() : Json("...");
}

}  // namespace zomboss::policies::llm
