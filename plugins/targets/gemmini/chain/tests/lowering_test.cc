// Kernels of chains give the bytes of a plain evaluation of the graph, whatever the plan.
#include <gtest/gtest.h>

#include "plugins/targets/gemmini/chain/tests/chain_cases.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {
namespace {

// The default plan, the library's where there is one, and random ones.
void expect_right(const wire::WorkloadT& workload, uint32_t dim = 16, int count = 25) {
  const KernelCase chain = open_chain(workload, dim);
  ASSERT_NE(chain.resolver, nullptr);
  chain.expect_right(chain.plan());
  for (const auto& reference : chain.surface->references())
    chain.expect_right(chain.plan_of(reference.values));
  std::mt19937_64 random(dim);
  for (int i = 0; i < count; ++i) chain.expect_right(chain.random_plan(random));
}

// The same with results that stay on chip; `demands` are two or three ways to say so.
void expect_right_on_chip(const wire::WorkloadT& workload, uint32_t dim,
                          const std::vector<std::string>& demands) {
  const KernelCase chain = open_chain(workload, dim);
  ASSERT_NE(chain.resolver, nullptr);
  std::mt19937_64 random(dim);
  for (const std::string& demand : demands) {
    chain.expect_right(chain.plan(demand));
    for (int i = 0; i < 25; ++i) chain.expect_right(chain.random_plan(random, demand));
  }
}

TEST(ChainLowering, GivesTheReferenceForTwoAndThreeLayers) {
  expect_right(mlp({.rows = 20, .widths = {40, 70, 35}, .scales = {0.01}}));
  expect_right(mlp({.rows = 4, .widths = {64, 100, 64}, .scales = {0.01}, .bias = true, .relu = true}));
  expect_right(mlp({.rows = 33, .widths = {17, 64, 5, 48}, .scales = {0.01, 0.02, 0.03}, .relu = true}));
}

TEST(ChainLowering, GivesTheReferenceForOtherArraySizes) {
  for (uint32_t dim : {4u, 8u, 32u})
    expect_right(mlp({.rows = 20, .widths = {24, 40, 17}, .scales = {0.015625}, .relu = true}), dim);
}

TEST(ChainLowering, KeepsResultsInTheScratchpad) {
  const std::vector<std::string> one = {"l1_output=scratchpad"};
  for (uint32_t dim : {4u, 8u, 16u}) {
    expect_right_on_chip(mlp({.rows = 32, .widths = {16, 16, 16}, .scales = {0.0078125}}), dim, one);
    expect_right_on_chip(mlp({.rows = 35, .widths = {31, 29, 50}, .scales = {0.00390625}, .relu = true}), dim,
                         one);
    expect_right_on_chip(
        mlp({.rows = 18, .widths = {20, 30, 25, 20}, .scales = {1.0, 0.125, 0.00390625}}), dim,
        {"l1_output=scratchpad", "l2_output=scratchpad", "l1_output=scratchpad l2_output=scratchpad"});
  }
}

TEST(ChainLowering, TakesTheIntermediateOnEitherSide) {
  GraphBuilder graph;
  const uint32_t x = graph.parameter({20, 24}), w = graph.parameter({24, 18});
  const uint32_t y = graph.quantize(graph.matmul(x, w, {1}, {0}), 0.0078125);
  graph.quantize(graph.matmul(graph.parameter({40, 20}), y, {1}, {0}), 0.01);
  expect_right(graph.finish());
  for (uint32_t dim : {8u, 16u}) expect_right_on_chip(graph.finish(), dim, {"l1_output=scratchpad"});
}

TEST(ChainLowering, TransposesTheIntermediate) {
  for (const bool right : {false, true}) {
    GraphBuilder graph;
    const uint32_t x = graph.parameter({20, 24}), w = graph.parameter({24, 18});
    const uint32_t y = graph.transpose(graph.quantize(graph.matmul(x, w, {1}, {0}), 0.0078125), {1, 0});
    if (right)
      graph.quantize(graph.matmul(graph.parameter({40, 18}), y, {1}, {0}), 0.01);
    else
      graph.quantize(graph.matmul(y, graph.parameter({20, 40}), {1}, {0}), 0.01);
    expect_right(graph.finish());
    expect_right_on_chip(graph.finish(), 16, {"l1_output=scratchpad"});
  }
}

TEST(ChainLowering, TakesBranchesThatMeet) {
  GraphBuilder graph;  // scores of queries and keys, and their product with values: three stages and batches
  const uint32_t x = graph.parameter({3, 20, 24});
  const uint32_t q = graph.quantize(graph.matmul(x, graph.parameter({24, 16}), {2}, {0}), 0.01);
  const uint32_t k = graph.quantize(graph.matmul(x, graph.parameter({24, 16}), {2}, {0}), 0.01);
  graph.quantize(graph.matmul(q, k, {2}, {2}, {0}, {0}), 0.02);
  expect_right(graph.finish());
}

TEST(ChainLowering, ReshapesBetweenLayersThroughScratch) {
  GraphBuilder graph;
  const uint32_t y =
      graph.quantize(graph.matmul(graph.parameter({12, 20}), graph.parameter({20, 10}), {1}, {0}), 0.01);
  const uint32_t z = graph.reshape(graph.transpose(y, {1, 0}), {8, 15});
  graph.quantize(graph.matmul(z, graph.parameter({15, 9}), {1}, {0}), 0.02);
  expect_right(graph.finish());
}

TEST(ChainLowering, GivesTheReferenceForEveryRowOfACatalog) {
  for (const auto& layers : {Mlp{.rows = 18, .widths = {20, 30, 25, 20}, .scales = {0.00390625}},
                             Mlp{.rows = 20, .widths = {40, 70, 35}, .scales = {0.01}, .bias = true}}) {
    const KernelCase chain(mlp(layers), default_model());
    ASSERT_NE(chain.resolver, nullptr);
    size_t rows = 0;
    const Status listed = chain.resolver->enumerate([&](std::span<const int64_t> values) {
      ++rows;
      chain.expect_right(chain.plan_of({values.begin(), values.end()}));
      return true;
    });
    EXPECT_TRUE(listed.ok()) << listed.message();
    EXPECT_EQ(rows, chain.surface->row_count());
    EXPECT_GT(rows, 50u);
  }
}

TEST(ChainLowering, AnOnChipResultIsNeitherStoredNorLoaded) {
  const KernelCase chain = open_chain(mlp({.rows = 32, .widths = {16, 16, 16}, .scales = {0.0078125}}));
  ASSERT_NE(chain.resolver, nullptr);
  const mapping::Plan plan = chain.plan("l1_output=scratchpad");
  chain.expect_right(plan);
  const Lowered lowered = chain.lowered(plan);
  uint64_t intermediate = 0;
  for (const PlacedBuffer& placed : lowered.buffers)
    if (placed.buffer.name == "stage_1") intermediate = placed.address;
  ASSERT_NE(intermediate, 0u);
  size_t loads = 0, stores = 0, fences = 0;
  for (const Command& command : lowered.commands) {
    const bool store = command.funct == static_cast<uint32_t>(Funct::kMvout);
    const bool load = load_state_of(command.funct) >= 0;
    fences += command.funct == static_cast<uint32_t>(Funct::kFence) ? 1 : 0;
    if (!store && !load) continue;
    (store ? stores : loads) += 1;
    EXPECT_FALSE(command.rs1 >= intermediate && command.rs1 < intermediate + 512) << disassemble(command);
  }
  EXPECT_EQ(loads, 4u);  // two blocks of x, one of each matrix
  EXPECT_EQ(stores, 2u);
  EXPECT_EQ(fences, 0u);
}

}  // namespace
}  // namespace zomboss::gemmini
