// The rules of forms, regions, beam and experience, without a server.
#include <gtest/gtest.h>

#include <fstream>

#include "plugins/policies/common/policy_checks.h"
#include "plugins/policies/llm/experience.h"
#include "plugins/policies/llm/forms.h"
#include "plugins/policies/llm/tests/test_host.h"

namespace zomboss::policies::llm::testing {
namespace {

using policies::testing::kSmallStart;
using policies::testing::small_surface;

// A search in which p1 = {5, 3, 1, 1} was measured and p2 = {1, 1, 1, 1} came out wrong.
struct Search {
  explicit Search(bool catalog, LlmOptions options = {}) : surface(small_surface(catalog)) {
    TestHost host(surface, kSmallStart);
    EXPECT_TRUE(view.start(options, host.context).ok());
    add({5, 3, 1, 1}, 100, wire::Outcome::Valid);
    add({1, 1, 1, 1}, 0, wire::Outcome::Wrong);
  }
  void add(const Values& values, double latency, wire::Outcome outcome) {
    wire::FeedbackT item;
    item.outcome = outcome;
    item.plan = surface.plan(values);
    item.plan->hash = hash_of(values);
    item.latency = latency;
    EXPECT_NE(view.journal.observe(item, view.space), nullptr);
  }
  std::string errors(const Form& form, const char* text) const {
    const Json answer = *parse_json(text);
    std::string list;
    for (const std::string& error : schema_errors(form.schema(), answer)) list += "schema " + error + "\n";
    if (!list.empty()) return list;
    for (const std::string& error : form.errors(answer)) list += error + "\n";
    return list;
  }
  TestSurface surface;
  SearchView view;
};

TEST(RegionForm, ReportsEveryBrokenRule) {
  Search search(false);
  const auto form = proposal_form(search.view);
  const auto errors = [&](const char* text) { return search.errors(*form, text); };
  EXPECT_EQ(
      errors(R"({"hard": [], "preferred": [{"knob": "a", "value": "3"}], "auto": ["d"], "diversity": ["b"],
                   "center_plan": "p1", "radius": "2", "reason": ""})"),
      "");
  EXPECT_EQ(
      errors(
          R"({"hard": [{"knob": "a", "value": "9"}, {"knob": "b", "value": "1"}, {"knob": "c", "value": "1"}],
                   "preferred": [{"knob": "b", "value": "2"}], "auto": ["b"], "diversity": ["b"], "center_plan": "p7",
                   "radius": "2", "reason": ""})"),
      "$.hard[0]: a has no value '9', only {1, 2, 3, 4, 5}\n"
      "$: knob 'b' is named twice in hard, preferred and auto\n"
      "$: knob 'b' is named twice in hard, preferred and auto\n"
      "$.diversity: knob 'b' is auto\n"
      "$.diversity: at least one knob that is neither hard nor auto is needed\n"
      "$.center_plan: there is no plan 'p7'; plans are p0 to p2\n");
  EXPECT_EQ(
      errors(
          R"({"hard": [{"knob": "a", "value": "1"}, {"knob": "b", "value": "1"}, {"knob": "c", "value": "1"}],
                   "preferred": [], "auto": [], "diversity": ["d"], "center_plan": "p2", "radius": "1", "reason": ""})"),
      "$.hard: at least two knobs must stay free of hard\n$.center_plan: plan 'p2' did not verify\n");
  EXPECT_EQ(errors(R"({"hard": [{"knob": "z", "value": "1"}], "preferred": [], "auto": [], "diversity": [],
                   "center_plan": null, "radius": "9", "reason": ""})"),
            "schema $.diversity: at least 1 items\n"
            "schema $.hard[0].knob: \"z\" is not one of [\"a\",\"b\",\"c\",\"d\"]\n"
            "schema $.radius: \"9\" is not one of [\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\"]\n");
}

