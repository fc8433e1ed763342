#include "plugins/policies/llm/llm_options.h"

#include "plugins/policies/common/options.h"

namespace zomboss::policies::llm {

Result<LlmOptions> LlmOptions::read(const wire::OptionsT& options) {
  LlmOptions o;
  OptionReader reader("llm", options);
  ZB_TRY(reader.word("agent", {"naive", "accelopt"}, o.agent));
  ZB_TRY(reader.text("base_url", o.base_url));
  ZB_TRY(reader.text("model", o.model));
  ZB_TRY(reader.text("api_key_env", o.api_key_env));
  ZB_TRY(reader.text("api_key_file", o.api_key_file));
  ZB_TRY(reader.text("headers", o.headers));
  ZB_TRY(reader.real("temperature", -1, 2, o.temperature));
  ZB_TRY(reader.word("structured", {"auto", "schema", "tool", "object", "text"}, o.structured));
  ZB_TRY(reader.word("token_limit", {"auto", "max_tokens", "max_completion_tokens"}, o.token_limit));
  ZB_TRY(reader.integer("max_tokens", 64, 1'000'000, o.max_tokens));
  ZB_TRY(reader.integer("context_tokens", 2000, 10'000'000, o.context_tokens));
  ZB_TRY(reader.integer("tries", 1, 100, o.tries));
  ZB_TRY(reader.integer("max_wait_s", 0, 86'400, o.max_wait_s));
  ZB_TRY(reader.integer("connect_timeout_s", 1, 3600, o.connect_timeout_s));
  ZB_TRY(reader.integer("idle_timeout_s", 1, 86'400, o.idle_timeout_s));
  ZB_TRY(reader.integer("deadline_s", 1, 86'400, o.deadline_s));
  ZB_TRY(reader.integer("requests_per_minute", 0, 1'000'000, o.requests_per_minute));
  ZB_TRY(reader.integer("tokens_per_minute", 0, 1'000'000'000, o.tokens_per_minute));
  ZB_TRY(reader.word("mode", {"live", "replay", "replay-lenient"}, o.mode));
  ZB_TRY(reader.text("transcript", o.transcript));
  ZB_TRY(reader.text("prices", o.prices));
  ZB_TRY(reader.word("feedback", {"full", "latency"}, o.feedback));
  ZB_TRY(reader.word("specification", {"partial", "complete"}, o.specification));
  ZB_TRY(reader.integer("repairs", 0, 10, o.repairs));
  ZB_TRY(reader.integer("max_rejections", 0, 1'000'000, o.max_rejections));
  ZB_TRY(reader.integer("catalog_rows", 0, 5000, o.catalog_rows));
  ZB_TRY(reader.word("executor", {"auto", "always"}, o.executor));
  ZB_TRY(reader.text("experience", o.experience));
  ZB_TRY(reader.integer("beam", 1, 64, o.beam));
  ZB_TRY(reader.integer("plans", 1, 64, o.plans));
  ZB_TRY(reader.integer("samples", 1, 16, o.samples));
  ZB_TRY(reader.integer("topk", 0, 64, o.topk));
  ZB_TRY(reader.integer("exp_n", 0, 256, o.exp_n));
  ZB_TRY(reader.real("positive", 1, 100, o.positive));
  ZB_TRY(reader.real("negative", 1, 100, o.negative));
  ZB_TRY(reader.finish());
  if (o.plans * o.samples > 256)
    return invalid_argument(
        "policy llm: plans times samples may be at most 256 intents of one proposal, they are " +
        std::to_string(o.plans * o.samples));
  return o;
}

}  // namespace zomboss::policies::llm
