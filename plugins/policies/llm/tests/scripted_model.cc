#include "plugins/policies/llm/tests/scripted_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/policies/common/state_bytes.h"
#include "plugins/policies/llm/answer.h"
#include "zomboss/sdk/random.h"

namespace zomboss::policies::llm::testing {
namespace {

struct Knob {
  std::string name;
  std::vector<std::string> values;
  std::string start;
};

struct Row {
  std::string name;
  double estimate = 0;
};

// What the prompt says, as far as the model looks at it.
struct Prompt {
  std::vector<Knob> knobs;
  std::vector<Row> rows;
  std::set<std::string> tried;
  std::vector<std::string> near;  // rows that the prompt or an error proposes, the last ones first
  std::map<std::string, std::string> parent;  // decisions of the planner's parent
  std::string best;
};

bool starts_with(const std::string& text, std::string_view start) {
  return text.compare(0, start.size(), start) == 0;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// "category . knob : {a, b} default=a [note]"
void read_knob(const std::string& line, Prompt& prompt) {
  const size_t dot = line.find(" . "), colon = line.find(" : {"), close = line.find("} default=");
  if (dot == std::string::npos || colon == std::string::npos || close == std::string::npos || colon < dot)
    return;
  Knob knob;
  knob.name = line.substr(dot + 3, colon - dot - 3);
  std::istringstream values(line.substr(colon + 4, close - colon - 4));
  for (std::string value; std::getline(values, value, ',');)
    knob.values.push_back(value.substr(value.find_first_not_of(' ')));
  knob.start = words_of(line.substr(close + 10)).at(0);
  prompt.knobs.push_back(std::move(knob));
}

void read_near(const std::string& line, Prompt& prompt) {
  std::vector<std::string> near;
  for (const std::string& word : words_of(line.substr(line.find("nearest rows:"))))
    if (word.size() >= 4 && word[0] == 'm' && word.find_first_not_of("0123456789", 1) == std::string::npos)
      near.push_back(word);
  prompt.near.insert(prompt.near.begin(), near.begin(), near.end());
}

void read_line(const std::string& line, const std::string& before, Prompt& prompt) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty()) return;
  read_knob(line, prompt);
  if (words.size() > 2 && words[0][0] == 'm' && words[1] == "|" && line.find('=') != std::string::npos) {
    Row row{words[0], 0};
    for (size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "est") row.estimate = std::stod(words[i + 1]);
    prompt.rows.push_back(row);
  }
  if (words[0] == "TRIED") prompt.tried.insert(words.begin() + 1, words.end());
  if (words[0] == "DEFAULT" && words.size() > 1) prompt.tried.insert(words[1]);
  if (starts_with(line, "RESULT REJECTED duplicate of ")) prompt.tried.insert(words[4]);
  if (words[0] == "BEST" && words.size() > 1) prompt.best = words[1];
  if (line.find("nearest rows:") != std::string::npos) read_near(line, prompt);
  if (starts_with(before, "PARENT "))
    for (const std::string& word : words)
      if (const size_t equals = word.find('='); equals != std::string::npos)
        prompt.parent[word.substr(0, equals)] = word.substr(equals + 1);
}

Prompt read_prompt(const Json& request) {
  Prompt prompt;
  for (const Json& message : member(request, "messages")) {
    std::istringstream stream(text_of(message, "content"));
    std::string before;
    for (std::string line; std::getline(stream, line); before = line) read_line(line, before, prompt);
  }
  return prompt;
}

std::string choose_row(const Prompt& prompt, Random& random) {
  for (const std::string& row : prompt.near)
    if (prompt.tried.count(row) == 0) return row;
  const Row* best = nullptr;
  std::vector<const Row*> fresh;
  for (const Row& row : prompt.rows) {
    if (prompt.tried.count(row.name) != 0) continue;
    fresh.push_back(&row);
    if (best == nullptr || row.estimate < best->estimate) best = &row;
  }
  if (best == nullptr) return "";
  return best->estimate > 0 ? best->name : fresh[random.below(fresh.size())]->name;
}

const std::string& other_value(const Knob& knob, const std::string& than, Random& random) {
  size_t at = random.below(knob.values.size());
  if (knob.values[at] == than) at = (at + 1) % knob.values.size();
  return knob.values[at];
}

Json planned_changes(const Prompt& prompt, Random& random) {
  Json changes = Json::array();
  const size_t count = 1 + random.below(std::min<size_t>(2, prompt.knobs.size()));
  const size_t first = random.below(prompt.knobs.size());
  for (size_t i = 0; i < count; ++i) {
    const Knob& knob = prompt.knobs[(first + i) % prompt.knobs.size()];
    const auto parent = prompt.parent.find(knob.name);
    changes.push_back(
        {{"knob", knob.name},
         {"value", other_value(knob, parent == prompt.parent.end() ? knob.start : parent->second, random)}});
  }
  return changes;
}

void fill_region(const Prompt& prompt, const Json& properties, Random& random, Json& answer) {
  const size_t count = prompt.knobs.size();
  const size_t first = random.below(count);
  const Knob& preferred = prompt.knobs[first];
  answer["hard"] = Json::array();
  answer["preferred"] =
      Json::array({{{"knob", preferred.name}, {"value", other_value(preferred, preferred.start, random)}}});
  answer["auto"] = Json::array();
  if (!properties.contains("diversity")) return;
  answer["diversity"] = {prompt.knobs[(first + 1) % count].name};
  if (count > 2) answer["diversity"].push_back(prompt.knobs[(first + 2) % count].name);
  answer["center_plan"] = prompt.best.empty() || random.below(3) == 0 ? Json() : Json(prompt.best);
  answer["radius"] = "2";
}

}  // namespace

