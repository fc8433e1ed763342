// Speed of both simulators. Figures are only meaningful from a release build.
#include <benchmark/benchmark.h>

#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/test_support.h"
#include "plugins/targets/gemmini/sim/timing.h"
#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini {
namespace {

constexpr uint32_t kSize = 512;
constexpr uint64_t kA = 0x100000, kB = kA + kSize * kSize, kC = kB + kSize * kSize;

// C = A * B, 512^3, by loop_ws over macro tiles of 4x4x16 blocks.
std::vector<Command> looped() {
  std::vector<Command> program = {config_ex({}), config_st({.dram_stride_bytes = kSize, .acc_scale = 0.01f})};
  for (uint8_t state = 0; state < 2; ++state) {
    program.push_back(config_ld({.state = state, .dram_stride_bytes = kSize, .block_stride = 16}));
  }
  constexpr uint32_t kI = 64, kJ = 64, kK = 256;
  for (uint32_t i = 0; i < kSize; i += kI) {
    for (uint32_t j = 0; j < kSize; j += kJ) {
      for (uint32_t k = 0; k < kSize; k += kK) {
        const bool last = k + kK == kSize;
        const auto loop = loop_ws({.i = kI / 16,
                                   .j = kJ / 16,
                                   .k = kK / 16,
                                   .a = kA + uint64_t{i} * kSize + k,
                                   .b = kB + uint64_t{k} * kSize + j,
                                   .c = last ? kC + uint64_t{i} * kSize + j : 0,
                                   .a_stride = kSize,
                                   .b_stride = kSize,
                                   .c_stride = kSize,
                                   .accumulate = k != 0});
        program.insert(program.end(), loop.begin(), loop.end());
      }
    }
  }
  return program;
}

std::vector<Command> primitives() {
  return *expand(looped(), testing::default_machine());
}

void run_functional(benchmark::State& state, const std::vector<Command>& program) {
  for (auto _ : state) {
    state.PauseTiming();
    Dram dram;
    (void)dram.add(kA, std::vector<uint8_t>(3 * kSize * kSize, 3));
    auto simulator = FunctionalSimulator::create(testing::default_machine(), dram);
    state.ResumeTiming();
    if (const Status status = simulator->run(program); !status.ok())
      state.SkipWithError(status.message().c_str());
    benchmark::DoNotOptimize(simulator->accumulator().data());
  }
  state.counters["MAC/s"] =
      benchmark::Counter(double{kSize} * kSize * kSize, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["commands/s"] =
      benchmark::Counter(static_cast<double>(expand(program, testing::default_machine())->size()),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void FunctionalLoopWs512(benchmark::State& state) {
  run_functional(state, looped());
}
BENCHMARK(FunctionalLoopWs512)->Unit(benchmark::kMillisecond);

void FunctionalPrimitives512(benchmark::State& state) {
  run_functional(state, primitives());
}
BENCHMARK(FunctionalPrimitives512)->Unit(benchmark::kMillisecond);

void run_timing(benchmark::State& state, const std::vector<Command>& program) {
  TimingResult last;
  for (auto _ : state) {
    auto result = simulate_timing(program, testing::default_machine());
    if (!result.ok()) state.SkipWithError(result.status().message().c_str());
    last = *result;
  }
  const auto& counters = last.counters;
  const auto commands =
      static_cast<double>(counters.commands[0] + counters.commands[1] + counters.commands[2]);
  state.counters["simulated cycles"] = static_cast<double>(last.cycles);
  state.counters["cycles/s"] =
      benchmark::Counter(static_cast<double>(last.cycles), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["commands/s"] = benchmark::Counter(commands, benchmark::Counter::kIsIterationInvariantRate);
}

void TimingLoopWs512(benchmark::State& state) {
  run_timing(state, looped());
}
BENCHMARK(TimingLoopWs512)->Unit(benchmark::kMillisecond);

void TimingPrimitives512(benchmark::State& state) {
  run_timing(state, primitives());
}
BENCHMARK(TimingPrimitives512)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zomboss::gemmini
