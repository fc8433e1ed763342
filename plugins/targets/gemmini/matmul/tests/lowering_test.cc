// Every graph that the target takes, lowered and run on the functional simulator inside the common ground of
// simulator and hardware, gives the bytes of a plain evaluation of the graph.
#include <gtest/gtest.h>

#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/matmul/surface.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/matmul/tests/random_mappings.h"
#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/sim/functional.h"

namespace zomboss::gemmini {
namespace {

using wire::DType;

// Runs `mapping` of the graph and compares all bytes.
void expect_right(const wire::WorkloadT& workload, const Machine& machine, const Problem& problem,
                  const Mapping& mapping) {
  auto commands = lower_mapping(problem, mapping, machine);
  ASSERT_TRUE(commands.ok()) << commands.status().message();
  const wire::ProgramT program =
      make_program({"hash", "spec"}, placed_buffers(problem, problem.forms[mapping.orientation]), *commands);
  const wire::TensorsT inputs = random_inputs(workload, 7);
  auto dram = initial_dram(program, inputs);
  ASSERT_TRUE(dram.ok()) << dram.status().message();
  auto simulator = FunctionalSimulator::create(machine, *dram, {.strict = true});
  ASSERT_TRUE(simulator.ok()) << simulator.status().message();
  const Status ran = simulator->run(*commands);
  ASSERT_TRUE(ran.ok()) << ran.message();
  auto outputs = read_outputs(program, *dram);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ((*outputs)[0].data, reference_output(workload, inputs));
}

// The plain mapping, one that uses everything, in each orientation, the library's, and random legal ones.
void expect_right(const wire::WorkloadT& workload, uint32_t dim = 16) {
  const Machine machine = default_machine(dim);
  auto problem = recognise(workload, machine);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  for (uint32_t orientation = 0; orientation < problem->forms.size(); ++orientation) {
    const Form& form = problem->forms[orientation];
    Mapping mapping;
    mapping.orientation = orientation;
    expect_right(workload, machine, *problem, mapping);
    mapping.tile_m = std::min<int64_t>(2, form.m.blocks());
    mapping.tile_n = std::min<int64_t>(3, form.n.blocks());
    mapping.tile_k = std::min<int64_t>(2, form.k.blocks());
    mapping.acc_buffers = 2;
    mapping.buffering_a = mapping.buffering_b = Buffering::kDouble;
    mapping.store_width = problem->epilogue.full_width ? 1 : 2;
    mapping.load_width_a = mapping.load_width_b = machine.max_block_columns() / dim;
    mapping.placement = orientation == 0 ? BankPlacement::kRows : BankPlacement::kCopies;
    mapping.store_schedule = StoreSchedule::kDeferred;
    mapping.loop_order = LoopOrder::kColumnsOutside;
    mapping.batch_regions = static_cast<uint32_t>(std::min<size_t>(2, form.batches.size()));
    expect_right(workload, machine, *problem, mapping);
  }
  const Domains domains = knob_domains(*problem, machine);
  if (domains.library) expect_right(workload, machine, *problem, *domains.library);
  for (const Mapping& mapping : random_mappings(*problem, machine, domains, 12, 1)) {
    SCOPED_TRACE(::testing::PrintToString(to_values(mapping, dim)));
    expect_right(workload, machine, *problem, mapping);
  }
}

wire::WorkloadT gemm(int64_t m, int64_t k, int64_t n, double scale = 0.015625) {
  GraphBuilder graph;
  const uint32_t a = graph.parameter({m, k}), b = graph.parameter({k, n});
  graph.quantize(graph.matmul(a, b, {1}, {0}), scale);
  return graph.finish();
}

TEST(Lowering, GivesTheReferenceForRaggedShapes) {
  expect_right(gemm(3, 3, 3));
  expect_right(gemm(1, 1, 1));
  expect_right(gemm(17, 5, 33));
  expect_right(gemm(100, 7, 300));
  expect_right(gemm(64, 64, 64));
  expect_right(gemm(33, 150, 47));
}

TEST(Lowering, GivesTheReferenceForEveryArraySize) {
  for (uint32_t dim : {2u, 4u, 8u, 16u, 32u, 64u}) {
    expect_right(gemm(17, 5, 33), dim);
    expect_right(gemm(40, 70, 36), dim);
  }
}

TEST(Lowering, TakesOperandsInAnyOrderOfDims) {
  for (bool lhs_transposed : {false, true}) {
    for (bool rhs_transposed : {false, true}) {
      for (bool result_transposed : {false, true}) {
        GraphBuilder graph;
        const uint32_t a = graph.parameter(lhs_transposed ? Dims{40, 35} : Dims{35, 40});
        const uint32_t b = graph.parameter(rhs_transposed ? Dims{50, 40} : Dims{40, 50});
        uint32_t c = graph.matmul(a, b, {lhs_transposed ? 0 : 1}, {rhs_transposed ? 1 : 0});
        c = graph.quantize(c, 0.01);
        if (result_transposed) graph.transpose(c, {1, 0});
        expect_right(graph.finish());
      }
    }
  }
}

TEST(Lowering, TakesMatrixVectorProducts) {
  GraphBuilder right;
  right.quantize(right.matmul(right.parameter({64, 40}), right.parameter({40}), {1}, {0}), 0.02);
  expect_right(right.finish());
  GraphBuilder left;
  left.quantize(left.matmul(left.parameter({40}), left.parameter({40, 64}), {0}, {0}), 0.02);
  expect_right(left.finish());
  GraphBuilder transposed;
  transposed.quantize(transposed.matmul(transposed.parameter({40}), transposed.parameter({64, 40}), {0}, {1}),
                      0.02);
  expect_right(transposed.finish());
  GraphBuilder scalar;
  scalar.quantize(scalar.matmul(scalar.parameter({40}), scalar.parameter({40}), {0}, {0}), 0.02);
  expect_right(scalar.finish());
  GraphBuilder outer;
  outer.quantize(outer.matmul(outer.parameter({20}), outer.parameter({30}), {}, {}), 0.02);
  expect_right(outer.finish());
}

TEST(Lowering, TakesBatchDimsInOddPlaces) {
  const Dims lhs_shape = {3, 20, 25}, rhs_shape = {3, 25, 18};  // batch, free, contraction
  // Where batch, row and contraction stand in the parameter.
  const std::vector<Dims> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const Dims& lhs_order : orders) {
    for (const Dims& rhs_order : orders) {
      GraphBuilder graph;
      Dims lhs(3), rhs(3);
      for (size_t d = 0; d < 3; ++d) {
        lhs[static_cast<size_t>(lhs_order[d])] = lhs_shape[d];
        rhs[static_cast<size_t>(rhs_order[d])] = rhs_shape[d];
      }
      const uint32_t a = graph.parameter(lhs), b = graph.parameter(rhs);
      graph.quantize(graph.matmul(a, b, {lhs_order[2]}, {rhs_order[1]}, {lhs_order[0]}, {rhs_order[0]}),
                     0.02);
      expect_right(graph.finish());
    }
  }
}

TEST(Lowering, TakesSeveralDimsOfEachKind) {
  GraphBuilder graph;
  const uint32_t a = graph.parameter({2, 5, 3, 4, 6, 1});  // b0 m0 k0 b1 k1 m1
  const uint32_t b = graph.parameter({3, 2, 7, 6, 4, 3});  // k0 b0 n0 k1 b1 n1
  const uint32_t c = graph.matmul(a, b, {2, 4}, {0, 3}, {0, 3}, {1, 4});
  graph.quantize(c, 0.03);
  expect_right(graph.finish());
  expect_right(graph.finish(), 4);
}

TEST(Lowering, AddsBiases) {
  struct Case {
    Dims shape, along;
  };
  for (const Case& each : {Case{{40}, {1}}, Case{{20}, {0}}, Case{{20, 40}, {0, 1}}, Case{{40, 20}, {1, 0}},
                           Case{{1, 40}, {0, 1}}, Case{{}, {}}}) {
    for (bool full : {false, true}) {
      GraphBuilder graph;
      const uint32_t a = graph.parameter({20, 33}), b = graph.parameter({33, 40});
      const uint32_t d = graph.parameter(each.shape, DType::S32);
      const uint32_t c = graph.bias(graph.matmul(a, b, {1}, {0}), d, each.along);
      if (!full) graph.quantize(graph.relu(c), 0.004);
      expect_right(graph.finish());
      expect_right(graph.finish(), 4);
    }
  }
}

TEST(Lowering, AddsConstantsAndBatchedBiases) {
  GraphBuilder constant;
  std::vector<int32_t> values;
  for (int32_t i = 0; i < 30; ++i) values.push_back(i * 1000 - 15000);
  const uint32_t product =
      constant.matmul(constant.parameter({10, 20}), constant.parameter({20, 30}), {1}, {0});
  constant.quantize(constant.bias(product, constant.constant_s32({30}, values), {1}), 0.005);
  expect_right(constant.finish());

  GraphBuilder batched;
  const uint32_t a = batched.parameter({3, 18, 20}), b = batched.parameter({3, 20, 34});
  const uint32_t d = batched.parameter({3, 34}, DType::S32);
  batched.quantize(batched.bias(batched.matmul(a, b, {2}, {1}, {0}, {0}), d, {0, 2}), 0.005);
  expect_right(batched.finish());

  GraphBuilder added;
  const uint32_t whole = added.parameter({18, 34}, DType::S32);
  const uint32_t sum = added.matmul(added.parameter({18, 20}), added.parameter({20, 34}), {1}, {0});
  added.quantize(added.node("add", {whole, sum}, {18, 34}, DType::S32), 0.005);
  expect_right(added.finish());
}

TEST(Lowering, StoresFullWidthResults) {
  GraphBuilder graph;
  graph.matmul(graph.parameter({33, 20}), graph.parameter({20, 70}), {1}, {0});
  expect_right(graph.finish());
  expect_right(graph.finish(), 32);
  GraphBuilder transposed;
  const uint32_t c =
      transposed.matmul(transposed.parameter({33, 20}), transposed.parameter({20, 70}), {1}, {0});
  transposed.transpose(c, {1, 0});
  expect_right(transposed.finish());
}

TEST(Lowering, AppliesReluBeforeOrAfterQuantize) {
  for (int where = 0; where < 3; ++where) {
    GraphBuilder graph;
    uint32_t c = graph.matmul(graph.parameter({20, 20}), graph.parameter({20, 20}), {1}, {0});
    if (where == 0) c = graph.relu(c);
    c = graph.quantize(c, 0.01, where == 2 ? 0 : -128);
    if (where == 1) graph.relu(c);
    expect_right(graph.finish());
  }
}

TEST(Lowering, FoldsTransposesAndReshapesIntoStrides) {
  GraphBuilder heads;  // attention-like: [s, h*d] split, batched product, merged again
  const uint32_t q = heads.transpose(heads.reshape(heads.parameter({20, 24}), {20, 3, 8}), {1, 0, 2});
  const uint32_t k = heads.transpose(heads.reshape(heads.parameter({18, 24}), {18, 3, 8}), {1, 2, 0});
  const uint32_t scores = heads.quantize(heads.matmul(q, k, {2}, {1}, {0}, {0}), 0.01);
  heads.reshape(heads.transpose(scores, {1, 0, 2}), {20, 54});
  expect_right(heads.finish());

  GraphBuilder mixed;  // a reshape across a transposed border: needs a copy on either side
  const uint32_t a = mixed.reshape(mixed.transpose(mixed.parameter({10, 12}), {1, 0}), {8, 15});
  const uint32_t c = mixed.quantize(mixed.matmul(a, mixed.parameter({15, 9}), {1}, {0}), 0.02);
  mixed.reshape(mixed.transpose(mixed.reshape(c, {12, 6}), {1, 0}), {8, 9});
  expect_right(mixed.finish());

  GraphBuilder biased;  // a bias between transposes
  uint32_t x = biased.matmul(biased.parameter({2, 10, 12}), biased.parameter({12, 14}), {2}, {0});
  x = biased.transpose(x, {2, 0, 1});
  x = biased.bias(x, biased.parameter({14}, DType::S32), {0});
  x = biased.reshape(x, {14, 20});
  biased.transpose(biased.quantize(x, 0.01), {1, 0});
  expect_right(biased.finish());
}

TEST(Lowering, BroadcastsOperands) {
  GraphBuilder graph;  // one right operand for all batches
  const uint32_t b = graph.broadcast(graph.parameter({20, 17}), {1, 2}, {4, 20, 17});
  graph.quantize(graph.matmul(graph.parameter({4, 9, 20}), b, {2}, {1}, {0}, {0}), 0.02);
  expect_right(graph.finish());
}

}  // namespace
}  // namespace zomboss::gemmini
