// The options of the policy; docs/llm.md has the table for people.
#pragma once

#include <cstdint>
#include <string>

#include "zomboss/sdk/message.h"
#include "zomboss/sdk/status.h"

namespace zomboss::policies::llm {

struct LlmOptions {
  std::string agent = "naive";  // naive, accelopt

  // Where the model is.
  std::string base_url = "http://127.0.0.1:8080/v1";
  std::string model = "default";
  std::string api_key_env;           // name of the environment variable with the key
  std::string api_key_file;          // or a file with it, mode 0600
  std::string headers;               // more headers: "Name:ENVIRONMENT_VARIABLE, ..."
  double temperature = -1;           // below 0: not sent
  std::string structured = "auto";   // auto, schema, tool, object, text
  std::string token_limit = "auto";  // auto, max_tokens, max_completion_tokens
  int64_t max_tokens = 4096;         // of one answer, reasoning included
  int64_t context_tokens = 100'000;  // a conversation beyond this starts anew from a digest

  // Patience with the server.
  int64_t tries = 6;
  int64_t max_wait_s = 300;  // all waits of one call together
  int64_t connect_timeout_s = 10;
  int64_t idle_timeout_s = 300;     // without a byte
  int64_t deadline_s = 600;         // of one request
  int64_t requests_per_minute = 0;  // 0 = no limit
  int64_t tokens_per_minute = 0;

  // The record.
  std::string mode = "live";  // live, replay, replay-lenient
  std::string transcript;     // of replay: the file; default the run's own
  std::string prices;         // file with prices

  // The search.
  std::string feedback = "full";          // full, latency
  std::string specification = "partial";  // partial, complete
  int64_t repairs = 2;                    // of an answer in the wrong form, in a row
  int64_t max_rejections = 24;            // proposals without an evaluation in a row; 0 = no such stop
  int64_t catalog_rows = 200;             // a longer catalog is shown by its knobs

  // accelopt.
  std::string executor = "auto";  // auto: only for plans that are not yet complete; always
  std::string experience;         // file of what other searches of the target learnt
  int64_t beam = 3;
  int64_t plans = 4;
  int64_t samples = 1;
  int64_t topk = 8;
  int64_t exp_n = 16;
  double positive = 1.04;
  double negative = 1.15;

  // Invalid argument, with the option's name and what it takes.
  static Result<LlmOptions> read(const wire::OptionsT& options);
};

}  // namespace zomboss::policies::llm
