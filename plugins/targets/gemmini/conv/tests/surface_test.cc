// The catalog, the rules that the host sees and the rules in code say the same; the library's plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/mapping/convert.h"
#include "core/mapping/surface.h"
#include "core/mapping/term.h"
#include "plugins/targets/gemmini/conv/bound.h"
#include "plugins/targets/gemmini/conv/estimate.h"
#include "plugins/targets/gemmini/conv/library.h"
#include "plugins/targets/gemmini/conv/loop.h"
#include "plugins/targets/gemmini/conv/surface.h"
#include "plugins/targets/gemmini/conv/tests/conv_run.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini::conv {
namespace {

ConvCase layer_of(int64_t size, int64_t in, int64_t out, int64_t kernel = 3) {
  ConvCase layer;
  layer.rows = layer.cols = size;
  layer.in_channels = in;
  layer.out_channels = out;
  layer.kernel = {kernel, kernel};
  layer.low = layer.high = {kernel / 2, kernel / 2};
  return layer;
}

std::vector<Values> rows_of(const wire::SurfaceT& surface) {
  std::vector<Values> rows(surface.catalog.size() / kKnobs);
  for (size_t i = 0; i < surface.catalog.size(); ++i) rows[i / kKnobs][i % kKnobs] = surface.catalog[i];
  return rows;
}

// Random assignments of the domains: the terms that the host evaluates agree with check_mapping; of loops
// they say no more.
void expect_rules_agree(const ConvCase& layer, const MachineModel& model, uint64_t seed) {
  SCOPED_TRACE(layer.text());
  const Problem problem = problem_of(layer, model.machine);
  const Domains domains = knob_domains(problem, model.machine);
  const wire::SurfaceT message = make_surface(problem, model);
  const auto surface = mapping::from_wire(message);
  ASSERT_TRUE(surface.ok()) << surface.status().message();
  ASSERT_EQ(surface->knobs().size(), kKnobs);
  for (size_t i = 0; i < kKnobs; ++i) EXPECT_EQ(surface->knob(i).name, knob_name(static_cast<Knob>(i)));
  mapping::TermScratch scratch;
  const auto holds = [&](const Values& values) {
    const std::vector<int64_t> list(values.begin(), values.end());
    return std::all_of(
        surface->constraints().begin(), surface->constraints().end(),
        [&](const auto& constraint) { return mapping::evaluate(constraint.assertion, list, scratch) == 1; });
  };
  const auto legal = [&](const Values& values) {
    return check_mapping(problem, from_values(values), model.machine).ok();
  };
  Random random(seed, 5);
  size_t met = 0;
  for (int i = 0; i < 3000; ++i) {
    Values values{};
    for (size_t k = 0; k < kKnobs; ++k) values[k] = domains[k][random.below(domains[k].size())];
    EXPECT_EQ(to_values(from_values(values)), values);
    const bool loop = values[static_cast<size_t>(Knob::kInterface)] == 2;
    if (loop && legal(values)) {
      ASSERT_TRUE(holds(values));
    } else if (!loop) {
      ASSERT_EQ(holds(values), legal(values));
    }
    met += holds(values) ? 1 : 0;
  }
  EXPECT_GT(met, 0u);
  const std::vector<Values> rows = rows_of(message);
  EXPECT_EQ(std::set<Values>(rows.begin(), rows.end()).size(), rows.size());
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  for (const Values& row : rows) ASSERT_TRUE(holds(row) && legal(row));
  // Candidate-0: the first value of every knob, but whole kernels.
  for (size_t k = 0; k < kKnobs; ++k) {
    const auto knob = static_cast<Knob>(k);
    const int64_t whole = knob == Knob::kTileKernelCols                  ? problem.cols.kernel
                          : knob == Knob::kTileKernelRows                ? problem.rows.kernel
                          : knob == Knob::kTileK || knob == Knob::kTileN ? int64_t{model.machine.dim}
                                                                         : domains[k].front();
    EXPECT_EQ(rows[0][k], whole) << knob_name(knob);
  }
}

TEST(ConvSurface, RulesForHostAndCodeAgree) {
  expect_rules_agree(layer_of(14, 40, 48), default_model(), 1);
  expect_rules_agree(layer_of(17, 3, 20, 7), default_model(), 2);
  expect_rules_agree(layer_of(56, 256, 64, 1), default_model(), 3);
  ConvCase depthwise = layer_of(9, 1, 1);
  depthwise.groups = 40;
  depthwise.batch = 3;
  expect_rules_agree(depthwise, default_model(), 4);
  ConvCase strided = layer_of(30, 80, 20);
  strided.stride = {2, 2};
  strided.quantizes = false;
  expect_rules_agree(strided, default_model(), 5);
  expect_rules_agree(layer_of(14, 20, 24, 5), default_model(8), 6);
  MachineModel small = default_model();
  small.machine.scratchpad_rows = 1024;
  small.machine.accumulator_rows = 128;
  expect_rules_agree(layer_of(14, 40, 48), small, 7);
}

TEST(ConvSurface, RowsGiveTheReferenceAndKeepTheBound) {
  const MachineModel model = default_model();
  ConvCase first = layer_of(20, 3, 20, 7);
  first.stride = {2, 2};
  ConvCase depthwise = layer_of(9, 1, 1);
  depthwise.groups = 40;
  for (const ConvCase& layer : {layer_of(10, 40, 36), first, depthwise}) {
    SCOPED_TRACE(layer.text());
    const Problem problem = problem_of(layer, model.machine);
    const std::vector<Values> rows = rows_of(make_surface(problem, model));
    const double bound = latency_bound(problem, model).latency;
    for (size_t i = 0; i < rows.size(); i += 1 + rows.size() / 16) {
      const Mapping mapping = from_values(rows[i]);
      SCOPED_TRACE(testing::PrintToString(rows[i]));
      const auto commands = lower_mapping(problem, mapping, model.machine);
      ASSERT_TRUE(commands.ok()) << commands.status().message();
      expect_output(layer, problem, mapping, model.machine, *commands);
      const auto timing = simulate_timing(*commands, model.machine);
      ASSERT_TRUE(timing.ok()) << timing.status().message();
      EXPECT_GE(static_cast<double>(timing->cycles), bound);
    }
  }
}

TEST(ConvSurface, EstimateRanksCandidateZeroBehindTheBest) {
  const MachineModel model = default_model();
  const Problem problem = problem_of(layer_of(14, 32, 48), model.machine);
  const std::vector<Values> rows = rows_of(make_surface(problem, model));
  double best = 0;
  const auto cycles = [&](const Values& row) {
    return forecast(problem, from_values(row), model).estimate.cycles;
  };
  for (const Values& row : rows) best = best == 0 ? cycles(row) : std::min(best, cycles(row));
  EXPECT_GT(cycles(rows[0]), 2 * best);
}

// Worked by hand: 14 x 14 x 48 outputs do not fit 512 accumulator rows, 32 channels do; nothing can grow
// then.
TEST(ConvLibrary, ShrinksTheLargestLoopUntilTheTileFits) {
  const MachineModel model = default_model();
  const Problem problem = problem_of(layer_of(14, 32, 48), model.machine);
  const auto mapping = library_mapping(problem, 0, model.machine);
  ASSERT_TRUE(mapping.has_value());
  EXPECT_EQ(mapping->tile_n, 32);
  EXPECT_EQ(mapping->tile_k, 32);
  EXPECT_EQ(mapping->tile_rows, 14);
  EXPECT_EQ(mapping->tile_cols, 14);
  EXPECT_EQ(mapping->tile_kernel_rows, 3);
  const auto commands = lower_mapping(problem, *mapping, model.machine);
  ASSERT_TRUE(commands.ok());
  EXPECT_EQ(commands->size(), 2u + 2 * 7);  // two configurations; one loop for 32 channels, one for 16
  LoopConv loop;
  std::vector<LoopConv> runs;
  for (const Command& command : *commands)
    if (latch(loop, command) && command.funct == static_cast<uint32_t>(Funct::kLoopConv))
      runs.push_back(loop);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].pochs, 32);
  EXPECT_EQ(runs[1].pochs, 16);
  EXPECT_EQ(runs[1].weights, runs[0].weights + 32);
  EXPECT_EQ(runs[1].output, runs[0].output + 32);
  EXPECT_EQ(runs[0].a_scratchpad_id, 1);  // the input stays
  EXPECT_EQ(runs[1].input, 0u);
}

