// What an answer of the server means for the next step, and how long to wait before it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/policies/llm/json_text.h"
#include "zomboss/sdk/random.h"

namespace zomboss::policies::llm {

enum class Verdict {
  kAnswer,   // a chat completion
  kRetry,    // worth trying again
  kQuota,    // the account is spent: waiting does not help
  kDenied,   // the key or the address is wrong
  kRefused,  // the request itself is wrong (400, 413, 422)
};
std::string_view verdict_name(Verdict verdict);

// What came back of one attempt, live or from a transcript.
struct Reply {
  int64_t status = 0;
  std::string error;  // of the transport
  bool reached = true;
  bool permanent = false;
  int64_t retry_after_ms = -1;  // as the server asked; -1 = it did not
  std::string body;
  Json json;  // of the body; null when it is not JSON
};

// Also finds the error objects that proxies send with status 200.
Verdict classify(const Reply& reply);
// For people: status and the server's message.
std::string describe(const Reply& reply);
// The server says that the conversation is too long for its context.
bool is_context_overflow(const Reply& reply);
// Whether an attempt without usage may have been billed all the same.
bool maybe_billed(const Reply& reply);

// retry-after-ms, or Retry-After in seconds or as an HTTP date; `now` in seconds since 1970.
int64_t retry_after_ms(const std::map<std::string, std::string>& headers, int64_t now);
// How long the server's x-ratelimit-* headers ask to stay silent: 0 unless something remaining is 0.
int64_t rate_limit_ms(const std::map<std::string, std::string>& headers);
// "1s", "6m0s", "20ms", "1h2m": in milliseconds.
std::optional<int64_t> duration_ms(std::string_view text);

// Full jitter: uniform in [0, min(60 s, 0.5 s * 2^retry)], retry from 0.
int64_t backoff_ms(Random& random, int retry);

}  // namespace zomboss::policies::llm
