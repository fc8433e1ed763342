// ChatClient's way to the server and back: attempts, waits, budgets, the record.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "plugins/policies/llm/chat_attempt.h"

namespace zomboss::policies::llm {
namespace {

int64_t monotonic_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

std::string today() {
  const time_t now = ::time(nullptr);
  tm parts{};
  ::gmtime_r(&now, &parts);
  char text[16];
  return {text, ::strftime(text, sizeof text, "%Y-%m-%d", &parts)};
}

}  // namespace

void ChatClient::recall(const Json& record, Attempt& attempt) {
  attempt.recorded = true;
  Reply& reply = attempt.reply;
  reply.status = static_cast<int64_t>(count_of(record, "status").value_or(0));
  reply.error = text_of(record, "error");
  reply.reached = member(record, "reached") != Json(false);
  reply.permanent = member(record, "permanent") == Json(true);
  const auto retry_after = count_of(record, "retry_after_ms");
  reply.retry_after_ms = retry_after.has_value() ? static_cast<int64_t>(*retry_after) : -1;
  reply.body = text_of(record, "response");
  attempt.use = use_from_json(member(record, "usage"));
}

Json ChatClient::record_of(const Attempt& attempt, const Json& request) {
  const Reply& reply = attempt.reply;
  const bool malformed = attempt.verdict == Verdict::kAnswer && !attempt.answer.ok;
  return {{"kind", "attempt"},
          {"hash", request_hash(request)},
          {"request", request},
          {"status", reply.status},
          {"error", reply.error},
          {"reached", reply.reached},
          {"permanent", reply.permanent},
          {"retry_after_ms", reply.retry_after_ms},
          {"latency_ms", attempt.latency_ms},
          {"response", reply.body},
          {"usage", to_json(attempt.use)},
          {"action", attempt.answer.ok ? attempt.answer.value : Json()},
          {"verdict", malformed ? "malformed: " + attempt.answer.errors[0]
                                : std::string(verdict_name(attempt.verdict))}};
}

Result<ChatClient::Attempt> ChatClient::exchange(sdk::Call& call, Turn& turn, const Ask& ask,
                                                 const Json& request, int64_t max_tokens) {
  const std::string where =
      "turn " + std::to_string(turn.number) + ", call " + std::to_string(turn.calls) + " (" + ask.role + ")";
  Random random(seed_, (uint64_t{turn.number} << 32) | turn.calls);
  int64_t waited = 0;
  for (int tried = 1;; ++tried) {
    Attempt attempt;
    ZB_TRY(recorded_end());
    if (!transcript_.attempt_follows())
      ZB_TRY(within_budget(turn, estimate_tokens(canonical(request).size()), max_tokens));
    ZB_ASSIGN(const std::optional<Json> record, transcript_.next_attempt(request, where));
    if (record.has_value()) {
      recall(*record, attempt);
    } else {
      ZB_TRY(send(call, request, max_tokens, attempt));
    }
    attempt.reply.json = parse_json(attempt.reply.body).value_or(Json());
    interpret(ask, attempt);
    if (!attempt.recorded) {
      attempt.use = price(request, attempt);
      Json line = record_of(attempt, request);
      line["turn"] = turn.number;
      line["call"] = turn.calls;
      line["attempt"] = tried;
      line["role"] = ask.role;
      ZB_TRY(transcript_.append(line));
    }
    add(attempt.use, turn.usage);
    if (!attempt.recorded) warn_of_truncation(call, request, attempt.use.tokens);
    if (attempt.verdict == Verdict::kAnswer || attempt.verdict == Verdict::kRefused) return attempt;

    if (attempt.recorded) {
      if (transcript_.attempt_follows(request)) continue;
      if (transcript_.live() && transcript_.at_end()) {  // the run ended with this failure and now goes on
        tried = 0;
        waited = 0;
        continue;
      }
    }
    const std::string why = endpoint_.secrets.redact(describe(attempt.reply));
    if (attempt.verdict == Verdict::kQuota)
      return Status(Code::kUnavailable, "the account of the language model is spent: " + why);
    if (attempt.verdict == Verdict::kDenied)
      return Status(Code::kUnauthenticated, "the language model: " + why);
    const int64_t backoff = backoff_ms(random, tried - 1);
    const int64_t pause = attempt.reply.retry_after_ms >= 0 ? attempt.reply.retry_after_ms : backoff;
    if (attempt.recorded || tried >= options_.tries || waited + pause > options_.max_wait_s * 1000)
      return Status(Code::kUnavailable, "the language model failed " + std::to_string(tried) +
                                            " times in a row, the last time with: " + why);
    waited += pause;
    call.log(ZB_WARNING, where + ": " + why + "; trying again");
    ZB_TRY(wait(call, pause));
  }
}

// The record says that the turn ended here, not with another request.
Status ChatClient::recorded_end() const {
  const Json& note = transcript_.peek();
  if (text_of(note, "kind") != "turn") return {};
  if (const std::string why = text_of(note, "stop"); !why.empty()) return resource_exhausted(why);
  if (const std::string why = text_of(note, "cut"); !why.empty()) return Status(Code::kUnavailable, why);
  return {};
}

Status ChatClient::within_budget(const Turn& turn, uint64_t prompt, int64_t max_tokens) const {
  const uint64_t worst = prompt + static_cast<uint64_t>(max_tokens);
  const uint64_t used = turn.usage.prompt_tokens + turn.usage.completion_tokens;
  if (turn.tokens_left.has_value() && used + worst > *turn.tokens_left)
    return resource_exhausted(
        "token budget: the next request may take " + std::to_string(worst) + " tokens, " +
        std::to_string(*turn.tokens_left - std::min(used, *turn.tokens_left)) + " are left");
  if (!turn.cost_left.has_value()) return {};
  const Price* price = prices_.find(options_.model, today());
  if (price == nullptr)
    return failed_precondition("a cost budget needs the price of model '" + options_.model +
                               "': give a file with it by option 'prices'");
  if (turn.usage.cost + worst_cost(*price, prompt, static_cast<uint64_t>(max_tokens)) > *turn.cost_left)
    return resource_exhausted("cost budget: the next request may cost more than what is left of it");
  return {};
}

Status ChatClient::send(sdk::Call& call, const Json& request, int64_t max_tokens, Attempt& attempt) {
  const std::string body = canonical(request);
  const uint64_t worst = estimate_tokens(body.size()) + static_cast<uint64_t>(max_tokens);
  ZB_TRY(wait(call, limit_.wait_ms(worst, monotonic_ms())));
  limit_.take(worst, monotonic_ms());
  HttpRequest http;
  http.url = endpoint_.url;
  http.body = body;
  http.headers = endpoint_.headers;
  http.loopback = endpoint_.loopback;
  http.connect_timeout_s = options_.connect_timeout_s;
  http.idle_timeout_s = options_.idle_timeout_s;
  http.deadline_ms = options_.deadline_s * 1000;
  if (call.deadline_ns() != 0) {
    constexpr int64_t kReserve = 300;  // to record the answer and give ours
    const int64_t left = static_cast<int64_t>(call.deadline_ns() / 1'000'000) - monotonic_ms() - kReserve;
    if (left <= 0) return Status(Code::kDeadlineExceeded, "no time is left to ask the language model");
    http.deadline_ms = std::min(http.deadline_ms, left);
  }
  HttpResponse response = http_.post(http, [&call] { return call.cancelled(); });
  if (response.cancelled) return Status(Code::kCancelled, "cancelled while the language model was asked");
  if (const int64_t silence = rate_limit_ms(response.headers); silence > 0)
    limit_.silence(monotonic_ms() + std::min(silence, options_.max_wait_s * 1000));
  attempt.reply.status = response.status;
  attempt.reply.error = response.error;
  attempt.reply.reached = response.reached;
  attempt.reply.permanent = response.permanent;
  attempt.reply.retry_after_ms = retry_after_ms(response.headers, ::time(nullptr));
  // What is stored is also what is read, so that a replay sees the same.
  attempt.reply.body = endpoint_.secrets.redact(valid_utf8(response.body));
  attempt.latency_ms = response.latency_ms;
  return {};
}

Status ChatClient::wait(sdk::Call& call, int64_t ms) const {
  const int64_t until = monotonic_ms() + ms;
  for (int64_t left = ms; left > 0; left = until - monotonic_ms()) {
    if (call.cancelled())
      return Status(Code::kCancelled, "cancelled while waiting to ask the language model");
    if (call.deadline_ns() != 0 && static_cast<int64_t>(call.deadline_ns() / 1'000'000) <= monotonic_ms())
      return Status(Code::kDeadlineExceeded, "no time is left to ask the language model");
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min<int64_t>(left, 50)));
  }
  return {};
}

