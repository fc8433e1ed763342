// Asks the model for one JSON object: builds the request, keeps to budgets and limits, tries again where that
// helps, records every attempt before its answer is used, and reads the answer. One thread, one search.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/policies/llm/answer.h"
#include "plugins/policies/llm/endpoint.h"
#include "plugins/policies/llm/http_client.h"
#include "plugins/policies/llm/llm_options.h"
#include "plugins/policies/llm/rate_limit.h"
#include "plugins/policies/llm/retry.h"
#include "plugins/policies/llm/transcript.h"
#include "plugins/policies/llm/usage.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::policies::llm {

struct Message {
  std::string role;  // system, user, assistant
  std::string content;
  bool operator==(const Message&) const = default;
};

// How the server is made to answer in JSON, from the strictest to none at all.
enum class Structure { kSchema, kTool, kObject, kText };

// What the server was found to take.
struct Capabilities {
  Structure structure = Structure::kSchema;
  bool completion_tokens = false;  // max_completion_tokens instead of max_tokens
  bool temperature = true;
  bool operator==(const Capabilities&) const = default;
};
Json to_json(const Capabilities& capabilities);
std::optional<Capabilities> capabilities_from_json(const Json& value);

struct Ask {
  std::string role;  // naive, planner, executor, summarizer, probe: for the record
  std::vector<Message> messages;
  Json schema;
  // What the schema cannot say; a line for each thing that is wrong.
  std::function<std::vector<std::string>(const Json&)> check;
};

struct Answer {
  bool ok = false;
  Json value;                       // obeys schema and check when ok
  std::string text;                 // the model's words
  std::vector<std::string> errors;  // when not ok
  bool recorded = false;            // it was taken from the transcript
};

// One proposal: what its calls took and what may still be spent.
struct Turn {
  uint32_t number = 0;
  uint32_t calls = 0;
  wire::UsageT usage;
  std::optional<uint64_t> tokens_left;  // nothing = no such budget
  std::optional<double> cost_left;
  std::string cut;  // the server or a budget ended the turn before its time; what it has is still proposed
};

class ChatClient {
 public:
  // `folder` empty: no transcript.
  static Result<std::unique_ptr<ChatClient>> open(const LlmOptions& options, const std::string& folder,
                                                  uint64_t seed);

  // Resource exhausted: a budget is spent. Unavailable: the server failed too often, or the account is spent;
  // the run may be resumed later. Out of range: the conversation is too long for the server. Cancelled,
  // unauthenticated, failed precondition (also of replay), data loss: no use to go on. `ask.messages` must
  // not depend on anything but the search so far.
  Result<Answer> ask(sdk::Call& call, Turn& turn, const Ask& ask);
  // The same with up to `repairs` more tries when the answer has the wrong form: the bad answer and the list
  // of what is wrong with it are appended to ask.messages.
  Result<Answer> ask_and_repair(sdk::Call& call, Turn& turn, Ask& ask);

  Transcript& transcript() { return transcript_; }
  const std::optional<Capabilities>& capabilities() const { return capabilities_; }
  void set_capabilities(std::optional<Capabilities> capabilities) { capabilities_ = capabilities; }

 private:
  struct Attempt;
  ChatClient(const LlmOptions& options, uint64_t seed);
  Status find_capabilities(sdk::Call& call, Turn& turn);
  Status probe(sdk::Call& call, Turn& turn);
  Result<Answer> ask_as_found(sdk::Call& call, Turn& turn, const Ask& ask, int64_t max_tokens);
  Json request_of(const Ask& ask, int64_t max_tokens) const;
  Result<Attempt> exchange(sdk::Call& call, Turn& turn, const Ask& ask, const Json& request,
                           int64_t max_tokens);
  static void recall(const Json& record, Attempt& attempt);
  static Json record_of(const Attempt& attempt, const Json& request);
  Status recorded_end() const;
  Status within_budget(const Turn& turn, uint64_t prompt, int64_t max_tokens) const;
  Status send(sdk::Call& call, const Json& request, int64_t max_tokens, Attempt& attempt);
  Status wait(sdk::Call& call, int64_t ms) const;
  void interpret(const Ask& ask, Attempt& attempt) const;
  void warn_of_truncation(sdk::Call& call, const Json& request, const TokenUse& use);
  AttemptUse price(const Json& request, const Attempt& attempt) const;
  bool adapt(const Reply& reply);

  LlmOptions options_;
  uint64_t seed_;
  Endpoint endpoint_;
  PriceTable prices_;
  Transcript transcript_;
  HttpClient http_;
  RateLimit limit_;
  std::optional<Capabilities> capabilities_;
  bool warned_ = false;  // of a server that cuts prompts
};

}  // namespace zomboss::policies::llm
