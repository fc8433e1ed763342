// Random small surfaces: every engine gives the answer that enumeration gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/mapping/testing.h"
#include "core/resolver/resolver.h"

namespace zomboss::resolver {
namespace {

using mapping::Assignment;
using mapping::Intent;
using mapping::Strength;
using mapping::Surface;
using mapping::testing::random_bool;
using mapping::testing::RandomTerm;
using mapping::testing::SurfaceBuilder;
using Values = std::vector<int64_t>;

struct Case {
  std::vector<RandomTerm> terms;  // over the knobs in resolution order
  std::optional<Surface> surface;
  std::vector<Values> legal;  // in default order, by enumeration
};

// More trials: ZB_PROPERTY_FACTOR=20.
int trials_of(int usual) {
  const char* factor = std::getenv("ZB_PROPERTY_FACTOR");
  return factor == nullptr ? usual : usual * std::max(1, std::atoi(factor));
}

// All assignments in default order.
void for_each_assignment(const Surface& surface, Values& values, size_t knob,
                         const std::function<void()>& visit) {
  if (knob == surface.knobs().size()) return visit();
  for (int64_t value : surface.knob(knob).values) {
    values[knob] = value;
    for_each_assignment(surface, values, knob + 1, visit);
  }
}

Case random_case(Random& random) {
  Case result;
  SurfaceBuilder builder;
  const size_t knobs = 1 + random.below(5);
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> domains;
  for (size_t k = 0; k < knobs; ++k) {
    std::vector<int64_t> values;
    for (uint64_t i = 1 + random.below(4); i > 0; --i) {
      const int64_t value = random.between(-2, 7);
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    names.push_back("k" + std::to_string(k));
    domains.push_back(values);
    builder.knob(names[k], values, mapping::Category::Placement,
                 static_cast<mapping::DefaultPolicy>(random.below(3)));
  }
  for (uint64_t i = random.below(5); i > 0; --i) {
    result.terms.push_back(random_bool(random, names, 2));
    builder.rule("c" + std::to_string(result.terms.size()), result.terms.back().text, "broken");
  }
  if (random.below(3) == 0) {
    std::vector<Values> rows;
    for (uint64_t i = 1 + random.below(12); i > 0; --i) {
      Values row;
      for (const auto& domain : domains) row.push_back(domain[random.below(domain.size())]);
      if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
    }
    for (const Values& row : rows) builder.row(row);
  }
  auto surface = builder.build();
  EXPECT_TRUE(surface.ok()) << surface.status().message();
  result.surface = *std::move(surface);
  const auto in_catalog = [&](const Values& values) {
    const auto& cells = builder.message.catalog;
    for (size_t r = 0; r < cells.size(); r += knobs) {
      if (std::equal(values.begin(), values.end(), cells.begin() + static_cast<std::ptrdiff_t>(r)))
        return true;
    }
    return cells.empty();
  };
  Values values(knobs);
  for_each_assignment(*result.surface, values, 0, [&] {
    const bool holds = std::all_of(result.terms.begin(), result.terms.end(), [&](const RandomTerm& term) {
      return term.value(values).value_or(0) == 1;
    });
    if (holds && in_catalog(values)) result.legal.push_back(values);
  });
  return result;
}

Intent random_intent(Random& random, const Surface& surface) {
  Intent intent;
  for (size_t k = 0; k < surface.knobs().size(); ++k) {
    const auto& values = surface.knob(k).values;
    const int64_t value = values[random.below(values.size())];
    const uint64_t kind = random.below(6);
    if (kind <= 1) intent.set({k, value, Strength::Preferred});
    if (kind == 2) intent.set({k, value, Strength::Hard});
    if (kind == 3) intent.set({k, 0, Strength::Auto});
  }
  return intent;
}

std::optional<Values> first_with(const std::vector<Values>& legal, const std::vector<Assignment>& fixed) {
  for (const Values& values : legal) {
    const bool fits = std::all_of(fixed.begin(), fixed.end(),
                                  [&](const Assignment& a) { return values[a.knob] == a.value; });
    if (fits) return values;
  }
  return std::nullopt;
}

struct Expected {
  std::optional<Values> values;
  std::vector<std::string> relaxed;
  std::vector<Assignment> kept;
};

// The rules of the resolver, word for word, on the enumeration.
Expected by_enumeration(const Case& test, const Intent& intent) {
  Expected result;
  for (const Assignment& assignment : intent.assignments()) {
    if (assignment.strength == Strength::Hard) result.kept.push_back(assignment);
  }
  result.values = first_with(test.legal, result.kept);
  if (!result.values) return result;
  for (const Assignment& assignment : intent.assignments()) {
    if (assignment.strength != Strength::Preferred) continue;
    result.kept.push_back(assignment);
    const auto with = first_with(test.legal, result.kept);
    if (with) {
      result.values = with;
    } else {
      result.kept.pop_back();
      result.relaxed.push_back(test.surface->knob(assignment.knob).name);
    }
  }
  return result;
}

// Some assignment meets exactly these rules and assignments.
bool possible(const Case& test, const std::vector<Assignment>& fixed, const std::vector<std::string>& rules,
              bool catalog) {
  bool found = false;
  Values values(test.surface->knobs().size());
  for_each_assignment(*test.surface, values, 0, [&] {
    for (const Assignment& a : fixed) {
      if (values[a.knob] != a.value) return;
    }
    for (size_t c = 0; c < test.terms.size(); ++c) {
      const bool counts = std::find(rules.begin(), rules.end(), "c" + std::to_string(c + 1)) != rules.end();
      if (counts && test.terms[c].value(values).value_or(0) != 1) return;
    }
    if (catalog) {
      bool row = false;
      for (size_t r = 0; r < test.surface->row_count() && !row; ++r) {
        row = true;
        for (size_t k = 0; k < values.size(); ++k) {
          row = row && test.surface->knob(k).values[test.surface->row(r)[k]] == values[k];
        }
      }
      if (!row) return;
    }
    found = true;
  });
  return found;
}

// The core conflicts, and nothing in it could be left out.
void expect_irreducible(const Case& test, const Conflict& conflict) {
  EXPECT_FALSE(possible(test, conflict.assignments, conflict.constraints, conflict.catalog)) << conflict.text;
  for (size_t i = 0; i < conflict.assignments.size(); ++i) {
    auto fewer = conflict.assignments;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(possible(test, fewer, conflict.constraints, conflict.catalog)) << conflict.text;
  }
  for (size_t i = 0; i < conflict.constraints.size(); ++i) {
    auto fewer = conflict.constraints;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(possible(test, conflict.assignments, fewer, conflict.catalog)) << conflict.text;
  }
  if (conflict.catalog) {
    EXPECT_TRUE(possible(test, conflict.assignments, conflict.constraints, false)) << conflict.text;
  }
}

void expect_completion(const Case& test, const Intent& intent, Resolver& resolver) {
  const Expected expected = by_enumeration(test, intent);
  const auto completion = resolver.complete(intent);
  ASSERT_TRUE(completion.ok()) << completion.status().message();
  ASSERT_EQ(completion->plan.has_value(), expected.values.has_value());
  if (!completion->plan) return expect_irreducible(test, *completion->conflict);
  EXPECT_EQ(*plan_values(*test.surface, *completion->plan), *expected.values);
  std::vector<std::string> relaxed;
  for (const auto& relaxation : completion->plan->relaxations) {
    relaxed.push_back(relaxation.knob);
    EXPECT_EQ(completion->plan->find(relaxation.knob)->value, relaxation.realized);
    EXPECT_FALSE(relaxation.reason.empty());
  }
  EXPECT_EQ(relaxed, expected.relaxed);
  EXPECT_TRUE(resolver.check(*completion->plan).ok());
}

void check_engine(Engine engine, uint64_t seed, int trials) {
  Random random(seed, 0);
  for (int trial = 0; trial < trials && !::testing::Test::HasFailure(); ++trial) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", trial " + std::to_string(trial));
    const Case test = random_case(random);
    Options options;
    options.engine = engine;
    Resolver resolver(*test.surface, options);
    expect_completion(test, Intent(), resolver);
    for (int i = 0; i < 3; ++i) expect_completion(test, random_intent(random, *test.surface), resolver);
    if (::testing::Test::HasFailure()) {
      for (const RandomTerm& term : test.terms) std::printf("  %s\n", term.text.c_str());
    }
  }
}

TEST(ResolverProperty, TheCompiledSearchAgreesWithEnumeration) {
  check_engine(Engine::kCompiled, 1, trials_of(8000));
}

TEST(ResolverProperty, Z3AgreesWithEnumeration) {
  check_engine(Engine::kSolver, 2, trials_of(120));
}

// With a budget of a few steps, most answers change hands between the engines.
TEST(ResolverProperty, TheEnginesTogetherAgreeWithEnumeration) {
  Random random(3, 0);
  for (int trial = 0; trial < trials_of(150) && !HasFailure(); ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const Case test = random_case(random);
    Options options;
    options.search_steps = 20;
    Resolver resolver(*test.surface, options);
    for (int i = 0; i < 3; ++i) expect_completion(test, random_intent(random, *test.surface), resolver);
  }
}

TEST(ResolverProperty, CountingListingAndDerivingAgreeWithEnumeration) {
  Random random(4, 0);
  for (int trial = 0; trial < trials_of(2000) && !HasFailure(); ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const Case test = random_case(random);
    Resolver resolver(*test.surface);
    std::vector<Values> listed;
    ASSERT_TRUE(resolver
                    .enumerate([&](std::span<const int64_t> values) {
                      listed.emplace_back(values.begin(), values.end());
                      return true;
                    })
                    .ok());
    EXPECT_EQ(listed, test.legal);
    EXPECT_EQ(resolver.count_legal(10'000).legal, test.legal.size());
    const auto derived = derive_domains(*test.surface);
    ASSERT_EQ(derived.ok(), !test.legal.empty());
    for (size_t k = 0; derived.ok() && k < test.surface->knobs().size(); ++k) {
      Values alive;
      for (int64_t value : test.surface->knob(k).values) {
        if (first_with(test.legal, {{k, value, Strength::Hard}})) alive.push_back(value);
      }
      EXPECT_EQ(derived->knob(k).values, alive);
    }
    if (derived.ok()) {
      Resolver narrowed(*derived);
      EXPECT_EQ(narrowed.count_legal(10'000).legal, test.legal.size());
    }
  }
}

}  // namespace
}  // namespace zomboss::resolver
