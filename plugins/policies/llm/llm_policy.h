// A language model as search policy: it is told the surface, the default mapping and measurements, and
// proposes mapping decisions. Two agents: naive (a conversation with one proposal a turn) and accelopt
// (planner, executor and summarizer over a beam of plans, with a memory of experience). docs/llm.md is the
// manual.
//
// The same context, feedback and answers of the server give the same proposals; with mode = replay the
// answers come from a transcript. propose talks to the server and may take minutes; it looks at cancellation
// ten times a second.
#pragma once

#include <memory>
#include <string>

#include "plugins/policies/llm/agent.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::policies::llm {

class LlmPolicy {
 public:
  static Result<std::unique_ptr<LlmPolicy>> create(sdk::Call&, const wire::OptionsT& options);
  Status start(sdk::Call&, const wire::SearchContextT& context);
  Result<wire::ProposalT> propose(sdk::Call& call, const wire::SearchStateT& state);
  Status observe(sdk::Call&, const wire::FeedbackBatchT& feedback);
  Result<std::string> save(sdk::Call&) const;
  Status load(sdk::Call&, Bytes bytes);

 private:
  std::unique_ptr<Agent> new_agent() const;
  Result<wire::ProposalT> next_proposal(sdk::Call& call, Turn& turn, const wire::SearchStateT& state);

  LlmOptions options_;
  bool started_ = false;
  bool token_budget_ = false;
  bool cost_budget_ = false;
  SearchView view_;
  Journal fresh_journal_;  // of a search without evaluations
  std::unique_ptr<ChatClient> chat_;
  std::unique_ptr<Agent> agent_;  // refers to view_ and chat_
  uint32_t turns_ = 0;            // proposals made
};

}  // namespace zomboss::policies::llm
