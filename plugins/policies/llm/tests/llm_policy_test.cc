#include "plugins/policies/llm/llm_policy.h"

#include <gtest/gtest.h>

#include "plugins/policies/common/policy_checks.h"
#include "plugins/policies/llm/tests/scripted_server.h"
#include "plugins/policies/llm/tests/test_host.h"

namespace zomboss::policies::llm::testing {
namespace {

using policies::testing::kSmallStart;
using policies::testing::small_surface;
using Pairs = std::vector<std::pair<std::string, std::string>>;

wire::OptionsT options(const ScriptedServer& server, Pairs more = {}) {
  more.emplace_back("base_url", server.url());
  more.emplace_back("model", "scripted");
  return policies::testing::options(more);
}

// The messages of the last request, one text.
std::string last_prompt(const ScriptedServer& server) {
  std::string text;
  const Json request = *parse_json(server.requests().back().body);
  for (const Json& message : member(request, "messages"))
    text += text_of(message, "role") + ": " + text_of(message, "content") + "\n";
  return text;
}

struct Case {
  const char* agent;
  bool catalog;
};
class LlmAgents : public ::testing::TestWithParam<Case> {};

TEST_P(LlmAgents, SpendTheBudgetAndImproveOnTheDefault) {
  ScriptedServer server;
  const TestSurface surface = small_surface(GetParam().catalog);
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server, {{"agent", GetParam().agent}})).ok());
  const Status status = host.run(20);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(host.evaluations, 20u) << host.rationale;
  EXPECT_LT(host.best, surface.latency(kSmallStart));
  EXPECT_EQ(server.connections(), 1u) << "connections are kept open";
}

TEST_P(LlmAgents, ProposeTheSameForTheSameSeedAndAnswers) {
  ScriptedServer server;
  const TestSurface surface = small_surface(GetParam().catalog);
  TestHost one(surface, kSmallStart), two(surface, kSmallStart);
  for (TestHost* host : {&one, &two}) {
    ASSERT_TRUE(host->start(options(server, {{"agent", GetParam().agent}, {"structured", "schema"}})).ok());
    ASSERT_TRUE(host->run(15).ok());
  }
  EXPECT_EQ(one.encoded, two.encoded);
  EXPECT_GT(one.encoded.size(), 2u);
}

TEST_P(LlmAgents, ContinueEquallyAfterSaveAndLoad) {
  ScriptedServer server;
  const TestSurface surface = small_surface(GetParam().catalog);
  const auto given = options(server, {{"agent", GetParam().agent}, {"structured", "schema"}});
  for (size_t steps = 0; steps < 6; ++steps) {
    TestHost host(surface, kSmallStart);
    ASSERT_TRUE(host.start(given).ok());
    for (size_t i = 0; i < steps; ++i) ASSERT_TRUE(host.step().ok());
    const std::string state = *host.policy->save(*host.call);
    auto resumed = *LlmPolicy::create(*host.call, given);
    ASSERT_TRUE(resumed->start(*host.call, host.context).ok());
    const Status loaded = resumed->load(*host.call, as_bytes(state));
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    EXPECT_EQ(*resumed->save(*host.call), state);
    wire::SearchStateT next;
    next.evaluations_left = 5;
    EXPECT_EQ(encode(*resumed->propose(*host.call, next)), encode(*host.policy->propose(*host.call, next)))
        << "after " << steps << " steps";
  }
}

INSTANTIATE_TEST_SUITE_P(All, LlmAgents,
                         ::testing::Values(Case{"naive", true}, Case{"naive", false}, Case{"accelopt", true},
                                           Case{"accelopt", false}),
                         [](const auto& info) {
                           return std::string(info.param.agent) +
                                  (info.param.catalog ? "Catalog" : "Regions");
                         });

