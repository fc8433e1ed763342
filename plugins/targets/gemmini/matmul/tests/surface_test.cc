// The catalog, the rules that the host sees and the rules in code say the same, and every row computes the
// right thing.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <set>

#include "core/mapping/convert.h"
#include "core/mapping/surface.h"
#include "core/mapping/term.h"
#include "plugins/targets/gemmini/matmul/bound.h"
#include "plugins/targets/gemmini/matmul/estimate.h"
#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/matmul/surface.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/matmul/tests/random_mappings.h"
#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

MachineModel default_model(uint32_t dim = 16) {
  return {default_machine(dim), {16, 16, 20, {20}, 0}};
}

wire::WorkloadT gemm(int64_t m, int64_t k, int64_t n, int64_t batches = 1) {
  GraphBuilder graph;
  uint32_t c = 0;
  if (batches == 1) {
    c = graph.matmul(graph.parameter({m, k}), graph.parameter({k, n}), {1}, {0});
  } else {
    c = graph.matmul(graph.parameter({batches, m, k}), graph.parameter({batches, k, n}), {2}, {1}, {0}, {0});
  }
  graph.quantize(c, 0.015625);
  return graph.finish();
}

wire::WorkloadT gemv(int64_t m, int64_t k) {
  GraphBuilder graph;
  graph.quantize(graph.matmul(graph.parameter({m, k}), graph.parameter({k}), {1}, {0}), 0.015625);
  return graph.finish();
}

Problem problem_of(const wire::WorkloadT& workload, const Machine& machine) {
  auto problem = recognise(workload, machine);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return *std::move(problem);
}

std::vector<std::vector<int64_t>> rows_of(const wire::SurfaceT& surface) {
  std::vector<std::vector<int64_t>> rows;
  for (size_t at = 0; at < surface.catalog.size(); at += kKnobs)
    rows.emplace_back(surface.catalog.begin() + static_cast<std::ptrdiff_t>(at),
                      surface.catalog.begin() + static_cast<std::ptrdiff_t>(at + kKnobs));
  return rows;
}

// On random assignments, legal and not: the terms that the host evaluates agree with is_legal. Rows are
// legal, each once; so is the library's choice, which is one of them.
void expect_rules_agree(const wire::WorkloadT& workload, const MachineModel& model) {
  const Problem problem = problem_of(workload, model.machine);
  const Domains domains = knob_domains(problem, model.machine);
  const wire::SurfaceT message = make_surface(problem, model);
  const auto surface = mapping::from_wire(message);
  ASSERT_TRUE(surface.ok()) << surface.status().message();
  const auto listed = rows_of(message);
  const std::set<std::vector<int64_t>> catalog(listed.begin(), listed.end());
  EXPECT_EQ(catalog.size(), listed.size());
  ASSERT_EQ(surface->knobs().size(), kKnobs);
  for (size_t i = 0; i < kKnobs; ++i) EXPECT_EQ(surface->knob(i).name, knob_name(static_cast<Knob>(i)));
  mapping::TermScratch scratch;
  const auto holds = [&](const std::vector<int64_t>& values) {
    for (const auto& constraint : surface->constraints())
      if (mapping::evaluate(constraint.assertion, values, scratch) != 1) return false;
    return true;
  };
  const auto agree = [&](const std::vector<int64_t>& values) {
    const Mapping mapping = from_values(values, model.machine.dim);
    EXPECT_EQ(to_values(mapping, model.machine.dim), values);
    const bool legal = is_legal(problem, model.machine, domains, mapping);
    EXPECT_EQ(holds(values), legal) << testing::PrintToString(values);
    return legal;
  };
  for (const auto& values : listed) EXPECT_TRUE(agree(values)) << testing::PrintToString(values);
  if (domains.library) {
    EXPECT_TRUE(catalog.contains(to_values(*domains.library, model.machine.dim)));
    ASSERT_EQ(message.references.size(), 1u);
    EXPECT_EQ(message.references[0]->values, to_values(*domains.library, model.machine.dim));
  }
  std::mt19937_64 random(11);
  for (int n = 0; n < 4000; ++n) {
    std::vector<int64_t> values;
    for (const auto& domain : domains.values) values.push_back(domain[random() % domain.size()]);
    agree(values);
  }
  // Near what is legal, where rules are decided.
  for (const Mapping& legal : random_mappings(problem, model.machine, domains, 40, 5)) {
    const std::vector<int64_t> values = to_values(legal, model.machine.dim);
    EXPECT_TRUE(agree(values));
    for (size_t knob = 0; knob < kKnobs; ++knob) {
      for (int64_t value : domains.values[knob]) {
        std::vector<int64_t> changed = values;
        changed[knob] = value;
        agree(changed);
      }
    }
  }
}

