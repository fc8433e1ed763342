// How closely forecasts follow the cycle model: on random mappings, not only on the good ones.
#include "plugins/targets/gemmini/matmul/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/surface.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/matmul/tests/random_mappings.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

wire::WorkloadT product(int64_t batches, int64_t m, int64_t k, int64_t n, bool bias) {
  GraphBuilder graph;
  uint32_t c = 0;
  if (batches > 1)
    c = graph.matmul(graph.parameter({batches, m, k}), graph.parameter({batches, k, n}), {2}, {1}, {0}, {0});
  else
    c = graph.matmul(graph.parameter({m, k}), graph.parameter({k, n}), {1}, {0});
  if (bias) c = graph.bias(c, graph.parameter({n}, wire::DType::S32), {1});
  graph.quantize(c, 0.015625);
  return graph.finish();
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<double>(i);
  return result;
}

TEST(Estimate, FollowsTheCycleModel) {
  const std::vector<wire::WorkloadT> workloads = {
      product(1, 32, 32, 32, false), product(1, 64, 64, 64, false), product(1, 128, 32, 64, false),
      product(1, 8, 64, 64, true),   product(2, 32, 32, 32, false), product(1, 1, 256, 64, false)};
  for (const wire::WorkloadT& workload : workloads) {
    for (const uint32_t latency : {20u, 60u}) {
      const MachineModel model{default_machine(), {16, 16, latency, {latency}, 0}};
      const Problem problem = *recognise(workload, model.machine);
      const Domains domains = knob_domains(problem, model.machine);
      std::vector<double> estimated, simulated;
      double sum = 0, squares = 0;
      for (const Mapping& mapping : random_mappings(problem, model.machine, domains, 120, 3)) {
        const auto commands = lower_mapping(problem, mapping, model.machine);
        ASSERT_TRUE(commands.ok()) << commands.status().message();
        TimingParameters parameters;
        parameters.memory_latency = latency;
        const auto timing = simulate_timing(*commands, model.machine, parameters);
        ASSERT_TRUE(timing.ok());
        estimated.push_back(forecast(problem, mapping, model).estimate.cycles);
        simulated.push_back(static_cast<double>(timing->cycles));
        const double error = std::log(estimated.back() / simulated.back());
        sum += error;
        squares += error * error;
      }
      const auto count = static_cast<double>(estimated.size());
      ASSERT_GE(count, 100);
      const double mean = sum / count;
      EXPECT_LE(std::fabs(mean), 0.08);
      EXPECT_LE(std::sqrt(squares / count - mean * mean), 0.09);
      const std::vector<double> x = ranks(estimated), y = ranks(simulated);
      double distance = 0;
      for (size_t i = 0; i < x.size(); ++i) distance += (x[i] - y[i]) * (x[i] - y[i]);
      EXPECT_GE(1 - 6 * distance / (count * (count * count - 1)), 0.75);  // Spearman's rank correlation
    }
  }
}

TEST(Estimate, OfALongKernelIsExtrapolatedFromItsBeginning) {
  const MachineModel model{default_machine(), {16, 16, 20, {20}, 0}};
  const wire::WorkloadT workload = product(16, 64, 256, 256, false);
  const Problem problem = *recognise(workload, model.machine);
  ASSERT_GT(problem.forms[0].steps(), kReplayedSteps);
  Mapping mapping;
  mapping.tile_m = mapping.tile_n = 4;
  mapping.tile_k = 16;
  mapping.acc_buffers = 2;
  mapping.load_width_a = mapping.load_width_b = mapping.store_width = 4;
  mapping.placement = BankPlacement::kRows;
  const auto commands = lower_mapping(problem, mapping, model.machine);
  ASSERT_TRUE(commands.ok()) << commands.status().message();
  const auto timing = simulate_timing(*commands, model.machine, {});
  ASSERT_TRUE(timing.ok());
  EXPECT_NEAR(forecast(problem, mapping, model).estimate.cycles, static_cast<double>(timing->cycles),
              0.1 * static_cast<double>(timing->cycles));
}

// Two ways to write one decision that changes nothing make the same kernel; any difference makes another one.
TEST(Estimate, TellsEqualKernelsFromDifferentOnes) {
  const MachineModel model{default_machine(), {16, 16, 20, {20}, 0}};
  const Problem problem = *recognise(product(1, 32, 32, 32, false), model.machine);
  Mapping mapping;
  mapping.tile_m = mapping.tile_n = mapping.tile_k = 2;
  const uint64_t plain = forecast(problem, mapping, model).kernel;
  Mapping columns = mapping;
  columns.loop_order = LoopOrder::kColumnsOutside;  // there is one tile
  EXPECT_EQ(forecast(problem, columns, model).kernel, plain);
  Mapping wide = mapping;
  wide.load_width_a = 2;
  EXPECT_NE(forecast(problem, wide, model).kernel, plain);
  EXPECT_NE(forecast(problem, as_loop(mapping), model).kernel, plain);
}

}  // namespace
}  // namespace zomboss::gemmini
