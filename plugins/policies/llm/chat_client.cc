#include "plugins/policies/llm/chat_client.h"

#include "plugins/policies/llm/chat_attempt.h"

namespace zomboss::policies::llm {
namespace {

ReplayMode replay_mode(const std::string& mode) {
  return mode == "live" ? ReplayMode::kLive : mode == "replay" ? ReplayMode::kStrict : ReplayMode::kLenient;
}

}  // namespace

ChatClient::ChatClient(const LlmOptions& options, uint64_t seed)
    : options_(options), seed_(seed), limit_(options.requests_per_minute, options.tokens_per_minute) {}

Result<std::unique_ptr<ChatClient>> ChatClient::open(const LlmOptions& options, const std::string& folder,
                                                     uint64_t seed) {
  std::unique_ptr<ChatClient> client(new ChatClient(options, seed));
  const ReplayMode mode = replay_mode(options.mode);
  if (mode == ReplayMode::kLive) {  // a replay needs no key
    ZB_ASSIGN(client->endpoint_, Endpoint::open(options));
  }
  if (!options.prices.empty()) {
    ZB_ASSIGN(client->prices_, PriceTable::open(options.prices));
  }
  std::string path = folder.empty() ? "" : folder + "/llm.jsonl";
  if (mode != ReplayMode::kLive && !options.transcript.empty()) path = options.transcript;
  ZB_ASSIGN(client->transcript_, Transcript::open(mode, path));
  return client;
}

Result<Answer> ChatClient::ask(sdk::Call& call, Turn& turn, const Ask& ask) {
  ZB_TRY(find_capabilities(call, turn));
  return ask_as_found(call, turn, ask, options_.max_tokens);
}

Result<Answer> ChatClient::ask_and_repair(sdk::Call& call, Turn& turn, Ask& ask) {
  constexpr size_t kShownAnswer = 600;
  for (int64_t repair = 0;; ++repair) {
    ZB_ASSIGN(Answer answer, this->ask(call, turn, ask));
    if (answer.ok || repair >= options_.repairs) return answer;
    std::string said = answer.text.empty() ? "(nothing)" : answer.text;
    if (said.size() > kShownAnswer) said = valid_utf8(said.substr(0, kShownAnswer)) + "...";
    std::string list = "REJECTED malformed:";
    for (const std::string& error : answer.errors) list += "\n- " + error;
    ask.messages.push_back({"assistant", said});
    ask.messages.push_back({"user", list + "\nAnswer again with one JSON object."});
  }
}

Result<Answer> ChatClient::ask_as_found(sdk::Call& call, Turn& turn, const Ask& ask, int64_t max_tokens) {
  bool asked_longer = false;
  ++turn.calls;
  for (;;) {
    const Json request = request_of(ask, max_tokens);
    ZB_ASSIGN(Attempt attempt, exchange(call, turn, ask, request, max_tokens));
    if (attempt.verdict == Verdict::kRefused) {
      if (is_context_overflow(attempt.reply))
        return Status(Code::kOutOfRange, "the server's context is too short: " + describe(attempt.reply));
      if (adapt(attempt.reply)) continue;
      return failed_precondition("the server refuses the request: " +
                                 endpoint_.secrets.redact(describe(attempt.reply)));
    }
    if (!attempt.answer.ok) ++turn.usage.malformed;
    if (!attempt.truncated || asked_longer) return std::move(attempt.answer);
    asked_longer = true;
    max_tokens *= 2;
  }
}

Json ChatClient::request_of(const Ask& ask, int64_t max_tokens) const {
  const Capabilities found = capabilities_.value_or(Capabilities());
  Json messages = Json::array();
  for (const Message& message : ask.messages)
    messages.push_back({{"role", message.role}, {"content", valid_utf8(message.content)}});
  Json request = {{"model", options_.model}};
  request[found.completion_tokens ? "max_completion_tokens" : "max_tokens"] = max_tokens;
  if (options_.temperature >= 0 && found.temperature) request["temperature"] = options_.temperature;
  switch (found.structure) {
    case Structure::kSchema:
      request["response_format"] = {
          {"type", "json_schema"},
          {"json_schema", {{"name", "answer"}, {"strict", true}, {"schema", ask.schema}}}};
      break;
    case Structure::kTool:
      request["tools"] = Json::array(
          {{{"type", "function"},
            {"function",
             {{"name", "answer"}, {"description", "Gives the answer."}, {"parameters", ask.schema}}}}});
      request["tool_choice"] = "required";
      break;
    case Structure::kObject:
    case Structure::kText:
      if (found.structure == Structure::kObject) request["response_format"] = {{"type", "json_object"}};
      if (!messages.empty())  // in front of everything that changes
        messages[0]["content"] = messages[0]["content"].get<std::string>() +
                                 "\nAnswer with one JSON object of this JSON schema:\n" +
                                 canonical(ask.schema) + "\nExample of the form, not of the content:\n" +
                                 canonical(example_of(ask.schema));
  }
  request["messages"] = std::move(messages);
  return request;
}

void ChatClient::interpret(const Ask& ask, Attempt& attempt) const {
  attempt.verdict = classify(attempt.reply);
  if (attempt.verdict != Verdict::kAnswer) return;
  Extracted extracted = extract_answer(attempt.reply.json);
  Answer& answer = attempt.answer;
  answer.recorded = attempt.recorded;
  answer.text = std::move(extracted.text);
  attempt.truncated = extracted.truncated;
  if (extracted.value.is_null()) {
    answer.errors = {extracted.problem};
    return;
  }
  normalise(ask.schema, extracted.value);
  answer.errors = schema_errors(ask.schema, extracted.value);
  if (answer.errors.empty() && ask.check) answer.errors = ask.check(extracted.value);
  answer.ok = answer.errors.empty();
  answer.value = std::move(extracted.value);
}

}  // namespace zomboss::policies::llm