TEST(RegionForm, BecomesARegion) {
  Search search(false);
  const auto proposal =
      proposal_form(search.view)
          ->proposal(*parse_json(
              R"({"hard": [{"knob": "d", "value": "true"}], "preferred": [{"knob": "a", "value": "3"}], "auto": ["b"],
                  "diversity": ["c", "c", "b"], "center_plan": "p1", "radius": "4", "reason": ""})"));
  ASSERT_EQ(proposal.kind, wire::ProposalKind::Region);
  const wire::RegionT& region = *proposal.region;
  ASSERT_EQ(region.assignments.size(), 3u);
  EXPECT_EQ(region.assignments[0]->knob, "d");
  EXPECT_EQ(region.assignments[0]->value, 1);
  EXPECT_EQ(region.assignments[0]->strength, wire::Strength::Hard);
  EXPECT_EQ(region.assignments[1]->value, 3);
  EXPECT_EQ(region.assignments[1]->strength, wire::Strength::Preferred);
  EXPECT_EQ(region.assignments[2]->strength, wire::Strength::Auto);
  EXPECT_EQ(region.diversity_axes, (std::vector<std::string>{"c", "b"}));
  EXPECT_EQ(region.center, hash_of({5, 3, 1, 1}));
  EXPECT_EQ(region.radius, 4u);
}

TEST(CatalogForm, TakesAnIdOrKnobsThatNameARow) {
  Search search(true);
  const auto form = proposal_form(search.view);
  const auto errors = [&](const char* text) { return search.errors(*form, text); };
  constexpr const char* kById =
      R"({"mapping_id": "m017", "a": "5", "b": "4", "c": "2", "d": "true", "reason": "the id wins"})";
  EXPECT_EQ(errors(kById), "");
  const auto proposal = form->proposal(*parse_json(kById));
  ASSERT_EQ(proposal.intents.size(), 1u);
  EXPECT_EQ(proposal.intents[0]->assignments[0]->value, 1);
  EXPECT_EQ(proposal.intents[0]->assignments[1]->value, 3);
  EXPECT_EQ(errors(R"({"mapping_id": "m114", "a": "5", "b": "4", "c": "2", "d": "true", "reason": ""})"),
            "$.mapping_id: unknown mapping 'm114', rows are m000 to m113\n");
  EXPECT_EQ(errors(R"({"mapping_id": null, "a": "5", "b": "4", "c": "2", "d": "true", "reason": ""})"),
            "$: unknown mapping: no row has these knobs; nearest rows: m095 (a: 5->4); m113 (b: 4->3); m071 "
            "(a: 5->3)\n")
      << "5 * 4 > 16";
  EXPECT_EQ(errors(R"({"mapping_id": null, "a": "5", "b": "3", "c": "2", "d": "true", "reason": ""})"), "");
}

TEST(Forms, LeaveOutKnobsWithOneValue) {
  for (const bool catalog : {true, false}) {
    TestSurface surface = small_surface(catalog);
    surface.knobs[2].values = {1};
    TestHost host(surface, {1, 1, 1, 0});
    SearchView view;
    ASSERT_TRUE(view.start({}, host.context).ok());
    const auto form = proposal_form(view);
    EXPECT_EQ(canonical(form->schema()).find("\"c\""), std::string::npos);
    EXPECT_EQ(view.facts.find(" c "), std::string::npos);
    EXPECT_EQ(view.facts.find("c="), std::string::npos);
    if (!catalog) continue;
    const auto proposal =
        form->proposal(*parse_json(R"({"mapping_id": null, "a": "2", "b": "1", "d": "true"})"));
    EXPECT_EQ(proposal.intents[0]->assignments[2]->value, 1) << "the host is told it all the same";
  }
}

TEST(Forms, NameMembersApartFromKnobs) {
  TestSurface surface = small_surface(true);
  surface.knobs[0].name = "reason";
  surface.knobs[1].name = "mapping_id";
  TestHost host(surface, kSmallStart);
  SearchView view;
  ASSERT_TRUE(view.start({}, host.context).ok());
  const Json properties = proposal_form(view)->schema()["properties"];
  EXPECT_TRUE(properties.contains("reason_"));
  EXPECT_TRUE(properties.contains("mapping_id_"));
  EXPECT_EQ(properties["reason"], text_schema());
}

TEST(Forms, ProposeAtRandomWhatWasNotTried) {
  Search search(true);
  std::set<std::string> rows;
  for (uint64_t turn = 0; turn < 200; ++turn) {
    const auto proposal = random_proposal(search.view, turn);
    EXPECT_EQ(encode(proposal), encode(random_proposal(search.view, turn)));
    Point point;
    for (size_t k = 0; k < 4; ++k)
      point.push_back(
          *search.view.vocabulary.value(k, std::to_string(proposal.intents[0]->assignments[k]->value)));
    EXPECT_EQ(search.view.journal.find_point(point), nullptr);
    rows.insert(*search.view.journal.row_name(point));
  }
  EXPECT_GT(rows.size(), 60u);
  Search regions(false);
  const auto proposal = random_proposal(regions.view, 1);
  ASSERT_EQ(proposal.kind, wire::ProposalKind::Region);
  ASSERT_EQ(proposal.region->diversity_axes.size(), 2u);
  EXPECT_NE(proposal.region->diversity_axes[0], proposal.region->diversity_axes[1]);
}

