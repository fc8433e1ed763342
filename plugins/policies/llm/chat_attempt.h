// What ChatClient's halves share: one attempt of a request.
#pragma once

#include "plugins/policies/llm/chat_client.h"

namespace zomboss::policies::llm {

// One request and what came of it.
struct ChatClient::Attempt {
  Reply reply;
  Verdict verdict = Verdict::kAnswer;
  Answer answer;  // of a kAnswer
  bool truncated = false;
  AttemptUse use;
  uint64_t latency_ms = 0;
  bool recorded = false;  // it came from the transcript
};

}  // namespace zomboss::policies::llm
