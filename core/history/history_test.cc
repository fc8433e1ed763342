#include "core/history/history.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "core/history/database.h"
#include "core/history/schema.h"
#include "core/history/testing.h"

namespace zomboss::history {
namespace {

using testing::sample_problem;
using testing::sample_proposal;
using testing::sample_run;
using testing::start_run;
using testing::TempFolder;

std::unique_ptr<History> open(const std::string& path, Access access = Access::kReadWrite) {
  auto history = History::open(path, access);
  EXPECT_TRUE(history.ok()) << history.status().message();
  return history.ok() ? *std::move(history) : nullptr;
}

// "2026-01-31T12:00:00Z"
bool is_time(const std::string& text) {
  const std::string form = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != form.size()) return false;
  for (size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
  return text > "2026";
}

TEST(HistoryOpen, MakesTheFoldersAboveTheFile) {
  const TempFolder folder;
  const std::string path = folder.file("a/b/history.db");
  auto history = open(path);
  ASSERT_NE(history, nullptr);
  EXPECT_EQ(history->path(), path);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(history->check().ok());
}

TEST(HistoryOpen, ReadOnlyNeedsAFile) {
  const TempFolder folder;
  EXPECT_EQ(History::open(folder.file("none.db"), Access::kReadOnly).status().code(), Code::kNotFound);
  std::ofstream(folder.file("empty.db")).close();
  EXPECT_EQ(History::open(folder.file("empty.db"), Access::kReadOnly).status().code(), Code::kNotFound);
  EXPECT_EQ(History::open(folder.file(""), Access::kReadOnly).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(std::filesystem::file_size(folder.file("empty.db")), 0u);
  EXPECT_NE(open(folder.file("empty.db")), nullptr);  // for writing an empty file is a new history
}

TEST(HistoryOpen, AFolderThatCannotBeMadeIsPermissionDenied) {
  const TempFolder folder;
  std::ofstream(folder.file("file")).close();
  const auto history = History::open(folder.file("file/history.db"), Access::kReadWrite);
  EXPECT_EQ(history.status().code(), Code::kPermissionDenied) << history.status().message();
}

TEST(HistoryOpen, ReadOnlyWritesNothing) {
  const TempFolder folder;
  const std::string path = folder.file("history.db");
  const int64_t run = start_run(*open(path));
  auto history = open(path, Access::kReadOnly);
  ASSERT_NE(history, nullptr);
  EXPECT_TRUE(history->run(run).ok());
  EXPECT_EQ(history->record(run, sample_proposal(1)).code(), Code::kFailedPrecondition);
  EXPECT_EQ(history->create_job({}).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(history->add_problem(sample_problem()).code(), Code::kFailedPrecondition);
  EXPECT_EQ(history->set_document(run, "a", "b").code(), Code::kFailedPrecondition);
}

TEST(HistoryOpen, OtherFilesAreDataLossAndStayAsTheyAre) {
  const TempFolder folder;
  const std::string text_file = folder.file("notes.txt");
  const std::string text(5000, 'x');
  std::ofstream(text_file) << text;
  {
    auto other = Database::open(folder.file("other.db"), {});
    ASSERT_TRUE(other.ok() && (*other)->script("CREATE TABLE songs (title)").ok());
  }
  for (const Access access : {Access::kReadWrite, Access::kReadOnly}) {
    const auto from_text = History::open(text_file, access);
    EXPECT_EQ(from_text.status().code(), Code::kDataLoss);
    EXPECT_NE(from_text.status().message().find("notes.txt is not a history"), std::string::npos);
    const auto foreign = History::open(folder.file("other.db"), access);
    EXPECT_EQ(foreign.status().code(), Code::kDataLoss);
    EXPECT_NE(foreign.status().message().find("another program"), std::string::npos);
  }
  EXPECT_EQ(std::filesystem::file_size(text_file), text.size());
  auto other = Database::open(folder.file("other.db"), {});
  EXPECT_EQ(*(*other)->integer("SELECT COUNT(*) FROM sqlite_schema"), 1);
}

TEST(HistoryOpen, ANewerFormatIsRefusedWithBothVersions) {
  const TempFolder folder;
  const std::string path = folder.file("history.db");
  open(path).reset();
  {
    auto database = Database::open(path, {});
    ASSERT_TRUE((*database)->script("PRAGMA user_version = 99").ok());
  }
  for (const Access access : {Access::kReadWrite, Access::kReadOnly}) {
    const auto history = History::open(path, access);
    EXPECT_EQ(history.status().code(), Code::kFailedPrecondition);
    EXPECT_NE(history.status().message().find("has history format 99"), std::string::npos);
    EXPECT_NE(history.status().message().find("formats up to " + std::to_string(schema_steps().size())),
              std::string::npos);
  }
}

// A file as the first step left it, with a run of three trials.
void write_first_format(const std::string& path) {
  auto opened = Database::open(path, {});
  ASSERT_TRUE(opened.ok());
  Database& database = **opened;
  ASSERT_TRUE(database.script(schema_steps()[0]).ok());
  const Status filled = database.script(R"sql(
    INSERT INTO jobs VALUES (1, 'search', '1:a', '/x', '{}', '{}', 'complete', '2026-01-01T00:00:00Z', '', 0);
    INSERT INTO problems VALUES (1, 'p', 'gemmini', '', '', '', '', 'w', '', 'cycles', '', '');
    INSERT INTO runs VALUES (1, 1, 0, 'w', '', 1, '', '', 'hill', '', '', '', 1, 1, 1, 0, 0, 0, 0, 'p0', 100,
      NULL, '', NULL, '', 1, 1, 3, 1, 90, 'p1', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', 0, 'complete', '', '', '');
    INSERT INTO proposals VALUES (1, 1, x'00', '', 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, '');
    INSERT INTO trials VALUES (1, 1, 1, 0, 1, 'valid', '', '', 'p1', 90, 0, 1),
      (1, 2, 1, 1, 0, 'duplicate', '', '', 'p1', 90, 0, 0), (1, 3, 1, 2, 0, 'duplicate', '', '', 'p1', 90, 0, 0);
  )sql");
  ASSERT_TRUE(filled.ok()) << filled.message();
  const std::string marks =
      "PRAGMA user_version = 1; PRAGMA application_id = " + std::to_string(kApplicationId);
  ASSERT_TRUE(database.script(marks.c_str()).ok());
}

TEST(HistoryOpen, AnOlderFormatIsBroughtUpToDateWithItsContents) {
  for (const Access access : {Access::kReadWrite, Access::kReadOnly}) {
    const TempFolder folder;
    write_first_format(folder.file("history.db"));
    auto history = open(folder.file("history.db"), access);
    ASSERT_NE(history, nullptr);
    const auto outcomes = history->outcomes(1);
    ASSERT_TRUE(outcomes.ok()) << outcomes.status().message();
    EXPECT_EQ(*outcomes, (std::vector<std::pair<std::string, uint64_t>>{{"duplicate", 2}, {"valid", 1}}));
    EXPECT_EQ(history->run(1)->best_latency, 90u);
    EXPECT_EQ(history->job(1)->arguments, std::vector<std::string>{"a"});
    EXPECT_TRUE(history->plugins()->empty());
    const Status checked = history->check();
    EXPECT_TRUE(checked.ok()) << checked.message();
  }
}

TEST(HistoryOpen, ADamagedFileIsDataLoss) {
  const TempFolder folder;
  const std::string path = folder.file("history.db");
  {
    auto history = open(path);
    const int64_t run = start_run(*history);
    for (uint64_t i = 1; i <= 2000; ++i) ASSERT_TRUE(history->record(run, sample_proposal(i)).ok());
  }
  const auto size = std::filesystem::file_size(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (uint64_t page = size / 2 / 4096; page < size * 3 / 4 / 4096; ++page) {
    file.seekp(static_cast<std::streamoff>(page * 4096));
    file << std::string(4096, '\xa5');
  }
  file.close();
  auto history = open(path, Access::kReadOnly);
  ASSERT_NE(history, nullptr);
  EXPECT_EQ(history->check().code(), Code::kDataLoss);
  EXPECT_EQ(history->each_trial(1, [](const Trial&) { return true; }).code(), Code::kDataLoss);
  std::filesystem::resize_file(path, 1000);
  EXPECT_EQ(History::open(path, Access::kReadOnly).status().code(), Code::kDataLoss);
}

TEST(HistoryCheck, CountsThatDisagreeAreFound) {
  const TempFolder folder;
  const std::string path = folder.file("history.db");
  {
    auto history = open(path);
    const int64_t run = start_run(*history);
    for (uint64_t i = 1; i <= 3; ++i) ASSERT_TRUE(history->record(run, sample_proposal(i)).ok());
    ASSERT_TRUE(history->check().ok());
  }
  struct Damage {
    const char* change;
    const char* finding;
  };
  for (const Damage& damage :
       {Damage{"DELETE FROM trials WHERE number = 2", "run 1 states 3 for trials, its records say 2"},
        Damage{"UPDATE runs SET proposals = 7", "run 1 states 7 for proposals, its records say 3"},
        Damage{"UPDATE runs SET best_latency = 5", "states 5 for the latency of the best"},
        Damage{"UPDATE outcomes SET trials = 4", "states 3 for trials by outcome"},
        Damage{"UPDATE trials SET number = 9 WHERE number = 3", "the highest trial"},
        Damage{"DELETE FROM proposals WHERE number = 1", "names a row of proposals that is not there"}}) {
    const std::string copy = folder.file("copy.db");
    std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing);
    {
      auto database = Database::open(copy, {});
      ASSERT_TRUE((*database)->script(damage.change).ok());
    }
    const Status status = open(copy)->check();
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_NE(status.message().find(damage.finding), std::string::npos) << status.message();
  }
}

TEST(HistoryJobs, AreKeptAsGiven) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  Job job;
  job.command = "search";
  job.arguments = {"search", "a b.hlo", "", "--set=x:y", "line\nend"};
  job.folder = "/home/u";
  job.configuration = R"({"a": 1})";
  job.environment = "{}";
  ASSERT_EQ(*history->create_job(job), 1);
  ASSERT_EQ(*history->create_job({}), 2);
  Job read = *history->job(1);
  EXPECT_EQ(read.id, 1);
  EXPECT_EQ(read.command, job.command);
  EXPECT_EQ(read.arguments, job.arguments);
  EXPECT_EQ(read.folder, job.folder);
  EXPECT_EQ(read.configuration, job.configuration);
  EXPECT_EQ(read.environment, job.environment);
  EXPECT_EQ(read.state, "running");
  EXPECT_TRUE(is_time(read.started)) << read.started;
  EXPECT_EQ(read.ended, "");
  EXPECT_EQ(read.process, getpid());

  ASSERT_TRUE(history->end_job(1, "interrupted").ok());
  read = *history->job(1);
  EXPECT_EQ(read.state, "interrupted");
  EXPECT_TRUE(is_time(read.ended));
  EXPECT_EQ(read.process, 0);
  ASSERT_TRUE(history->reopen_job(1).ok());
  read = *history->job(1);
  EXPECT_EQ(read.state, "running");
  EXPECT_EQ(read.ended, "");
  EXPECT_EQ(read.process, getpid());

  const auto jobs = *history->jobs();
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].id, 2);
  EXPECT_EQ(jobs[1].id, 1);
  EXPECT_EQ(history->job(3).status().code(), Code::kNotFound);
  EXPECT_EQ(history->end_job(3, "complete").code(), Code::kNotFound);
  EXPECT_EQ(history->reopen_job(3).code(), Code::kNotFound);
}

TEST(HistoryProblems, AreKeptAsGivenAndOnce) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  const Problem problem = sample_problem();
  ASSERT_TRUE(history->add_problem(problem).ok());
  Problem again = problem;
  again.surface = "another";
  ASSERT_TRUE(history->add_problem(again).ok());
  const Problem read = *history->problem(problem.key);
  EXPECT_EQ(read.key, problem.key);
  EXPECT_EQ(read.target, problem.target);
  EXPECT_EQ(read.target_version, problem.target_version);
  EXPECT_EQ(read.target_sha256, problem.target_sha256);
  EXPECT_EQ(read.target_options, problem.target_options);
  EXPECT_EQ(read.spec_hash, problem.spec_hash);
  EXPECT_EQ(read.workload, problem.workload);
  EXPECT_EQ(read.workload_hash, problem.workload_hash);
  EXPECT_EQ(read.surface, problem.surface);
  EXPECT_EQ(read.unit, problem.unit);
  EXPECT_EQ(read.simulator, problem.simulator);
  EXPECT_EQ(history->problem("none").status().code(), Code::kNotFound);
}

TEST(HistoryRuns, AreKeptAsGiven) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  const int64_t job = *history->create_job({});
  ASSERT_TRUE(history->add_problem(sample_problem()).ok());
  history::Run run = sample_run(job, 4);
  run.contract = "c.toml";
  run.seed = std::numeric_limits<uint64_t>::max();
  run.budget = {.evaluations = 1, .proposals = 2, .patience = 3, .seconds = 4.5, .tokens = 6, .cost = 7.25};
  const int64_t id = *history->create_run(run);
  EXPECT_EQ(id, 1);
  const history::Run read = *history->run(id);
  EXPECT_EQ(read.id, id);
  EXPECT_EQ(read.job, job);
  EXPECT_EQ(read.task, 4u);
  EXPECT_EQ(read.label, run.label);
  EXPECT_EQ(read.suite, run.suite);
  EXPECT_EQ(read.problem, run.problem);
  EXPECT_EQ(read.hlo, run.hlo);
  EXPECT_EQ(read.contract, run.contract);
  EXPECT_EQ(read.policy, run.policy);
  EXPECT_EQ(read.policy_version, run.policy_version);
  EXPECT_EQ(read.policy_sha256, run.policy_sha256);
  EXPECT_EQ(read.policy_options, run.policy_options);
  EXPECT_EQ(read.seed, run.seed);
  EXPECT_EQ(read.budget, run.budget);
  EXPECT_EQ(read.candidate0_plan, run.candidate0_plan);
  EXPECT_EQ(read.candidate0_latency, run.candidate0_latency);
  EXPECT_EQ(read.bound, run.bound);
  EXPECT_EQ(read.bound_reason, run.bound_reason);
  EXPECT_EQ(read.baseline, run.baseline);
  EXPECT_EQ(read.baseline_source, run.baseline_source);
  EXPECT_EQ(read.evaluations, 0u);
  EXPECT_EQ(read.best_evaluation, 0u);
  EXPECT_EQ(read.best_latency, run.candidate0_latency);
  EXPECT_EQ(read.best_plan, run.candidate0_plan);
  EXPECT_EQ(read.usage, Usage());
  EXPECT_EQ(read.state, "running");
  EXPECT_TRUE(is_time(read.started));

