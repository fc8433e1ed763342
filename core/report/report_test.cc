#include "core/report/report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/history/testing.h"
#include "core/report/data.h"
#include "core/report/sample.h"

namespace zomboss::report {
namespace {

using history::testing::TempFolder;

struct Sample {
  TempFolder folder;
  std::unique_ptr<history::History> history;
  std::vector<int64_t> runs;

  explicit Sample(const SampleOptions& options = {}) {
    auto opened = history::History::open(folder.file("history.db"), history::Access::kReadWrite);
    ZB_CHECK(opened.ok(), "a history");
    history = *std::move(opened);
    runs = write_sample(*history, options);
  }
  std::string html() const {
    const auto report = html_report(*history, runs, {});
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : std::string();
  }
};

SampleOptions small() {
  SampleOptions options;
  options.policies = {"hill", "llm"};
  options.seeds = 2;
  options.evaluations = 20;
  return options;
}

// The inside of a section, without its head.
std::string section_of(const std::string& html, const std::string& id) {
  const size_t from = html.find("<section id=\"" + id + "\"");
  EXPECT_NE(from, std::string::npos) << id;
  const size_t to = html.find("</section>", from);
  return from == std::string::npos ? std::string() : html.substr(from, to - from);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Every tag that opens closes again, in order.
void expect_balanced(const std::string& html) {
  std::vector<std::string> open;
  const size_t end = html.find("<script>");
  for (size_t at = html.find("<body>"); at < end; at = html.find('<', at)) {
    size_t close = at;  // the ">" of this tag, behind its quoted attributes
    for (bool quoted = false; quoted || html[close] != '>'; ++close) quoted ^= html[close] == '"';
    const bool closes = html[at + 1] == '/';
    const size_t start = at + (closes ? 2 : 1);
    const std::string name = html.substr(start, html.find_first_of(" >/", start) - start);
    const bool empty = html[close - 1] == '/' || name == "br";
    at = close;
    if (empty) continue;
    if (!closes) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << "</" << name << "> closes nothing";
    ASSERT_EQ(open.back(), name) << "before " << html.substr(close, 80);
    open.pop_back();
  }
  EXPECT_EQ(open, std::vector<std::string>{"body"});
}

TEST(Report, BaselinesOfReferencesHaveTheirName) {
  const Sample sample(small());
  const std::string html = sample.html();
  EXPECT_TRUE(has(section_of(html, "summary"), "Against library"));
  EXPECT_TRUE(has(section_of(html, "comparison"), ">library</th>"));
  EXPECT_FALSE(has(section_of(html, "progress"), "Baseline"));
  SampleOptions plain = small();
  plain.plain = true;
  const Sample without(plain);
  EXPECT_TRUE(has(section_of(without.html(), "summary"), "Against the baseline"));
  EXPECT_TRUE(has(section_of(without.html(), "references"), "names no plans"));
}

TEST(Report, SaysWhetherTheBestStaysTheBest) {
  SampleOptions options = small();
  const std::string one = section_of(Sample(options).html(), "references");
  EXPECT_TRUE(has(one, "evaluation 12"));
  EXPECT_TRUE(has(one, "25.00 %"));
  EXPECT_TRUE(has(one, "library &lt;os&gt;"));
  EXPECT_TRUE(has(one, "element 7 is 1, not 2"));
  options.workloads = 3;
  const std::string many = section_of(Sample(options).html(), "references");
  EXPECT_TRUE(has(many, "in 0 of 3 workloads"));
  EXPECT_TRUE(has(many, "L=100"));
  EXPECT_TRUE(has(many, "Geometric means of library / best: L=20 "));
}

TEST(Report, HasEverySectionAndNothingFromTheNetwork) {
  const Sample sample;
  const std::string html = sample.html();
  for (const char* id : {"summary", "comparison", "progress", "trials", "rejections", "knobs", "plan",
                         "timeline", "cost", "events", "reproduce"}) {
    const std::string section = section_of(html, id);
    EXPECT_FALSE(has(section, "could not be made")) << id;
    EXPECT_FALSE(has(section, "class=\"nothing\"")) << id << section.substr(0, 300);
  }
  expect_balanced(html);
  for (const char* outside :
       {"http:", "https:", "//cdn", "src=", "@import", "url(", "<link", "fetch(", "XMLHttp"})
    EXPECT_FALSE(has(html, outside)) << outside;
  EXPECT_TRUE(has(html, "default-src 'none'"));
  EXPECT_TRUE(has(html, "prefers-color-scheme:dark"));
  EXPECT_TRUE(has(html, "[data-theme=dark]"));
}

TEST(Report, EveryDrawingHasATable) {
  const Sample sample;
  const std::string html = sample.html();
  for (const char* id : {"progress", "trials", "rejections", "knobs", "timeline"}) {
    const std::string section = section_of(html, id);
    EXPECT_TRUE(has(section, "<svg")) << id;
    EXPECT_TRUE(has(section, "<details class=\"twin\"><summary>As a table")) << id;
  }
  EXPECT_TRUE(has(section_of(html, "plan"), "<details class=\"twin\"><summary>As a table"));
}

TEST(Report, TheSummaryHasTheNumbersOfTheHistory) {
  const Sample sample(small());
  uint64_t best = UINT64_MAX, candidate0 = 0, trials = 0;
  const auto all = sample.history->runs();
  ASSERT_TRUE(all.ok());
  for (const history::Run& run : *all) {
    best = std::min(best, run.best_latency);
    candidate0 = run.candidate0_latency;
    trials += run.trials;
  }
  const Json json = parse_json(*json_report(*sample.history, sample.runs, {}));
  EXPECT_EQ(json["schema"], "zomboss.report/1");
  const Json& workload = json["workloads"][0];
  EXPECT_EQ(workload["best"], best);
  EXPECT_EQ(workload["candidate0"], candidate0);
  EXPECT_DOUBLE_EQ(workload["speedup"], static_cast<double>(candidate0) / static_cast<double>(best));
  EXPECT_EQ(workload["policies"].size(), 2u);
  EXPECT_EQ(workload["runs"].size(), 4u);
  EXPECT_EQ(workload["runs"][0]["stop_reason"], "evaluation budget");
  EXPECT_GT(workload["runs"][3]["usage"]["prompt_tokens"], 0);
  EXPECT_EQ(workload["incumbent"]["timeline"]["engines"].size(), 3u);
  const std::string summary = section_of(sample.html(), "summary");
  std::string best_text = std::to_string(best);
  best_text.insert(best_text.size() - 3, ",");
  EXPECT_TRUE(has(summary, best_text + " <small>cycles</small>")) << summary;
  EXPECT_TRUE(has(summary, "80 <small>of 80 evaluations</small>")) << summary;
  EXPECT_TRUE(has(summary, std::to_string(trials) + " trials in 4 runs")) << summary;
  EXPECT_TRUE(has(summary, "evaluation budget"));
}

TEST(Report, SectionsWithoutDataSayWhy) {
  SampleOptions options = small();
  options.plain = true;
  options.policies = {"hill"};
  options.seeds = 1;
  const Sample sample(options);
  const std::string html = sample.html();
  expect_balanced(html);
  EXPECT_TRUE(has(section_of(html, "comparison"), "there is nothing to compare"));
  EXPECT_TRUE(has(section_of(html, "knobs"), "the decisions of none of the"));
  EXPECT_TRUE(has(section_of(html, "plan"), "keeps no description of its best plan"));
  EXPECT_TRUE(has(section_of(html, "timeline"), "keeps no description of its best plan"));
  EXPECT_TRUE(has(section_of(html, "cost"), "No run asked a language model"));
  EXPECT_TRUE(has(section_of(html, "events"), "No crash"));
  EXPECT_TRUE(has(section_of(html, "reproduce"), "keep no command"));
  EXPECT_TRUE(has(section_of(html, "summary"), "the history has no baseline"));
  EXPECT_TRUE(has(section_of(html, "progress"), "<svg"));
}

TEST(Report, ARunThatNeverStartedIsReported) {
  const TempFolder folder;
  auto history = *history::History::open(folder.file("h.db"), history::Access::kReadWrite);
  const int64_t job = *history->create_job({});
  ASSERT_TRUE(history->add_problem(history::testing::sample_problem()).ok());
  history::Run run = history::testing::sample_run(job, 0);
  run.candidate0_latency = 0;
  run.candidate0_plan = "";
  const int64_t id = *history->create_run(run);
  ASSERT_TRUE(history->end_run(id, {"failed", "Candidate-0 is wrong", 0}).ok());
  const auto html = html_report(*history, std::vector<int64_t>{id}, {});
  ASSERT_TRUE(html.ok()) << html.status().message();
  expect_balanced(*html);
  EXPECT_TRUE(has(section_of(*html, "summary"), "Candidate-0 is wrong"));
  EXPECT_TRUE(has(section_of(*html, "progress"), "No run verified its Candidate-0"));
  EXPECT_TRUE(has(section_of(*html, "knobs"), "Candidate-0 was not verified"));
}

TEST(Report, DamagedDocumentsCostTheirSectionAlone) {
  const Sample sample(small());
  const std::vector<std::string> documents = {
      "no json",
      "[]",
      "{\"timeline\": 7}",
      "{\"timeline\": {\"engines\": [1, {\"spans\": [[\"a\"], 3, [5, 2]]}]}}",
      "{\"occupancy\": [3, {\"needs\": \"x\"}], \"loop_nest\": {\"a\": 1}, \"counters\": [1]}",
      "{\"plan\": {\"sections\": {\"a\": 1, \"b\": {\"k\": {\"value\": {\"x\": 1}}}}}, \"reproduce\": {}}"};
  for (const std::string& document : documents) {
    for (const int64_t run : sample.runs)
      ASSERT_TRUE(sample.history->set_document(run, "incumbent", document).ok());
    const std::string html = sample.html();
    expect_balanced(html);
    EXPECT_TRUE(has(section_of(html, "progress"), "<svg")) << document;
    EXPECT_TRUE(has(section_of(html, "timeline"), "class=\"nothing\"")) << document;
  }
}

// A report of the first sample run with this incumbent.
std::string with_incumbent(const std::string& document) {
  SampleOptions options = small();
  options.policies = {"hill"};
  options.seeds = 1;
  const Sample sample(options);
  EXPECT_TRUE(sample.history->set_document(sample.runs[0], "incumbent", document).ok());
  return sample.html();
}

TEST(Report, RulesAreShownWithThePlansNumbers) {
  const std::string html =
      with_incumbent(R"({"plan": {"sections": {"matrix decomposition": {"tile_m": {"value": "64"}}}},
    "occupancy": [{"name": "spad", "rule": "needs {needs:bytes} of {available:bytes}: {tile_m} rows, {other}, {open",
                   "needs": 3072, "available": 2048, "unit": "bytes"}]})");
  const std::string plan = section_of(html, "plan");
  EXPECT_TRUE(has(plan, "needs 3 KiB of 2 KiB: 64 rows, {other}, {open")) << plan;
  EXPECT_TRUE(has(plan, "fill over"));
  EXPECT_TRUE(has(plan, "150.0 %"));
  EXPECT_TRUE(has(plan, "width:100.00%"));
}

TEST(Report, OverlappingSpansCountOnceAndStandAboveEachOther) {
  const std::string html = with_incumbent(R"({"timeline": {"unit": "cycles", "end": 100, "engines": [
    {"name": "ex", "busy": 150, "spans": [[0, 50, "a"], [10, 60, "b"], [70, 90, "c"]]},
    {"name": "idle", "busy": 0, "spans": []}]}})");
  const std::string timeline = section_of(html, "timeline");
  EXPECT_TRUE(
      has(timeline, "<td class=\"n\">80 cycles</td><td class=\"n\">80.0 %</td><td class=\"n\">3</td>"))
      << timeline;
  EXPECT_TRUE(has(timeline, "<td class=\"n\">0 cycles</td><td class=\"n\">0.0 %</td>"));
  EXPECT_TRUE(has(timeline, "<title>b: 10 to 60 cycles</title>"));
}

