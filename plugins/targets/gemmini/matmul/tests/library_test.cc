// The vendor's choice as a mapping: its tile sizes, and cycles that agree with those of its own kernels on
// the hardware.
#include "plugins/targets/gemmini/matmul/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/sim/test_support.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

struct Shape {
  int64_t batches = 1, m = 1, k = 1, n = 1;
  bool bias = false;
};

Problem problem_of(const Shape& shape) {
  GraphBuilder graph;
  uint32_t c = 0;
  if (shape.batches > 1) {
    c = graph.matmul(graph.parameter({shape.batches, shape.m, shape.k}),
                     graph.parameter({shape.batches, shape.k, shape.n}), {2}, {1}, {0}, {0});
  } else {
    c = graph.matmul(graph.parameter({shape.m, shape.k}), graph.parameter({shape.k, shape.n}), {1}, {0});
  }
  if (shape.bias) c = graph.bias(c, graph.parameter({shape.n}, wire::DType::S32), {1});
  graph.quantize(c, 0.015625);
  auto problem = recognise(graph.finish(), default_machine());
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return *std::move(problem);
}

// Tile sizes of the vendor's heuristic in blocks, worked out by hand from its description.
TEST(Library, ChoosesTheVendorsTiles) {
  struct Case {
    Shape shape;
    int64_t m, n, k;
  };
  for (const Case& each :
       {Case{{1, 32, 32, 32}, 2, 2, 2}, Case{{1, 128, 32, 64}, 8, 4, 2}, Case{{1, 32, 64, 128}, 2, 8, 4},
        Case{{1, 12, 128, 128}, 1, 8, 8}, Case{{1, 32, 256, 256}, 2, 16, 16},
        Case{{1, 64, 256, 512}, 4, 8, 16}, Case{{1, 128, 512, 1024}, 5, 6, 32}}) {
    const auto mapping = library_mapping(problem_of(each.shape), default_machine());
    ASSERT_TRUE(mapping.has_value());
    EXPECT_EQ(mapping->tile_m, each.m);
    EXPECT_EQ(mapping->tile_n, each.n);
    EXPECT_EQ(mapping->tile_k, each.k);
    EXPECT_EQ(mapping->interface, Interface::kLoopWs);
  }
}

TEST(Library, FencesEachBatchAndKeepsWhatFits) {
  const auto batched = library_mapping(problem_of({4, 32, 32, 32}), default_machine());
  ASSERT_TRUE(batched.has_value());
  EXPECT_EQ(batched->fence, FencePolicy::kBatch);
  // One tile of A, four of B along the columns: only A stays.
  const auto wide = library_mapping(problem_of({1, 64, 256, 512}), default_machine());
  ASSERT_TRUE(wide.has_value());
  EXPECT_EQ(wide->buffering_a, Buffering::kResident);
  EXPECT_EQ(wide->buffering_b, Buffering::kDouble);
}

TEST(Library, HasNoCallForScatteredOperands) {
  GraphBuilder graph;
  const uint32_t a = graph.reshape(graph.transpose(graph.parameter({10, 12}), {1, 0}), {8, 15});
  graph.quantize(graph.matmul(a, graph.parameter({15, 9}), {1}, {0}), 0.02);
  const auto problem = recognise(graph.finish(), default_machine());
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_FALSE(library_mapping(*problem, default_machine()).has_value());
}

// The rows marked `library` of the measured alternatives are the vendor's own command streams.
TEST(Library, TakesTheCyclesOfTheVendorsKernels) {
  const std::string data = std::string(ZB_GOLDEN_DIR) + "/../data/gemmini-alternatives.tsv";
  if (!std::filesystem::exists(data)) GTEST_SKIP() << "NO RTL CYCLES at " << data;
  const std::map<std::string, Shape> shapes = {
      {"gemm_32x32x32", {1, 32, 32, 32}},     {"gemm_32x64x64", {1, 32, 64, 64}},
      {"gemm_64x64x64", {1, 64, 64, 64}},     {"gemm_128x32x64", {1, 128, 32, 64}},
      {"gemm_64x256x512", {1, 64, 256, 512}}, {"gemm_4x64x64", {1, 4, 64, 64}},
      {"gemv_m1_k256_n64", {1, 1, 256, 64}},  {"linear_8x64x64", {1, 8, 64, 64, true}},
      {"bmm_2x32x32x32", {2, 32, 32, 32}}};
  size_t compared = 0;
  for (auto& row : testing::read_tsv(data)) {
    if (row["mark"] != "library") continue;
    const Problem problem = problem_of(shapes.at(row["workload"]));
    const auto mapping = library_mapping(problem, default_machine());
    ASSERT_TRUE(mapping.has_value());
    const auto commands = lower_mapping(problem, *mapping, default_machine());
    ASSERT_TRUE(commands.ok()) << commands.status().message();
    for (const uint32_t latency : {20u, 60u}) {
      TimingParameters parameters;
      parameters.memory_latency = latency;
      const auto timing = simulate_timing(*commands, default_machine(), parameters);
      ASSERT_TRUE(timing.ok());
      const double measured = std::stod(row["cycles_L" + std::to_string(latency)]);
      EXPECT_NEAR(static_cast<double>(timing->cycles), measured, 0.02 * measured)
          << row["workload"] << " at " << latency;
    }
    ++compared;
  }
  EXPECT_EQ(compared, shapes.size());
}

}  // namespace
}  // namespace zomboss::gemmini