TEST(LlmPolicy, TellsTheModelWorkloadTargetSurfaceAndResults) {
  ScriptedServer server;
  const TestSurface surface = small_surface(true);
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server)).ok());
  ASSERT_TRUE(host.run(12).ok());
  const std::string prompt = last_prompt(server);
  for (const char* part :
       {"TARGET test\narray 16 x 16\n", "SURFACE a catalog of 114 mappings",
        "algorithm . d : {false, true} default=false", "m017 | a=1 b=3 c=2 d=true\n",
        "DEFAULT m000 290 cycles at 17% of the bound\na=1 b=1 c=0 d=false\n", "BUDGET evaluations left 12",
        " verified, best | changed vs default: ", "profile: load_busy 70%, execute_busy 40%",
        "\nTRIED m000 m", "\nKNOBS value n, best latency, median vs best\n", "LEFT evals=1 "})
    EXPECT_NE(prompt.find(part), std::string::npos) << part << "\n" << prompt;
  EXPECT_EQ(prompt.find("/tmp"), std::string::npos);
}

TEST(LlmPolicy, OnlyAppendsToAConversation) {
  ScriptedServer server;
  const TestSurface surface = small_surface(false);
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server, {{"structured", "schema"}})).ok());
  ASSERT_TRUE(host.run(10).ok());
  const auto requests = server.requests();
  ASSERT_GT(requests.size(), 3u);
  for (size_t i = 1; i < requests.size(); ++i) {
    const Json before = *parse_json(requests[i - 1].body), now = *parse_json(requests[i].body);
    ASSERT_EQ(now["messages"].size(), before["messages"].size() + 2);
    for (size_t m = 0; m < before["messages"].size(); ++m)
      EXPECT_EQ(now["messages"][m], before["messages"][m]);
    EXPECT_EQ(now["response_format"], before["response_format"]);
  }
}

TEST(LlmPolicy, StartsAnewFromADigestWhenTheContextIsFull) {
  ScriptedServer server;
  const TestSurface surface = small_surface(true);
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server, {{"context_tokens", "3000"}, {"max_tokens", "500"}})).ok());
  ASSERT_TRUE(host.run(12).ok());
  EXPECT_EQ(host.evaluations, 12u);
  EXPECT_NE(last_prompt(server).find("DIGEST of "), std::string::npos);
  for (const SeenRequest& request : server.requests()) EXPECT_LT(request.body.size(), 3000u * 4);
}

TEST(LlmPolicy, HidesWhatTheLatencyAblationHides) {
  ScriptedServer server;
  const TestSurface surface = small_surface(false);
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server, {{"feedback", "latency"}})).ok());
  ASSERT_TRUE(host.run(12).ok());
  const std::string prompt = last_prompt(server);
  EXPECT_NE(prompt.find("RESULT p"), std::string::npos);
  for (const char* part : {"profile:", "changed vs default", "relaxed:", "scratchpad needs", "KNOBS"})
    EXPECT_EQ(prompt.find(part), std::string::npos) << part;
}

TEST(LlmPolicy, SetsEveryKnobHardInTheCompleteAblation) {
  for (const char* agent : {"naive", "accelopt"}) {
    ScriptedServer server;
    const TestSurface surface = small_surface(false);
    TestHost host(surface, kSmallStart);
    ASSERT_TRUE(host.start(options(server, {{"specification", "complete"}, {"agent", agent}})).ok());
    ASSERT_TRUE(host.run(10).ok());
    EXPECT_EQ(host.evaluations, 10u);
    for (const auto& proposal : host.proposals) {
      ASSERT_EQ(proposal.kind, wire::ProposalKind::Intents);
      for (const auto& intent : proposal.intents) {
        ASSERT_EQ(intent->assignments.size(), 4u);
        for (const auto& assignment : intent->assignments)
          EXPECT_EQ(assignment->strength, wire::Strength::Hard);
      }
    }
  }
}

