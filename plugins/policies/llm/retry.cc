#include "plugins/policies/llm/retry.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace zomboss::policies::llm {
namespace {

constexpr int64_t kLongestAsked = 3'600'000;  // a server that asks for more than an hour is not waited for

// The error object of the body, or null.
const Json& error_of(const Reply& reply) {
  return member(reply.json, "error");
}

std::string error_text(const Reply& reply) {
  const Json& error = error_of(reply);
  if (error.is_string()) return error.get<std::string>();
  for (const char* key : {"message", "type", "code"})
    if (std::string text = text_of(error, key); !text.empty()) return text;
  if (std::string text = text_of(reply.json, "message"); !text.empty()) return text;
  return text_of(reply.json, "detail");
}

bool is_quota(const Reply& reply) {
  const Json& error = error_of(reply);
  for (const char* key : {"code", "type"}) {
    const std::string word = text_of(error, key);
    if (word == "insufficient_quota" || word == "billing_hard_limit_reached" ||
        word == "insufficient_balance")
      return true;
  }
  return reply.status == 402;
}

Verdict of_status(int64_t status) {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return Verdict::kRefused;
    case 408:
    case 409:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
    case 529:
      return Verdict::kRetry;
    default:
      return status >= 500 ? Verdict::kRetry : Verdict::kDenied;
  }
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !(value >= 0) || value > 1e12)
    return std::nullopt;
  return value;
}

int64_t capped(double ms) {
  return static_cast<int64_t>(std::min(ms, static_cast<double>(kLongestAsked)));
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  constexpr std::string_view kNames[] = {"answer", "retry", "quota", "denied", "refused"};
  return kNames[static_cast<size_t>(verdict)];
}

Verdict classify(const Reply& reply) {
  if (reply.permanent) return Verdict::kDenied;
  if (reply.status == 0) return Verdict::kRetry;
  if (is_quota(reply)) return Verdict::kQuota;
  if (reply.status != 200) return of_status(reply.status);
  if (const Json& error = error_of(reply); !error.is_null()) {
    const auto code = count_of(error, "code");
    return code.has_value() && *code >= 400 && *code < 600 ? of_status(static_cast<int64_t>(*code))
                                                           : Verdict::kRetry;
  }
  // Something else answered: a proxy's page, half a body.
  const Json& choices = member(reply.json, "choices");
  return choices.is_array() && !choices.empty() && member(choices[0], "message").is_object()
             ? Verdict::kAnswer
             : Verdict::kRetry;
}

std::string describe(const Reply& reply) {
  constexpr size_t kLength = 300;
  if (!reply.error.empty()) return reply.error;
  std::string text = "HTTP " + std::to_string(reply.status);
  std::string why = error_text(reply);
  if (why.empty() && reply.status == 200) why = "not a chat completion";
  if (!why.empty()) text += ": " + why.substr(0, kLength);
  return text;
}

bool is_context_overflow(const Reply& reply) {
  if (reply.status == 413) return true;
  if (reply.status != 400 && reply.status != 422) return false;
  if (text_of(error_of(reply), "code") == "context_length_exceeded") return true;
  const std::string text = error_text(reply);
  return text.find("context") != std::string::npos &&
         (text.find("length") != std::string::npos || text.find("exceed") != std::string::npos ||
          text.find("size") != std::string::npos);
}

bool maybe_billed(const Reply& reply) {
  if (reply.status == 0) return reply.reached;
  if (reply.status == 200) return true;
  return reply.status == 500 || reply.status == 502 || reply.status == 504 || reply.status == 408;
}

int64_t retry_after_ms(const std::map<std::string, std::string>& headers, int64_t now) {
  if (const auto found = headers.find("retry-after-ms"); found != headers.end())
    if (const auto ms = number(found->second)) return capped(*ms);
  const auto found = headers.find("retry-after");
  if (found == headers.end()) return -1;
  if (const auto seconds = number(found->second)) return capped(std::ceil(*seconds * 1000));
  const time_t date = curl_getdate(found->second.c_str(), nullptr);
  if (date < 0) return -1;
  return capped(1000.0 * static_cast<double>(std::max<int64_t>(0, static_cast<int64_t>(date) - now)));
}

std::optional<int64_t> duration_ms(std::string_view text) {
  if (const auto seconds = number(text)) return capped(std::ceil(*seconds * 1000));
  double total = 0;
  while (!text.empty()) {
    const size_t digits = text.find_first_not_of("0123456789.");
    if (digits == 0 || digits == std::string_view::npos) return std::nullopt;
    const auto value = number(text.substr(0, digits));
    if (!value) return std::nullopt;
    text.remove_prefix(digits);
    const size_t unit = std::min(text.find_first_of("0123456789."), text.size());
    const std::string_view name = text.substr(0, unit);
    const double scale = name == "ms"  ? 1
                         : name == "s" ? 1000
                         : name == "m" ? 60'000
                         : name == "h" ? 3'600'000
                         : name == "d" ? 86'400'000
                                       : -1;
    if (scale < 0) return std::nullopt;
    total += *value * scale;
    text.remove_prefix(unit);
  }
  return capped(std::ceil(total));
}

int64_t rate_limit_ms(const std::map<std::string, std::string>& headers) {
  int64_t wait = 0;
  for (const char* kind : {"requests", "tokens"}) {
    const auto remaining = headers.find(std::string("x-ratelimit-remaining-") + kind);
    const auto reset = headers.find(std::string("x-ratelimit-reset-") + kind);
    if (remaining == headers.end() || reset == headers.end()) continue;
    if (const auto left = number(remaining->second); !left || *left >= 1) continue;
    wait = std::max(wait, duration_ms(reset->second).value_or(0));
  }
  return wait;
}

int64_t backoff_ms(Random& random, int retry) {
  const int64_t longest = std::min<int64_t>(60'000, int64_t{500} << std::min(retry, 20));
  return random.between(0, longest);
}

}  // namespace zomboss::policies::llm