  history::Run bare = sample_run(job, 5);
  bare.bound.reset();
  bare.baseline.reset();
  const history::Run read_bare = *history->run(*history->create_run(bare));
  EXPECT_EQ(read_bare.bound, std::nullopt);
  EXPECT_EQ(read_bare.baseline, std::nullopt);
}

TEST(HistoryRuns, AreFoundByJobAndTask) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  const int64_t first = start_run(*history, 0);
  const int64_t second = start_run(*history, 3);
  const int64_t job = history->run(second)->job;
  EXPECT_EQ(history->runs()->size(), 2u);
  EXPECT_EQ(history->runs()->at(0).id, first);
  ASSERT_EQ(history->runs(job)->size(), 1u);
  EXPECT_EQ(history->runs(job)->at(0).id, second);
  EXPECT_TRUE(history->runs(99)->empty());
  EXPECT_EQ(history->find_run(job, 3)->value().id, second);
  EXPECT_FALSE(history->find_run(job, 0)->has_value());

  EXPECT_EQ(history->create_run(sample_run(job, 3)).status().code(), Code::kAlreadyExists);
  EXPECT_EQ(history->create_run(sample_run(99, 0)).status().code(), Code::kNotFound);
  history::Run lost = sample_run(job, 9);
  lost.problem = "none";
  EXPECT_EQ(history->create_run(lost).status().code(), Code::kNotFound);
  EXPECT_EQ(history->runs()->size(), 2u);
}