TEST(ConvLibrary, TilesFitAndCannotGrow) {
  const MachineModel model = default_model();
  Random random(3, 1);
  size_t planned = 0;
  for (int i = 0; i < 40; ++i) {
    ConvCase layer = random_case(random, 200);
    layer.rows = layer.rows * 5;
    layer.cols = layer.cols * 5;
    const Problem problem = problem_of(layer, model.machine);
    const auto mapping =
        library_mapping(problem, static_cast<uint32_t>(problem.forms.size() - 1), model.machine);
    if (!mapping) continue;
    ++planned;
    SCOPED_TRACE(layer.text());
    const auto fits = [&](const Mapping& m) {
      const LoopRows rows = loop_rows(problem, m, model.machine);
      return rows.scratchpad <= 8192 && rows.accumulator <= 512;
    };
    EXPECT_TRUE(fits(*mapping));
    const Form& form = problem.forms.back();
    const auto expect_full = [&](int64_t Mapping::*size, int64_t whole) {
      Mapping larger = *mapping;
      EXPECT_TRUE(++(larger.*size) > whole || !fits(larger));
    };
    expect_full(&Mapping::tile_batch, problem.batch);
    expect_full(&Mapping::tile_rows, problem.rows.out);
    expect_full(&Mapping::tile_cols, problem.cols.out);
    expect_full(&Mapping::tile_k, form.most_in_channels());
    expect_full(&Mapping::tile_n, form.most_out_channels());
    expect_full(&Mapping::tile_kernel_rows, problem.rows.kernel);
    expect_full(&Mapping::tile_kernel_cols, problem.cols.kernel);
    expect_right(layer, problem, *mapping, model.machine);
  }
  EXPECT_GT(planned, 10u);
}

