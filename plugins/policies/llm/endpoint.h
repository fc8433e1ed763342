// Where requests go and what must never be seen: the URL, the headers with the key, and the redaction of
// everything that is stored or shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/policies/llm/llm_options.h"
#include "zomboss/sdk/status.h"

namespace zomboss::policies::llm {

// The texts that may not leave the process but in a header.
class Secrets {
 public:
  void add(std::string secret);
  // Each occurrence becomes "[redacted]", also as JSON writes it.
  std::string redact(std::string text) const;

 private:
  std::vector<std::string> secrets_;
};

struct Endpoint {
  std::string url;                   // of chat/completions
  std::vector<std::string> headers;  // "Name: value"
  bool loopback = false;
  Secrets secrets;

  // Reads the environment and the key file. Invalid argument for a URL that makes no sense; failed
  // precondition for a key that is missing, readable by others, or would go over plain HTTP to another
  // machine.
  static Result<Endpoint> open(const LlmOptions& options);
};

// "http://host:1" -> "http://host:1/v1/chat/completions"; a path that is there is kept.
std::string chat_url(std::string base_url);

}  // namespace zomboss::policies::llm
