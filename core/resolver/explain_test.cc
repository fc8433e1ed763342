// The texts of refusals, as people read them.
#include <gtest/gtest.h>

#include "core/mapping/testing.h"
#include "core/resolver/resolver.h"

namespace zomboss::resolver {
namespace {

using mapping::ConstraintKind;
using mapping::Surface;
using mapping::testing::SurfaceBuilder;

// The Gemmini-like example of the documentation.
SurfaceBuilder example() {
  SurfaceBuilder builder;
  builder.knob("tile_m", {16, 64, 128, 384})
      .knob("tile_n", {16, 64, 128})
      .knob("tile_k", {16, 32, 64})
      .choice("buffering", {"single", "double"})
      .choice("dataflow", {"ws", "os"}, mapping::Category::Algorithm)
      .capacity(
          "acc_capacity", "(* tile_m tile_n 4)", "65536",
          "accumulator needs {needs:bytes}, has {available:bytes}: tile_m={tile_m} x tile_n={tile_n} x 4 B")
      .capacity("spad_capacity", "(* (+ buffering 1) (+ (* tile_m tile_k) (* tile_k tile_n)))", "16384",
                "scratchpad needs {needs:bytes}, has {available:bytes}")
      .rule("os_shape", "(=> (= dataflow 1) (>= tile_k 64))",
            "dataflow=os needs tile_k of at least 64, tile_k is {tile_k}", ConstraintKind::Dependency)
      .rule("divides", "(= (mod 1152 tile_k) 0)", "{(mod 1152 tile_k)} of K=1152 is left over",
            ConstraintKind::Shape);
  return builder;
}

std::string refusal(const Surface& surface, const std::string& text, Conflict* conflict = nullptr) {
  Resolver resolver(surface);
  const auto intent = mapping::parse_intent(surface, Source("intent", text));
  EXPECT_TRUE(intent.ok()) << intent.status().message();
  const auto completion = resolver.complete(*intent);
  EXPECT_TRUE(completion.ok());
  if (!completion->conflict) return "no conflict";
  if (conflict != nullptr) *conflict = *completion->conflict;
  return completion->conflict->text;
}

std::string refusal(const std::string& text, Conflict* conflict = nullptr) {
  return refusal(*example().build(), text, conflict);
}

// The reasons of relaxed preferences, one a line.
std::string relaxed(const Surface& surface, const std::string& text) {
  Resolver resolver(surface);
  const auto plan = resolver.plan(*mapping::parse_intent(surface, Source("intent", text)));
  if (!plan.ok()) return plan.status().message();
  std::string result;
  for (const auto& relaxation : plan->relaxations) result += relaxation.knob + " " + relaxation.reason + "\n";
  return result;
}

TEST(Explanation, NamesBufferNeededAndAvailableBytes) {
  Conflict conflict;
  EXPECT_EQ(
      refusal("tile_m=384 tile_n=64 buffering=double", &conflict),
      "tile_m=384 and tile_n=64 cannot hold together: accumulator needs 96 KiB, has 64 KiB: tile_m=384 x "
      "tile_n=64 x 4 B (capacity rule 'acc_capacity')");
  EXPECT_EQ(conflict.assignments.size(), 2u);
  EXPECT_EQ(conflict.constraints, std::vector<std::string>{"acc_capacity"});
  EXPECT_FALSE(conflict.catalog);
}

TEST(Explanation, CountsTheMostFavourableValuesOfFreeKnobs) {
  EXPECT_EQ(refusal("tile_m=384 tile_k=64"),
            "tile_k=64 and tile_m=384 cannot hold together: scratchpad needs at least 25 KiB, has 16 KiB "
            "(counting the "
            "most favourable tile_n=16, buffering=single) (capacity rule 'spad_capacity')");
}

// acc_capacity stands first, but spad_capacity needs only tile_m.
TEST(Explanation, PrefersTheRuleThatBlamesTheFewestAssignments) {
  const auto surface =
      SurfaceBuilder()
          .knob("tile_m", {16, 384})
          .knob("tile_n", {16, 128})
          .capacity("acc_capacity", "(* tile_m tile_n)", "8192", "accumulator needs {needs}, has {available}")
          .capacity("spad_capacity", "(* tile_m 4)", "1024", "scratchpad needs {needs}, has {available}")
          .build();
  EXPECT_EQ(
      refusal(*surface, "tile_m=384 tile_n=128"),
      "tile_m=384 is in no legal plan: scratchpad needs 1536, has 1024 (capacity rule 'spad_capacity')");
}

TEST(Explanation, SaysWhenAValueIsInNoLegalPlan) {
  const auto surface =
      example()
          .knob("unroll", {1, 32}, mapping::Category::LoopStructure)
          .rule("code_size", "(<= (* unroll 100) 2000)", "unroll={unroll} needs {(* unroll 100)} words")
          .build();
  ASSERT_TRUE(surface.ok());
  EXPECT_EQ(refusal(*surface, "unroll=32 tile_m=64"),
            "unroll=32 is in no legal plan: unroll=32 needs 3200 words (shape rule 'code_size')");
}

TEST(Explanation, ShowsWhatEachOfSeveralRulesLeavesToASharedKnob) {
  Conflict conflict;
  EXPECT_EQ(
      refusal("tile_m=384 dataflow=os", &conflict),
      "dataflow=os and tile_m=384 cannot hold together: no plan meets all of: scratchpad needs at least 6.2 "
      "KiB, has "
      "16 KiB (counting the most favourable tile_k=16, tile_n=16, buffering=single) (capacity rule "
      "'spad_capacity'); dataflow=os needs tile_k of at least 64, tile_k is 16 (for example with tile_k=16) "
      "(dependency rule 'os_shape'); tile_k: 'spad_capacity' leaves 16, 32, 'os_shape' leaves 64");
  EXPECT_EQ(conflict.constraints, (std::vector<std::string>{"spad_capacity", "os_shape"}));
}

TEST(Explanation, NamesTheStrengthOfWhatAPreferenceMeets) {
  EXPECT_EQ(
      relaxed(*example().build(), "tile_m=384 tile_n~64 dataflow~os tile_k~64"),
      "dataflow cannot hold with tile_m=384 (hard): no plan meets all of: scratchpad needs at least 6.2 KiB, "
      "has 16 "
      "KiB (counting the most favourable tile_k=16, tile_n=16, buffering=single) (capacity rule "
      "'spad_capacity'); dataflow=os needs tile_k of at least 64, tile_k is 16 (for example with tile_k=16) "
      "(dependency rule 'os_shape'); tile_k: 'spad_capacity' leaves 16, 32, 'os_shape' leaves 64\n"
      "tile_k cannot hold with tile_m=384 (hard): scratchpad needs at least 25 KiB, has 16 KiB (counting the "
      "most "
      "favourable tile_n=16, buffering=single) (capacity rule 'spad_capacity')\n"
      "tile_n cannot hold with tile_m=384 (hard): accumulator needs 96 KiB, has 64 KiB: tile_m=384 x "
      "tile_n=64 x 4 "
      "B (capacity rule 'acc_capacity')\n");
}

TEST(Explanation, ASurfaceWithoutLegalPlanSaysWhy) {
  const auto surface = example().rule("never", "(> tile_m 1000)", "tile_m={tile_m} is below 1000").build();
  EXPECT_EQ(refusal(*surface, ""),
            "the surface has no legal plan: tile_m=16 is below 1000 (for example with tile_m=16) (shape rule "
            "'never')");
  EXPECT_EQ(derive_domains(*surface).status().message(),
            "the surface has no legal plan: tile_m=16 is below 1000 (for example with tile_m=16) (shape rule "
            "'never')");
}

SurfaceBuilder catalog() {
  SurfaceBuilder builder;
  builder.knob("tile_m", {16, 32, 64})
      .choice("buffering", {"single", "double"})
      .choice("store_schedule", {"early", "late"})
      .capacity("acc", "(* tile_m 64 (+ 1 buffering))", "4096",
                "accumulator needs {needs}, has {available} rows")
      .row({16, 0, 0})
      .row({16, 1, 1})
      .row({32, 0, 1})
      .row({64, 0, 1});
  return builder;
}

TEST(Explanation, ACatalogNamesWhatTheOtherAssignmentsLeave) {
  EXPECT_EQ(refusal(*catalog().build(), "tile_m=16 buffering=double store_schedule=early"),
            "buffering=double and store_schedule=early cannot hold together: no row of the catalog has all "
            "of these; the "
            "rest leaves store_schedule late");
}

TEST(Explanation, ACatalogPrefersARuleWithNumbers) {
  EXPECT_EQ(refusal(*catalog().build(), "tile_m=64 buffering=double"),
            "tile_m=64 and buffering=double cannot hold together: accumulator needs 8192, has 4096 rows "
            "(capacity rule "
            "'acc')");
}

TEST(Explanation, ACatalogPreferenceNamesItsRivals) {
  EXPECT_EQ(
      relaxed(*catalog().build(), "tile_m=32 buffering~double store_schedule~early"),
      "buffering cannot hold with tile_m=32 (hard): no row of the catalog has all of these; the rest leaves "
      "buffering single\n"
      "store_schedule cannot hold with tile_m=32 (hard): no row of the catalog has all of these; the rest "
      "leaves "
      "store_schedule late\n");
}

TEST(Explanation, AnUndefinedTermBreaksItsRule) {
  const auto surface = SurfaceBuilder()
                           .knob("tile_m", {0, 16})
                           .rule("ratio", "(<= (div 64 tile_m) 8)", "64 / {tile_m} is {(div 64 tile_m)}")
                           .build();
  EXPECT_EQ(refusal(*surface, "tile_m=0"),
            "tile_m=0 is in no legal plan: 64 / 0 is undefined (shape rule 'ratio')");
  EXPECT_EQ(refusal(*surface, ""), "no conflict");
}

TEST(Explanation, AvailableMayVaryToo) {
  const auto surface = SurfaceBuilder()
                           .knob("tile_m", {64, 128})
                           .knob("banks", {1, 2}, mapping::Category::Placement)
                           .capacity("rows", "tile_m", "(* 32 banks)", "needs {needs} rows, has {available}")
                           .build();
  EXPECT_EQ(
      refusal(*surface, "tile_m=128"),
      "tile_m=128 is in no legal plan: needs 128 rows, has at most 64 (counting the most favourable banks=2) "
      "(capacity rule 'rows')");
}

TEST(Explanation, QuietCompletionsCarryNoReasons) {
  const auto surface = *example().build();
  Options options;
  options.explain = false;
  Resolver resolver(surface, options);
  const auto intent = *mapping::parse_intent(surface, Source("intent", "tile_m=384 tile_n~128"));
  const auto completion = resolver.complete(intent);
  ASSERT_TRUE(completion.ok() && completion->plan);
  ASSERT_EQ(completion->plan->relaxations.size(), 1u);
  EXPECT_EQ(completion->plan->relaxations[0].reason, "");
}

}  // namespace
}  // namespace zomboss::resolver