TEST(ConvLibrary, HasNoPlanForWhatItsLoopCannotSay) {
  const Machine machine = default_machine();
  ConvCase layer = layer_of(8, 16, 16);
  layer.stride = {2, 1};
  EXPECT_FALSE(library_mapping(problem_of(layer, machine), 0, machine).has_value());
  layer.stride = {1, 1};
  layer.bias = "byxf";
  EXPECT_FALSE(library_mapping(problem_of(layer, machine), 0, machine).has_value());
  layer.bias = "f";
  layer.quantizes = false;
  EXPECT_FALSE(library_mapping(problem_of(layer, machine), 0, machine).has_value());
}

TEST(ConvBound, IsTheLargestOfArrayReadsAndWrites) {
  const MachineModel model = default_model();
  const Problem conv = problem_of(layer_of(14, 32, 48), model.machine);
  EXPECT_EQ(latency_bound(conv, model).latency, 18 * 3 * 196 + 72);
  EXPECT_EQ(conv.multiplications(), 196 * 9 * 32 * 48);
  ConvCase shallow = layer_of(16, 16, 16, 1);
  shallow.quantizes = false;  // 1024 bytes of reads, 16384 of writes, 256 rows
  EXPECT_EQ(latency_bound(problem_of(shallow, model.machine), model).latency, 16.0 * 16 * 16 * 4 / 16 + 72);
  ConvCase strided = layer_of(16, 16, 16, 1);
  strided.stride = {2, 2};  // a quarter of the pixels is read: 1024 bytes, 256 of weights, 64 of biases
  EXPECT_EQ(latency_bound(problem_of(strided, model.machine), model).latency, 84 + 72);
}

}  // namespace
}  // namespace zomboss::gemmini::conv