TEST(HistoryRuns, EndAndGoOn) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  const int64_t run = start_run(*history);
  ASSERT_TRUE(history->end_run(run, {"interrupted", "interrupted", 1.5}).ok());
  history::Run read = *history->run(run);
  EXPECT_EQ(read.state, "interrupted");
  EXPECT_EQ(read.stop_reason, "interrupted");
  EXPECT_TRUE(is_time(read.ended));
  ASSERT_TRUE(history->reopen_run(run).ok());
  read = *history->run(run);
  EXPECT_EQ(read.state, "running");
  EXPECT_EQ(read.stop_reason, "");
  EXPECT_EQ(read.ended, "");
  ASSERT_TRUE(history->end_run(run, {"complete", "evaluation budget", 2}).ok());
  read = *history->run(run);
  EXPECT_EQ(read.seconds, 3.5);
  EXPECT_EQ(read.stop_reason, "evaluation budget");
  EXPECT_EQ(history->end_run(99, {}).code(), Code::kNotFound);
  EXPECT_EQ(history->reopen_run(99).code(), Code::kNotFound);
}

TEST(HistoryPlans, BelongToTheirProblem) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  Problem other = sample_problem();
  other.key = "other";
  ASSERT_TRUE(history->add_problem(sample_problem()).ok());
  ASSERT_TRUE(history->add_problem(other).ok());
  ASSERT_TRUE(history->add_plan("5f3a", "h", "{\"a\": 1}").ok());
  ASSERT_TRUE(history->add_plan("5f3a", "h", "{\"a\": 2}").ok());
  EXPECT_EQ(*history->plan("5f3a", "h"), "{\"a\": 1}");
  EXPECT_EQ(history->plan("other", "h").status().code(), Code::kNotFound);
  EXPECT_EQ(history->plan("none", "h").status().code(), Code::kNotFound);
  EXPECT_EQ(history->add_plan("none", "h", "{}").code(), Code::kNotFound);
}