TEST(Report, ManySpansAreDrawnAsSlices) {
  Json spans = Json::array();
  for (int i = 0; i < 100'000; ++i) spans.push_back({i * 10, i * 10 + (i < 50'000 ? 10 : 5), "x"});
  const Json document = {
      {"timeline",
       {{"unit", "cycles"}, {"end", 1'000'000}, {"engines", {{{"name", "ex"}, {"spans", spans}}}}}}};
  const std::string timeline = section_of(with_incumbent(document.dump()), "timeline");
  EXPECT_LT(timeline.size(), 100'000u);
  EXPECT_TRUE(has(timeline, "opacity=\"0.50\""));  // the half that is half busy
  EXPECT_TRUE(has(timeline, "75.0 %"));
}

TEST(Report, DamagedTrialsCostTheirSectionsAlone) {
  SampleOptions options = small();
  options.evaluations = 400;
  Sample sample(options);
  sample.history.reset();  // writes its log into the file
  const std::string copy = sample.folder.file("copy.db");
  std::filesystem::copy_file(sample.folder.file("history.db"), copy);
  // The pages in which the trials' reasons stand are overwritten.
  std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  size_t damaged = 0;
  for (size_t page = 4096; page + 4096 <= bytes.size(); page += 4096) {
    if (bytes.substr(page, 4096).find("has 256 KiB") == std::string::npos) continue;
    file.seekp(static_cast<std::streamoff>(page));
    file << std::string(200, '\xa5');
    ++damaged;
  }
  file.close();
  ASSERT_GT(damaged, 0u);
  auto history = history::History::open(copy, history::Access::kReadOnly);
  ASSERT_TRUE(history.ok()) << history.status().message();
  const auto html = html_report(**history, sample.runs, {});
  ASSERT_TRUE(html.ok()) << html.status().message();
  expect_balanced(*html);
  EXPECT_TRUE(has(section_of(*html, "trials"), "could not be made: run 1"));
  EXPECT_TRUE(has(section_of(*html, "summary"), "Speed-up over Candidate-0"));
  EXPECT_TRUE(has(section_of(*html, "reproduce"), "zomboss compile"));
}

