#include <gtest/gtest.h>

#include "core/history/history.h"
#include "core/history/testing.h"

namespace zomboss::history {
namespace {

using testing::sample_proposal;
using testing::start_run;
using testing::TempFolder;

struct Rest {
  uint64_t index = 0, evaluation = 0;
  std::string intent = {}, reason = {}, plan = {};
  uint64_t latency = 0;
  double static_cost = 0;
  bool incumbent = false;
};

Trial make_trial(uint64_t number, uint64_t proposal, const std::string& outcome, const Rest& rest) {
  Trial trial;
  trial.number = number;
  trial.proposal = proposal;
  trial.index = rest.index;
  trial.evaluation = rest.evaluation;
  trial.outcome = outcome;
  trial.intent = rest.intent;
  trial.reason = rest.reason;
  trial.plan = rest.plan;
  trial.latency = rest.latency;
  trial.static_cost = rest.static_cost;
  trial.incumbent = rest.incumbent;
  return trial;
}

// A region with two plans, of which the second is the new best; a proposal that was rejected as a whole; a
// duplicate. 5 trials, 2 evaluations.
std::vector<Proposal> three_proposals() {
  std::vector<Proposal> proposals(3);
  proposals[0].number = 1;
  proposals[0].bytes = std::string("\x00\xff\x10", 3);
  proposals[0].rationale = "a \"wide\" region\nof tiles";
  proposals[0].usage = {.requests = 2,
                        .prompt_tokens = 900,
                        .completion_tokens = 80,
                        .cached_tokens = 10,
                        .reasoning_tokens = 5,
                        .malformed = 1,
                        .cost = 0.125,
                        .cost_unknown = false,
                        .estimated = true,
                        .currency = "USD"};
  proposals[0].trials = {make_trial(1, 1, "region", {.intent = "tile_m~8"}),
                         make_trial(2, 1, "wrong",
                                    {.index = 1,
                                     .evaluation = 1,
                                     .intent = "tile_m=8",
                                     .reason = "element 3 is 4, not 5",
                                     .plan = "aa",
                                     .static_cost = 12.5}),
                         make_trial(3, 1, "valid",
                                    {.index = 2,
                                     .evaluation = 2,
                                     .intent = "tile_m=16",
                                     .plan = "bb",
                                     .latency = 70'000,
                                     .static_cost = 11.25,
                                     .incumbent = true})};
  proposals[1].number = 2;
  proposals[1].usage.requests = 1;
  proposals[1].usage.cost = 0.25;
  proposals[1].usage.cost_unknown = true;
  proposals[1].trials = {make_trial(4, 2, "illegal", {.reason = "unknown knob 'x'"})};
  proposals[2].number = 3;
  proposals[2].trials = {make_trial(5, 3, "duplicate", {.plan = "bb", .latency = 70'000})};
  return proposals;
}

struct Recorded {
  TempFolder folder;
  std::unique_ptr<History> history;
  int64_t run = 0;
};

void fill(Recorded& recorded, const std::vector<Proposal>& proposals) {
  auto opened = History::open(recorded.folder.file("history.db"), Access::kReadWrite);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  recorded.history = *std::move(opened);
  recorded.run = start_run(*recorded.history);
  for (const Proposal& proposal : proposals) {
    const Status status = recorded.history->record(recorded.run, proposal);
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

TEST(HistoryRecord, TheRunFollows) {
  Recorded recorded;
  fill(recorded, three_proposals());
  const history::Run run = *recorded.history->run(recorded.run);
  EXPECT_EQ(run.proposals, 3u);
  EXPECT_EQ(run.trials, 5u);
  EXPECT_EQ(run.evaluations, 2u);
  EXPECT_EQ(run.best_evaluation, 2u);
  EXPECT_EQ(run.best_latency, 70'000u);
  EXPECT_EQ(run.best_plan, "bb");
  const Usage sum = {.requests = 3,
                     .prompt_tokens = 900,
                     .completion_tokens = 80,
                     .cached_tokens = 10,
                     .reasoning_tokens = 5,
                     .malformed = 1,
                     .cost = 0.375,
                     .cost_unknown = true,
                     .estimated = true,
                     .currency = "USD"};
  EXPECT_EQ(run.usage, sum);
  EXPECT_EQ(*recorded.history->outcomes(recorded.run),
            (std::vector<std::pair<std::string, uint64_t>>{
                {"duplicate", 1}, {"illegal", 1}, {"region", 1}, {"valid", 1}, {"wrong", 1}}));
  const Status checked = recorded.history->check();
  EXPECT_TRUE(checked.ok()) << checked.message();
}

TEST(HistoryRecord, ProposalsReadBackAsTheyWere) {
  Recorded recorded;
  const std::vector<Proposal> proposals = three_proposals();
  fill(recorded, proposals);
  std::vector<Proposal> read;
  ASSERT_TRUE(recorded.history
                  ->each_proposal(recorded.run,
                                  [&](const Proposal& proposal) {
                                    read.push_back(proposal);
                                    return true;
                                  })
                  .ok());
  ASSERT_EQ(read.size(), proposals.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].number, proposals[i].number);
    EXPECT_EQ(read[i].bytes, proposals[i].bytes);
    EXPECT_EQ(read[i].rationale, proposals[i].rationale);
    EXPECT_EQ(read[i].usage, proposals[i].usage);
    EXPECT_EQ(read[i].trials, proposals[i].trials);
  }
  EXPECT_EQ(recorded.history->trial(recorded.run, 3)->value(), proposals[0].trials[2]);
  EXPECT_FALSE(recorded.history->trial(recorded.run, 6)->has_value());
}

TEST(HistoryRecord, VisitorsStopAndMayAskForMore) {
  Recorded recorded;
  fill(recorded, three_proposals());
  History& history = *recorded.history;
  size_t trials = 0;
  ASSERT_TRUE(
      history
          .each_trial(recorded.run,
                      [&](const Trial& trial) {
                        EXPECT_EQ(history.trial(recorded.run, trial.number)->value(), trial);
                        EXPECT_TRUE(
                            history.each_trial(recorded.run, [](const Trial&) { return false; }).ok());
                        return ++trials < 4;
                      })
          .ok());
  EXPECT_EQ(trials, 4u);
  size_t proposals = 0;
  ASSERT_TRUE(history
                  .each_proposal(recorded.run,
                                 [&](const Proposal&) {
                                   // A change in the middle of a walk.
                                   EXPECT_TRUE(history.add_event(recorded.run, "output", "x").ok());
                                   return ++proposals < 2;
                                 })
                  .ok());
  EXPECT_EQ(proposals, 2u);
  EXPECT_EQ(history.events(recorded.run)->size(), 2u);
}

TEST(HistoryRecord, NumbersMustContinueTheRun) {
  Recorded recorded;
  fill(recorded, three_proposals());
  History& history = *recorded.history;
  const std::string before = *history.canonical_text(recorded.run);
  const auto next = [] {
    Proposal proposal;
    proposal.number = 4;
    proposal.trials = {make_trial(6, 4, "valid", {.evaluation = 3, .plan = "cc"})};
    return proposal;
  };
  std::vector<Proposal> wrong(5, next());
  wrong[0].number = 3;
  wrong[1].number = 5;
  wrong[2].trials[0].number = 7;
  wrong[3].trials[0].evaluation = 2;
  wrong[4].trials[0].proposal = 3;
  for (const Proposal& proposal : wrong) {
    const Status status = history.record(recorded.run, proposal);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.message();
  }
  EXPECT_EQ(history.record(99, next()).code(), Code::kNotFound);
  EXPECT_EQ(*history.canonical_text(recorded.run), before);
  EXPECT_TRUE(history.check().ok());
  EXPECT_TRUE(history.record(recorded.run, next()).ok());
}

TEST(HistoryCanonicalText, HasOneLineForEachProposalAndTrialAndTheTotals) {
  Recorded recorded;
  fill(recorded, three_proposals());
  ASSERT_TRUE(recorded.history->end_run(recorded.run, {"complete", "evaluation budget", 1}).ok());
  const std::string text = *recorded.history->canonical_text(recorded.run);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 5 + 1);
  EXPECT_NE(text.find("trial 3 proposal=1 index=2 evaluation=2 outcome=\"valid\" plan=\"bb\" latency=70000 "
                      "static_cost=11.25 incumbent intent=\"tile_m=16\" reason=\"\"\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rationale=\"a \\\"wide\\\" region\\nof tiles\""), std::string::npos) << text;
  EXPECT_NE(text.find("best_latency=70000 requests=3"), std::string::npos) << text;
  EXPECT_EQ(recorded.history->canonical_text(99).status().code(), Code::kNotFound);
}

TEST(HistoryCanonicalText, IsEqualForEqualRunsWhereverTheyAre) {
  Recorded first;
  fill(first, three_proposals());
  // The same run as the second of another file, interrupted and continued.
  const TempFolder folder;
  const std::string path = folder.file("history.db");
  int64_t run = 0;
  {
    auto history = *History::open(path, Access::kReadWrite);
    ASSERT_TRUE(history->record(start_run(*history), sample_proposal(1)).ok());
    run = start_run(*history);
    ASSERT_TRUE(history->record(run, three_proposals()[0]).ok());
    ASSERT_TRUE(history->end_run(run, {"interrupted", "interrupted", 3}).ok());
    ASSERT_TRUE(history->add_event(run, "interrupt", "").ok());
  }
  auto history = *History::open(path, Access::kReadWrite);
  ASSERT_TRUE(history->reopen_run(run).ok());
  ASSERT_TRUE(history->record(run, three_proposals()[1]).ok());
  ASSERT_TRUE(history->record(run, three_proposals()[2]).ok());
  for (const auto& [of, id] : {std::pair{first.history.get(), first.run}, std::pair{history.get(), run}})
    ASSERT_TRUE(of->end_run(id, {"complete", "evaluation budget", 5}).ok());
  EXPECT_EQ(*first.history->canonical_text(first.run), *history->canonical_text(run));
}

TEST(HistoryCanonicalText, SeesEveryDifference) {
  const auto text_of = [](const std::vector<Proposal>& proposals) {
    Recorded recorded;
    fill(recorded, proposals);
    return *recorded.history->canonical_text(recorded.run);
  };
  const std::string reference = text_of(three_proposals());
  EXPECT_EQ(text_of(three_proposals()), reference);
  std::vector<std::vector<Proposal>> changed(14, three_proposals());
  changed[0][0].bytes += 'x';
  changed[1][1].rationale = "because";
  changed[2][0].usage.prompt_tokens += 1;
  changed[3][0].trials[1].outcome = "crashed";
  changed[4][0].trials[2].latency -= 1;
  changed[5][0].trials[1].reason += ".";
  changed[6][0].trials[2].plan = "cc";
  changed[7][0].trials[2].static_cost = 11.250000000000002;
  changed[8][0].trials[2].incumbent = false;
  changed[9][0].trials[0].intent = "tile_m~16";
  changed[10][2].trials[0].index = 1;
  changed[11][2].trials[0].evaluation = 3;
  changed[12][2].trials.clear();
  changed[13].pop_back();
  for (size_t i = 0; i < changed.size(); ++i) EXPECT_NE(text_of(changed[i]), reference) << "change " << i;
}

}  // namespace
}  // namespace zomboss::history
