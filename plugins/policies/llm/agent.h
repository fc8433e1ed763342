// A way to lead the model: which questions, in which order, and what becomes of the answers. One instance
// leads one search; the policy owns it and the things that it refers to.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "plugins/policies/llm/chat_client.h"
#include "plugins/policies/llm/search_view.h"

namespace zomboss::policies::llm {

class Agent {
 public:
  virtual ~Agent() = default;
  // Nothing when the model gave no usable answer: the policy proposes at random. On an error the agent is as
  // before.
  virtual Result<std::optional<wire::ProposalT>> propose(sdk::Call& call, Turn& turn,
                                                         const wire::SearchStateT& state) = 0;
  // One item of feedback, in order; `tried` is its plan when that was evaluated, now or before.
  virtual void observe(const wire::FeedbackT& item, const Tried* tried) = 0;
  virtual Json save() const = 0;
  // False when it is no state of this agent; the agent must not be used then.
  virtual bool load(const Json& value) = 0;
};

std::unique_ptr<Agent> make_naive_agent(const SearchView& view, ChatClient& chat);
std::unique_ptr<Agent> make_accelopt_agent(const SearchView& view, ChatClient& chat);

// Shared: conversations as saved states keep them.
Json to_json(const std::vector<Message>& messages);
std::optional<std::vector<Message>> messages_from_json(const Json& value);
uint64_t estimate_tokens(const std::vector<Message>& messages);

}  // namespace zomboss::policies::llm