TEST(Report, NamesAreText) {
  const TempFolder folder;
  auto history = *history::History::open(folder.file("h.db"), history::Access::kReadWrite);
  const std::string evil = "</script><script>alert(1)</script>\"'&\xff";
  history::Job job;
  job.command = job.folder = evil;
  job.arguments = {evil};
  job.environment = R"({"<b>": "<i>"})";
  const int64_t id = *history->create_job(job);
  history::Problem problem = history::testing::sample_problem();
  problem.target = problem.unit = problem.simulator = problem.target_options = evil;
  ASSERT_TRUE(history->add_problem(problem).ok());
  history::Run run = history::testing::sample_run(id, 0);
  run.label = run.suite = run.policy = run.policy_options = run.bound_reason = run.baseline_source = evil;
  const int64_t first = *history->create_run(run);
  run.task = 1;
  run.policy_options += "\nother=" + evil;
  const int64_t second = *history->create_run(run);
  history::Proposal proposal = history::testing::sample_proposal(1);
  proposal.trials[0].intent = evil;
  proposal.usage.requests = 1;
  proposal.usage.currency = evil;
  history::Trial rejected = proposal.trials[0];
  rejected.number = 2;
  rejected.evaluation = 0;
  rejected.incumbent = false;
  rejected.outcome = rejected.reason = evil;
  proposal.trials.push_back(rejected);
  for (const int64_t of : {first, second}) {
    ASSERT_TRUE(history->record(of, proposal).ok());
    ASSERT_TRUE(history->add_event(of, evil, evil).ok());
    const Json text = evil.substr(0, evil.size() - 1);
    const Json document = {
        {"plan", {{"sections", {{text, {{text, {{"value", text}, {"origin", text}}}}}}}}},
        {"occupancy", {{{"name", text}, {"rule", text}, {"needs", 1}, {"available", 2}, {"unit", text}}}},
        {"timeline",
         {{"unit", text}, {"end", 9}, {"engines", {{{"name", text}, {"spans", {{1, 2, text}}}}}}}},
        {"loop_nest", {{{"depth", 1}, {"text", text}, {"note", text}}}},
        {"counters", {{text, 1}}},
        {"reproduce", text}};
    ASSERT_TRUE(history->set_document(of, "incumbent", document.dump()).ok());
  }
  const auto html = html_report(*history, std::vector<int64_t>{first, second}, {.title = evil});
  ASSERT_TRUE(html.ok()) << html.status().message();
  EXPECT_FALSE(has(*html, "<script>alert"));
  EXPECT_FALSE(has(*html, "\xff"));
  EXPECT_FALSE(has(*html, "<i>\"") || has(*html, "<b>\""));
  expect_balanced(*html);
  EXPECT_TRUE(json_report(*history, std::vector<int64_t>{first, second}, {.title = evil}).ok());
}

