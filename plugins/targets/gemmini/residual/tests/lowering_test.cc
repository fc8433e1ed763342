// Kernels of residual additions give the bytes of a plain evaluation of the graph, whatever the plan.
#include <gtest/gtest.h>

#include "plugins/targets/gemmini/chain/tests/chain_cases.h"
#include "plugins/targets/gemmini/residual/problem.h"
#include "plugins/targets/gemmini/residual/surface.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {
namespace {

using wire::DType;

struct Sum {
  Dims dims;
  double a_scale = 1, b_scale = 1, scale = 1;
  bool relu = false;
};

uint32_t widened(GraphBuilder& graph, uint32_t x, double scale) {
  if (scale != 1) x = graph.quantize(x, scale);
  return graph.node("convert", {x}, graph.dims(x), DType::S32);
}

uint32_t finish_sum(GraphBuilder& graph, uint32_t a, uint32_t b, const Sum& sum) {
  uint32_t x = graph.node("add", {a, b}, graph.dims(a), DType::S32);
  if (sum.relu) x = graph.relu(x);
  return graph.quantize(x, sum.scale);
}

wire::WorkloadT residual(const Sum& sum) {
  GraphBuilder graph;
  const uint32_t a = widened(graph, graph.parameter(sum.dims), sum.a_scale);
  const uint32_t b = widened(graph, graph.parameter(sum.dims), sum.b_scale);
  finish_sum(graph, a, b, sum);
  return graph.finish();
}

// All mappings that the rules allow, not only those of the catalog.
KernelCase open_sum(const wire::WorkloadT& workload, uint32_t dim) {
  const MachineModel model = default_model(dim);
  const auto problem = residual::recognise_sum(workload, model.machine);
  if (!problem.ok()) {
    ADD_FAILURE() << problem.status().message();
    return KernelCase(workload, model);
  }
  const auto domains = residual::knob_domains(*problem, model.machine);
  return KernelCase(workload, model, residual::bare_surface(*problem, model.machine, domains));
}

// The default plan, the library's, and random ones.
void expect_right(const wire::WorkloadT& workload, uint32_t dim = 16) {
  const KernelCase sum = open_sum(workload, dim);
  ASSERT_NE(sum.resolver, nullptr);
  sum.expect_right(sum.plan());
  for (const auto& reference : sum.surface->references()) sum.expect_right(sum.plan_of(reference.values));
  std::mt19937_64 random(dim);
  for (int i = 0; i < 40; ++i) sum.expect_right(sum.random_plan(random));
  for (const char* demand : {"ordering=fence", "interface=loop_ws", "store_schedule=deferred"})
    for (int i = 0; i < 8; ++i) sum.expect_right(sum.random_plan(random, demand));
}

TEST(ResidualLowering, GivesTheReferenceForManyShapes) {
  for (const Dims& dims : {Dims{64, 64}, Dims{1}, Dims{}, Dims{5, 7, 3}, Dims{100}, Dims{1, 14, 14, 40},
                           Dims{7, 7, 80}, Dims{300, 17}})
    expect_right(residual({.dims = dims, .scale = 0.5}));
}

TEST(ResidualLowering, GivesTheReferenceForEveryArraySize) {
  for (uint32_t dim : {2u, 4u, 8u, 32u}) {
    expect_right(residual({.dims = {20, 72}, .relu = true}), dim);
    expect_right(residual({.dims = {33, 19}}), dim);
  }
}

TEST(ResidualLowering, ScalesOperandsAndSum) {
  expect_right(residual({.dims = {40, 50}, .a_scale = 0.5, .b_scale = 1.75, .scale = 0.8125, .relu = true}));
  expect_right(residual({.dims = {40, 50}, .a_scale = -0.75, .scale = -1.25}));
  expect_right(residual({.dims = {40, 48}, .b_scale = 3.3, .scale = 0.1}));
}

TEST(ResidualLowering, TakesOperandsBetweenStridesAndRepeats) {
  GraphBuilder moved;  // the same transpose on all sides but the result's own
  const uint32_t a = moved.transpose(moved.parameter({12, 30, 20}), {1, 0, 2});
  const uint32_t b = moved.parameter({30, 12, 20});
  finish_sum(moved, widened(moved, a, 0.5), widened(moved, b, 1), {.dims = {}, .scale = 0.5});
  expect_right(moved.finish());

  GraphBuilder repeated;  // one row for all
  const uint32_t row = repeated.broadcast(repeated.parameter({50}), {1}, {37, 50});
  finish_sum(repeated, widened(repeated, repeated.parameter({37, 50}), 1), widened(repeated, row, 1),
             {.dims = {}});
  expect_right(repeated.finish());

  GraphBuilder twice;  // x + x, reshaped behind
  const uint32_t x = widened(twice, twice.parameter({40, 24}), 1);
  twice.reshape(finish_sum(twice, x, x, {.dims = {}, .scale = 0.75}), {24, 5, 8});
  expect_right(twice.finish());
}

TEST(ResidualLowering, SpansTilesOfLargeTensors) {
  expect_right(residual({.dims = {200, 130}, .relu = true}));
}

// Between a load that overwrites a row and the one that adds to it: as many fences as are asked for.
TEST(ResidualLowering, FencesSeparateOverwritingFromAddingLoads) {
  const KernelCase sum = open_sum(residual({.dims = {100, 70}}), 16);
  ASSERT_NE(sum.resolver, nullptr);
  std::mt19937_64 random(3);
  for (int i = 0; i < 20; ++i) {
    const Lowered lowered = sum.lowered(sum.random_plan(random, "ordering=fence"));
    std::vector<size_t> overwritten(1024, 0);  // fences before the last one of each row
    size_t fences = 0;
    for (const Command& command : lowered.commands) {
      if (command.funct == static_cast<uint32_t>(Funct::kFence)) ++fences;
      const Operand local = decode_operand(command.rs2);
      if (load_state_of(command.funct) < 0 || (local.address & kAccumulatorBit) == 0) continue;
      const bool adds = (local.address & kAccumulateBit) != 0;
      for (uint32_t block = 0; block * 16 < local.cols; ++block) {
        const uint32_t row = (local.address & 0x3fff) + block * 16;
        if (adds) {
          EXPECT_LT(overwritten[row], fences);
        } else {
          overwritten[row] = fences;
        }
      }
    }
  }
}

}  // namespace
}  // namespace zomboss::gemmini
