// Speed of both simulators. Figures are only meaningful from a release build on a quiet machine.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/test_support.h"
#include "plugins/targets/gemmini/sim/timing.h"
#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini {
namespace {

constexpr uint64_t kDram = 0x100000;

struct Size {
  uint32_t rows, columns, depth;
  double macs() const { return double{1} * rows * columns * depth; }
};
struct Tile {  // in blocks of 16
  uint32_t i, j, k;
};

// C = A * B by loop_ws, as the vendor's tiled_matmul_auto issues it; dimensions are multiples of 16.
std::vector<Command> looped(Size size, Tile tile) {
  const uint64_t a = kDram, b = a + uint64_t{size.rows} * size.depth,
                 c = b + uint64_t{size.depth} * size.columns;
  std::vector<Command> program = {config_ex({}),
                                  config_st({.dram_stride_bytes = size.columns, .acc_scale = 0.01f})};
  for (uint8_t state = 0; state < 2; ++state) {
    const uint32_t stride = state == 0 ? size.depth : size.columns;
    program.push_back(config_ld({.state = state, .dram_stride_bytes = stride, .block_stride = 16}));
  }
  const uint32_t blocks_i = size.rows / 16, blocks_j = size.columns / 16, blocks_k = size.depth / 16;
  for (uint32_t i = 0; i < blocks_i; i += tile.i) {
    for (uint32_t j = 0; j < blocks_j; j += tile.j) {
      for (uint32_t k = 0; k < blocks_k; k += tile.k) {
        const auto extent = [](uint32_t most, uint32_t left) {
          return static_cast<uint16_t>(std::min(most, left));
        };
        const bool last = k + tile.k >= blocks_k;
        const auto loop = loop_ws({.i = extent(tile.i, blocks_i - i),
                                   .j = extent(tile.j, blocks_j - j),
                                   .k = extent(tile.k, blocks_k - k),
                                   .a = a + (uint64_t{i} * size.depth + k) * 16,
                                   .b = b + (uint64_t{k} * size.columns + j) * 16,
                                   .c = last ? c + (uint64_t{i} * size.columns + j) * 16 : 0,
                                   .a_stride = size.depth,
                                   .b_stride = size.columns,
                                   .c_stride = size.columns,
                                   .accumulate = k != 0});
        program.insert(program.end(), loop.begin(), loop.end());
      }
    }
  }
  program.push_back(fence());
  return program;
}

constexpr Size kCube512 = {512, 512, 512}, kCube256 = {256, 256, 256};
constexpr Tile kAuto = {5, 6, 32}, kAuto256 = {5, 6, 16};  // what tiled_matmul_auto chooses

std::vector<Command> primitives(Size size, Tile tile) {
  return *expand(looped(size, tile), testing::default_machine());
}

void run(benchmark::State& state, Size size, const std::vector<Command>& program, bool functional,
         bool timing) {
  Dram dram;
  (void)dram.add(kDram, std::vector<uint8_t>(size_t{3} << 20, 3));
  uint64_t cycles = 0;
  for (auto _ : state) {
    if (functional) {
      auto simulator = FunctionalSimulator::create(testing::default_machine(), dram);
      if (const Status status = simulator->run(program); !status.ok())
        state.SkipWithError(status.message().c_str());
      benchmark::DoNotOptimize(simulator->accumulator().data());
    }
    if (timing) {
      const auto result = simulate_timing(program, testing::default_machine());
      if (!result.ok()) state.SkipWithError(result.status().message().c_str());
      cycles = result->cycles;
    }
  }
  using benchmark::Counter;
  state.counters["MAC/s"] = Counter(size.macs(), Counter::kIsIterationInvariantRate);
  state.counters["commands/s"] =
      Counter(static_cast<double>(program.size()), Counter::kIsIterationInvariantRate);
  if (cycles != 0) state.counters["simulated cycles"] = static_cast<double>(cycles);
}

void Functional512(benchmark::State& state) {
  run(state, kCube512, looped(kCube512, kAuto), true, false);
}
BENCHMARK(Functional512)->Unit(benchmark::kMillisecond);

void Cycles512(benchmark::State& state) {
  run(state, kCube512, looped(kCube512, kAuto), false, true);
}
BENCHMARK(Cycles512)->Unit(benchmark::kMillisecond);

void Both512(benchmark::State& state) {
  run(state, kCube512, looped(kCube512, kAuto), true, true);
}
BENCHMARK(Both512)->Unit(benchmark::kMillisecond);

void Both512Primitives(benchmark::State& state) {
  run(state, kCube512, primitives(kCube512, kAuto), true, true);
}
BENCHMARK(Both512Primitives)->Unit(benchmark::kMillisecond);

void Both512EvenTiles(benchmark::State& state) {
  run(state, kCube512, looped(kCube512, {4, 4, 16}), true, true);
}
BENCHMARK(Both512EvenTiles)->Unit(benchmark::kMillisecond);

void Both256(benchmark::State& state) {
  run(state, kCube256, looped(kCube256, kAuto256), true, true);
}
BENCHMARK(Both256)->Unit(benchmark::kMillisecond);

// Nothing repeats: what the cycle model does when it can skip nothing.
void Cycles256WithoutSkipping(benchmark::State& state) {
  const std::vector<Command> program = looped(kCube256, kAuto256);
  TimingParameters parameters;
  parameters.skip_repetitions = false;
  double cycles = 0;
  for (auto _ : state)
    cycles = static_cast<double>(simulate_timing(program, testing::default_machine(), parameters)->cycles);
  state.counters["cycles/s"] = benchmark::Counter(cycles, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Cycles256WithoutSkipping)->Unit(benchmark::kMillisecond);

// Time against commands: primitive commands of ever taller products, with and without skipping.
void Linearity(benchmark::State& state) {
  const Size size = {64 * static_cast<uint32_t>(state.range(0)), 64, 64};
  const std::vector<Command> program = primitives(size, {4, 4, 4});
  TimingParameters parameters;
  parameters.skip_repetitions = state.range(1) != 0;
  for (auto _ : state) {
    auto result = simulate_timing(program, testing::default_machine(), parameters);
    benchmark::DoNotOptimize(result);
  }
  state.SetComplexityN(static_cast<int64_t>(program.size()));
  state.counters["commands/s"] =
      benchmark::Counter(static_cast<double>(program.size()), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(Linearity)
    ->ArgsProduct({{1, 4, 16, 64}, {0}})
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);
BENCHMARK(Linearity)->ArgsProduct({{1, 4, 16, 64, 256}, {1}})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zomboss::gemmini
