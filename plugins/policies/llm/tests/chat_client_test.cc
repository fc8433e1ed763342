#include "plugins/policies/llm/chat_client.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "plugins/policies/llm/tests/scripted_server.h"
#include "plugins/policies/llm/tests/test_host.h"

namespace zomboss::policies::llm::testing {
namespace {

// A client of a server, with a question whose answer the server's model knows.
struct Fixture {
  explicit Fixture(ServerOptions server_options = {}) : server(std::move(server_options)) {
    options.base_url = server.url();
    options.model = "model " + server.url();  // capabilities are remembered by model: a new one for each test
    options.structured = "schema";
    options.max_wait_s = 2;
    ask.role = "test";
    ask.messages = {{"system", "a test"}, {"user", "what is the word?"}};
    ask.schema = {{"type", "object"},
                  {"additionalProperties", false},
                  {"required", {"word"}},
                  {"properties", {{"word", {{"enum", {"yes"}}}}}}};
  }
  Result<Answer> run(const std::string& folder = "") {
    auto opened = ChatClient::open(options, folder, 1);
    if (!opened.ok()) return opened.status();
    client = *std::move(opened);
    turn = Turn();
    turn.number = 1;
    turn.tokens_left = tokens_left;
    turn.cost_left = cost_left;
    return client->ask(*call, turn, ask);
  }
  // "yes", or what went wrong.
  std::string word() {
    const auto answer = run();
    if (!answer.ok()) return answer.status().message();
    return answer->ok ? text_of(answer->value, "word") : answer->errors[0];
  }

  ScriptedServer server;
  LlmOptions options;
  TestCall call;
  Ask ask;
  Turn turn;
  std::optional<uint64_t> tokens_left;
  std::optional<double> cost_left;
  std::unique_ptr<ChatClient> client;
};

ServerOptions steps(std::vector<Step> list) {
  ServerOptions options;
  options.steps = std::move(list);
  return options;
}

TEST(ChatClient, ReadsWhatServersMakeOfAnAnswer) {
  for (const char* kind : {"good", "fenced", "prose", "parts", "tool_call", "double_encoded", "no_usage"}) {
    Fixture fixture(steps({step(kind)}));
    EXPECT_EQ(fixture.word(), "yes") << kind;
    EXPECT_EQ(fixture.turn.usage.malformed, 0u) << kind;
    EXPECT_EQ(fixture.turn.usage.requests, 1u) << kind;
  }
}

TEST(ChatClient, NamesWhatIsWrongWithAnAnswer) {
  const std::map<std::string, std::string> expected = {
      {"malformed", "the answer holds no JSON object"},
      {"null_content", "the answer is empty"},
      {"refusal", "the model refused: I will not"},
  };
  for (const auto& [kind, error] : expected) {
    Fixture fixture(steps({step(kind)}));
    EXPECT_EQ(fixture.word(), error);
    EXPECT_EQ(fixture.turn.usage.malformed, 1u);
  }
}

TEST(ChatClient, AsksOnceForALongerAnswerWhenOneIsCutOff) {
  Fixture once(steps({step("length")}));
  EXPECT_EQ(once.word(), "yes");
  EXPECT_EQ(once.turn.usage.requests, 2u);
  EXPECT_EQ(once.turn.usage.malformed, 1u);
  EXPECT_EQ(parse_json(once.server.requests()[0].body)->at("max_tokens"), 4096);
  EXPECT_EQ(parse_json(once.server.requests()[1].body)->at("max_tokens"), 8192);
  Fixture twice(steps({step("length"), step("length")}));
  EXPECT_EQ(twice.word(), "the answer was cut off at the token limit");
  EXPECT_EQ(twice.turn.usage.requests, 2u);
}

TEST(ChatClient, TriesAgainWhereThatHelps) {
  const std::map<std::string, std::string> soon = {{"retry-after-ms", "1"}};
  for (const int status : {408, 409, 425, 429, 500, 502, 503, 504, 529}) {
    Fixture fixture(steps({status_step(status, "busy", soon), status_step(status, "busy", soon)}));
    EXPECT_EQ(fixture.word(), "yes") << status;
    EXPECT_EQ(fixture.turn.usage.requests, 3u) << status;
  }
  for (const char* kind : {"cut", "error_in_200", "not_json"}) {
    Fixture fixture(steps({step(kind)}));
    EXPECT_EQ(fixture.word(), "yes") << kind;
    EXPECT_EQ(fixture.turn.usage.requests, 2u) << kind;
    EXPECT_TRUE(fixture.turn.usage.cost_unknown)
        << "a call that may have been billed did not say what it took";
  }
}

TEST(ChatClient, NeverTriesAgainWhereThatIsUseless) {
  for (const int status : {401, 403, 404}) {
    Fixture fixture(steps({status_step(status, "no entry")}));
    EXPECT_EQ(fixture.word(), "the language model: HTTP " + std::to_string(status) + ": no entry");
    EXPECT_EQ(fixture.server.requests().size(), 1u);
  }
  Fixture quota(
      steps({status_step(429, R"({"error": {"code": "insufficient_quota", "message": "pay first"}})")}));
  const auto answer = quota.run();
  EXPECT_EQ(answer.status().code(), Code::kUnavailable);
  EXPECT_EQ(answer.status().message(), "the account of the language model is spent: HTTP 429: pay first");
  EXPECT_EQ(quota.server.requests().size(), 1u);
  Fixture redirect(steps({status_step(302, "", {{"Location", "http://127.0.0.1:1/v1"}})}));
  EXPECT_NE(redirect.word().find("redirects are not followed"), std::string::npos);
  EXPECT_EQ(redirect.server.requests().size(), 1u);
}

TEST(ChatClient, WaitsAsTheServerAsks) {
  using Clock = std::chrono::steady_clock;
  for (const auto& header : {std::pair{"Retry-After", "1"}, std::pair{"retry-after-ms", "900"}}) {
    Fixture fixture(steps({status_step(429, "", {{header.first, header.second}})}));
    const auto begin = Clock::now();
    EXPECT_EQ(fixture.word(), "yes");
    EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(890)) << header.first;
  }
  // Longer than it may wait in all: given up at once.
  Fixture fixture(steps({status_step(429, "later", {{"Retry-After", "60"}})}));
  const auto begin = Clock::now();
  EXPECT_EQ(fixture.word(),
            "the language model failed 1 times in a row, the last time with: HTTP 429: later");
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(900));
}