TEST(Surface, RulesForHostAndCodeAgree) {
  expect_rules_agree(gemm(32, 32, 32), default_model());
  expect_rules_agree(gemm(100, 7, 300), default_model());
  expect_rules_agree(gemm(64, 64, 32, 2), default_model());
  expect_rules_agree(gemv(64, 64), default_model());
  expect_rules_agree(gemm(40, 40, 40), default_model(8));
  MachineModel small = default_model();
  small.machine.scratchpad_rows = 256;
  small.machine.accumulator_rows = 64;
  expect_rules_agree(gemm(64, 128, 64), small);
  MachineModel odd = default_model(8);  // half of the accumulator is no whole number of blocks
  odd.machine.accumulator_rows = 70;
  expect_rules_agree(gemm(32, 32, 32), odd);
}

TEST(Surface, HoldsHalvedMemoriesAgainstTheTiles) {
  MachineModel model = default_model();
  const auto fits = [&](const wire::WorkloadT& workload, Mapping mapping) {
    const Problem problem = problem_of(workload, model.machine);
    return is_legal(problem, model.machine, knob_domains(problem, model.machine), mapping);
  };
  Mapping mapping;
  mapping.tile_m = mapping.tile_n = 4;
  EXPECT_TRUE(fits(gemm(64, 64, 64), mapping));
  model.machine.accumulator_rows = 128;
  EXPECT_FALSE(fits(gemm(64, 64, 64), mapping));
}

TEST(Surface, NamesBufferAndBytesOfAMappingThatCannotFit) {
  const Machine machine = default_machine();
  const Problem problem = problem_of(gemm(512, 512, 512), machine);
  Mapping mapping;
  mapping.tile_m = 16;
  mapping.tile_n = 16;
  EXPECT_EQ(check_capacity(mapping, problem.forms[0], machine).message(),
            "gemmini: accumulator needs 262144 bytes, has 65536 bytes");
}

TEST(Surface, DefaultIsThePlainSchedule) {
  for (const auto& workload : {gemm(64, 64, 64), gemm(32, 64, 32, 4), gemv(256, 64)}) {
    const MachineModel model = default_model();
    const wire::SurfaceT message = make_surface(problem_of(workload, model.machine), model);
    const auto surface = mapping::from_wire(message);
    ASSERT_TRUE(surface.ok()) << surface.status().message();
    ASSERT_GT(surface->row_count(), 0u);
    std::vector<int64_t> first;
    for (size_t i = 0; i < kKnobs; ++i) first.push_back(surface->knob(i).values[surface->row(0)[i]]);
    EXPECT_EQ(first, to_values(Mapping{}, 16));
  }
}

TEST(Surface, StaysSmallAndLeadsFromCandidate0ToTheFront) {
  for (const auto& workload : {gemm(32, 32, 32), gemm(64, 64, 64), gemm(128, 32, 64), gemm(64, 256, 512),
                               gemm(32, 64, 32, 4), gemv(256, 64)}) {
    const MachineModel model = default_model();
    const Problem problem = problem_of(workload, model.machine);
    const auto rows = rows_of(make_surface(problem, model));
    EXPECT_LE(rows.size(), 256u + kKnobs + 2);
    std::vector<int64_t> front;
    double fastest = 0;
    for (const auto& row : rows) {
      const double cycles = forecast(problem, from_values(row, 16), model).estimate.cycles;
      if (front.empty() || cycles < fastest) {
        front = row;
        fastest = cycles;
      }
    }
    std::set<std::vector<int64_t>> left(rows.begin(), rows.end());
    std::deque<std::vector<int64_t>> queue = {to_values(Mapping{}, 16)};
    left.erase(queue.front());
    while (!queue.empty()) {
      const std::vector<int64_t> at = queue.front();
      queue.pop_front();
      for (auto each = left.begin(); each != left.end();) {
        size_t differ = 0;
        for (size_t i = 0; i < kKnobs; ++i) differ += (*each)[i] != at[i] ? 1 : 0;
        if (differ == 1) {
          queue.push_back(*each);
          each = left.erase(each);
        } else {
          ++each;
        }
      }
    }
    EXPECT_FALSE(left.contains(front));
  }
}

