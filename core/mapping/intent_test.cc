#include "core/mapping/intent.h"

#include <gtest/gtest.h>

#include "core/mapping/testing.h"

namespace zomboss::mapping {
namespace {

using mapping::testing::SurfaceBuilder;

Surface example() {
  auto surface = SurfaceBuilder()
                     .knob("tile_m", {16, 32, 64})
                     .choice("buffering", {"single", "double"})
                     .boolean("hoist")
                     .build();
  EXPECT_TRUE(surface.ok()) << surface.status().message();
  return *std::move(surface);
}

std::string parsed(const std::string& text) {
  const Surface surface = example();
  const auto intent = parse_intent(surface, Source("intent", text));
  return intent.ok() ? intent_text(surface, *intent) : intent.status().message();
}

TEST(Intent, ReadsHardPreferredAndAuto) {
  EXPECT_EQ(parsed("buffering~double, tile_m=32;hoist=auto # all three"),
            "tile_m=32 buffering~double hoist=auto");
  EXPECT_EQ(parsed("hoist=true\nbuffering=1"), "buffering=double hoist=true");
  EXPECT_EQ(parsed(" # nothing\n"), "");
}

TEST(Intent, NamesThePlaceAndTheNextStepOfEachError) {
  EXPECT_EQ(parsed("tile_m=32 tile_n=16"),
            "intent:1:11: error: unknown knob 'tile_n'; did you mean 'tile_m'?\n  tile_m=32 tile_n=16\n      "
            "      ^");
  EXPECT_EQ(parsed("tile_m=48"),
            "intent:1:1: error: tile_m=48 is outside its domain: 16, 32, 64\n  tile_m=48\n  ^");
  EXPECT_EQ(
      parsed("buffering=doubel"),
      "intent:1:1: error: buffering=doubel is outside its domain: single, double; did you mean 'double'?\n"
      "  buffering=doubel\n  ^");
  EXPECT_EQ(parsed("hoist"),
            "intent:1:1: error: 'hoist' is not an assignment\n  hoist\n  ^\n"
            "  hint: write knob=value (hard), knob~value (preferred) or knob=auto");
  EXPECT_EQ(parsed("hoist=true hoist~false"),
            "intent:1:12: error: knob 'hoist' is assigned twice\n  hoist=true hoist~false\n             ^\n"
            "  hint: keep one of the two");
  EXPECT_EQ(parsed("tile_m="), "intent:1:1: error: knob 'tile_m' has no value\n  tile_m=\n  ^");
}

TEST(Intent, KeepsResolutionOrderAndOneAssignmentPerKnob) {
  Intent intent;
  intent.set({2, 1, Strength::Hard});
  intent.set({0, 16, Strength::Preferred});
  intent.set({2, 0, Strength::Preferred});
  ASSERT_EQ(intent.assignments().size(), 2u);
  EXPECT_EQ(intent.assignments()[0].knob, 0u);
  EXPECT_EQ(intent.find(2)->value, 0);
  EXPECT_EQ(intent.find(1), nullptr);
  intent.erase(0);
  EXPECT_EQ(intent.assignments().size(), 1u);
}

TEST(Intent, FromWireNamesEveryProblem) {
  const Surface surface = example();
  wire::IntentT message;
  const auto add = [&](const std::string& knob, int64_t value, Strength strength) {
    auto assignment = std::make_unique<wire::AssignmentT>();
    assignment->knob = knob;
    assignment->value = value;
    assignment->strength = strength;
    message.assignments.push_back(std::move(assignment));
  };
  add("tile_m", 64, Strength::Hard);
  add("hoist", 7, Strength::Auto);
  const auto good = intent_from_wire(surface, message);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(intent_text(surface, *good), "tile_m=64 hoist=auto");
  const auto again = intent_from_wire(surface, to_wire(surface, *good));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *good);
  add("tile_m", 32, Strength::Preferred);
  add("bufering", 0, Strength::Hard);
  add("buffering", 9, Strength::Hard);
  add("buffering", 1, static_cast<Strength>(9));
  EXPECT_EQ(intent_from_wire(surface, message).status().message(),
            "knob 'tile_m' is assigned twice; unknown knob 'bufering'; did you mean 'buffering'?; "
            "buffering=9 is outside its domain: single, double; an assignment has the unknown strength 9");
}

}  // namespace
}  // namespace zomboss::mapping
