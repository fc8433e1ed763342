// Region proposals: what is refused, what is sampled, what is dropped, which two are chosen.
#include "core/search/region.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/mapping/convert.h"

namespace zomboss::search {
namespace {

using mapping::Surface;

void add_knob(wire::SurfaceT& message, const char* name, wire::Category category,
              std::vector<int64_t> values) {
  auto knob = std::make_unique<wire::KnobT>();
  knob->name = name;
  knob->category = category;
  knob->values = std::move(values);
  message.knobs.push_back(std::move(knob));
}

// a * b <= 32; one knob has one value only.
Surface make_surface() {
  wire::SurfaceT message;
  message.target = "t";
  message.workload = "w";
  add_knob(message, "a", wire::Category::Algorithm, {1, 2, 4, 8, 16});
  add_knob(message, "b", wire::Category::MatrixDecomposition, {1, 2, 4, 8, 16});
  add_knob(message, "c", wire::Category::Placement, {1, 2, 3});
  add_knob(message, "d", wire::Category::LoopStructure, {0, 1});
  add_knob(message, "one", wire::Category::LoopStructure, {7});
  auto constraint = std::make_unique<wire::ConstraintT>();
  constraint->name = "fits";
  constraint->kind = wire::ConstraintKind::Capacity;
  constraint->assertion = "(<= (* a b) 32)";
  constraint->needs = "(* a b)";
  constraint->available = "32";
  constraint->message = "the buffer needs {needs}, has {available}";
  message.constraints.push_back(std::move(constraint));
  auto surface = mapping::from_wire(message);
  EXPECT_TRUE(surface.ok()) << surface.status().message();
  return *std::move(surface);
}

wire::RegionT make_region(std::vector<std::tuple<std::string, int64_t, wire::Strength>> assignments,
                          std::vector<std::string> axes, std::string center = "", uint32_t radius = 1) {
  wire::RegionT region;
  for (const auto& [knob, value, strength] : assignments) {
    auto assignment = std::make_unique<wire::AssignmentT>();
    assignment->knob = knob;
    assignment->value = value;
    assignment->strength = strength;
    region.assignments.push_back(std::move(assignment));
  }
  region.diversity_axes = std::move(axes);
  region.center = std::move(center);
  region.radius = radius;
  return region;
}

constexpr auto kHard = wire::Strength::Hard;
constexpr auto kPreferred = wire::Strength::Preferred;
constexpr auto kAuto = wire::Strength::Auto;

struct RegionTest : testing::Test {
  Surface surface = make_surface();
  resolver::Resolver resolver{surface};