TEST(ChatClient, GivesUpAfterItsTries) {
  Fixture fixture(steps(std::vector<Step>(10, status_step(503, "", {{"retry-after-ms", "1"}}))));
  fixture.options.tries = 4;
  const auto answer = fixture.run();
  EXPECT_EQ(answer.status().code(), Code::kUnavailable);
  EXPECT_EQ(fixture.server.requests().size(), 4u);
  fixture.options.base_url = "http://127.0.0.1:1/v1";  // nobody listens there
  fixture.options.tries = 1;
  EXPECT_EQ(fixture.run().status().code(), Code::kUnavailable);
  EXPECT_FALSE(fixture.turn.usage.cost_unknown) << "what was never sent costs nothing";
}

TEST(ChatClient, EndsASilentOrDrippingAnswerAtItsDeadline) {
  using Clock = std::chrono::steady_clock;
  Step drip = step("good");
  drip.delay_ms = 20;  // some 10 s in all
  for (const Step& slow : {step("silent"), drip}) {
    Fixture fixture(steps({slow}));
    fixture.options.deadline_s = 1;
    fixture.options.tries = 1;
    const auto begin = Clock::now();
    EXPECT_EQ(fixture.run().status().code(), Code::kUnavailable);
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(3));
  }
  Step slow = step("good");
  slow.delay_ms = 1;
  Fixture patient(steps({slow}));
  EXPECT_EQ(patient.word(), "yes") << "an answer that drips in time is an answer";
  Fixture idle(steps({step("silent")}));
  idle.options.idle_timeout_s = 1;
  idle.options.tries = 1;
  const auto begin = Clock::now();
  EXPECT_EQ(idle.run().status().code(), Code::kUnavailable);
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(12)) << "curl measures speed over some seconds";
}

TEST(ChatClient, StopsSoonWhenItIsCancelled) {
  using Clock = std::chrono::steady_clock;
  for (const Step& slow : {step("silent"), status_step(429, "", {{"Retry-After", "2"}})}) {
    Fixture fixture(steps({slow}));
    std::thread canceller([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      fixture.call.cancelled = true;
    });
    const auto begin = Clock::now();
    EXPECT_EQ(fixture.run().status().code(), Code::kCancelled);
    EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(900));
    canceller.join();
  }
}

