// Tests that every policy of this folder must pass, used by each policy's own test.
#pragma once

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "plugins/policies/common/state_bytes.h"
#include "plugins/policies/common/test_search.h"

namespace zomboss::policies::testing {

// 5 x 4 x 3 x 2 points, some of them illegal; latency has one optimum, at {5, 3, 1, 1}.
inline TestSurface small_surface(bool catalog) {
  TestSurface surface;
  surface.catalog = catalog;
  surface.knobs = {{"a", {1, 2, 3, 4, 5}},
                   {"b", {1, 2, 3, 4}},
                   {"c", {0, 1, 2}, wire::KnobType::Choice},
                   {"d", {0, 1}, wire::KnobType::Boolean}};
  surface.legal = [](const Values& v) { return v[0] * v[1] <= 16; };
  surface.latency = [](const Values& v) {
    const double a = static_cast<double>(5 - v[0]);
    const double b = static_cast<double>(3 - v[1]);
    return 100 + 10 * a * a + 5 * b * b + (v[2] == 1 ? 0 : 7) + (v[3] == 1 ? 0 : 3);
  };
  return surface;
}
inline const Values kSmallStart = {1, 1, 0, 0};

template <typename Policy>
void expect_same_history_for_same_seed(bool catalog) {
  const TestSurface surface = small_surface(catalog);
  TestSearch<Policy> one(surface, kSmallStart, 7), two(surface, kSmallStart, 7);
  one.run(40);
  two.run(40);
  EXPECT_EQ(one.requested, two.requested);
  EXPECT_EQ(one.history.size(), 40u);
}

template <typename Policy>
void expect_no_point_requested_twice(bool catalog) {
  const TestSurface surface = small_surface(catalog);
  TestSearch<Policy> search(surface, kSmallStart, 3);
  search.run(1000, 2000);
  const std::set<Values> distinct(search.requested.begin(), search.requested.end());
  EXPECT_EQ(distinct.size(), search.requested.size());
  EXPECT_EQ(distinct.count(kSmallStart), 0u);
  EXPECT_EQ(search.duplicates, 0u);
}

template <typename Policy>
void expect_catalog_exhausted_then_stop() {
  const TestSurface surface = small_surface(true);
  TestSearch<Policy> search(surface, kSmallStart, 5);
  search.run(100'000);
  EXPECT_TRUE(search.stopped);
  EXPECT_EQ(search.history.size(), surface.legal_points().size() - 1);
  EXPECT_FALSE(search.step(100'000)) << "stop is final";
}

// Saved before and after each proposal, loaded into a new instance: both propose the same ever after.
template <typename Policy>
void expect_save_and_load_continue_equally(bool catalog, const wire::OptionsT& options = {}) {
  const TestSurface surface = small_surface(catalog);
  for (size_t steps = 0; steps < 12; ++steps) {
    TestSearch<Policy> original(surface, kSmallStart, 11, options);
    for (size_t i = 0; i < steps; ++i) original.step(100);
    const std::string state = *original.policy->save(no_call());
    TestSearch<Policy> resumed(surface, kSmallStart, 11, options);
    const Status loaded = resumed.policy->load(no_call(), as_bytes(state));
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    EXPECT_EQ(*resumed.policy->save(no_call()), state);
    resumed.known = original.known;
    resumed.history = original.history;
    resumed.requested = original.requested;
    original.run(60, 80);
    resumed.run(60, 80);
    EXPECT_EQ(original.requested, resumed.requested) << "after " << steps << " steps";
  }
}

// Cut anywhere, any bit flipped: data loss. With the checksum made right again: an error or a usable state.
template <typename Policy>
void expect_damaged_states_are_errors() {
  const TestSurface surface = small_surface(false);
  TestSearch<Policy> search(surface, kSmallStart, 2);
  for (int i = 0; i < 5; ++i) search.step(100);
  const std::string state = *search.policy->save(no_call());
  for (size_t size = 0; size < state.size(); ++size)
    EXPECT_EQ(search.policy->load(no_call(), as_bytes(std::string_view(state).substr(0, size))).code(),
              Code::kDataLoss);
  EXPECT_EQ(search.policy->load(no_call(), as_bytes(state + "x")).code(), Code::kDataLoss);
  for (size_t bit = 0; bit < 8 * state.size(); ++bit) {
    std::string damaged = state;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(search.policy->load(no_call(), as_bytes(damaged)).code(), Code::kDataLoss);
    if (bit % 5 != 0) continue;  // the slow part: every byte, not every bit
    StateWriter checksum;
    damaged.resize(damaged.size() - 8);
    checksum.u64(fnv1a(damaged));
    damaged += checksum.bytes();
    TestSearch<Policy> other(surface, kSmallStart, 2);
    if (other.policy->load(no_call(), as_bytes(damaged)).ok()) other.run(5, 10);
  }
}

// Of another seed, another surface, another start.
template <typename Policy>
void expect_states_of_other_searches_refused() {
  const TestSurface surface = small_surface(false);
  TestSearch<Policy> search(surface, kSmallStart, 2);
  const std::string state = *search.policy->save(no_call());
  TestSearch<Policy> other_seed(surface, kSmallStart, 3);
  EXPECT_EQ(other_seed.policy->load(no_call(), as_bytes(state)).code(), Code::kDataLoss);
  const TestSurface catalog = small_surface(true);
  TestSearch<Policy> other_surface(catalog, kSmallStart, 2);
  EXPECT_EQ(other_surface.policy->load(no_call(), as_bytes(state)).code(), Code::kDataLoss);
  TestSearch<Policy> other_start(surface, {2, 1, 0, 0}, 2);
  EXPECT_EQ(other_start.policy->load(no_call(), as_bytes(state)).code(), Code::kDataLoss);
}

template <typename Policy>
Status start_status(const std::function<void(wire::SearchContextT&)>& change, bool catalog = true) {
  auto policy = *Policy::create(no_call(), {});
  wire::SearchContextT context = small_surface(catalog).context(kSmallStart, 1);
  change(context);
  return policy->start(no_call(), context);
}

template <typename Policy>
void expect_senseless_contexts_refused() {
  EXPECT_EQ(start_status<Policy>([](auto& c) { c.surface->knobs[1]->name = "a"; }).message(),
            "two knobs are named 'a'");
  EXPECT_EQ(start_status<Policy>([](auto& c) { c.surface->knobs[1]->values.clear(); }).message(),
            "knob 'b' has no values");
  EXPECT_EQ(start_status<Policy>([](auto& c) {
              c.surface->knobs[0]->values = {1, 2, 1};
            }).message(),
            "knob 'a' lists a value twice");
  EXPECT_EQ(start_status<Policy>([](auto& c) { c.surface->knobs.clear(); }).message(),
            "the surface has no knobs");
  EXPECT_EQ(start_status<Policy>([](auto& c) { c.surface->catalog.resize(7); }).message(),
            "the catalog has 7 numbers, not a multiple of the 4 knobs");
  EXPECT_EQ(
      start_status<Policy>([](auto& c) { c.candidate0->sections[0]->decisions[0]->value = 9; }).message(),
      "the plan sets knob 'a' to 9, which is outside of its domain");
  EXPECT_EQ(start_status<Policy>([](auto& c) { c.candidate0->sections[2]->decisions.clear(); }).message(),
            "the plan says nothing of knob 'c'");
  auto policy = *Policy::create(no_call(), {});
  EXPECT_EQ(policy->propose(no_call(), {}).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(policy->load(no_call(), as_bytes("state")).code(), Code::kFailedPrecondition);
}

}  // namespace zomboss::policies::testing
