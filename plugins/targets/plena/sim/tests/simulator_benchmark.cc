// The four speed cases that the official emulator was timed on: a 256 x 256 x 256 product by M_MM, softmax
// rows, a stream of H_PREFETCH_M, a scalar loop. Also a product of 64 x 256 x 512, and the whole life of a
// simulator with the shipped memory sizes for a program of 60 instructions.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "plugins/targets/plena/sim/assembler.h"
#include "plugins/targets/plena/sim/simulator.h"

namespace zomboss::plena {
namespace {

Settings machine() {
  Settings settings;
  settings.vector_sram_rows = 4096;
  settings.hbm_bytes = uint64_t{1} << 24;
  return settings;
}

std::string add_constant(int reg, int from, uint32_t value) {
  return "S_ADDI_INT gp" + std::to_string(reg) + ", gp" + std::to_string(from) + ", " +
         std::to_string(value) + "\n";
}

// Y[m][n] += X[m][k] W[k][n], X in vector SRAM as k/64 column panels of m rows, one weight panel of 64
// columns at a time: H_PREFETCH_M of its k/64 tiles, then m/4 x 16 blocks of 4 x 4 outputs.
std::string product(uint32_t m, uint32_t k, uint32_t n) {
  std::string text = add_constant(15, 0, n) + "C_SET_STRIDE_REG gp15\n";
  text += "C_LOOP_START gp1, " + std::to_string(n / 64) + "\n";
  for (uint32_t tile = 0; tile < k / 64; ++tile) {
    text += add_constant(2, 0, tile * 4096);
    text += add_constant(11, 3, tile * 64 * n) + "H_PREFETCH_M gp2, gp11, a0, 1, 0\n";
  }
  text += add_constant(5, 0, 0) + "C_LOOP_START gp4, " + std::to_string(m / 4) + "\n";
  text += add_constant(7, 0, 0) + add_constant(9, 5, 0) + "C_LOOP_START gp6, 16\n";
  for (uint32_t tile = 0; tile < k / 64; ++tile) {
    text += tile == 0 ? add_constant(8, 7, 0) + add_constant(10, 5, 0)
                      : add_constant(8, 8, 4096) + add_constant(10, 10, m * 64);
    text += "M_MM 0, gp8, gp10\n";
  }
  text += "M_MM_WO gp9, gp0, 0\n" + add_constant(9, 9, 4) + add_constant(7, 7, 256) + "C_LOOP_END gp6\n";
  return text + add_constant(5, 5, 256) + "C_LOOP_END gp4\n" + add_constant(3, 3, 64) + "C_LOOP_END gp1\n";
}

void run(benchmark::State& state, const std::string& assembly, const Settings& settings = machine()) {
  const auto words = assemble(assembly, "benchmark.asm");
  if (!words.ok()) return state.SkipWithError(words.status().message().c_str());
  double instructions = 0;
  double nanoseconds = 0;
  for (auto _ : state) {
    auto simulator = Simulator::create(settings);
    const Status status = simulator.ok() ? simulator->run(*words) : simulator.status();
    if (!status.ok()) return state.SkipWithError(status.message().c_str());
    const Profile profile = simulator->profile();
    instructions += static_cast<double>(profile.instructions);
    nanoseconds += static_cast<double>(profile.nanoseconds);
  }
  state.counters["instructions/s"] = benchmark::Counter(instructions, benchmark::Counter::kIsRate);
  state.counters["simulated_ns/s"] = benchmark::Counter(nanoseconds, benchmark::Counter::kIsRate);
}

void gemm_256(benchmark::State& state) {
  run(state, product(256, 256, 256));
}
BENCHMARK(gemm_256)->Unit(benchmark::kMillisecond);

void gemm_64x256x512(benchmark::State& state) {
  run(state, product(64, 256, 512));
}
BENCHMARK(gemm_64x256x512)->Unit(benchmark::kMillisecond);

void softmax_rows(benchmark::State& state) {
  run(state,
      "C_LOOP_START gp9, 2560\nS_LD_FP f1, gp0, 1\nV_RED_MAX f1, gp1, 0\nV_SUB_VF gp1, gp1, f1, 0, 0\n"
      "V_EXP_V gp1, gp1, 0\nS_ADD_FP f2, f0, f0\nV_RED_SUM f2, gp1\nS_RECI_FP f2, f2\n"
      "V_MUL_VF gp1, gp1, f2, 0\nS_ADDI_INT gp1, gp1, 64\nC_LOOP_END gp9\n");
}
BENCHMARK(softmax_rows)->Unit(benchmark::kMillisecond);

void prefetch_stream(benchmark::State& state) {
  run(state, "S_LUI_INT gp15, 2048\nC_SET_SCALE_REG gp15\n" + add_constant(5, 0, 4096) +
                 "C_LOOP_START gp9, 2000\nH_PREFETCH_M gp0, gp3, a0, 0, 0\nS_ADD_INT gp3, gp3, "
                 "gp5\nC_LOOP_END gp9\n");
}
BENCHMARK(prefetch_stream)->Unit(benchmark::kMillisecond);

void scalar_loop(benchmark::State& state) {
  run(state,
      "C_LOOP_START gp9, 500000\nS_ADDI_INT gp1, gp1, 3\nS_ADD_INT gp2, gp2, gp1\nS_MUL_INT gp3, gp2, gp1\n"
      "C_LOOP_END gp9\n");
}
BENCHMARK(scalar_loop)->Unit(benchmark::kMillisecond);

void small_program(benchmark::State& state) {
  std::string text = "S_LUI_INT gp15, 2048\nC_SET_SCALE_REG gp15\nH_PREFETCH_V gp0, gp0, a0, 0, 0\n";
  for (int n = 0; n < 28; ++n) text += "V_ADD_VV gp1, gp1, gp0\n" + add_constant(1, 1, 64);
  run(state, text + "H_STORE_V gp0, gp0, a0, 0, 0\n", Settings());
}
BENCHMARK(small_program)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace zomboss::plena