TEST(Accelopt, AsksTheExecutorForSamplesAndKeepsTheParentsDecisions) {
  for (const bool catalog : {true, false}) {
    ScriptedServer server;
    const TestSurface surface = small_surface(catalog);
    TestHost host(surface, kSmallStart);
    ASSERT_TRUE(host.start(options(server, {{"agent", "accelopt"},
                                            {"executor", "always"},
                                            {"samples", "2"},
                                            {"plans", "3"},
                                            {"structured", "schema"}}))
                    .ok());
    ASSERT_TRUE(host.step().ok());
    size_t planners = 0, executors = 0;
    for (const SeenRequest& request : server.requests()) {
      planners += request.body.find("You are the planner") != std::string::npos ? 1 : 0;
      executors += request.body.find("You are the executor") != std::string::npos ? 1 : 0;
    }
    EXPECT_GE(planners, 3u);
    EXPECT_EQ(executors, 6u);
    const wire::ProposalT& proposal = host.proposals[0];
    EXPECT_GE(proposal.intents.size(), 3u);
    EXPECT_LE(proposal.intents.size(), 6u);
    for (const auto& intent : proposal.intents)
      EXPECT_EQ(intent->assignments.size(), 4u) << "what is not named stays as the parent's";
    ASSERT_TRUE(host.run(16).ok());
    EXPECT_EQ(host.evaluations, 16u);
  }
}

TEST(Accelopt, TellsPlannersWhatEarlierRoundsTaught) {
  ScriptedServer server;
  const TestSurface surface = small_surface(true);
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server, {{"agent", "accelopt"}})).ok());
  ASSERT_TRUE(host.run(20).ok());
  size_t summarizers = 0;
  for (const SeenRequest& request : server.requests())
    summarizers += request.body.find("You are the summarizer") != std::string::npos ? 1 : 0;
  EXPECT_GT(summarizers, 0u);
  const std::string prompt = last_prompt(server);
  EXPECT_NE(prompt.find("EXPERIENCE\n- "), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("x: ...; when ...: ...\n"), std::string::npos) << "the scripted model's lesson";
  EXPECT_NE(prompt.find("\nPARENT m"), std::string::npos);
}

TEST(LlmPolicy, ShowsALongCatalogByItsKnobs) {
  ScriptedServer server;
  const TestSurface surface = small_surface(true);
  TestHost host(surface, kSmallStart);
  host.context.static_costs.resize(114);
  for (size_t i = 0; i < 114; ++i) host.context.static_costs[i] = 500 - static_cast<double>(i);
  ASSERT_TRUE(host.start(options(server, {{"catalog_rows", "20"}})).ok());
  ASSERT_TRUE(host.run(30).ok());
  EXPECT_EQ(host.evaluations, 30u);
  const std::string prompt = last_prompt(server);
  EXPECT_EQ(prompt.find("m017 | "), std::string::npos);
  EXPECT_NE(prompt.find("rows with the lowest estimates:\nm113 | a=5 b=3 c=2 d=true | est 387\n"),
            std::string::npos);
  EXPECT_NE(prompt.find("nearest rows: m"), std::string::npos)
      << "rows beyond those listed are found by their knobs";
}

TEST(LlmPolicy, StopsWhenTheCatalogIsExhausted) {
  ScriptedServer server;
  TestSurface surface = small_surface(true);
  surface.legal = [](const Values& v) { return v[0] == 1 && v[1] <= 2; };
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server)).ok());
  ASSERT_TRUE(host.run(100).ok());
  EXPECT_EQ(host.evaluations, 11u);
  EXPECT_EQ(host.rationale, "every row of the catalog was tried");
}

TEST(LlmPolicy, StopsAfterManyProposalsWithoutAnEvaluation) {
  ServerOptions duplicates;
  duplicates.steps.assign(50, step("duplicate"));
  ScriptedServer server(duplicates);
  const TestSurface surface = small_surface(true);
  TestHost host(surface, kSmallStart);
  ASSERT_TRUE(host.start(options(server, {{"max_rejections", "5"}, {"structured", "schema"}})).ok());
  ASSERT_TRUE(host.run(12).ok());
  EXPECT_EQ(host.evaluations, 0u);
  EXPECT_EQ(host.proposals.size(), 6u);
  EXPECT_EQ(host.rationale, "the last 5 proposals led to no evaluation");
}