TEST(Report, OnePluginWithSeveralOptionsIsSeveralPolicies) {
  const TempFolder folder;
  auto history = *history::History::open(folder.file("h.db"), history::Access::kReadWrite);
  const int64_t job = *history->create_job({});
  ASSERT_TRUE(history->add_problem(history::testing::sample_problem()).ok());
  std::vector<int64_t> runs;
  uint64_t task = 0;
  for (const char* options : {"agent=naive\nmodel=m\n", "agent=accelopt\nmodel=m\n"}) {
    history::Run run = history::testing::sample_run(job, task++);
    run.policy = "llm";
    run.policy_options = options;
    runs.push_back(*history->create_run(run));
  }
  const Json json = parse_json(*json_report(*history, runs, {}));
  EXPECT_EQ(json["policies"], (Json{"llm (agent=naive)", "llm (agent=accelopt)"}));
}

TEST(Report, SameNameOnTwoMachinesIsTwoWorkloads) {
  const TempFolder folder;
  auto history = *history::History::open(folder.file("h.db"), history::Access::kReadWrite);
  const int64_t job = *history->create_job({});
  std::vector<int64_t> runs;
  for (uint64_t task = 0; task < 2; ++task) {
    history::Problem problem = history::testing::sample_problem();
    problem.key = "key" + std::to_string(task);
    problem.target_options = task == 0 ? "DIM=16\n" : "DIM=8\n";
    ASSERT_TRUE(history->add_problem(problem).ok());
    history::Run run = history::testing::sample_run(job, task);
    run.problem = problem.key;
    runs.push_back(*history->create_run(run));
  }
  const Json json = parse_json(*json_report(*history, runs, {}));
  ASSERT_EQ(json["workloads"].size(), 2u);
  EXPECT_EQ(json["workloads"][0]["workload"], "gemmini/gemm_c3 on gemmini DIM=16 [key0]");
  EXPECT_EQ(json["workloads"][1]["workload"], "gemmini/gemm_c3 on gemmini DIM=8 [key1]");
}

