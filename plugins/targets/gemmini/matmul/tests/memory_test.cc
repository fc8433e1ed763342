// What smaller and larger memories do: domains, tiles and the best mapping follow; less memory never helps.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "plugins/targets/gemmini/matmul/estimate.h"
#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/surface.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

wire::WorkloadT gemm(int64_t m, int64_t k, int64_t n) {
  GraphBuilder graph;
  graph.quantize(graph.matmul(graph.parameter({m, k}), graph.parameter({k, n}), {1}, {0}), 0.015625);
  return graph.finish();
}

MachineModel with_memories(uint32_t scratchpad_rows, uint32_t accumulator_rows) {
  MachineModel model{default_machine(), {16, 16, 20, {20}, 0}};
  model.machine.scratchpad_rows = scratchpad_rows;
  model.machine.accumulator_rows = accumulator_rows;
  return model;
}

uint64_t cycles(const Problem& problem, const Mapping& mapping, const Machine& machine) {
  const auto commands = lower_mapping(problem, mapping, machine);
  EXPECT_TRUE(commands.ok()) << commands.status().message();
  if (!commands.ok()) return 0;
  const auto timing = simulate_timing(*commands, machine, {});
  EXPECT_TRUE(timing.ok());
  return timing.ok() ? timing->cycles : 0;
}

// Every legal mapping of a part of the space: all tiles and places, copies of both operands alike, moves as
// narrow and as wide as can be.
std::vector<Mapping> all_legal(const Problem& problem, const Machine& machine, const Domains& domains) {
  std::vector<Mapping> mappings;
  const auto add = [&](Mapping mapping) {
    if (is_legal(problem, machine, domains, mapping)) mappings.push_back(mapping);
  };
  for (int64_t m : domains.cuts[0].m)
    for (int64_t n : domains.cuts[0].n)
      for (int64_t k : domains.cuts[0].k)
        for (int64_t placement : domains[Knob::kBankPlacement])
          for (Buffering copies : {Buffering::kSingle, Buffering::kDouble, Buffering::kResident})
            for (uint32_t sums : {1u, 2u})
              for (uint32_t width : {1u, 2u}) {
                Mapping mapping;
                mapping.tile_m = m;
                mapping.tile_n = n;
                mapping.tile_k = k;
                mapping.placement = static_cast<BankPlacement>(placement);
                mapping.buffering_a = mapping.buffering_b = copies;
                mapping.acc_buffers = sums;
                mapping.load_width_a = mapping.load_width_b = width;
                add(mapping);
              }
  return mappings;
}

TEST(Memory, TheOptimumNeverImprovesWhenMemoryShrinks) {
  for (const auto& workload : {gemm(64, 64, 64), gemm(128, 32, 64), gemm(8, 128, 128)}) {
    const Problem problem = *recognise(workload, default_machine());
    uint64_t smaller_best = 0;
    size_t smaller_count = 0;
    // From the smallest memories up to double those of the vendor's default.
    for (uint32_t scale : {1u, 2u, 4u, 16u, 128u, 256u}) {
      const MachineModel model = with_memories(128 * scale, 8 * std::max(scale, 4u));
      const Domains domains = knob_domains(problem, model.machine);
      const auto mappings = all_legal(problem, model.machine, domains);
      ASSERT_FALSE(mappings.empty());
      uint64_t best = std::numeric_limits<uint64_t>::max();
      for (const Mapping& mapping : mappings) best = std::min(best, cycles(problem, mapping, model.machine));
      EXPECT_GE(mappings.size(), smaller_count);
      if (smaller_best != 0) {
        EXPECT_LE(best, smaller_best) << "scale " << scale;
      }
      smaller_best = best;
      smaller_count = mappings.size();
    }
  }
}

TEST(Memory, HalvingRemovesTilesFromTheCatalogAndTheLibrary) {
  const Problem problem = *recognise(gemm(128, 512, 1024), default_machine());
  const MachineModel whole = with_memories(16384, 1024), half = with_memories(8192, 512),
                     twice = with_memories(32768, 2048);
  const auto library = [&](const MachineModel& model) {
    return *knob_domains(problem, model.machine).library;
  };
  EXPECT_LT(library(half).tile_m * library(half).tile_n, library(whole).tile_m * library(whole).tile_n);
  EXPECT_GT(library(twice).tile_m * library(twice).tile_n, library(whole).tile_m * library(whole).tile_n);
  for (const MachineModel* model : {&half, &whole, &twice}) {
    const Domains domains = knob_domains(problem, model->machine);
    for (const Mapping& row : make_catalog(problem, *model, domains).rows)
      EXPECT_TRUE(check_capacity(row, problem.forms[row.orientation], model->machine).ok());
  }
}

}  // namespace
}  // namespace zomboss::gemmini
