// Transcripts: replay without a server, resume without paying twice, damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "plugins/policies/common/policy_checks.h"
#include "plugins/policies/llm/tests/scripted_server.h"
#include "plugins/policies/llm/tests/test_host.h"

namespace zomboss::policies::llm::testing {
namespace {

using policies::testing::kSmallStart;
using policies::testing::small_surface;
using Pairs = std::vector<std::pair<std::string, std::string>>;
namespace fs = std::filesystem;

size_t lines_of(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// A run of `evaluations` in the folder; its proposals' bytes.
struct Outcome {
  std::vector<std::string> proposals;
  Status status;
  double best = 0;
  size_t evaluations = 0;
};
Outcome run(const fs::path& folder, const std::string& url, Pairs more, size_t evaluations = 14,
            bool catalog = true, uint64_t seed = 7) {
  const TestSurface surface = small_surface(catalog);
  TestHost host(surface, kSmallStart, seed);
  host.context.folder = folder;
  more.emplace_back("base_url", url);
  more.emplace_back("model", "scripted");
  Outcome result;
  result.status = host.start(policies::testing::options(more));
  if (result.status.ok()) result.status = host.run(evaluations);
  result.proposals = host.encoded;
  result.best = host.best;
  result.evaluations = host.evaluations;
  return result;
}

constexpr const char* kNowhere = "http://127.0.0.1:1/v1";

TEST(Replay, GivesTheSameProposalsWithoutAServer) {
  for (const bool catalog : {true, false}) {
    for (const char* agent : {"naive", "accelopt"}) {
      const TempFolder folder;
      Outcome recorded;
      {
        ServerOptions flaky;
        flaky.flaky = true;
        ScriptedServer server(flaky);
        recorded = run(folder.path(), server.url(), {{"agent", agent}}, 14, catalog);
      }
      ASSERT_TRUE(recorded.status.ok()) << recorded.status.message();
      EXPECT_EQ(recorded.evaluations, 14u);
      const std::string before = file_text(folder / "llm.jsonl");
      for (const char* mode : {"replay", "replay-lenient"}) {
        const Outcome replayed =
            run(folder.path(), kNowhere, {{"agent", agent}, {"mode", mode}}, 14, catalog);
        ASSERT_TRUE(replayed.status.ok()) << replayed.status.message();
        EXPECT_EQ(replayed.proposals, recorded.proposals) << agent << mode;
        EXPECT_EQ(replayed.best, recorded.best);
      }
      EXPECT_EQ(file_text(folder / "llm.jsonl"), before) << "a replay writes nothing";
      // The transcript may lie elsewhere, and the run may have no folder.
      const Outcome elsewhere =
          run("", kNowhere, {{"agent", agent}, {"mode", "replay"}, {"transcript", folder / "llm.jsonl"}}, 14,
              catalog);
      EXPECT_EQ(elsewhere.proposals, recorded.proposals);
    }
  }
}

TEST(Replay, NamesTheFirstDifference) {
  const TempFolder folder;
  ScriptedServer server;
  ASSERT_TRUE(run(folder.path(), server.url(), {{"structured", "schema"}}).status.ok());
  const Outcome longer =
      run(folder.path(), kNowhere, {{"structured", "schema"}, {"mode", "replay"}, {"max_tokens", "1000"}});
  EXPECT_EQ(longer.status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(longer.status.message(),
            "replay: the request of turn 1, call 1 (naive) differs from the transcript's at $.max_tokens: "
            "1000 here, 4096 "
            "there");
  const Outcome more =
      run(folder.path(), kNowhere, {{"structured", "schema"}, {"mode", "replay"}, {"catalog_rows", "5"}});
  EXPECT_EQ(more.status.message().find(
                "replay: the request of turn 1, call 1 (naive) differs from the transcript's at "
                "$.messages[1].content, byte "),
            0u)
      << more.status.message();
  const Outcome beyond =
      run(folder.path(), kNowhere, {{"structured", "schema"}, {"mode", "replay"}}, 14, true, 8);
  EXPECT_TRUE(beyond.status.ok()) << "another seed asks the same of this server: " << beyond.status.message();
  const Outcome none = run(TempFolder().path(), kNowhere, {{"mode", "replay"}});
  EXPECT_EQ(none.status.message(), "policy llm: the transcript to replay cannot be opened");
}

TEST(Replay, SaysWhenTheTranscriptEnds) {
  const TempFolder folder;
  ScriptedServer server;
  const Outcome recorded = run(folder.path(), server.url(), {{"structured", "schema"}}, 6);
  const Outcome replayed = run(folder.path(), kNowhere, {{"structured", "schema"}, {"mode", "replay"}}, 7);
  // The budget stands in the prompt: 7 evaluations are another search from the start.
  EXPECT_NE(replayed.status.message().find("differs from the transcript's"), std::string::npos);
  const Outcome lenient =
      run(folder.path(), kNowhere, {{"structured", "schema"}, {"mode", "replay-lenient"}}, 7);
  EXPECT_EQ(lenient.status.message(),
            "replay: the transcript has no more attempts for the request of turn 7, call 1 "
            "(naive)");
  ASSERT_EQ(lenient.proposals.size(), 6u);
  EXPECT_EQ(recorded.proposals, lenient.proposals);
}

TEST(Resume, TakesRecordedAnswersFirstAndPaysNothingTwice) {
  for (const char* agent : {"naive", "accelopt"}) {
    const TempFolder whole_folder, folder;
    ServerOptions flaky;
    flaky.flaky = true;
    ScriptedServer whole_server(flaky);
    const Pairs given = {{"agent", agent}, {"structured", "schema"}};
    const Outcome whole = run(whole_folder.path(), whole_server.url(), given);
    ASSERT_TRUE(whole.status.ok());
    const std::string text = file_text(whole_folder / "llm.jsonl");
    Random random(3, 0);
    for (int kill = 0; kill < 12; ++kill) {  // after any number of bytes
      const std::string kept = text.substr(0, random.below(text.size()));
      std::ofstream(folder / "llm.jsonl", std::ios::binary) << kept;
      std::set<std::string> answered;
      size_t turns = 0;
      std::istringstream lines(kept.substr(0, kept.rfind('\n') + 1));
      for (std::string line; std::getline(lines, line);) {
        const Json record = *parse_json(line);
        turns += record["kind"] == "turn" ? 1 : 0;
        if (record["kind"] == "attempt" && record["verdict"] != "retry")
          answered.insert(canonical(record["request"]));
      }
      ScriptedServer fresh;
      const Outcome resumed = run(folder.path(), fresh.url(), given);
      ASSERT_TRUE(resumed.status.ok()) << resumed.status.message();
      EXPECT_EQ(resumed.evaluations, 14u);
      ASSERT_GE(resumed.proposals.size(), turns);
      for (size_t i = 0; i < turns; ++i) EXPECT_EQ(resumed.proposals[i], whole.proposals[i]);
      for (const SeenRequest& request : fresh.requests()) EXPECT_EQ(answered.count(request.body), 0u);
    }
  }
}

TEST(Resume, EqualsTheWholeRunByteForByteWhenTheServerIsGood) {
  for (const char* agent : {"naive", "accelopt"}) {
    const TempFolder folder;
    ScriptedServer server;
    const Pairs given = {{"agent", agent}, {"structured", "schema"}};
    const Outcome whole = run(folder.path(), server.url(), given);
    const std::string text = file_text(folder / "llm.jsonl");
    for (const size_t part : {text.size() / 7, text.size() / 2, text.size() * 9 / 10}) {
      std::ofstream(folder / "llm.jsonl", std::ios::binary) << text.substr(0, part);
      const Outcome resumed = run(folder.path(), server.url(), given);
      EXPECT_EQ(resumed.proposals, whole.proposals);
    }
    const size_t asked = server.requests().size();
    EXPECT_EQ(run(folder.path(), server.url(), given).proposals, whole.proposals);
    EXPECT_EQ(server.requests().size(), asked) << "everything was recorded";
  }
}

TEST(Resume, GoesAnotherWayWhenTheSearchIsAnother) {
  const TempFolder folder;
  ScriptedServer server;
  ASSERT_TRUE(run(folder.path(), server.url(), {{"structured", "schema"}}, 5).status.ok());
  const size_t before = lines_of(file_text(folder / "llm.jsonl"));
  const Outcome other =
      run(folder.path(), server.url(), {{"structured", "schema"}, {"feedback", "latency"}}, 5);
  ASSERT_TRUE(other.status.ok());
  EXPECT_GT(lines_of(file_text(folder / "llm.jsonl")), before) << "what was paid for is kept";
  EXPECT_NE(file_text(folder / "llm.jsonl").find(R"("kind":"branch")"), std::string::npos);
  const Outcome replayed = run(folder.path(), kNowhere,
                               {{"structured", "schema"}, {"feedback", "latency"}, {"mode", "replay"}}, 5);
  ASSERT_TRUE(replayed.status.ok()) << replayed.status.message();
  EXPECT_EQ(replayed.proposals, other.proposals);
}

TEST(Resume, AsksAgainWhereTheServerHadFailed) {
  const TempFolder folder;
  const Pairs given = {{"structured", "schema"}, {"tries", "2"}};
  const std::vector<Step> down(2, status_step(503, "down", {{"retry-after-ms", "1"}}));
  ServerOptions outage;
  outage.steps = {step("good"), step("good")};
  outage.steps.insert(outage.steps.end(), down.begin(), down.end());
  ScriptedServer server(outage);
  const Outcome stopped = run(folder.path(), server.url(), given, 5);
  EXPECT_EQ(stopped.status.message(),
            "the language model failed 2 times in a row, the last time with: HTTP 503: down");
  EXPECT_EQ(stopped.evaluations, 2u);
  // A replay ends for the same reason; a resumed run goes on.
  Pairs replay = given;
  replay.emplace_back("mode", "replay");
  const Outcome replayed = run(folder.path(), kNowhere, replay, 5);
  EXPECT_EQ(replayed.proposals, stopped.proposals);
  EXPECT_EQ(replayed.status.message(), stopped.status.message());
  const Outcome resumed = run(folder.path(), server.url(), given, 5);
  EXPECT_EQ(resumed.evaluations, 5u);
  ASSERT_EQ(stopped.proposals.size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(resumed.proposals[i], stopped.proposals[i]);
  const Outcome whole = run(folder.path(), kNowhere, replay, 5);
  EXPECT_EQ(whole.proposals, resumed.proposals) << whole.status.message();
}

TEST(Resume, RepeatsWhatWasMadeOfAHalfFinishedTurn) {
  const TempFolder folder;
  const Pairs given = {{"agent", "accelopt"}, {"structured", "schema"}, {"tries", "1"}};
  ServerOptions outage;
  outage.steps = {step("good"), step("good"), status_step(503, "down")};
  ScriptedServer server(outage);
  const Outcome whole = run(folder.path(), server.url(), given, 8);
  ASSERT_TRUE(whole.status.ok()) << whole.status.message();
  EXPECT_EQ(decode<wire::ProposalT>(as_bytes(whole.proposals[0]))->intents.size(), 2u)
      << "of four plans two came";
  const size_t asked = server.requests().size();
  EXPECT_EQ(run(folder.path(), server.url(), given, 8).proposals, whole.proposals);
  EXPECT_EQ(server.requests().size(), asked);
}

TEST(Budget, StopsTheSearchAndIsRepeated) {
  const TestSurface surface = small_surface(true);
  const TempFolder folder;
  ScriptedServer server;
  const auto search = [&](const std::string& url, const char* mode, uint64_t tokens) {
    auto host = std::make_unique<TestHost>(surface, kSmallStart);
    host->context.folder = folder.path();
    host->context.token_budget = tokens;
    host->tokens_left = tokens;
    EXPECT_TRUE(
        host->start(policies::testing::options(
                        {{"base_url", url}, {"mode", mode}, {"structured", "schema"}, {"max_tokens", "500"}}))
            .ok());
    const Status status = host->run(50);
    EXPECT_TRUE(status.ok()) << status.message();
    return host;
  };
  const auto first = search(server.url(), "live", 20'000);
  EXPECT_EQ(first->proposals.back().kind, wire::ProposalKind::Stop);
  EXPECT_EQ(first->rationale.find("token budget: the next request may take "), 0u) << first->rationale;
  EXPECT_GT(first->evaluations, 3u);
  uint64_t spent = 0;
  for (const auto& proposal : first->proposals)
    if (proposal.usage != nullptr) spent += proposal.usage->prompt_tokens + proposal.usage->completion_tokens;
  EXPECT_LE(spent, 20'000u);
  EXPECT_GT(spent, 14'000u);
  EXPECT_EQ(search(kNowhere, "replay", 20'000)->encoded, first->encoded);
  const size_t asked = server.requests().size();
  EXPECT_EQ(search(server.url(), "live", 20'000)->encoded, first->encoded);
  EXPECT_EQ(search(server.url(), "live", 90'000)->encoded, first->encoded)
      << "a finished run stays as it was";
  EXPECT_EQ(server.requests().size(), asked);
}

TEST(Transcript, RefusesDamageInTheMiddle) {
  const TempFolder folder;
  ScriptedServer server;
  ASSERT_TRUE(run(folder.path(), server.url(), {{"structured", "schema"}}, 3).status.ok());
  std::string text = file_text(folder / "llm.jsonl");
  text[text.find('\n') + 5] = '\n';
  std::ofstream(folder / "llm.jsonl", std::ios::binary) << text;
  EXPECT_EQ(run(folder.path(), server.url(), {{"structured", "schema"}}, 3).status.message(),
            "the transcript's line 2 is damaged");
}

TEST(Transcript, RecordsEveryAttempt) {
  const TempFolder folder;
  ServerOptions options;
  options.steps = {status_step(500, "oops", {{"retry-after-ms", "3"}}), step("malformed")};
  ScriptedServer server(options);
  ASSERT_TRUE(run(folder.path(), server.url(), {{"structured", "schema"}}, 1).status.ok());
  std::istringstream lines(file_text(folder / "llm.jsonl"));
  std::vector<Json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(*parse_json(line));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0]["verdict"], "retry");
  EXPECT_EQ(records[0]["status"], 500);
  EXPECT_EQ(records[0]["retry_after_ms"], 3);
  EXPECT_EQ(records[1]["verdict"], "malformed: the answer holds no JSON object");
  EXPECT_EQ(records[1]["attempt"], 2);
  EXPECT_EQ(records[1]["hash"], records[0]["hash"]);
  EXPECT_EQ(records[2]["verdict"], "answer");
  EXPECT_EQ(records[2]["action"]["action"], "propose");
  EXPECT_NE(records[2]["response"].get<std::string>().find("scripted"), std::string::npos);
  EXPECT_GT(records[2]["usage"]["prompt_tokens"], 100);
  EXPECT_EQ(records[3], Json({{"kind", "turn"}, {"turn", 1}}));
}

TEST(Experience, IsSharedThroughAFileAndReplayed) {
  const TempFolder folder, second;
  ScriptedServer server;
  const Pairs given = {
      {"agent", "accelopt"}, {"structured", "schema"}, {"experience", folder / "lessons.jsonl"}};
  ASSERT_TRUE(run(folder.path(), server.url(), given, 20).status.ok());
  const std::string lessons = file_text(folder / "lessons.jsonl");
  EXPECT_GT(lines_of(lessons), 0u);
  EXPECT_NE(lessons.find(R"("target":"test")"), std::string::npos);
  const Outcome informed = run(second.path(), server.url(), given, 10);
  ASSERT_TRUE(informed.status.ok()) << informed.status.message();
  EXPECT_NE(server.requests().back().body.find("EXPERIENCE\\n- "), std::string::npos);
  // The file has grown since; the run sees what it saw.
  Pairs replay = given;
  replay.emplace_back("mode", "replay");
  const std::string after = file_text(folder / "lessons.jsonl");
  const Outcome replayed = run(second.path(), kNowhere, replay, 10);
  EXPECT_EQ(replayed.proposals, informed.proposals) << replayed.status.message();
  EXPECT_EQ(file_text(folder / "lessons.jsonl"), after) << "a replay teaches nobody";
}

TEST(Secrets, AreNotInTheFolderOfARun) {
  const TempFolder folder;
  const std::string key = "sk-live-abcdefghijklmnop";
  ::setenv("ZB_TEST_RUN_KEY", key.c_str(), 1);
  ServerOptions options;
  options.steps = {status_step(500, "bad " + key, {{"retry-after-ms", "1"}})};
  ScriptedServer server(options);
  const Outcome done = run(folder.path(), server.url(), {{"api_key_env", "ZB_TEST_RUN_KEY"}}, 8);
  ASSERT_TRUE(done.status.ok());
  EXPECT_NE(server.requests()[0].head.find(key), std::string::npos);
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    ++files;
    EXPECT_EQ(file_text(entry.path()).find(key), std::string::npos) << entry.path();
  }
  EXPECT_EQ(files, 1u);
  for (const std::string& proposal : done.proposals) EXPECT_EQ(proposal.find(key), std::string::npos);
}

}  // namespace
}  // namespace zomboss::policies::llm::testing
