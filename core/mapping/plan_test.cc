#include "core/mapping/plan.h"

#include <gtest/gtest.h>

#include "core/mapping/testing.h"

namespace zomboss::mapping {
namespace {

using mapping::testing::SurfaceBuilder;

Surface example() {
  return *SurfaceBuilder()
              .boolean("hoist")
              .knob("tile_n", {16, 32})
              .knob("tile_m", {16, 32})
              .choice("buffering", {"single", "double"})
              .build();
}

Plan plan_of(const Surface& surface, std::vector<int64_t> values, std::vector<Relaxation> relaxations = {}) {
  const std::vector<Origin> origins(values.size(), Origin::Default);
  return make_plan(surface, values, origins, std::move(relaxations));
}

TEST(Plan, GroupsDecisionsInEightSectionsSortedByName) {
  const Plan plan = plan_of(example(), {16, 32, 1, 0});
  const auto& matrix = plan.sections[static_cast<size_t>(Category::MatrixDecomposition)];
  ASSERT_EQ(matrix.size(), 2u);
  EXPECT_EQ(matrix[0].knob, "tile_m");
  EXPECT_EQ(matrix[1].knob, "tile_n");
  EXPECT_EQ(plan.find("buffering")->text, "double");
  EXPECT_EQ(plan.find("hoist")->text, "false");
  EXPECT_EQ(plan.find("absent"), nullptr);
}

TEST(Plan, HashDependsOnTheSectionsAlone) {
  const Surface surface = example();
  const Plan plan = plan_of(surface, {16, 32, 1, 0});
  Plan other = plan_of(surface, {16, 32, 1, 0}, {{"tile_m", 32, 16, "why"}});
  EXPECT_TRUE(plan.same_mapping(other));
  EXPECT_FALSE(plan.same_mapping(plan_of(surface, {32, 16, 1, 0})));
  EXPECT_EQ(plan.hash.hex(), "a1717433dbfc0d374b9028d754a05a02")
      << "the hash is stored in files: it must not change";
}

TEST(Plan, DistanceIsTheShareOfDecisionsThatDiffer) {
  const Surface surface = example();
  const Plan a = plan_of(surface, {16, 32, 1, 0}), b = plan_of(surface, {32, 32, 0, 0});
  EXPECT_EQ(distance(a, a), 0);
  EXPECT_EQ(distance(a, b), 0.5);
  EXPECT_EQ(changed_decisions(a, b), 2u);
  const Surface smaller = *SurfaceBuilder().knob("tile_n", {16, 32}).build();
  EXPECT_EQ(distance(plan_of(smaller, {32}), a), 0.75) << "a knob that only one has is a difference";
  EXPECT_EQ(distance(Plan(), Plan()), 0);
}

TEST(Plan, RoundTripsThroughItsMessage) {
  const Surface surface = example();
  const std::vector<int64_t> values = {16, 32, 1, 0};
  const std::vector<Origin> origins = {Origin::Hard, Origin::Default, Origin::Preferred, Origin::Default};
  const Plan plan = make_plan(surface, values, origins, {{"tile_n", 16, 32, "why"}});
  const auto read = plan_from_wire(surface, to_wire(surface, plan));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->hash, plan.hash);
  EXPECT_EQ(read->relaxations, plan.relaxations);
  EXPECT_EQ(read->find("tile_m")->origin, Origin::Hard);
  EXPECT_EQ(read->find("buffering")->text, "double");
  EXPECT_EQ(*plan_values(surface, *read), values);
}

TEST(Plan, FromWireRefusesDamage) {
  const Surface surface = example();
  const Plan plan = plan_of(surface, {16, 32, 1, 0});
  const auto refusal = [&](auto change, bool rehash) {
    wire::PlanT message = to_wire(surface, plan);
    change(message);
    if (rehash) {
      Plan changed;
      for (size_t s = 0; s < message.sections.size(); ++s) {
        for (const auto& d : message.sections[s]->decisions)
          changed.sections[s].push_back({d->knob, d->value, "", {}});
      }
      message.hash = plan_hash(changed).hex();
    }
    return plan_from_wire(surface, message).status().message();
  };
  EXPECT_EQ(refusal([](auto& m) { m.sections.pop_back(); }, false), "the plan has 7 sections, not 8");
  EXPECT_EQ(refusal([](auto& m) { std::swap(m.sections[0], m.sections[1]); }, false),
            "section 0 of the plan is not 'algorithm'");
  EXPECT_NE(refusal([](auto& m) { m.sections[1]->decisions[0]->value = 32; }, false).find("changed by hand"),
            std::string::npos);
  EXPECT_EQ(refusal([](auto& m) { m.sections[1]->decisions[0]->value = 33; }, true),
            "the plan has tile_m=33, which is not one of 16, 32");
  EXPECT_EQ(refusal([](auto& m) { m.sections[1]->decisions.pop_back(); }, true),
            "the plan does not decide knob 'tile_n' in its section 'matrix decomposition'");
  EXPECT_EQ(refusal([](auto& m) { m.sections[1]->decisions[0]->knob = "other"; }, true),
            "the plan decides 'other' in section 'matrix decomposition', which the surface does not");
  EXPECT_EQ(refusal([](auto& m) { m.sections[7]->decisions.pop_back(); }, true),
            "the plan does not decide knob 'hoist'");
  EXPECT_EQ(refusal([](auto& m) { m.target = "x"; }, false), "the plan is for target 'x', not 'toy'");
}

}  // namespace
}  // namespace zomboss::mapping
