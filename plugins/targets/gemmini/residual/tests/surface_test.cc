// The surface of a residual addition says the same in rules and in code, and what is refused is named.
#include <gtest/gtest.h>

#include "core/mapping/convert.h"
#include "core/mapping/term.h"
#include "plugins/targets/gemmini/chain/tests/chain_cases.h"
#include "plugins/targets/gemmini/residual/estimate.h"
#include "plugins/targets/gemmini/residual/surface.h"

namespace zomboss::gemmini {
namespace {

using wire::DType;

uint32_t widened(GraphBuilder& graph, uint32_t x) {
  return graph.node("convert", {x}, graph.dims(x), DType::S32);
}

wire::WorkloadT sum_of(const Dims& dims) {
  GraphBuilder graph;
  const uint32_t a = widened(graph, graph.parameter(dims)), b = widened(graph, graph.parameter(dims));
  graph.quantize(graph.node("add", {a, b}, dims, DType::S32), 0.5);
  return graph.finish();
}

std::string refusal(const GraphBuilder& graph) {
  const auto kernel = recognise_kernel(graph.finish(), default_model());
  return kernel.ok() ? "accepted" : kernel.status().message();
}

TEST(ResidualSurface, RulesAgreeWithTheCode) {
  const MachineModel model = default_model();
  for (const Dims& dims : {Dims{64, 64}, Dims{14, 14, 40}, Dims{300}}) {
    const wire::WorkloadT workload = sum_of(dims);
    const auto problem = residual::recognise_sum(workload, model.machine);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    const residual::Domains domains = residual::knob_domains(*problem, model.machine);
    const auto surface = mapping::from_wire(residual::bare_surface(*problem, model.machine, domains));
    ASSERT_TRUE(surface.ok()) << surface.status().message();
    for (size_t k = 0; k < residual::kKnobs; ++k)
      ASSERT_EQ(surface->knob(k).name, residual::knob_name(static_cast<residual::Knob>(k)));
    std::mt19937_64 random(1);
    mapping::TermScratch scratch;
    size_t legal = 0;
    for (int i = 0; i < 20'000; ++i) {
      residual::Values values;
      for (size_t k = 0; k < residual::kKnobs; ++k) values[k] = domains[k][random() % domains[k].size()];
      bool holds = true;
      for (const auto& constraint : surface->constraints())
        holds = holds && mapping::evaluate(constraint.assertion, values, scratch) == 1;
      const auto mapping = residual::from_values(values, *problem, model.machine.dim);
      EXPECT_EQ(residual::to_values(mapping, *problem, model.machine.dim), values);
      ASSERT_EQ(holds, residual::is_legal(mapping, *problem, model.machine))
          << testing::PrintToString(values);
      legal += holds ? 1 : 0;
    }
    EXPECT_GT(legal, 100u);
  }
}

TEST(ResidualSurface, ListsLegalRowsAndTheLibrary) {
  const KernelCase sum(sum_of({56, 56, 64}), default_model());
  ASSERT_NE(sum.resolver, nullptr);
  EXPECT_TRUE(sum.surface->is_catalog());
  EXPECT_EQ(sum.resolver->count_legal(1'000'000).legal, sum.surface->row_count());
  EXPECT_GT(sum.surface->row_count(), 50u);
  ASSERT_EQ(sum.surface->references().size(), 1u);
  const mapping::Plan library = sum.plan_of(sum.surface->references()[0].values);
  EXPECT_EQ(library.find("interface")->text, "loop_ws");
  EXPECT_EQ(library.find("tile_rows")->value, 128);
  EXPECT_EQ(library.find("tile_cols")->value, 64);
  EXPECT_EQ(sum.plan("ordering=fence").find("ordering")->text, "fence");
  const mapping::Plan plain = sum.plan();
  for (const char* knob : {"tile_rows", "tile_cols"}) EXPECT_EQ(plain.find(knob)->value, 16) << knob;
  for (const char* knob : {"load_width", "store_width", "acc_buffering"})
    EXPECT_EQ(plain.find(knob)->value, 1) << knob;
}

TEST(ResidualSurface, EveryRowIsRightAndAboveTheBound) {
  const KernelCase sum(sum_of({14, 14, 40}), default_model());
  ASSERT_NE(sum.resolver, nullptr);
  const double bound = sum.kernel->bound().latency;
  const Status listed = sum.resolver->enumerate([&](std::span<const int64_t> values) {
    const mapping::Plan plan = sum.plan_of({values.begin(), values.end()});
    sum.expect_right(plan);
    const auto schedule = sum.kernel->schedule(mapping::to_wire(*sum.surface, plan));
    EXPECT_TRUE(schedule.ok()) << schedule.status().message();
    EXPECT_GE(schedule.ok() ? schedule->static_cost : 0, bound);
    return true;
  });
  EXPECT_TRUE(listed.ok()) << listed.message();
}

TEST(ResidualSurface, RowsOfDenseTensorsAreThoseOfTheLastDimOrOfOneMove) {
  const auto lengths = [](const Dims& dims) {
    const auto problem = residual::recognise_sum(sum_of(dims), default_machine());
    std::vector<int64_t> result;
    if (problem.ok())
      for (const residual::Shape& shape : problem->shapes) result.push_back(shape.columns);
    return result;
  };
  EXPECT_EQ(lengths({7, 7, 512}), (std::vector<int64_t>{512, 64}));
  EXPECT_EQ(lengths({64, 64}), (std::vector<int64_t>{64}));
  EXPECT_EQ(lengths({16, 24}), (std::vector<int64_t>{24, 64}));
  EXPECT_EQ(lengths({4, 24}), (std::vector<int64_t>{24, 32}));
  EXPECT_EQ(lengths({5, 3}), (std::vector<int64_t>{3}));
}

TEST(ResidualSurface, RefusesSumsOfTooManyBlocks) {
  const auto kernel = recognise_kernel(sum_of({1 << 23, 2}), default_model());
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().code(), Code::kResourceExhausted);
  EXPECT_NE(kernel.status().message().find("524288 blocks"), std::string::npos) << kernel.status().message();
}

TEST(ResidualSurface, NamesWhatItRefuses) {
  GraphBuilder narrow;
  const uint32_t x = narrow.parameter({8, 8}), y = narrow.parameter({8, 8});
  narrow.quantize(narrow.node("add", {x, y}, {8, 8}, DType::S8), 0.5);
  EXPECT_EQ(
      refusal(narrow),
      "gemmini does not take this workload\n  test.hlo:3:3: add 'add.2' s8[8,8]: two s8 tensors are added in "
      "s32: their sum does not fit s8, and floats are not added");

  GraphBuilder clamped;
  const uint32_t a = widened(clamped, clamped.quantize(clamped.parameter({8, 8}), 0.5, 0));
  const uint32_t b = widened(clamped, clamped.parameter({8, 8}));
  clamped.quantize(clamped.node("add", {a, b}, {8, 8}, DType::S32), 0.5);
  EXPECT_NE(refusal(clamped).find("test.hlo:2:3: quantize"), std::string::npos) << refusal(clamped);

  GraphBuilder turned;
  const uint32_t p = widened(turned, turned.transpose(turned.parameter({8, 9}), {1, 0}));
  const uint32_t q = widened(turned, turned.parameter({9, 8}));
  turned.quantize(turned.node("add", {p, q}, {9, 8}, DType::S32), 0.5);
  EXPECT_NE(refusal(turned).find("lie in different orders"), std::string::npos) << refusal(turned);

  GraphBuilder wide;
  const uint32_t r = widened(wide, wide.parameter({8, 8})), s = widened(wide, wide.parameter({8, 8}));
  wide.node("add", {r, s}, {8, 8}, DType::S32);
  EXPECT_NE(refusal(wide).find("is s8: quantize it"), std::string::npos) << refusal(wide);

  GraphBuilder full;
  const uint32_t t = widened(full, full.parameter({8, 8}));
  full.quantize(full.node("add", {t, full.parameter({8, 8}, DType::S32)}, {8, 8}, DType::S32), 0.5);
  EXPECT_NE(refusal(full).find("must be s8 here"), std::string::npos) << refusal(full);
}

}  // namespace
}  // namespace zomboss::gemmini