TEST(ChatClient, FindsOutWhatTheServerTakesAndAsksOnce) {
  const auto structure = [](ServerOptions server_options) {
    Fixture fixture(std::move(server_options));
    fixture.options.structured = "auto";
    EXPECT_EQ(fixture.word(), "yes");
    const size_t asked = fixture.server.requests().size();
    EXPECT_EQ(fixture.word(), "yes");
    EXPECT_EQ(fixture.server.requests().size(), asked + 1) << "the second client does not probe";
    return std::pair(fixture.client->capabilities()->structure,
                     fixture.client->capabilities()->completion_tokens);
  };
  ServerOptions server;
  EXPECT_EQ(structure(server), std::pair(Structure::kSchema, false));
  server.rejects_max_tokens = true;
  EXPECT_EQ(structure(server), std::pair(Structure::kSchema, true));
  server.rejects_schema = true;
  EXPECT_EQ(structure(server), std::pair(Structure::kTool, true));
  server.schema = server.rejects_schema = false;  // takes it with status 200 and does not obey
  EXPECT_EQ(structure(server), std::pair(Structure::kTool, true));
  server.tools = false;
  EXPECT_EQ(structure(server), std::pair(Structure::kObject, true));
}

TEST(ChatClient, LowersTheStructureWhenARequestTurnsOutToBeTooMuch) {
  Fixture fixture(steps({status_step(400, "schema too complex"), status_step(400, "no tools"),
                         status_step(422, "no response_format")}));
  EXPECT_EQ(fixture.word(), "yes");
  EXPECT_EQ(fixture.client->capabilities()->structure, Structure::kText);
  const Json request = *parse_json(fixture.server.requests().back().body);
  EXPECT_FALSE(request.contains("response_format"));
  EXPECT_NE(text_of(request["messages"][0], "content").find("JSON schema:\n{"), std::string::npos);
  Fixture refused(steps(std::vector<Step>(4, status_step(400, "no"))));
  EXPECT_EQ(refused.word(), "the server refuses the request: HTTP 400: no");
}

TEST(ChatClient, CountsTokensAndCost) {
  const TempFolder folder;
  std::ofstream(folder / "prices.json")
      << R"([{"model": "model*", "currency": "USD", "in": 1000, "cache": 100, "out": 5000, "source": "test"}])";
  Fixture fixture;
  fixture.options.prices = folder / "prices.json";
  EXPECT_EQ(fixture.word(), "yes");
  const wire::UsageT& usage = fixture.turn.usage;
  EXPECT_GT(usage.prompt_tokens, 50u);
  EXPECT_EQ(usage.cached_tokens, usage.prompt_tokens / 2);
  EXPECT_GT(usage.reasoning_tokens, 0u);
  const double expected = static_cast<double>(usage.prompt_tokens - usage.cached_tokens) * 1e-3 +
                          static_cast<double>(usage.cached_tokens) * 1e-4 +
                          static_cast<double>(usage.completion_tokens) * 5e-3;
  EXPECT_DOUBLE_EQ(usage.cost, expected);
  EXPECT_FALSE(usage.cost_unknown);
  EXPECT_FALSE(usage.estimated);
  EXPECT_EQ(usage.currency, "USD");

  Fixture unsaid(steps({step("no_usage")}));
  EXPECT_EQ(unsaid.word(), "yes");
  EXPECT_TRUE(unsaid.turn.usage.estimated);
  EXPECT_GT(unsaid.turn.usage.prompt_tokens, 50u);
  EXPECT_TRUE(unsaid.turn.usage.cost_unknown);
}