// Lowers and runs every row; their latencies are not below the bound, and the estimate is of the right size.
void expect_rows_right(const wire::WorkloadT& workload, const MachineModel& model) {
  const Problem problem = problem_of(workload, model.machine);
  const Catalog catalog = make_catalog(problem, model, knob_domains(problem, model.machine));
  const wire::TensorsT inputs = random_inputs(workload, 3);
  const std::vector<uint8_t> expected = reference_output(workload, inputs);
  const double bound = latency_bound(problem, model).latency;
  for (const Mapping& mapping : catalog.rows) {
    SCOPED_TRACE(testing::PrintToString(to_values(mapping, model.machine.dim)));
    auto commands = lower_mapping(problem, mapping, model.machine);
    ASSERT_TRUE(commands.ok()) << commands.status().message();
    const wire::ProgramT program = make_program(
        {"hash", "spec"}, placed_buffers(problem, problem.forms[mapping.orientation]), *commands);
    auto dram = initial_dram(program, inputs);
    ASSERT_TRUE(dram.ok()) << dram.status().message();
    auto simulator = FunctionalSimulator::create(model.machine, *dram, {.strict = true});
    ASSERT_TRUE(simulator.ok());
    const Status ran = simulator->run(*commands);
    ASSERT_TRUE(ran.ok()) << ran.message();
    auto outputs = read_outputs(program, *dram);
    ASSERT_TRUE(outputs.ok());
    ASSERT_EQ((*outputs)[0].data, expected);
    TimingParameters parameters;
    parameters.memory_latency = model.memory.latency;
    const auto timing = simulate_timing(*commands, model.machine, parameters);
    ASSERT_TRUE(timing.ok()) << timing.status().message();
    EXPECT_GE(static_cast<double>(timing->cycles), bound);
    const double estimated = forecast(problem, mapping, model).estimate.cycles;
    // Its constants were read off an array of 16 x 16.
    const double slack = model.machine.dim == 16 ? 1.35 : 2;
    EXPECT_GT(estimated * slack, static_cast<double>(timing->cycles));
    EXPECT_LT(estimated, slack * static_cast<double>(timing->cycles));
  }
}

TEST(Surface, EveryRowVerifies) {
  expect_rows_right(gemm(32, 32, 32), default_model());
  expect_rows_right(gemm(100, 7, 50), default_model());
  expect_rows_right(gemm(32, 40, 20, 3), default_model());
  expect_rows_right(gemv(70, 64), default_model());
  GraphBuilder linear;
  const uint32_t c = linear.matmul(linear.parameter({8, 64}), linear.parameter({64, 64}), {1}, {0});
  linear.quantize(linear.relu(linear.bias(c, linear.parameter({64}, wire::DType::S32), {1})), 0.01);
  expect_rows_right(linear.finish(), default_model());
}

TEST(Surface, EveryRowVerifiesWithOtherArrays) {
  expect_rows_right(gemm(20, 13, 24), default_model(4));
  expect_rows_right(gemm(33, 32, 40), default_model(8));
  expect_rows_right(gemm(70, 96, 65), default_model(32));
}

TEST(Surface, EveryRowVerifiesWithHalvesOfNoWholeBlocks) {
  MachineModel odd = default_model(8);
  odd.machine.accumulator_rows = 70;
  expect_rows_right(gemm(32, 32, 32), odd);
}

TEST(Bound, CountsTheArrayAndEachByteOnce) {
  const MachineModel model = default_model();
  EXPECT_EQ(latency_bound(problem_of(gemm(64, 64, 64), model.machine), model).latency, 1024 + 40 + 32);
  // 8 x 64 times 64 x 256: 16 rows at least for each of 4 x 16 weight blocks; 16.5 KiB to read.
  EXPECT_EQ(latency_bound(problem_of(gemm(8, 64, 256), model.machine), model).latency,
            (512 + 16384) / 16 + 40 + 32);
}

TEST(EngineSchedule, IsAGraphOfEarlierNodesWithTheEstimate) {
  const MachineModel model = default_model();
  const Problem problem = problem_of(gemm(64, 64, 64), model.machine);
  Mapping mapping;
  const wire::ScheduleT schedule = engine_schedule(problem, mapping, model);
  EXPECT_EQ(schedule.nodes.size(), 3u * 64);
  EXPECT_EQ(schedule.static_cost, forecast(problem, mapping, model).estimate.cycles);
  for (size_t i = 0; i < schedule.nodes.size(); ++i)
    for (uint32_t predecessor : schedule.nodes[i]->predecessors) EXPECT_LT(predecessor, i);
}

}  // namespace
}  // namespace zomboss::gemmini
