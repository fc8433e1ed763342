// What the surface of a chain offers, and what is refused.
#include <gtest/gtest.h>

#include <chrono>

#include "core/mapping/convert.h"
#include "plugins/targets/gemmini/chain/rename.h"
#include "plugins/targets/gemmini/chain/tests/chain_cases.h"

namespace zomboss::gemmini {
namespace {

std::string refusal(const wire::WorkloadT& workload) {
  const auto kernel = recognise_kernel(workload, default_model());
  return kernel.ok() ? "accepted" : kernel.status().message();
}

bool has_knob(const KernelCase& chain, const std::string& name) {
  for (const auto& knob : chain.surface->knobs())
    if (knob.name == name) return true;
  return false;
}

TEST(ChainSurface, DefaultsToThePlainScheduleOfEachStage) {
  const KernelCase chain(mlp({.rows = 64, .widths = {64, 128, 64}, .scales = {0.01}}), default_model());
  ASSERT_NE(chain.resolver, nullptr);
  const mapping::Plan plan = chain.plan();
  for (const char* knob : {"l1_tile_m", "l1_tile_n", "l1_tile_k", "l2_tile_m", "l2_tile_n", "l2_tile_k"}) {
    ASSERT_NE(plan.find(knob), nullptr) << knob;
    EXPECT_EQ(plan.find(knob)->value, 16) << knob;
  }
  EXPECT_EQ(plan.find("l1_interface")->text, "primitives");
}

TEST(ChainSurface, OffersTheScratchpadOnlyWhereSumsAndScaleAllowIt) {
  const auto offers = [](const Mlp& layers, uint32_t dim = 16) {
    const KernelCase chain = open_chain(mlp(layers), dim);
    return chain.resolver != nullptr && has_knob(chain, "l1_output");
  };
  EXPECT_TRUE(offers({.rows = 32, .widths = {31, 16, 16}, .scales = {0.0078125}}));
  EXPECT_FALSE(offers({.rows = 32, .widths = {32, 16, 16}, .scales = {0.0078125}}));  // 20 bits
  EXPECT_FALSE(offers({.rows = 32, .widths = {31, 16, 16}, .scales = {0.0078}}));
  EXPECT_FALSE(offers({.rows = 32, .widths = {31, 16, 16}, .scales = {2.0}}));
  EXPECT_FALSE(offers({.rows = 32, .widths = {31, 16, 16}, .scales = {0.0078125}, .bias = true}));
  EXPECT_TRUE(offers({.rows = 32, .widths = {31, 16, 16}, .scales = {0.0078125}}, 8));
  EXPECT_FALSE(offers({.rows = 32, .widths = {31, 16, 16}, .scales = {0.0078125}}, 32));
}

TEST(ChainSurface, ResolvesTheEmptyIntentAtOnce) {
  const wire::WorkloadT layers =
      mlp({.rows = 16, .widths = {256, 256, 256, 64}, .scales = {0.01}, .bias = true});
  for (const KernelCase& chain : {open_chain(layers), KernelCase(layers, default_model())}) {
    ASSERT_NE(chain.resolver, nullptr);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(chain.resolver->complete({}).ok());
    const auto each = (std::chrono::steady_clock::now() - start) / 10;
    EXPECT_LT(each, std::chrono::milliseconds(50));
  }
}

TEST(ChainSurface, DerivesItsDomains) {
  const KernelCase chain = open_chain(mlp({.rows = 32, .widths = {31, 16, 16}, .scales = {0.0078125}}));
  ASSERT_NE(chain.resolver, nullptr);
  const auto derived = resolver::derive_domains(*chain.surface);
  ASSERT_TRUE(derived.ok()) << derived.status().message();
  for (const auto& knob : derived->knobs()) {
    if (knob.name == "l1_output") {
      EXPECT_EQ(knob.values.size(), 2u);
    }
  }
}

TEST(ChainSurface, ListsLegalRowsOnceAndKeepsResultsOnChipInSome) {
  const KernelCase chain(mlp({.rows = 32, .widths = {16, 16, 16}, .scales = {0.0078125}}), default_model());
  ASSERT_NE(chain.resolver, nullptr);
  EXPECT_TRUE(chain.surface->is_catalog());
  const auto count = chain.resolver->count_legal(1'000'000);
  EXPECT_EQ(count.legal, chain.surface->row_count());
  EXPECT_EQ(chain.plan("l1_output=scratchpad").find("l1_output")->text, "scratchpad");
}

TEST(ChainSurface, HasTheLibrarysCallsAsAReference) {
  const KernelCase chain(mlp({.rows = 64, .widths = {64, 128, 64}, .scales = {0.01}}), default_model());
  ASSERT_NE(chain.resolver, nullptr);
  ASSERT_EQ(chain.surface->references().size(), 1u);
  const auto& library = chain.surface->references()[0];
  EXPECT_EQ(library.name, "library");
  EXPECT_TRUE(chain.resolver->check(library.values).ok());
  EXPECT_EQ(chain.plan_of(library.values).find("l2_interface")->text, "loop_ws");
}

TEST(ChainSurface, BoundsAndCostsEveryPlan) {
  const KernelCase chain(mlp({.rows = 32, .widths = {16, 16, 16}, .scales = {0.0078125}}), default_model());
  ASSERT_NE(chain.resolver, nullptr);
  const double bound = chain.kernel->bound().latency;
  EXPECT_GT(bound, 0);
  const auto cost = [&](const std::string& intent) {
    auto schedule = chain.kernel->schedule(mapping::to_wire(*chain.surface, chain.plan(intent)));
    EXPECT_TRUE(schedule.ok()) << schedule.status().message();
    return schedule.ok() ? schedule->static_cost : 0;
  };
  EXPECT_GE(cost(""), bound);
  EXPECT_LT(cost("l1_output=scratchpad"), cost(""));
}

TEST(ChainSurface, ExplainsWhatAnOnChipResultNeeds) {
  const KernelCase chain = open_chain(mlp({.rows = 32, .widths = {16, 16, 16}, .scales = {0.0078125}}));
  ASSERT_NE(chain.resolver, nullptr);
  mapping::Intent intent;
  for (size_t k = 0; k < chain.surface->knobs().size(); ++k) {
    if (chain.surface->knob(k).name == "l1_output") intent.set({k, 1, mapping::Strength::Hard});
    if (chain.surface->knob(k).name == "l2_interface") intent.set({k, 1, mapping::Strength::Hard});
  }
  const auto completion = chain.resolver->complete(intent);
  ASSERT_TRUE(completion.ok());
  ASSERT_TRUE(completion->conflict.has_value());
  EXPECT_NE(completion->conflict->text.find("l2_from_chip"), std::string::npos) << completion->conflict->text;
}

TEST(ChainSurface, RefusesIntermediatesOfFullWidth) {
  GraphBuilder graph;
  const uint32_t x = graph.matmul(graph.parameter({8, 8}), graph.parameter({8, 8}), {1}, {0});
  graph.quantize(graph.matmul(x, graph.parameter({8, 8}), {1}, {0}), 0.01);
  EXPECT_EQ(
      refusal(graph.finish()),
      "gemmini does not take this workload\n  test.hlo:3:3: matmul 'matmul.2' s32[8,8]: leads to the next "
      "matmul: quantize it to s8 before");
}

TEST(ChainSurface, LeavesMatmulsThatLeadNowhereOut) {
  GraphBuilder graph;
  const uint32_t x = graph.parameter({20, 24});
  graph.quantize(graph.matmul(x, graph.parameter({24, 24}), {1}, {0}), 0.01);
  graph.quantize(graph.matmul(x, graph.parameter({24, 16}), {1}, {0}), 0.01);
  const KernelCase alone(graph.finish(), default_model());
  ASSERT_NE(alone.resolver, nullptr);
  EXPECT_TRUE(has_knob(alone, "tile_m"));
  EXPECT_FALSE(has_knob(alone, "l1_tile_m"));
  alone.expect_right(alone.plan());
}

TEST(ChainSurface, NamesWhatSeveralStagesRefuse) {
  GraphBuilder graph;
  uint32_t x = graph.matmul(graph.parameter({8, 8}), graph.parameter({8, 8}), {1}, {0});
  x = graph.quantize(x, 0.01, -100, 100);
  x = graph.matmul(x, graph.parameter({8, 8}), {1}, {0});
  graph.quantize(x, 0.01, -50, 50);
  const std::string text = refusal(graph.finish());
  EXPECT_NE(text.find("clamps to [-100, 100]"), std::string::npos) << text;
  EXPECT_NE(text.find("clamps to [-50, 50]"), std::string::npos) << text;
}

TEST(ChainSurface, RenamesKnobsInRulesAndMessages) {
  const chain::Names names = {{"tile_m", "l2_tile_m"}, {"fence", "0"}};
  EXPECT_EQ(chain::renamed_term("(=> (= fence 1) (<= (* 4 tile_m tile_mx) 100))", names),
            "(=> (= 0 1) (<= (* 4 l2_tile_m tile_mx) 100))");
  EXPECT_EQ(chain::renamed_message("a fence, fence=batch: tile_m={tile_m} of {needs:bytes}, {fence}", names),
            "a fence, fence=batch: l2_tile_m={l2_tile_m} of {needs:bytes}, 0");
}

}  // namespace
}  // namespace zomboss::gemmini