TEST(LlmPolicy, TakesTheTurnItselfAfterTwoRepairs) {
  for (const char* kind : {"malformed", "unknown_knob", "null_content", "refusal"}) {
    ServerOptions bad;
    bad.steps.assign(3, step(kind));
    ScriptedServer server(bad);
    const TestSurface surface = small_surface(true);
    TestHost host(surface, kSmallStart);
    ASSERT_TRUE(host.start(options(server, {{"structured", "schema"}})).ok());
    ASSERT_TRUE(host.step().ok());
    EXPECT_EQ(server.requests().size(), 3u) << kind;
    EXPECT_EQ(host.evaluations, 1u) << "a random row";
    EXPECT_EQ(host.proposals[0].usage->malformed, 3u);
    ASSERT_TRUE(host.step().ok());
    EXPECT_EQ(host.evaluations, 2u);
    const std::string prompt = last_prompt(server);
    EXPECT_NE(prompt.find("REJECTED malformed:\n- "), std::string::npos);
    EXPECT_NE(prompt.find("The controller proposed in your place.\nRESULT m"), std::string::npos) << prompt;
  }
}

TEST(LlmPolicy, RefusesDamagedStatesAndThoseOfOtherSearches) {
  ScriptedServer server;
  const TestSurface surface = small_surface(false);
  for (const char* agent : {"naive", "accelopt"}) {
    const auto given = options(server, {{"agent", agent}, {"structured", "schema"}});
    TestHost host(surface, kSmallStart);
    ASSERT_TRUE(host.start(given).ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(host.step().ok());
    const std::string state = *host.policy->save(*host.call);
    for (size_t size = 0; size < state.size(); size += 7)
      EXPECT_EQ(host.policy->load(*host.call, as_bytes(std::string_view(state).substr(0, size))).code(),
                Code::kDataLoss);
    for (size_t bit = 0; bit < 8 * state.size(); bit += 13) {
      std::string damaged = state;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_EQ(host.policy->load(*host.call, as_bytes(damaged)).code(), Code::kDataLoss);
      if (bit % 31 != 0) continue;
      StateWriter checksum;
      damaged.resize(damaged.size() - 8);
      checksum.u64(fnv1a(damaged));
      damaged += checksum.bytes();
      auto other = *LlmPolicy::create(*host.call, given);
      ASSERT_TRUE(other->start(*host.call, host.context).ok());
      wire::SearchStateT next;
      next.evaluations_left = 1;
      if (other->load(*host.call, as_bytes(damaged)).ok()) (void)other->propose(*host.call, next).ok();
    }
    TestHost other_seed(surface, kSmallStart, 8);
    ASSERT_TRUE(other_seed.start(given).ok());
    EXPECT_EQ(other_seed.policy->load(*host.call, as_bytes(state)).code(), Code::kDataLoss);
    TestHost other_agent(surface, kSmallStart);
    ASSERT_TRUE(
        other_agent.start(options(server, {{"agent", agent == std::string("naive") ? "accelopt" : "naive"}}))
            .ok());
    EXPECT_EQ(other_agent.policy->load(*host.call, as_bytes(state)).code(), Code::kDataLoss);
  }
}

TEST(LlmPolicy, RefusesSenselessContexts) {
  policies::testing::expect_senseless_contexts_refused<LlmPolicy>();
}

TEST(LlmPolicy, NamesItsOptionsWhenOneIsWrong) {
  TestCall call;
  const auto error = [&](const Pairs& pairs) {
    return LlmPolicy::create(*call, policies::testing::options(pairs)).status().message();
  };
  EXPECT_EQ(error({{"agent", "clever"}}), "policy llm: option 'agent' must be one of: naive, accelopt");
  EXPECT_EQ(error({{"positive", "0.5"}}), "policy llm: option 'positive' must be a number of 1..100");
  EXPECT_EQ(error({{"plans", "64"}, {"samples", "5"}}),
            "policy llm: plans times samples may be at most 256 intents of one proposal, they are 320");
  EXPECT_EQ(error({{"modle", "x"}}).substr(0, 52), "policy llm has no option 'modle'; its options: agent");
  EXPECT_EQ(error({{"mode", "replay"}}), "");
}

}  // namespace
}  // namespace zomboss::policies::llm::testing