TEST(HistoryEvaluations, TheLaterOneOfAPlanCounts) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  ASSERT_TRUE(history->add_problem(sample_problem()).ok());
  EXPECT_EQ(*history->find_evaluation("5f3a", "h"), std::nullopt);
  EXPECT_EQ(*history->find_evaluation("none", "h"), std::nullopt);
  Evaluation crash;
  crash.plan = "h";
  crash.outcome = "crashed";
  crash.reason = "the worker died with signal 11";
  ASSERT_TRUE(history->add_evaluation("5f3a", crash).ok());
  EXPECT_EQ(*history->find_evaluation("5f3a", "h"), crash);
  Evaluation valid;
  valid.plan = "h";
  valid.outcome = "valid";
  valid.latency = 1234;
  valid.elements = uint64_t{1} << 40;
  valid.match_rate = 0.999;
  valid.worst = "result[3]";
  valid.counters = {{"dma.bytes", 1e12}, {"utilisation", 0.37}};
  valid.seconds = 0.25;
  ASSERT_TRUE(history->add_evaluation("5f3a", valid).ok());
  EXPECT_EQ(*history->find_evaluation("5f3a", "h"), valid);
  EXPECT_EQ(history->add_evaluation("none", valid).code(), Code::kNotFound);
}

TEST(HistoryEvents, StayInOrder) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  const int64_t run = start_run(*history);
  ASSERT_TRUE(history->add_event(run, "crash", "worker 3: \"boom\"\n").ok());
  ASSERT_TRUE(history->add_event(run, "resume", "").ok());
  const auto events = *history->events(run);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, "crash");
  EXPECT_EQ(events[0].text, "worker 3: \"boom\"\n");
  EXPECT_TRUE(is_time(events[0].time));
  EXPECT_EQ(events[1].kind, "resume");
  EXPECT_TRUE(history->events(99)->empty());
  EXPECT_EQ(history->add_event(99, "crash", "").code(), Code::kNotFound);
}