TEST(ChatClient, WarnsOnceOfAServerThatCutsPrompts) {
  const std::string cut = R"({"choices": [{"message": {"content": "{\"word\": \"yes\"}"}}],
                              "usage": {"prompt_tokens": 500, "completion_tokens": 5}})";
  Fixture fixture(steps({status_step(200, cut), status_step(200, cut)}));
  fixture.ask.messages.push_back({"user", std::string(10'000, 'x')});
  EXPECT_EQ(fixture.word(), "yes");
  ASSERT_TRUE(fixture.client->ask(*fixture.call, fixture.turn, fixture.ask)->ok);
  ASSERT_EQ(fixture.call.logged.size(), 1u);
  EXPECT_EQ(fixture.call.logged[0].find("the server counts 500 prompt tokens of about 28"), 0u);
  EXPECT_EQ(fixture.server.requests().size(), 2u);
}

TEST(ChatClient, MindsTheDeadlineOfTheCall) {
  Fixture fixture(steps({step("silent")}));
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t now_ns =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
  fixture.call.set_deadline_ns(now_ns + 1'000'000'000u);
  EXPECT_EQ(fixture.run().status().code(), Code::kDeadlineExceeded);
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  EXPECT_LT(static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec),
            now_ns + 1'100'000'000u);
}

TEST(ChatClient, ChecksBudgetsBeforeItSends) {
  Fixture fixture;
  fixture.options.max_tokens = 1000;
  fixture.tokens_left = 1100;
  const auto answer = fixture.run();
  EXPECT_EQ(answer.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(answer.status().message(), "token budget: the next request may take 1103 tokens, 1100 are left");
  EXPECT_EQ(fixture.server.requests().size(), 0u);
  fixture.tokens_left = 5000;
  EXPECT_EQ(fixture.word(), "yes");

  fixture.tokens_left.reset();
  fixture.cost_left = 1.0;
  EXPECT_EQ(fixture.run().status().code(), Code::kFailedPrecondition) << "no price, no cost budget";
  const TempFolder folder;
  const auto prices = folder / "prices.json";
  std::ofstream(prices) << R"([{"model": "*", "currency": "USD", "in": 1, "out": 2000}])";
  fixture.options.prices = prices;
  EXPECT_EQ(fixture.run().status().code(), Code::kResourceExhausted) << "the answer alone may cost 2";
  fixture.cost_left = 3.0;
  EXPECT_EQ(fixture.word(), "yes");
}

TEST(ChatClient, KeepsToItsOwnRateLimit) {
  Fixture fixture;
  fixture.options.requests_per_minute = 60;
  auto client = *ChatClient::open(fixture.options, "", 1);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 61; ++i) ASSERT_TRUE(client->ask(*fixture.call, fixture.turn, fixture.ask)->ok);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(700))
      << "the 61st waits for a second";
}

TEST(ChatClient, SendsTheKeyInAHeaderAndShowsItNowhere) {
  const std::string key = "sk-secret-1234567890";
  ::setenv("ZB_TEST_LLM_KEY", key.c_str(), 1);
  ::setenv("ZB_TEST_LLM_HEADER", "tenant-987654", 1);
  const TempFolder folder;
  // A server that echoes the key in errors and in answers.
  Fixture fixture(
      steps({status_step(500, "your key " + key, {{"retry-after-ms", "1"}}),
             status_step(200, R"({"choices": [{"message": {"content": "{\"word\": \")" + key + R"(\"}"}}]})"),
             status_step(401, "bad key " + key + " of tenant-987654")}));
  fixture.options.api_key_env = "ZB_TEST_LLM_KEY";
  fixture.options.headers = "X-Tenant: ZB_TEST_LLM_HEADER";
  const auto answer = fixture.run(folder.path());
  ASSERT_TRUE(answer.ok());
  EXPECT_NE(answer->errors[0].find("[redacted]"), std::string::npos);
  const auto denied = fixture.client->ask(*fixture.call, fixture.turn, fixture.ask);
  EXPECT_EQ(denied.status().message(), "the language model: HTTP 401: bad key [redacted] of [redacted]");
  EXPECT_NE(fixture.server.requests()[0].head.find("Authorization: Bearer " + key), std::string::npos);
  EXPECT_NE(fixture.server.requests()[0].head.find("X-Tenant: tenant-987654"), std::string::npos);
  const std::string text = file_text(folder / "llm.jsonl");
  EXPECT_GT(text.size(), 1000u);
  EXPECT_EQ(text.find(key), std::string::npos);
  EXPECT_EQ(text.find("tenant-987654"), std::string::npos);
  for (const std::string& line : fixture.call.logged) EXPECT_EQ(line.find(key), std::string::npos);
}

}  // namespace
}  // namespace zomboss::policies::llm::testing