TEST(Report, SameHistorySameBytes) {
  const Sample sample(small());
  EXPECT_EQ(sample.html(), sample.html());
  EXPECT_EQ(*json_report(*sample.history, sample.runs, {}), *json_report(*sample.history, sample.runs, {}));
}

TEST(Report, RunsMustExist) {
  const Sample sample(small());
  EXPECT_EQ(html_report(*sample.history, std::vector<int64_t>{}, {}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(html_report(*sample.history, std::vector<int64_t>{1, 99}, {}).status().code(), Code::kNotFound);
  // A run that is named twice is shown once.
  const Json json = parse_json(*json_report(*sample.history, std::vector<int64_t>{1, 1}, {}));
  EXPECT_EQ(json["workloads"][0]["runs"].size(), 1u);
}

TEST(Report, ManyTrialsStaySmall) {
  SampleOptions options;
  options.policies = {"random"};
  options.seeds = 1;
  options.evaluations = 8000;
  const Sample sample(options);
  const std::string html = sample.html();
  EXPECT_LT(html.size(), 400'000u);
  const std::string trials = section_of(html, "trials");
  size_t points = 0;
  for (size_t at = trials.find("<circle"); at != std::string::npos; at = trials.find("<circle", at + 1))
    ++points;
  EXPECT_LE(points, 1300u);
  EXPECT_GE(points, 300u);
}

}  // namespace
}  // namespace zomboss::report
