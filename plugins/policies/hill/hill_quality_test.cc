// How far the climb gets with 12 evaluations on catalogs shaped like a tiled matrix multiplication: tile
// sizes with joint capacities, buffering, store order and loop order, and a latency in closed form with
// overlap and fill.
#include <gtest/gtest.h>

#include "plugins/policies/common/test_search.h"
#include "plugins/policies/hill/hill_policy.h"
#include "plugins/policies/random/random_policy.h"

namespace zomboss::policies {
namespace {

using testing::TestSearch;
using testing::TestSurface;
using testing::Values;

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

std::vector<int64_t> tile_counts(int64_t whole) {
  std::vector<int64_t> counts;
  for (int64_t parts = whole; parts >= 1; --parts) {
    const int64_t tile = ceil_div(whole, parts);
    if (counts.empty() || counts.back() != tile) counts.push_back(tile);
  }
  return counts;
}

// I x J x K tiles. Knobs: ti, tj, tk, buffers, store (0 late, 1 early, 2 deferred), order (0 ijk, 1 jik).
TestSurface matmul_surface(int64_t I, int64_t J, int64_t K) {
  TestSurface surface;
  surface.catalog = true;
  surface.knobs = {{"tile_m", tile_counts(I)},
                   {"tile_n", tile_counts(J)},
                   {"tile_k", tile_counts(K)},
                   {"buffering", {1, 2}, wire::KnobType::Choice},
                   {"store", {0, 1, 2}, wire::KnobType::Choice},
                   {"order", {0, 1}, wire::KnobType::Choice}};
  surface.legal = [](const Values& v) {
    return v[0] * v[1] * v[3] <= 64 && (v[0] * v[2] + v[2] * v[1]) * v[3] <= 1024;
  };
  surface.latency = [=](const Values& v) {
    const int64_t ti = v[0], tj = v[1], tk = v[2];
    const int64_t mi = ceil_div(I, ti), mj = ceil_div(J, tj), mk = ceil_div(K, tk);
    const auto load_rows = [](int64_t rows, int64_t wide) {  // 60 cycles per 16-row transfer of up to 4 tiles
      return 60.0 * static_cast<double>(rows * ceil_div(wide, 4));
    };
    const bool a_stays = mk == 1 && v[5] == 0;
    const bool b_stays = mk == 1 && v[5] == 1;
    const double loads_a = load_rows(ti, tk) * static_cast<double>(mi * mk * (a_stays ? 1 : mj));
    const double loads_b = load_rows(tk, tj) * static_cast<double>(mk * mj * (b_stays ? 1 : mi));
    const double load = loads_a + loads_b;
    const double compute = 16.0 * static_cast<double>(I * J * K) + 40.0 * static_cast<double>(mi * mj * mk);
    const double store_one = static_cast<double>(ti * 16 * ceil_div(tj, 4)) * (v[4] == 1 ? 1.3 : 1.0);
    const double store = store_one * static_cast<double>(mi * mj);
    const double macro = static_cast<double>(mi * mj * mk);
    const double fill = (load + compute) / macro + store_one * (v[4] == 1 ? 0.4 : 1.0);
    if (v[3] == 1) return load + compute + store * (v[4] == 0 ? 1.0 : 0.7) + 120;
    return std::max({load, compute, store}) + fill + (v[4] == 2 ? -0.1 * store : 0.0) + 160;
  };
  return surface;
}

struct Shape {
  int64_t i, j, k;
};
constexpr Shape kShapes[] = {{2, 2, 2},  {2, 4, 4},  {4, 4, 4},  {8, 4, 2},  {2, 8, 4},
                             {1, 4, 2},  {1, 4, 4},  {1, 4, 16}, {1, 16, 4}, {1, 8, 8},
                             {4, 8, 8},  {8, 8, 8},  {4, 8, 16}, {3, 5, 7},  {16, 16, 16},
                             {1, 8, 56}, {8, 2, 12}, {6, 6, 6},  {12, 4, 4}, {2, 16, 16}};

struct Regret {
  double mean = 0;
  double worst = 0;
};

// An estimate that is right about traffic and arithmetic and knows nothing of buffering and stores.
double plain_cost(const Shape& shape, const Values& v) {
  const TestSurface surface = matmul_surface(shape.i, shape.j, shape.k);
  return surface.latency({v[0], v[1], v[2], 2, 0, v[5]});
}

// Of the best of 12 evaluations against the optimum, over shapes and seeds.
template <typename Policy>
Regret regret_at_twelve(bool priced = false) {
  Regret regret;
  constexpr uint64_t kSeeds = 3;
  for (const Shape& shape : kShapes) {
    TestSurface surface = matmul_surface(shape.i, shape.j, shape.k);
    if (priced) surface.cost = [&](const Values& v) { return plain_cost(shape, v); };
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      TestSearch<Policy> search(surface, {1, 1, 1, 1, 0, 0}, seed);
      search.run(12);
      const double one = search.best() / surface.optimum() - 1;
      regret.mean += one / static_cast<double>(std::size(kShapes) * kSeeds);
      regret.worst = std::max(regret.worst, one);
    }
  }
  return regret;
}

TEST(HillQuality, TwelveEvaluationsComeCloseToTheOptimumOfTiledMatmuls) {
  const Regret regret = regret_at_twelve<HillPolicy>();
  RecordProperty("mean_regret_percent", std::to_string(100 * regret.mean));
  RecordProperty("worst_regret_percent", std::to_string(100 * regret.worst));
  EXPECT_LE(regret.mean, 0.06);
  EXPECT_LE(regret.worst, 0.25);
}

TEST(HillQuality, StaticCostsBringItCloser) {
  const Regret regret = regret_at_twelve<HillPolicy>(true);
  RecordProperty("mean_regret_percent", std::to_string(100 * regret.mean));
  RecordProperty("worst_regret_percent", std::to_string(100 * regret.worst));
  EXPECT_LE(regret.mean, 0.5 * regret_at_twelve<HillPolicy>().mean);
}

TEST(HillQuality, BeatsRandomSamplingAtTheSameBudget) {
  EXPECT_LT(regret_at_twelve<HillPolicy>().mean, 0.5 * regret_at_twelve<RandomPolicy>().mean);
}

}  // namespace
}  // namespace zomboss::policies