Json schema_of(const Json& request) {
  const Json& schema = member(member(member(request, "response_format"), "json_schema"), "schema");
  if (!schema.is_null()) return schema;
  const Json& tools = member(request, "tools");
  if (tools.is_array() && !tools.empty()) return member(member(tools[0], "function"), "parameters");
  for (const Json& message : member(request, "messages")) {
    const std::string content = text_of(message, "content");
    const std::string_view mark = "JSON schema:\n";
    if (const size_t at = content.find(mark); at != std::string::npos)
      return first_object(std::string_view(content).substr(at + mark.size())).value_or(Json());
  }
  return nullptr;
}

Json model_answer(const Json& request) {
  const Json schema = schema_of(request);
  const Json& properties = member(schema, "properties");
  Random random(fnv1a(canonical(member(request, "messages"))), 0);
  Json answer = example_of(schema);
  const Prompt prompt = read_prompt(request);
  if (answer.contains("action")) answer["action"] = "propose";
  if (answer.contains("reason"))
    answer["reason"] = "the default leaves engines idle; this should overlap them";
  if (prompt.knobs.empty()) return answer;
  if (properties.contains("changes")) {
    answer["changes"] = planned_changes(prompt, random);
  } else if (properties.contains("preferred")) {
    fill_region(prompt, properties, random, answer);
  } else if (!properties.contains("lesson")) {
    for (const auto& [name, inner] : properties.items())
      if (const Json& values = member(inner, "enum"); values.is_array() && name != "action")
        answer[name] = values[random.below(values.size())];
    if (properties.contains("mapping_id")) {
      const std::string row = choose_row(prompt, random);
      answer["mapping_id"] = row.empty() ? Json() : Json(row);
    }
  }
  return answer;
}

Json wrong_answer(const Json& request) {
  Json answer = model_answer(request);
  if (answer.contains("mapping_id"))
    answer["mapping_id"] = "m9999";
  else if (answer.contains("changes"))
    answer["changes"][0]["value"] = "no such value";
  else if (answer.contains("preferred"))
    answer["preferred"] = Json::array({{{"knob", answer["diversity"][0]}, {"value", "no such value"}}});
  return answer;
}

Json default_answer(const Json& request) {
  Json answer = model_answer(request);
  const Prompt prompt = read_prompt(request);
  for (const Knob& knob : prompt.knobs)
    if (answer.contains(knob.name)) answer[knob.name] = knob.start;
  if (answer.contains("mapping_id")) answer["mapping_id"] = nullptr;
  return answer;
}

}  // namespace zomboss::policies::llm::testing