  std::string refusal(const wire::RegionT& message) {
    const auto region = read_region(surface, message, [](const std::string&) { return std::nullopt; });
    return region.ok() ? "" : region.status().message();
  }
  Region read(const wire::RegionT& message, std::optional<Values> center = std::nullopt) {
    auto region = read_region(surface, message, [&](const std::string&) { return center; });
    EXPECT_TRUE(region.ok()) << region.status().message();
    return *region;
  }
  std::vector<Sample> sample(const Region& region, std::vector<Values> seen = {}, uint64_t stream = 1) {
    auto pool = sample_region(resolver, region, seen, Random(3, stream));
    EXPECT_TRUE(pool.ok()) << pool.status().message();
    return pool.ok() ? *pool : std::vector<Sample>();
  }
};

TEST_F(RegionTest, EveryRefusalOfTheProtocolIsNamed) {
  EXPECT_EQ(refusal(make_region({}, {})), "a region needs at least one diversity axis");
  EXPECT_EQ(refusal(make_region({{"aa", 1, kHard}}, {"b"})), "unknown knob 'aa'; did you mean 'a'?");
  EXPECT_NE(refusal(make_region({{"a", 3, kPreferred}}, {"b"})).find("3"), std::string::npos);
  EXPECT_EQ(refusal(make_region({{"a", 1, kHard}, {"a", 2, kPreferred}}, {"b"})), "knob 'a' is in two lists");
  EXPECT_EQ(refusal(make_region({{"a", 1, kPreferred}, {"a", 0, kAuto}}, {"b"})), "knob 'a' is in two lists");
  EXPECT_EQ(refusal(make_region({{"b", 1, kHard}}, {"b"})), "diversity axis 'b' is hard: it could not vary");
  EXPECT_EQ(refusal(make_region({{"b", 0, kAuto}}, {"b"})),
            "diversity axis 'b' is auto: the resolver would choose its value");
  EXPECT_EQ(refusal(make_region({}, {"one"})), "diversity axis 'one' has one value only");
  EXPECT_EQ(refusal(make_region({}, {"b", "b"})), "diversity axis 'b' is named twice");
  EXPECT_EQ(refusal(make_region({}, {"bb"})),
            "diversity axis 'bb' is no knob of the surface; did you mean 'b'?");
  EXPECT_EQ(refusal(make_region({{"a", 1, kHard}, {"b", 1, kHard}, {"c", 1, kHard}}, {"d"})),
            "only one knob is free of hard assignments, a region needs two");
  EXPECT_EQ(refusal(make_region({}, {"b"}, "feed")),
            "the center 'feed' is no plan that was evaluated and verified");
  EXPECT_EQ(refusal(make_region({}, {"b"}, "", 9)), "the radius is 9, expected 1 to 8");
  EXPECT_EQ(refusal(make_region({}, {"b"}, "", 0)), "the radius is 0, expected 1 to 8");
  // One list, in order.
  EXPECT_EQ(refusal(make_region({{"a", 1, kHard}, {"a", 1, kHard}}, {"a"})),
            "knob 'a' is in two lists; diversity axis 'a' is hard: it could not vary");
}

TEST_F(RegionTest, AHardSetThatCannotHoldIsRefusedWithItsNumbers) {
  const auto pool = sample_region(resolver, read(make_region({{"a", 16, kHard}, {"b", 16, kHard}}, {"c"})),
                                  {}, Random(1, 1));
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.status().code(), Code::kFailedPrecondition);
  EXPECT_NE(pool.status().message().find("the buffer needs 256, has 32"), std::string::npos)
      << pool.status().message();
}

TEST_F(RegionTest, SamplesAreLegalFreshDifferentAndKeepTheHardValues) {
  const std::vector<Values> seen = {{1, 4, 1, 0, 7}, {2, 4, 2, 1, 7}};
  const auto pool = sample(read(make_region({{"b", 4, kHard}}, {"a"})), seen);
  std::set<Values> values;
  for (const Sample& each : pool) {
    EXPECT_EQ(each.values[1], 4);
    EXPECT_LE(each.values[0] * each.values[1], 32);
    EXPECT_TRUE(values.insert(each.values).second);
    EXPECT_TRUE(resolver.check(each.values).ok());
    EXPECT_EQ(std::count(seen.begin(), seen.end(), each.values), 0);
  }
  EXPECT_EQ(pool.size(), 4u * 3 * 2 - 2) << "the whole region: 256 samples find all of its plans";
}

TEST_F(RegionTest, WithoutACenterAPreferredKnobKeepsItsValueThreeTimesInFour) {
  // Each sample draws c anew: 0.75 + 0.25 / 3 of them have the preferred value. Counted over many streams,
  // and over the intents, since equal plans are dropped.
  size_t kept = 0, drawn = 0;
  std::map<int64_t, size_t> others;
  for (uint64_t stream = 0; stream < 400; ++stream) {
    const auto pool = sample(read(make_region({{"c", 2, kPreferred}}, {"a"})), {}, stream);
    // Only the first draws of a pool are free of the dropping of repeated plans.
    for (size_t i = 1; i < std::min<size_t>(pool.size(), 4); ++i) {
      ++drawn;
      if (pool[i].intent.find(2)->value == 2)
        ++kept;
      else
        ++others[pool[i].intent.find(2)->value];
    }
  }
  const double share = static_cast<double>(kept) / static_cast<double>(drawn);
  EXPECT_NEAR(share, 0.75 + 0.25 / 3, 0.04);
  EXPECT_NEAR(static_cast<double>(others[1]) / static_cast<double>(others[1] + others[3]), 0.5, 0.12);
}

TEST_F(RegionTest, AutoKnobsAreLeftToTheResolver) {
  for (const Sample& each : sample(read(make_region({{"c", 0, kAuto}}, {"a"})))) {
    EXPECT_EQ(each.intent.find(2)->strength, kAuto);
    EXPECT_EQ(each.values[2], 1) << "the default";
  }
}

// In the sampled intent; what is realized may differ in more, where a value had to be relaxed.
size_t asked_changes(const Sample& sample, const Values& center) {
  size_t changes = 0;
  for (const mapping::Assignment& each : sample.intent.assignments())
    changes += each.value != center[each.knob];
  return changes;
}

TEST_F(RegionTest, AroundACenterOnlyRadiusKnobsChangeAndAxesComeFirst) {
  const Values center = {4, 4, 2, 0, 7};
  const auto pool = sample(read(make_region({}, {"c"}, "x", 1), center), {center});
  EXPECT_EQ(pool.size(), 2u);  // c = 1 and c = 3
  for (const Sample& each : pool) {
    EXPECT_NE(each.values[2], 2);
    EXPECT_EQ(each.values[0], 4);
    EXPECT_EQ(each.values[1], 4);
  }
  for (const Sample& each : sample(read(make_region({}, {"c"}, "x", 2), center), {center})) {
    EXPECT_LE(asked_changes(each, center), 2u);
    EXPECT_NE(each.intent.find(2)->value, 2) << "the axis is always among the changed knobs";
  }
}

TEST_F(RegionTest, TheRadiusGrowsUntilThereAreTwoPlans) {
  const Values center = {4, 4, 2, 0, 7};
  const std::vector<Values> seen = {center, {4, 4, 1, 0, 7}, {4, 4, 3, 0, 7}};
  const auto pool = sample(read(make_region({}, {"c"}, "x", 1), center), seen);
  ASSERT_GE(pool.size(), 2u);
  for (const Sample& each : pool) {
    EXPECT_EQ(asked_changes(each, center), 2u) << "radius 1 was exhausted, radius 2 was enough";
  }
}

TEST_F(RegionTest, AnExhaustedNeighbourhoodIsRefusedWithCounts) {
  std::vector<Values> seen;
  for (int64_t c : {1, 2, 3})
    for (int64_t d : {0, 1}) seen.push_back({1, 1, c, d, 7});
  seen.pop_back();  // one plan is left
  const auto region = read(make_region({{"a", 1, kHard}, {"b", 1, kHard}}, {"c"}));
  const auto pool = sample_region(resolver, region, seen, Random(1, 1));
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.status().code(), Code::kAlreadyExists);
  EXPECT_NE(pool.status().message().find("the neighbourhood is exhausted"), std::string::npos);
  EXPECT_NE(pool.status().message().find("one is left, two are needed"), std::string::npos)
      << pool.status().message();
}

