#include "plugins/policies/llm/json_text.h"

#include <algorithm>

namespace zomboss::policies::llm {
namespace {

constexpr int kDepth = 64;
constexpr size_t kExcerpt = 60;

// The end of the balanced bracket that starts at `begin`, or npos when it does not close within the depth.
size_t balanced_end(std::string_view text, size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepth) return std::string_view::npos;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return i + 1;
    }
  }
  return std::string_view::npos;
}

// Brackets open at once, at most; of a text that is no JSON any number.
int deepest_nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quoted)
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == '{' || c == '['))
      deepest = std::max(deepest, ++depth);
    else if (!quoted && (c == '}' || c == ']'))
      --depth;
  }
  return deepest;
}

std::string excerpt(const std::string& text, size_t at) {
  const size_t begin = at > kExcerpt / 2 ? at - kExcerpt / 2 : 0;
  return canonical(Json(valid_utf8(std::string_view(text).substr(begin, kExcerpt))));
}

std::string differing_texts(const std::string& path, const std::string& here, const std::string& there) {
  const size_t common = std::min(here.size(), there.size());
  size_t at = 0;
  while (at < common && here[at] == there[at]) ++at;
  return path + ", byte " + std::to_string(at) + ": " + excerpt(here, at) + " here, " + excerpt(there, at) +
         " there";
}

std::string difference(const std::string& path, const Json& here, const Json& there) {
  if (here == there) return "";
  if (here.is_object() && there.is_object()) {
    for (const auto& [key, value] : here.items()) {
      if (!there.contains(key)) return path + "." + key + ": only here";
      if (std::string found = difference(path + "." + key, value, there.at(key)); !found.empty())
        return found;
    }
    for (const auto& [key, value] : there.items())
      if (!here.contains(key)) return path + "." + key + ": only there";
  }
  if (here.is_array() && there.is_array()) {
    for (size_t i = 0; i < std::min(here.size(), there.size()); ++i)
      if (std::string found = difference(path + "[" + std::to_string(i) + "]", here[i], there[i]);
          !found.empty())
        return found;
    return path + ": " + std::to_string(here.size()) + " items here, " + std::to_string(there.size()) +
           " there";
  }
  if (here.is_string() && there.is_string())
    return differing_texts(path, here.get_ref<const std::string&>(), there.get_ref<const std::string&>());
  return path + ": " + canonical(here).substr(0, kExcerpt) + " here, " +
         canonical(there).substr(0, kExcerpt) + " there";
}

}  // namespace

std::string canonical(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string valid_utf8(std::string_view text) {
  const Json parsed = Json::parse(canonical(Json(std::string(text))), nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : std::string();
}

std::optional<Json> parse_json(std::string_view text) {
  if (deepest_nesting(text) > kDepth) return std::nullopt;
  Json value = Json::parse(text.begin(), text.end(), nullptr, false);
  if (value.is_discarded()) return std::nullopt;
  return value;
}

std::optional<Json> first_object(std::string_view text) {
  constexpr int kStarts = 1000;  // a text of braces alone must not take quadratic time
  constexpr size_t kLength = 1u << 20;
  text = text.substr(0, kLength);
  size_t begin = text.find('{');
  for (int i = 0; i < kStarts && begin != std::string_view::npos; ++i, begin = text.find('{', begin + 1)) {
    const size_t end = balanced_end(text, begin);
    if (end == std::string_view::npos) continue;
    auto value = parse_json(text.substr(begin, end - begin));
    if (value.has_value() && value->is_object()) return value;
  }
  return std::nullopt;
}

const Json& member(const Json& value, std::string_view key) {
  static const Json kNull;
  if (!value.is_object()) return kNull;
  const auto found = value.find(std::string(key));
  return found == value.end() ? kNull : *found;
}

std::string text_of(const Json& value, std::string_view key) {
  const Json& found = member(value, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::optional<uint64_t> count_of(const Json& value, std::string_view key) {
  const Json& found = member(value, key);
  if (found.is_number_unsigned()) return found.get<uint64_t>();
  if (found.is_number_integer() && found.get<int64_t>() >= 0) return found.get<uint64_t>();
  if (found.is_number_float() && found.get<double>() >= 0 && found.get<double>() < 1e15)
    return static_cast<uint64_t>(found.get<double>());
  return std::nullopt;
}

double number_of(const Json& value, std::string_view key, double otherwise) {
  const Json& found = member(value, key);
  return found.is_number() ? found.get<double>() : otherwise;
}

std::string first_difference(const Json& here, const Json& there) {
  return difference("$", here, there);
}

}  // namespace zomboss::policies::llm
