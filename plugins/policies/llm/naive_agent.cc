// One conversation: the facts, then an answer and its measurement, turn by turn. Earlier turns are never
// rewritten; a conversation that grows too long starts anew from a digest of what was learnt.
#include <algorithm>

#include "plugins/policies/llm/agent.h"
#include "plugins/policies/llm/forms.h"
#include "plugins/policies/llm/numbers.h"
#include "plugins/policies/llm/prompt.h"

namespace zomboss::policies::llm {
namespace {

constexpr size_t kStatisticsEvery = 10;  // evaluations
constexpr size_t kDigestRows = 40;

class NaiveAgent final : public Agent {
 public:
  NaiveAgent(const SearchView& view, ChatClient& chat)
      : view_(view), chat_(chat), form_(proposal_form(view)) {}

  Result<std::optional<wire::ProposalT>> propose(sdk::Call& call, Turn& turn,
                                                 const wire::SearchStateT& state) override;
  void observe(const wire::FeedbackT& item, const Tried* tried) override {
    results_ += (results_.empty() ? "" : "\n") + ("RESULT " + result_text(view_, item, tried));
  }
  Json save() const override;
  bool load(const Json& value) override;

 private:
  Json schema() const;
  std::vector<std::string> check(const Json& answer) const;
  std::vector<Message> fresh_conversation(const wire::SearchStateT& state, bool first) const;
  std::string digest() const;
  std::string next_turn(const wire::SearchStateT& state) const;
  bool statistics_due() const { return view_.journal.evaluations() >= told_ + kStatisticsEvery; }

  const SearchView& view_;
  ChatClient& chat_;
  std::unique_ptr<Form> form_;
  std::vector<Message> messages_;  // as the model saw it, its last answer included
  std::string results_;            // of the last proposal
  bool in_its_place_ = false;      // the last proposal was not the model's
  size_t told_ = 0;                // evaluations at the last table of knob values
};

Json NaiveAgent::schema() const {
  Json schema = form_->schema();
  schema["properties"]["action"] = names_schema({"propose", "stop"});
  schema["required"].push_back("action");
  return schema;
}

std::vector<std::string> NaiveAgent::check(const Json& answer) const {
  if (text_of(answer, "action") != "stop") return form_->errors(answer);
  if (view_.journal.evaluations() == 0) return {"$.action: stop needs at least one evaluated proposal"};
  return {};
}

std::string NaiveAgent::digest() const {
  std::vector<const Tried*> rows;
  for (const Tried& tried : view_.journal.tried())
    if (tried.verified) rows.push_back(&tried);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Tried* a, const Tried* b) { return a->latency < b->latency; });
  rows.resize(std::min(rows.size(), kDigestRows));
  std::string text =
      "DIGEST of " + std::to_string(view_.journal.evaluations()) + " evaluations, fastest first\n";
  for (const Tried* tried : rows)
    text += latency_text(view_, *tried) + " | " + view_.vocabulary.changes(view_.space.start, tried->point) +
            "\n";
  if (!view_.full_feedback()) return text;
  return text + "KNOBS value n, best latency, median vs best\n" + view_.journal.statistics(view_.vocabulary);
}

std::vector<Message> NaiveAgent::fresh_conversation(const wire::SearchStateT& state, bool first) const {
  std::string text = view_.facts + "\n";
  if (!first) text += digest() + "\n" + standing_text(view_, state, false) + "\n\n";
  text += budget_text(state) + "\nTASK " + form_->task() +
          " `action` is propose; stop (with the justification in `reason`) ends the search when nothing "
          "better can be "
          "expected.";
  return {{"system", system_text()}, {"user", std::move(text)}};
}

std::string NaiveAgent::next_turn(const wire::SearchStateT& state) const {
  std::string text;
  if (in_its_place_) text = "The controller proposed in your place.\n";
  return text + results_ + (results_.empty() ? "" : "\n") + standing_text(view_, state, statistics_due());
}

Result<std::optional<wire::ProposalT>> NaiveAgent::propose(sdk::Call& call, Turn& turn,
                                                           const wire::SearchStateT& state) {
  Ask ask;
  ask.role = "naive";
  ask.schema = schema();
  ask.check = [this](const Json& answer) { return check(answer); };
  ask.messages = messages_;
  if (messages_.empty())
    ask.messages = fresh_conversation(state, view_.journal.evaluations() == 0);
  else
    ask.messages.push_back({"user", next_turn(state)});
  const auto room = static_cast<uint64_t>(std::max<int64_t>(
      view_.options.context_tokens - view_.options.max_tokens, view_.options.context_tokens / 2));
  bool fresh = messages_.empty();
  if (!fresh && estimate_tokens(ask.messages) > room) {
    ask.messages = fresh_conversation(state, false);
    fresh = true;
  }
  auto answer = chat_.ask_and_repair(call, turn, ask);
  if (!answer.ok() && answer.status().code() == Code::kOutOfRange && !fresh) {
    ask.messages = fresh_conversation(state, false);
    fresh = true;
    answer = chat_.ask_and_repair(call, turn, ask);
  }
  if (!answer.ok()) return std::move(answer).status();
  if (fresh || statistics_due()) told_ = view_.journal.evaluations();
  messages_ = std::move(ask.messages);
  messages_.push_back({"assistant", answer->ok ? canonical(answer->value) : "(no usable answer)"});
  results_.clear();
  in_its_place_ = !answer->ok;
  if (!answer->ok) return std::optional<wire::ProposalT>();
  wire::ProposalT proposal;
  if (text_of(answer->value, "action") != "stop") proposal = form_->proposal(answer->value);
  proposal.rationale = text_of(answer->value, "reason");
  return std::optional<wire::ProposalT>(std::move(proposal));
}

Json NaiveAgent::save() const {
  return {{"messages", to_json(messages_)},
          {"results", results_},
          {"in_its_place", in_its_place_},
          {"told", told_}};
}

bool NaiveAgent::load(const Json& value) {
  auto messages = messages_from_json(member(value, "messages"));
  const auto told = count_of(value, "told");
  if (!messages.has_value() || !told.has_value() || !member(value, "results").is_string()) return false;
  messages_ = *std::move(messages);
  results_ = text_of(value, "results");
  in_its_place_ = member(value, "in_its_place") == Json(true);
  told_ = *told;
  return true;
}

}  // namespace

std::unique_ptr<Agent> make_naive_agent(const SearchView& view, ChatClient& chat) {
  return std::make_unique<NaiveAgent>(view, chat);
}

Json to_json(const std::vector<Message>& messages) {
  Json list = Json::array();
  for (const Message& message : messages) list.push_back({message.role, message.content});
  return list;
}

std::optional<std::vector<Message>> messages_from_json(const Json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<Message> messages;
  for (const Json& each : value) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_string())
      return std::nullopt;
    messages.push_back({each[0].get<std::string>(), each[1].get<std::string>()});
  }
  return messages;
}

uint64_t estimate_tokens(const std::vector<Message>& messages) {
  size_t bytes = 0;
  for (const Message& message : messages) bytes += message.content.size() + 16;
  return estimate_tokens(bytes);
}

}  // namespace zomboss::policies::llm