TEST_F(RegionTest, TheCenterIsPreferredValuesElseTheNamedPlanElseMidpoints) {
  const auto free_pool = sample(read(make_region({{"a", 2, kPreferred}}, {"b"})));
  ASSERT_TRUE(free_pool[0].center);
  EXPECT_EQ(free_pool[0].values, (Values{2, 4, 2, 0, 7}));
  const Values named = {8, 2, 3, 1, 7};
  const auto near_pool = sample(read(make_region({{"a", 2, kPreferred}}, {"b"}, "x", 1), named), {named});
  ASSERT_TRUE(near_pool[0].center);
  EXPECT_EQ(near_pool[0].values, (Values{2, 2, 3, 1, 7}));
}

TEST_F(RegionTest, TheSameStreamGivesTheSamePool) {
  const Region region = read(make_region({}, {"a"}));
  const auto one = sample(region, {}, 5), two = sample(region, {}, 5), other = sample(region, {}, 6);
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].values, two[i].values);
  bool differs = other.size() != one.size();
  for (size_t i = 0; !differs && i < one.size(); ++i) differs = one[i].values != other[i].values;
  EXPECT_TRUE(differs);
}

std::vector<Sample> costs(std::vector<double> list) {
  std::vector<Sample> pool;
  for (const double cost : list) {
    pool.emplace_back();
    pool.back().static_cost = cost;
  }
  return pool;
}

std::vector<double> kept(std::vector<Sample> pool) {
  drop_worst_quarter(pool);
  std::vector<double> list;
  for (const Sample& each : pool) list.push_back(each.static_cost);
  return list;
}

TEST(DropWorstQuarter, KeepsTheCenterAndAtLeastTwo) {
  EXPECT_EQ(kept(costs({5, 1, 9, 3, 7, 2, 8, 4})), (std::vector<double>{5, 1, 3, 7, 2, 4}));
  auto with_center = costs({9, 1, 2, 3});
  with_center[0].center = true;
  EXPECT_EQ(kept(with_center), (std::vector<double>{9, 1, 2}));
  EXPECT_EQ(kept(costs({2, 1})), (std::vector<double>{2, 1}));
  EXPECT_EQ(kept(costs({3, 2, 1})), (std::vector<double>{3, 2, 1})) << "a quarter of three is none";
  EXPECT_EQ(kept(costs({4, 0, 2, 3})).size(), 4u) << "an unknown cost: nothing can be said";
}

std::vector<Sample> points(std::vector<Values> list) {
  std::vector<Sample> pool;
  for (Values& values : list) {
    pool.emplace_back();
    pool.back().values = std::move(values);
  }
  return pool;
}

TEST(ChooseTwo, TheFarthestThenAnotherValueOnTheAxis) {
  const std::vector<Values> evaluated = {{0, 0, 0, 0}};
  auto pool = points({{1, 0, 0, 0}, {1, 1, 1, 0}, {1, 2, 2, 2}, {2, 0, 0, 0}, {2, 1, 0, 0}});
  EXPECT_EQ(choose_two(pool, 0, evaluated), (std::vector<size_t>{2, 4}));
  pool[0].center = true;
  EXPECT_EQ(choose_two(pool, 0, evaluated), (std::vector<size_t>{0, 4}));
  EXPECT_EQ(choose_two(points({{1, 1, 1, 1}, {1, 2, 0, 0}}), 0, evaluated), (std::vector<size_t>{0, 1}))
      << "no other value on the axis: the farthest there is";
  EXPECT_EQ(choose_two(points({{1, 1, 1, 1}}), 0, evaluated), (std::vector<size_t>{0}));
}

TEST_F(RegionTest, ItsDistanceOrdersAsTheNormalizedHammingDistance) {
  const auto pool = sample(read(make_region({}, {"a"})));
  for (size_t i = 0; i + 1 < pool.size(); ++i) {
    size_t changes = 0;
    for (size_t k = 0; k < pool[i].values.size(); ++k) changes += pool[i].values[k] != pool[i + 1].values[k];
    EXPECT_DOUBLE_EQ(mapping::distance(pool[i].plan, pool[i + 1].plan), static_cast<double>(changes) / 5);
  }
}

}  // namespace
}  // namespace zomboss::search