TEST(HistoryDocuments, AreReplaced) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  const int64_t run = start_run(*history);
  EXPECT_EQ(*history->document(run, "incumbent"), std::nullopt);
  ASSERT_TRUE(history->set_document(run, "incumbent", "one").ok());
  ASSERT_TRUE(history->set_document(run, "incumbent", "two").ok());
  ASSERT_TRUE(history->set_document(run, "other", "").ok());
  EXPECT_EQ(*history->document(run, "incumbent"), "two");
  EXPECT_EQ(*history->document(run, "other"), "");
  EXPECT_EQ(history->set_document(99, "a", "b").code(), Code::kNotFound);
}

TEST(HistoryPlugins, HealthIsReplaced) {
  const TempFolder folder;
  auto history = open(folder.file("history.db"));
  EXPECT_FALSE(history->plugin_health("s1")->has_value());
  ASSERT_TRUE(history->note_plugin({"hill", "1.0", "s1", 2, false, "signal 11"}).ok());
  ASSERT_TRUE(history->note_plugin({"hill", "1.0", "s1", 3, true, "signal 6"}).ok());
  ASSERT_TRUE(history->note_plugin({"genetic", "1.0", "s2", 0, false, ""}).ok());
  const auto health = *history->plugin_health("s1");
  ASSERT_TRUE(health.has_value());
  EXPECT_EQ(health->id, "hill");
  EXPECT_EQ(health->version, "1.0");
  EXPECT_EQ(health->failures, 3u);
  EXPECT_TRUE(health->quarantined);
  EXPECT_EQ(health->last_failure, "signal 6");
  const auto all = *history->plugins();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].id, "genetic");
  EXPECT_EQ(all[1].sha256, "s1");
}

}  // namespace
}  // namespace zomboss::history
