// The parts that need no server: JSON, answers, retries, prices, addresses and keys.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "plugins/policies/llm/answer.h"
#include "plugins/policies/llm/endpoint.h"
#include "plugins/policies/llm/numbers.h"
#include "plugins/policies/llm/rate_limit.h"
#include "plugins/policies/llm/retry.h"
#include "plugins/policies/llm/tests/test_host.h"
#include "plugins/policies/llm/transcript.h"
#include "plugins/policies/llm/usage.h"

namespace zomboss::policies::llm::testing {
namespace {

TEST(JsonText, TakesTheFirstBalancedObject) {
  const auto found = [](std::string_view text) { return canonical(first_object(text).value_or(Json())); };
  EXPECT_EQ(found(R"(so {a} or {"x": "}{", "y": [1, {"z": null}]} and {"x": 2})"),
            R"({"x":"}{","y":[1,{"z":null}]})");
  EXPECT_EQ(found("```json\n{\"x\": 1}\n```"), R"({"x":1})");
  EXPECT_EQ(found(R"({"x": "a\"}b"})"), R"({"x":"a\"}b"})");
  EXPECT_EQ(found(R"({"x": 1)"), "null");
  EXPECT_EQ(found(R"([1, 2])"), "null");
  EXPECT_EQ(found(std::string(100'000, '{')), "null");
}

TEST(JsonText, RefusesDeepNesting) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') + std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_TRUE(parse_json(nested(64)).has_value());
  EXPECT_FALSE(parse_json(nested(65)).has_value());
  EXPECT_FALSE(parse_json(nested(1'000'000)).has_value());
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\"").has_value());
}

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(valid_utf8("a\xff\"b\n"), "a\xEF\xBF\xBD\"b\n");
  EXPECT_EQ(valid_utf8(valid_utf8("\xc3")), valid_utf8("\xc3"));
  EXPECT_EQ(canonical(Json({{"b", 1}, {"a", 2}})), R"({"a":2,"b":1})");
}

TEST(JsonText, NamesTheFirstDifference) {
  const Json here = {{"messages", {{{"content", "one two"}}, {{"content", "x"}}}}, {"n", 1}};
  Json there = here;
  EXPECT_EQ(first_difference(here, there), "");
  there["messages"][0]["content"] = "one too";
  EXPECT_EQ(first_difference(here, there),
            R"($.messages[0].content, byte 5: "one two" here, "one too" there)");
  there = here;
  there["messages"].push_back("more");
  EXPECT_EQ(first_difference(here, there), "$.messages: 2 items here, 3 there");
  there = here;
  there["m"] = 0;
  EXPECT_EQ(first_difference(here, there), "$.m: only there");
  there = here;
  there["n"] = "1";
  EXPECT_EQ(first_difference(here, there), R"($.n: 1 here, "1" there)");
}

Json completion_of(Json message, const char* finish = "stop") {
  return {{"choices", Json::array({{{"message", std::move(message)}, {"finish_reason", finish}}})}};
}
Json call_of(Json arguments) {
  return {{"content", nullptr},
          {"tool_calls", Json::array({{{"function", {{"arguments", std::move(arguments)}}}}})}};
}

TEST(Answer, IsReadFromEveryFormOfMessage) {
  const auto read = [](const Json& body) { return canonical(extract_answer(body).value); };
  EXPECT_EQ(read(completion_of({{"content", R"({"x": 1})"}})), R"({"x":1})");
  EXPECT_EQ(read(completion_of({{"content", canonical(Json(R"({"x": 1})"))}})), R"({"x":1})");
  EXPECT_EQ(read(completion_of({{"content", {{{"type", "text"}, {"text", R"({"x": 1})"}}}}})), R"({"x":1})");
  EXPECT_EQ(read(completion_of(call_of(R"({"x": 1})"), "stop")), R"({"x":1})");
  EXPECT_EQ(read(completion_of(call_of({{"x", 1}}), "tool_calls")), R"({"x":1})");
  EXPECT_EQ(read(completion_of(call_of(canonical(Json(R"({"x": 1})"))))), R"({"x":1})");
  Json empty_call = call_of("");
  empty_call["content"] = R"({"x": 1})";
  EXPECT_EQ(read(completion_of(empty_call)), R"({"x":1})");
  EXPECT_EQ(read(completion_of({{"content", R"({"x": 1})"}, {"reasoning_content", R"({"y": 2})"}})),
            R"({"x":1})");
  EXPECT_EQ(read(completion_of({{"content", ""}, {"reasoning_content", R"({"y": 2})"}})), "null");
}

TEST(Answer, SaysWhyThereIsNone) {
  const auto problem = [](const Json& body) { return extract_answer(body).problem; };
  EXPECT_EQ(problem(completion_of({{"content", nullptr}})), "the answer is empty");
  EXPECT_EQ(problem(completion_of(call_of(""))), "the answer is empty");
  EXPECT_EQ(problem(completion_of({{"content", "I think"}})), "the answer holds no JSON object");
  EXPECT_EQ(problem(completion_of({{"content", R"({"x": 1})"}}, "content_filter")),
            "the server's content filter stopped the answer");
  EXPECT_EQ(problem(completion_of({{"content", nullptr}, {"refusal", "no"}})), "the model refused: no");
  EXPECT_EQ(problem({{"choices", Json::array()}}), "the answer has no choices");
  EXPECT_TRUE(extract_answer(completion_of({{"content", R"({"x": )"}}, "length")).truncated);
  EXPECT_FALSE(extract_answer(completion_of({{"content", R"({"x": 1} and)"}}, "length")).truncated)
      << "the object is whole";
}

const Json& test_schema() {
  static const Json kSchema = *parse_json(R"({"type": "object", "additionalProperties": false,
    "required": ["size", "list", "id"], "properties": {"size": {"type": "string", "enum": ["16", "32"]},
    "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"enum": ["a", "b"]}},
    "id": {"type": ["string", "null"]}}})");
  return kSchema;
}

TEST(Schema, FindsEverythingThatIsWrong) {
  const auto errors = [](const char* text) {
    std::string list;
    for (const std::string& error : schema_errors(test_schema(), *parse_json(text))) list += error + "\n";
    return list;
  };
  EXPECT_EQ(errors(R"({"size": "16", "list": ["a"], "id": null})"), "");
  EXPECT_EQ(errors(R"({"size": "64", "list": [], "more": 1})"),
            "$.id: missing\n$.list: at least 1 items\n$.more: no such member\n$.size: \"64\" is not one of "
            "[\"16\",\"32\"]\n");
  EXPECT_EQ(errors(R"({"size": [], "list": ["a", "c", "b"], "id": 3})"),
            "$.id: expected string, got 3\n$.list: at most 2 items\n$.list[1]: \"c\" is not one of "
            "[\"a\",\"b\"]\n$.size: "
            "expected string, got []\n");
  EXPECT_EQ(errors("[1]"), "$: expected object, got [1]\n");
}

TEST(Schema, MakesRightWhatIsMeant) {
  Json value = *parse_json(R"({"size": 16, "list": ["a"]})");
  normalise(test_schema(), value);
  EXPECT_EQ(canonical(value), R"({"id":null,"list":["a"],"size":"16"})");
  EXPECT_EQ(canonical(example_of(test_schema())), R"({"id":"...","list":["a"],"size":"16"})");
  EXPECT_TRUE(schema_errors(test_schema(), example_of(test_schema())).empty());
}

Reply reply_of(int status, const char* body) {
  Reply reply;
  reply.status = status;
  reply.body = body;
  reply.json = parse_json(body).value_or(Json());
  return reply;
}

TEST(Retry, ClassifiesAnswers) {
  const auto verdict = [](int status, const char* body) { return classify(reply_of(status, body)); };
  constexpr const char* kGood = R"({"choices": [{"message": {"content": "x"}}]})";
  EXPECT_EQ(verdict(200, kGood), Verdict::kAnswer);
  EXPECT_EQ(verdict(200, "<html>"), Verdict::kRetry);
  EXPECT_EQ(verdict(200, R"({"error": {"code": 429}})"), Verdict::kRetry);
  EXPECT_EQ(verdict(200, R"({"error": {"code": 401}})"), Verdict::kDenied);
  EXPECT_EQ(verdict(200, R"({"error": {"code": "insufficient_quota"}})"), Verdict::kQuota);
  EXPECT_EQ(verdict(429, R"({"error": {"type": "insufficient_quota"}})"), Verdict::kQuota);
  EXPECT_EQ(verdict(402, ""), Verdict::kQuota);
  for (const int status : {400, 413, 422}) EXPECT_EQ(verdict(status, "{}"), Verdict::kRefused) << status;
  for (const int status : {401, 403, 404, 405}) EXPECT_EQ(verdict(status, "{}"), Verdict::kDenied) << status;
  for (const int status : {408, 409, 425, 429, 500, 502, 503, 504, 529})
    EXPECT_EQ(verdict(status, "{}"), Verdict::kRetry) << status;
  EXPECT_EQ(verdict(0, ""), Verdict::kRetry);
  EXPECT_TRUE(is_context_overflow(reply_of(400, R"({"error": {"code": "context_length_exceeded"}})")));
  EXPECT_TRUE(
      is_context_overflow(reply_of(400, R"({"error": "request exceeds the available context size"})")));
  EXPECT_FALSE(is_context_overflow(reply_of(400, R"({"error": "bad schema"})")));
}

TEST(Retry, ReadsHowLongToWait) {
  const auto after = [](const char* name, const char* value) {
    return retry_after_ms({{name, value}}, 1'700'000'000);
  };
  EXPECT_EQ(after("retry-after", "2"), 2000);
  EXPECT_EQ(after("retry-after", "0.25"), 250);
  EXPECT_EQ(after("retry-after-ms", "12"), 12);
  EXPECT_EQ(retry_after_ms({{"retry-after-ms", "12"}, {"retry-after", "9"}}, 0), 12);
  EXPECT_EQ(after("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT"), 30'000);
  EXPECT_EQ(after("retry-after", "Tue, 14 Nov 2023 22:13:10 GMT"), 0);
  EXPECT_EQ(after("retry-after", "soon"), -1);
  EXPECT_EQ(after("retry-after", "-5"), -1);
  EXPECT_EQ(after("retry-after", "99999999"), 3'600'000);
  EXPECT_EQ(after("other", "1"), -1);
  EXPECT_EQ(duration_ms("1s"), 1000);
  EXPECT_EQ(duration_ms("6m0s"), 360'000);
  EXPECT_EQ(duration_ms("20ms"), 20);
  EXPECT_EQ(duration_ms("1m0.5s"), 60'500);
  EXPECT_EQ(duration_ms("2"), 2000);
  EXPECT_EQ(duration_ms("x"), std::nullopt);
  EXPECT_EQ(duration_ms("5x"), std::nullopt);
  EXPECT_EQ(rate_limit_ms({{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "1s"}}),
            1000);
  EXPECT_EQ(rate_limit_ms({{"x-ratelimit-remaining-requests", "7"}, {"x-ratelimit-reset-requests", "1s"}}),
            0);
  EXPECT_EQ(rate_limit_ms({{"x-ratelimit-remaining-tokens", "0"}}), 0);
}

TEST(Retry, BacksOffWithFullJitter) {
  Random random(1, 1);
  int64_t longest = 0;
  double sum = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t wait = backoff_ms(random, 3);
    ASSERT_GE(wait, 0);
    ASSERT_LE(wait, 4000);
    longest = std::max(longest, wait);
    sum += static_cast<double>(wait);
  }
  EXPECT_GT(longest, 3900);
  EXPECT_NEAR(sum / 2000, 2000, 120);
  for (int i = 0; i < 2000; ++i) ASSERT_LE(backoff_ms(random, 30), 60'000);
}

TEST(RateLimit, FillsItsBucketsOverAMinute) {
  RateLimit limit(2, 1000);
  EXPECT_EQ(limit.wait_ms(100, 0), 0);
  limit.take(100, 0);
  EXPECT_EQ(limit.wait_ms(100, 0), 0);
  limit.take(100, 0);
  EXPECT_EQ(limit.wait_ms(100, 0), 30'000) << "the third request of a minute";
  EXPECT_EQ(limit.wait_ms(100, 29'000), 1000);
  EXPECT_EQ(limit.wait_ms(100, 30'000), 0);
  EXPECT_EQ(limit.wait_ms(5000, 60'000), 0) << "more than the bucket holds goes when it is full";
  limit.take(5000, 60'000);
  EXPECT_EQ(limit.wait_ms(1000, 60'000), 300'000);
  limit.silence(1'000'000);
  EXPECT_EQ(limit.wait_ms(1, 400'000), 600'000);
  RateLimit none(0, 0);
  none.take(1'000'000, 0);
  EXPECT_EQ(none.wait_ms(1'000'000, 0), 0);
}

TEST(Usage, ReadsEveryDialect) {
  const auto read = [](const char* text) {
    const auto use = read_usage(*parse_json(text));
    return use.has_value() ? std::vector<uint64_t>{use->prompt, use->cached, use->completion, use->reasoning}
                           : std::vector<uint64_t>{};
  };
  using Numbers = std::vector<uint64_t>;
  EXPECT_EQ(
      read(
          R"({"usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens":
                 60}, "completion_tokens_details": {"reasoning_tokens": 15}}})"),
      (Numbers{100, 60, 20, 15}));
  EXPECT_EQ(read(R"({"usage": {"prompt_tokens": 100, "completion_tokens": 20, "prompt_cache_hit_tokens": 30,
                 "prompt_cache_miss_tokens": 70}})"),
            (Numbers{100, 30, 20, 0}));
  EXPECT_EQ(
      read(
          R"({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens":
                 99}}})"),
      (Numbers{10, 10, 2, 0}))
      << "cached is a part of prompt";
  EXPECT_EQ(
      read(R"({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": null}})"),
      (Numbers{10, 0, 2, 0}));
  EXPECT_EQ(read(R"({"usage": {"prompt_tokens": 10}})"), Numbers{});
  EXPECT_EQ(read(R"({"usage": null})"), Numbers{});
  EXPECT_EQ(read(R"({"usage": {"prompt_tokens": -1, "completion_tokens": 2}})"), Numbers{});
}

TEST(Prices, AreThoseOfTheModelAndTheDay) {
  const auto table = PriceTable::parse(R"([
    {"model": "flash*", "currency": "USD", "in": 0.14, "cache": 0.028, "out": 0.28, "source": "page"},
    {"model": "flash*", "currency": "USD", "in": 0.14, "cache": 0.0028, "out": 0.28, "valid_from": "2026-04-26"},
    {"model": "*", "currency": "USD", "in": 9, "out": 9, "valid_from": "2027-01-01"}])");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->find("flash-v4", "2026-04-25")->cache, 0.028);
  EXPECT_EQ(table->find("flash-v4", "2026-04-26")->cache, 0.0028);
  EXPECT_EQ(table->find("other", "2026-04-26"), nullptr);
  EXPECT_EQ(table->find("other", "2027-01-01")->cache, 9)
      << "without a price of its own, cached costs as much";
  TokenUse use{1'000'000, 100'000, 600'000, 50'000, false};
  EXPECT_DOUBLE_EQ(cost_of(*table->find("flash", "2026-05-01"), use), 0.4 * 0.14 + 0.6 * 0.0028 + 0.1 * 0.28);
  EXPECT_DOUBLE_EQ(worst_cost(*table->find("flash", "2026-05-01"), 1'000'000, 100'000), 0.14 + 0.1 * 0.28);
}

TEST(Prices, NameTheRowThatIsWrong) {
  const auto error = [](const char* text) { return PriceTable::parse(text).status().message(); };
  EXPECT_EQ(error("{}"), "prices: expected a JSON array of {model, currency, in, cache, out, valid_from}");
  EXPECT_EQ(error(R"([{"currency": "USD", "in": 1, "out": 1}])"), "prices: row 0 has no 'model'");
  EXPECT_EQ(error(R"([{"model": "a", "in": 1, "out": 1}])"), "prices: row 0 has no 'currency'");
  EXPECT_EQ(error(R"([{"model": "a", "currency": "USD", "in": -1, "out": 1}])"),
            "prices: row 0 needs a price 'in'");
  EXPECT_EQ(error(R"([{"model": "a", "currency": "USD", "in": 1, "out": 1, "valid_from": "May"}])"),
            "prices: row 0 has a 'valid_from' that is no date YYYY-MM-DD");
  EXPECT_EQ(
      error(
          R"([{"model": "a", "currency": "USD", "in": 1, "out": 1}, {"model": "b", "currency": "EUR", "in": 1,
                  "out": 1}])"),
      "prices: row 1 is in EUR, the others in USD");
}

TEST(Endpoint, CompletesTheAddress) {
  EXPECT_EQ(chat_url("http://127.0.0.1:8080"), "http://127.0.0.1:8080/v1/chat/completions");
  EXPECT_EQ(chat_url("http://127.0.0.1:8080/v1/"), "http://127.0.0.1:8080/v1/chat/completions");
  EXPECT_EQ(chat_url("https://a.example/api/openai"), "https://a.example/api/openai/chat/completions");
  EXPECT_EQ(chat_url("https://a.example/v1/chat/completions"), "https://a.example/v1/chat/completions");
}

std::string open_error(const std::function<void(LlmOptions&)>& change) {
  LlmOptions options;
  change(options);
  return Endpoint::open(options).status().message();
}

TEST(Endpoint, RefusesAddressesThatMakeNoSense) {
  const auto error = [](const char* url) { return open_error([&](LlmOptions& o) { o.base_url = url; }); };
  EXPECT_EQ(error("http://127.0.0.1:1/v1"), "");
  EXPECT_EQ(error("no url"),
            "policy llm: option 'base_url' is no URL; expected e.g. http://127.0.0.1:8080/v1");
  EXPECT_EQ(error("ftp://a/v1"), "policy llm: option 'base_url' must start with http:// or https://");
  constexpr const char* kNoKey =
      "policy llm: option 'base_url' must not hold a user, a query or a fragment; keys go through "
      "'api_key_env'";
  EXPECT_EQ(error("https://user:pass@a/v1"), kNoKey);
  EXPECT_EQ(error("https://a/v1?key=1"), kNoKey);
}

TEST(Endpoint, NeverSendsAKeyInTheClearToAnotherMachine) {
  ::setenv("ZB_TEST_ENDPOINT_KEY", "sk-12345678", 1);
  ::unsetenv("ZB_TEST_ENDPOINT_NONE");
  const auto error = [](const char* url, const char* variable) {
    return open_error([&](LlmOptions& o) {
      o.base_url = url;
      o.api_key_env = variable;
    });
  };
  constexpr const char* kClear =
      "policy llm: an API key is not sent over http:// to another machine; use https:// in 'base_url'";
  EXPECT_EQ(error("http://10.0.0.1/v1", "ZB_TEST_ENDPOINT_KEY"), kClear);
  EXPECT_EQ(error("http://127.0.0.1.example.org/v1", "ZB_TEST_ENDPOINT_KEY"), kClear);
  EXPECT_EQ(error("http://127.0.0.1:1/v1", "ZB_TEST_ENDPOINT_KEY"), "");
  EXPECT_EQ(error("http://localhost:1/v1", "ZB_TEST_ENDPOINT_KEY"), "");
  EXPECT_EQ(error("http://[::1]:1/v1", "ZB_TEST_ENDPOINT_KEY"), "");
  EXPECT_EQ(error("https://a.example/v1", "ZB_TEST_ENDPOINT_KEY"), "");
  EXPECT_EQ(error("http://10.0.0.1/v1", ""), "") << "no key, nothing to lose";
  EXPECT_EQ(
      error("https://a.example/v1", "ZB_TEST_ENDPOINT_NONE"),
      "policy llm: the environment variable of option 'api_key_env', ZB_TEST_ENDPOINT_NONE, is not set");
  EXPECT_EQ(error("http://127.0.0.1:1/v1", "ZB_TEST_ENDPOINT_NONE"), "") << "local servers need none";
}

TEST(Endpoint, ReadsAKeyFileThatNobodyElseMayRead) {
  const TempFolder folder;
  const std::string path = folder / "key";
  std::ofstream(path) << "sk-from-file\n";
  const auto error = [&] {
    return open_error([&](LlmOptions& o) {
      o.base_url = "https://a.example/v1";
      o.api_key_file = path;
    });
  };
  ::chmod(path.c_str(), 0644);
  EXPECT_EQ(error(),
            "policy llm: the file of option 'api_key_file' may be read by others; make its mode 0600");
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(error(), "");
  LlmOptions options;
  options.api_key_file = path;
  EXPECT_EQ(Endpoint::open(options)->headers.back(), "Authorization: Bearer sk-from-file");
  std::ofstream(path, std::ios::trunc) << "a\r\nX-Evil: 1";
  EXPECT_EQ(error(), "policy llm: the API key holds control characters");
}

TEST(Secrets, AreRedactedAlsoAsJsonWritesThem) {
  Secrets secrets;
  secrets.add("pass\"word");
  secrets.add("abc");  // too short to be one
  secrets.add("");
  EXPECT_EQ(secrets.redact("x pass\"word, \"pass\\\"word\" abc"), "x [redacted], \"[redacted]\" abc");
}

TEST(Numbers, AreWrittenTheSameEverywhere) {
  EXPECT_EQ(number_text(171850), "171850");
  EXPECT_EQ(number_text(0.12345), "0.1235");
  EXPECT_EQ(percent_text(81.7, 100), "-18.3%");
  EXPECT_EQ(percent_text(100.01, 100), "+0.0%");
  EXPECT_EQ(bytes_text(4096), "4096 B");
  EXPECT_EQ(bytes_text(41 * 1024), "41 KiB");
  EXPECT_EQ(bytes_text(32 * 1024 * 1024), "32.0 MiB");
}

TEST(Transcript, KeepsNothingWithoutAPath) {
  auto transcript = Transcript::open(ReplayMode::kLive, "");
  ASSERT_TRUE(transcript.ok());
  EXPECT_TRUE(transcript->append({{"kind", "turn"}}).ok());
  EXPECT_EQ(transcript->position(), 1u);
  EXPECT_EQ(Transcript::open(ReplayMode::kStrict, "").status().message(),
            "policy llm: a replay needs a transcript: set option 'transcript' to its file");
}

TEST(Transcript, SaysWhenTheDiskIsFullAndLeavesNoTornLine) {
  const TempFolder folder;
  const std::string path = folder / "llm.jsonl";
  auto transcript = Transcript::open(ReplayMode::kLive, path);
  const Json record = {{"kind", "turn"}, {"text", std::string(600, 'x')}};
  ASSERT_TRUE(transcript->append(record).ok());
  const std::string before = file_text(path);
  // A limit on the size of files stands in for the disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{1000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Status full = transcript->append(record);
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(full.code(), Code::kDataLoss);
  EXPECT_EQ(full.message(), "the transcript cannot be written: File too large");
  EXPECT_EQ(file_text(path), before);
  EXPECT_TRUE(transcript->append(record).ok());
  EXPECT_EQ(file_text(path), before + before);
}

}  // namespace
}  // namespace zomboss::policies::llm::testing
