// The check of residual kernels accepts right ones and refuses each way of being wrong.
#include "plugins/targets/gemmini/residual/check.h"

#include <gtest/gtest.h>

#include <functional>

#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/residual/lower.h"
#include "plugins/targets/gemmini/residual/mapping.h"

namespace zomboss::gemmini::residual {
namespace {

using Kernel = std::vector<Command>;

Problem problem_of(const Dims& dims, const Machine& machine) {
  GraphBuilder graph;
  const uint32_t a = graph.node("convert", {graph.parameter(dims)}, dims, wire::DType::S32);
  const uint32_t b = graph.node("convert", {graph.parameter(dims)}, dims, wire::DType::S32);
  graph.quantize(graph.node("add", {a, b}, dims, wire::DType::S32), 0.5);
  auto problem = recognise_sum(graph.finish(), machine);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return *std::move(problem);
}

// 40 rows of 70: 3 x 5 blocks, two tiles, wide moves.
Mapping usual_mapping() {
  Mapping mapping;
  mapping.tile_rows = 2;
  mapping.tile_cols = 5;
  mapping.acc_buffers = 2;
  mapping.load_width = 4;
  mapping.store_width = 2;
  return mapping;
}

// What the check says of the usual kernel after a change.
std::string verdict(const std::function<void(Kernel&)>& change, Mapping mapping = usual_mapping()) {
  const Machine machine = default_machine();
  const Problem problem = problem_of({40, 70}, machine);
  Kernel kernel = lower_mapping(problem, mapping, machine);
  change(kernel);
  return check_kernel(problem, machine, kernel, mapping.ordering == Ordering::kFence).message();
}

size_t nth(const Kernel& kernel, Funct funct, size_t n) {
  for (size_t i = 0; i < kernel.size(); ++i)
    if (kernel[i].funct == static_cast<uint32_t>(funct) && n-- == 0) return i;
  ADD_FAILURE() << "no such command";
  return 0;
}

void erase(Kernel& kernel, size_t at) {
  kernel.erase(kernel.begin() + static_cast<std::ptrdiff_t>(at));
}

TEST(ResidualCheck, AcceptsTheKernelOnEveryInterface) {
  EXPECT_EQ(verdict([](Kernel&) {}), "");
  Mapping loop = library_mapping(problem_of({40, 70}, default_machine()), default_machine());
  EXPECT_EQ(verdict([](Kernel&) {}, loop), "");
  Mapping fenced = usual_mapping();
  fenced.ordering = Ordering::kFence;
  fenced.load_order = LoadOrder::kAFirst;
  EXPECT_EQ(verdict([](Kernel&) {}, fenced), "");
}

TEST(ResidualCheck, MissesNoCommand) {
  const Machine machine = default_machine();
  const size_t commands = lower_mapping(problem_of({40, 70}, machine), usual_mapping(), machine).size();
  for (size_t i = 0; i < commands; ++i)
    EXPECT_NE(verdict([&](Kernel& kernel) { erase(kernel, i); }), "") << i;
}

TEST(ResidualCheck, NamesWhatIsWrong) {
  const auto says = [](const std::string& text, const std::function<void(Kernel&)>& change) {
    const std::string said = verdict(change);
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  says("is not complete", [](Kernel& kernel) { erase(kernel, nth(kernel, Funct::kMvin2, 0)); });
  says("are left in the accumulator", [](Kernel& kernel) { erase(kernel, nth(kernel, Funct::kMvout, 8)); });
  says("of 2800 elements are stored", [](Kernel& kernel) {
    const Machine machine = default_machine();
    kernel = lower_mapping(problem_of({40, 70}, machine), usual_mapping(), machine, 1);
  });
  says("added to what is no A", [](Kernel& kernel) {
    std::swap(kernel[nth(kernel, Funct::kMvin, 0)], kernel[nth(kernel, Funct::kMvin2, 0)]);
  });
  says("another element of operand B",
       [](Kernel& kernel) { kernel[nth(kernel, Funct::kMvin2, 1)].rs1 += 1; });
  says("another element of operand A",
       [](Kernel& kernel) { kernel[nth(kernel, Funct::kMvout, 0)].rs1 += 70; });
  says("not that of the sum", [](Kernel& kernel) {
    ConfigSt config;
    config.dram_stride_bytes = 70;
    config.acc_scale = 0.25f;
    kernel[nth(kernel, Funct::kConfig, 2)] = config_st(config);
  });
  says("not that of an operand", [](Kernel& kernel) {
    ConfigLd config;
    config.dram_stride_bytes = 70;
    config.block_stride = 16;
    kernel[nth(kernel, Funct::kConfig, 0)] = config_ld(config);
  });
}

TEST(ResidualCheck, WantsFencesWhereTheyArePromised) {
  Mapping fenced = usual_mapping();
  fenced.ordering = Ordering::kFence;
  fenced.load_order = LoadOrder::kAFirst;
  const std::string said =
      verdict([](Kernel& kernel) { erase(kernel, nth(kernel, Funct::kFence, 0)); }, fenced);
  EXPECT_NE(said.find("without a fence behind A"), std::string::npos) << said;
}

}  // namespace
}  // namespace zomboss::gemmini::residual