// Candidate-0 takes 290; these follow as 1, 2, ... after the two of Search.
void add_plans(Search& search, std::initializer_list<double> latencies) {
  int64_t a = 1;
  for (const double latency : latencies) search.add({a++, 2, 0, 0}, latency, wire::Outcome::Valid);
}

TEST(Beam, KeepsTheFastestPlansOnceEachAndNeverLosesTheBest) {
  Search search(false);                     // 0: 290, 1: 100, 2: wrong
  add_plans(search, {250, 200, 300, 200});  // 3, 4, 5, 6
  const auto beam = [&](const std::vector<Branch>& branches, size_t size) {
    return select_beam(search.view.journal, branches, size);
  };
  using Plans = std::vector<size_t>;
  EXPECT_EQ(beam({{0, {3}}, {0, {4, 5}}, {0, {6}}}, 3), (Plans{1, 4, 6}))
      << "the incumbent is not of this round";
  EXPECT_EQ(beam({{0, {4}}, {0, {4}}, {0, {}}}, 3), (Plans{1, 4, 0}))
      << "no plan twice; a failed branch gives its parent";
  EXPECT_EQ(beam({{0, {5}}}, 1), (Plans{1}));
  EXPECT_EQ(beam({}, 3), (Plans{1}));
}

TEST(Pairs, AreGainsFirstThenLosses) {
  Search search(false);
  add_plans(search, {250, 200, 300, 400, 285});  // 3: 1.16x, 4: 1.45x, 5: 0.967, 6: 0.725, 7: 1.018x
  const std::vector<Branch> branches = {{0, {3, 6}}, {0, {4}}, {0, {5}}, {0, {6}}, {0, {7}}, {0, {}}};
  LlmOptions options;
  auto pairs = select_pairs(search.view.journal, branches, options);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].fast, 4u);
  EXPECT_DOUBLE_EQ(pairs[0].speedup, 1.45);
  EXPECT_EQ(pairs[1].fast, 3u) << "of a branch only its best counts when that is a gain";
  EXPECT_EQ(pairs[2].slow, 6u) << "a loss is turned round";
  EXPECT_EQ(pairs[2].fast, 0u);
  EXPECT_DOUBLE_EQ(pairs[2].speedup, 400.0 / 290);
  options.topk = 2;
  pairs = select_pairs(search.view.journal, branches, options);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].fast, 4u);
  EXPECT_EQ(pairs[1].slow, 6u) << "gains fill half of the places";
  options.topk = 0;
  EXPECT_TRUE(select_pairs(search.view.journal, branches, options).empty());
  EXPECT_EQ(lesson_text(search.view, {0, 4, 1.45}, "tiles; when small:\nlarger a"),
            "a: 1->2, b: 1->2 gave 1.45x: tiles; when small: larger a");
}

TEST(Experience, IsKeptByTarget) {
  const TempFolder folder;
  const std::string path = folder / "lessons.jsonl";
  EXPECT_TRUE(read_experience(path, "gemmini", 5)->empty());
  ASSERT_TRUE(write_experience(path, "gemmini", {"one", "two"}).ok());
  ASSERT_TRUE(write_experience(path, "plena", {"other"}).ok());
  ASSERT_TRUE(write_experience(path, "gemmini", {"three"}).ok());
  EXPECT_EQ(*read_experience(path, "gemmini", 5), (std::vector<std::string>{"three", "two", "one"}));
  EXPECT_EQ(*read_experience(path, "gemmini", 2), (std::vector<std::string>{"three", "two"}));
  std::ofstream(path, std::ios::app) << "garbage\n";
  EXPECT_EQ(read_experience(path, "gemmini", 5).status().code(), Code::kDataLoss);
}

TEST(Journal, CountsValuesOfKnobs) {
  Search search(true);
  const std::string table = search.view.journal.statistics(search.view.vocabulary);
  EXPECT_NE(table.find("a: 1 n=1 best=290 median=+190.0%; 5 n=1 best=100 median=+0.0%;\n"), std::string::npos)
      << table;
}

}  // namespace
}  // namespace zomboss::policies::llm::testing