// Some servers drop the front of a prompt that exceeds their context, and say nothing.
void ChatClient::warn_of_truncation(sdk::Call& call, const Json& request, const TokenUse& use) {
  const uint64_t sent = estimate_tokens(canonical(member(request, "messages")).size());
  if (warned_ || use.estimated || use.prompt == 0 || sent < 2000 || use.prompt * 5 > sent * 2) return;
  warned_ = true;
  call.log(ZB_WARNING, "the server counts " + std::to_string(use.prompt) + " prompt tokens of about " +
                           std::to_string(sent) +
                           " sent: its context may be too short; raise it, or lower option 'context_tokens'");
}

AttemptUse ChatClient::price(const Json& request, const Attempt& attempt) const {
  AttemptUse use;
  if (const auto reported = read_usage(attempt.reply.json)) {
    use.tokens = *reported;
  } else if (attempt.verdict == Verdict::kAnswer) {
    use.tokens.prompt = estimate_tokens(canonical(request).size());
    use.tokens.completion = estimate_tokens(attempt.answer.text.size());
    use.tokens.estimated = true;
    use.cost_unknown = true;
  } else {
    use.cost_unknown = maybe_billed(attempt.reply);
    if (!use.cost_unknown) return use;
  }
  if (const Price* price = prices_.find(options_.model, today())) {
    use.cost = cost_of(*price, use.tokens);
    use.currency = price->currency;
  } else {
    use.cost_unknown = true;
  }
  return use;
}

}  // namespace zomboss::policies::llm
