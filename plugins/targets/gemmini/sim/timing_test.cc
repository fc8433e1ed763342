// The cycle model on small programs whose cycles are known from the hardware or follow from its structure.
#include "plugins/targets/gemmini/sim/timing.h"

#include <gtest/gtest.h>

#include "plugins/targets/gemmini/sim/loop_command.h"
#include "plugins/targets/gemmini/sim/test_support.h"
#include "zomboss/sdk/random.h"

namespace zomboss::gemmini {
namespace {

constexpr uint64_t kDram = 0x100000, kNever = ~uint64_t{0};

std::vector<Command> configs(uint16_t dim = 16) {
  const ConfigLd load = {.dram_stride_bytes = dim, .block_stride = dim};
  ConfigLd second = load;
  second.state = 1;
  return {config_ex({}), config_ld(load), config_ld(second), config_st({.dram_stride_bytes = dim})};
}

TimingResult run(const std::vector<Command>& commands, uint32_t latency = 20, uint32_t dim = 16,
                 bool timeline = false) {
  TimingParameters parameters;
  parameters.memory_latency = latency;
  auto result = simulate_timing(commands, testing::default_machine(dim), parameters, timeline);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : TimingResult{};
}

std::vector<Command> with(std::vector<Command> commands, const std::vector<Command>& more) {
  commands.insert(commands.end(), more.begin(), more.end());
  return commands;
}

TEST(GemminiTiming, FourConfigsTakeNineCycles) {
  EXPECT_EQ(run(configs()).cycles, 9u);
  EXPECT_EQ(run({}).cycles, 0u);
}

TEST(GemminiTiming, OneMvinTakesLatencyPlus39) {
  const auto program = with(configs(), {mvin(kDram, {0, 16, 16})});
  for (const uint32_t latency : {1u, 20u, 40u, 100u})
    EXPECT_EQ(run(program, latency).cycles, latency + 39) << latency;
  const TimingResult result = run(program);
  EXPECT_EQ(result.counters.gets, 16u);
  EXPECT_EQ(result.counters.read_bytes, 256u);
  EXPECT_EQ(result.counters.commands[0], 3u);
}

TEST(GemminiTiming, UnalignedRowsNeedTwoRequests) {
  const auto wide = with(configs(), {config_ld({.dram_stride_bytes = 64, .block_stride = 16})});
  EXPECT_EQ(run(with(wide, {mvin(kDram + 8, {0, 16, 16})})).counters.gets, 16u) << "one request of 32 bytes";
  EXPECT_EQ(run(with(wide, {mvin(kDram + 56, {0, 16, 16})})).counters.gets, 32u) << "across 64 bytes";
  EXPECT_EQ(run(with(wide, {mvin(kDram, {0, 16, 64})})).counters.gets, 16u);
  EXPECT_EQ(run(with(wide, {mvin(kDram + 8, {0, 16, 64})})).counters.gets, 32u);
}

// The law of the execute controller: 3*dim + 6 + max(M, 4) + (Q - 1) * max(M, dim) cycles for Q tiles of M
// rows with new weights each, A and B in different banks; 12 more for configuration and the way of the
// commands.
TEST(GemminiTiming, NewWeightTilesFollowTheLawForEveryDim) {
  for (const uint16_t dim : {uint16_t{8}, uint16_t{16}, uint16_t{32}}) {
    for (const uint16_t rows : {dim, static_cast<uint16_t>(dim / 2)}) {
      for (const uint32_t tiles : {1u, 2u, 4u, 16u}) {
        auto program = configs(dim);
        for (uint32_t n = 0; n < tiles; ++n) {
          program.push_back(
              preload({4096 + n * dim, dim, dim}, {accumulator_address(n % 8 * dim), rows, dim}));
          program.push_back(compute(true, {n * dim, rows, dim}, {kGarbage, dim, dim}));
        }
        EXPECT_EQ(run(program, 20, dim).cycles, 12 + 3u * dim + 6 + rows + (tiles - 1) * dim)
            << "dim " << dim << " rows " << rows << " tiles " << tiles;
      }
    }
  }
}

TEST(GemminiTiming, OperandsInOneBankTakeTurns) {
  auto apart = configs(), together = configs();
  for (uint32_t n = 0; n < 16; ++n) {
    const Operand c = {accumulator_address(n * 16), 16, 16}, none = {kGarbage, 16, 16};
    apart = with(apart, {preload({4096 + n * 16, 16, 16}, c), compute(true, {n * 16, 16, 16}, none)});
    together = with(together, {preload({2048 + n * 16, 16, 16}, c), compute(true, {n * 16, 16, 16}, none)});
  }
  EXPECT_EQ(run(apart).cycles, 322u);
  EXPECT_EQ(run(together).cycles, 562u);
}

TEST(GemminiTiming, LoadsAndComputationOverlapUnlessTheyTouch) {
  const Operand none = {kGarbage, 16, 16}, c = {accumulator_address(0), 16, 16};
  const std::vector<Command> matmul = {preload({4096, 16, 16}, c), compute(true, {0, 16, 16}, none)};
  const uint64_t free = run(with(with(configs(), matmul), {mvin(kDram, {8192, 16, 16})}), 40).cycles;
  const uint64_t waits = run(with(with(configs(), {mvin(kDram, {0, 16, 16})}), matmul), 40).cycles;
  EXPECT_LT(free, 90u);
  EXPECT_GT(waits, 140u);
}

TEST(GemminiTiming, FencesSeparate) {
  const std::vector<Command> first = {mvin(kDram, {0, 16, 16})}, second = {mvin(kDram, {64, 16, 16})};
  const uint64_t overlapped = run(with(with(configs(), first), second), 40).cycles;
  const uint64_t fenced = run(with(with(with(configs(), first), {fence()}), second), 40).cycles;
  EXPECT_EQ(overlapped, 126u);
  EXPECT_GT(fenced, overlapped + 20);
}

TEST(GemminiTiming, LoopWsIsCountedAsItsParts) {
  const auto loop = loop_ws({.i = 4,
                             .j = 4,
                             .k = 4,
                             .a = kDram,
                             .b = kDram + 4096,
                             .c = kDram + 8192,
                             .a_stride = 64,
                             .b_stride = 64,
                             .c_stride = 64});
  std::vector<Command> program = {config_ex({}), config_st({.dram_stride_bytes = 64})};
  for (uint8_t state = 0; state < 2; ++state) {
    program.push_back(config_ld({.state = state, .dram_stride_bytes = 64, .block_stride = 16}));
  }
  program.insert(program.end(), loop.begin(), loop.end());
  const TimingResult result = run(program, 20, 16, true);
  EXPECT_EQ(result.counters.gets, 128u);
  EXPECT_EQ(result.counters.puts, 64u);
  EXPECT_EQ(result.counters.commands[1], 1u + 128u);
  EXPECT_NEAR(static_cast<double>(result.cycles), 2061, 21);
  ASSERT_FALSE(result.timeline.empty());
  for (size_t n = 0; n < result.timeline.size(); ++n) {
    const Span& span = result.timeline[n];
    EXPECT_EQ(span.command, 9u) << "the run command";
    EXPECT_LT(span.start, span.end);
    EXPECT_LE(span.end, result.cycles);
    EXPECT_TRUE(n == 0 || result.timeline[n - 1].start <= span.start);
  }
  for (const uint64_t busy : result.counters.busy_cycles) EXPECT_LE(busy, result.cycles);
  EXPECT_LT(result.counters.steps, result.cycles + 1);
}

// A 1x1 convolution of 8 x 8 pixels, 16 channels in and out.
std::vector<Command> small_convolution(uint64_t output) {
  const auto loop = loop_conv({.batch_size = 1,
                               .in_row_dim = 8,
                               .in_channels = 16,
                               .out_channels = 16,
                               .out_row_dim = 8,
                               .pool_out_row_dim = 8,
                               .out_col_dim = 8,
                               .stride = 1,
                               .kernel_dim = 1,
                               .pool_out_col_dim = 8,
                               .pool_size = 1,
                               .pool_stride = 1,
                               .batches = 1,
                               .porows = 8,
                               .pocols = 8,
                               .pochs = 16,
                               .krows = 1,
                               .kcols = 1,
                               .kchs = 16,
                               .in_col_dim = 8,
                               .orows = 8,
                               .kernel_dilation = 1,
                               .in_stride = 16,
                               .weight_stride = 16,
                               .out_stride = 16,
                               .ocols = 8,
                               .weights = kDram,
                               .output = output,
                               .bias = kDram + 0x800,
                               .input = kDram + 0x1000,
                               .max_pixels_per_row = 1,
                               .no_pool = true});
  return {loop.begin(), loop.end()};
}

TEST(GemminiTiming, LoopConvIsCountedAsItsParts) {
  const std::vector<Command> start = {config_ex({}), config_st({.dram_stride_bytes = 16})};
  const auto first = small_convolution(kDram + 0x2000), second = small_convolution(kDram + 0x3000);
  const TimingResult one = run(with(start, first));
  // Each of 8 image rows: a load of input, a pair of execute commands, a store; and bias, weights, 3 configs.
  EXPECT_EQ(one.counters.commands[0], 8u + 8 + 1 + 3);
  EXPECT_EQ(one.counters.commands[1], 1u + 16);
  EXPECT_EQ(one.counters.commands[2], 1u + 8);
  EXPECT_EQ(one.counters.puts, 64u);
  // Two loops are in flight at once; a fence keeps them apart.
  const uint64_t overlapped = run(with(with(start, first), second)).cycles;
  const uint64_t fenced = run(with(with(with(start, first), {fence()}), second)).cycles;
  EXPECT_LT(overlapped + 30, fenced);
  EXPECT_GT(overlapped, one.cycles);
}

// The execute commands follow when the last load has left for the station, which holds eight of them.
TEST(GemminiTiming, ComputationOfALoopConvFollowsItsLoads) {
  const auto program =
      with({config_ex({}), config_st({.dram_stride_bytes = 16})}, small_convolution(kDram + 0x2000));
  const TimingResult result = run(program, 100, 16, true);
  std::vector<uint64_t> loads;
  uint64_t first_execute = kNever;
  for (const Span& span : result.timeline) {
    if (span.engine == Engine::kLoad) loads.push_back(span.start);
    if (span.engine == Engine::kExecute) first_execute = std::min(first_execute, span.start);
  }
  ASSERT_EQ(loads.size(), 17u);  // bias and input by image rows, weights
  EXPECT_GT(first_execute, loads[17 - 8]);
}

TEST(GemminiTiming, WaitingIsSkipped) {
  const TimingResult result = run(with(configs(), {mvin(kDram, {0, 16, 16})}), 100000);
  EXPECT_EQ(result.cycles, 100039u);
  EXPECT_LT(result.counters.steps, 100u);
}

TEST(GemminiTiming, ErrorsNameTheCommand) {
  const auto error = [](const std::vector<Command>& commands) {
    const auto result = simulate_timing(commands, testing::default_machine());
    EXPECT_FALSE(result.ok());
    return result.ok() ? "" : result.status().message();
  };
  EXPECT_EQ(error({fence(), {99, 1, 2}}),
            "command 1 (illegal funct=99 rs1=0x1 rs2=0x2): funct 99 is no Gemmini command");
  EXPECT_EQ(error({mvin(kDram, {0, 17, 16})}),
            "command 0 (mvin 0x100000 -> sp[0] 17x16): a move of 17x16 elements, the largest is 16x64");
  const auto large = loop_ws({.i = 6, .j = 6, .k = 1, .a = kDram, .b = kDram});
  EXPECT_NE(error({large.begin(), large.end()}).find("loop_ws of 6x6x1 tiles does not fit"),
            std::string::npos);
  const Operand c = {accumulator_address(0), 16, 16};
  EXPECT_NE(
      error({preload({0, 16, 16}, c), mvout(kDram, c), flush(), config_ld({})}).find("never becomes idle"),
      std::string::npos);
  TimingParameters parameters;
  parameters.beat_bytes = 0;
  EXPECT_FALSE(simulate_timing({}, testing::default_machine(), parameters).ok());
  EXPECT_FALSE(simulate_timing({}, Machine{}).ok());
}

// Skipping what is known must not be seen: neither in cycles nor in any sum or span.
void expect_same_without_skipping(const std::vector<Command>& program, uint32_t latency, size_t* skipped) {
  TimingParameters parameters;
  parameters.memory_latency = latency;
  for (const bool timeline : {false, true}) {
    parameters.skip_repetitions = true;
    auto fast = simulate_timing(program, testing::default_machine(), parameters, timeline);
    parameters.skip_repetitions = false;
    auto slow = simulate_timing(program, testing::default_machine(), parameters, timeline);
    ASSERT_EQ(fast.ok(), slow.ok());
    if (!fast.ok()) {
      EXPECT_EQ(fast.status().message(), slow.status().message());
      continue;
    }
    EXPECT_EQ(fast->cycles, slow->cycles);
    EXPECT_LE(fast->counters.steps, slow->counters.steps);
    *skipped += fast->counters.steps < slow->counters.steps ? 1 : 0;
    fast->counters.steps = slow->counters.steps;
    EXPECT_TRUE(fast->counters == slow->counters);
    EXPECT_TRUE(fast->timeline == slow->timeline);
  }
}

TEST(GemminiTiming, RepetitionsAreSkippedWithoutATrace) {
  size_t skipped = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(23, seed);
    const auto operand = [&] {
      Operand result = {static_cast<uint32_t>(random.below(300)) * 16, 16,
                        static_cast<uint16_t>(1 + random.below(16))};
      if (random.below(3) == 0)
        result.address = accumulator_address(result.address % 1024, random.below(2) != 0);
      return result;
    };
    std::vector<Command> body;
    for (uint64_t n = 5 + random.below(40); n != 0; --n) {
      switch (random.below(6)) {
        case 0:
          body.push_back(mvout(kDram + 0x10000, operand()));
          break;
        case 1:
          body.push_back(fence());
          break;
        case 2: {
          const auto loop = loop_ws({.i = static_cast<uint16_t>(1 + random.below(3)),
                                     .j = static_cast<uint16_t>(1 + random.below(5)),
                                     .k = 2,
                                     .a = kDram,
                                     .b = kDram + 4096,
                                     .c = random.below(2) * (kDram + 8192),
                                     .a_stride = 64,
                                     .b_stride = 80,
                                     .c_stride = 64});
          body.insert(body.end(), loop.begin(), loop.end());
          break;
        }
        case 3:
          body.push_back(mvin(random.below(4) * kDram, operand()));
          if (random.below(2) == 0) {
            const auto loop = small_convolution(kDram + 0x4000);
            body.insert(body.end(), loop.begin(), loop.end());
          }
          break;
        default:
          body.push_back(preload(operand(), operand()));
          body.push_back(compute(random.below(2) == 0, operand(), {kGarbage, 16, 16}));
      }
    }
    std::vector<Command> program = configs();
    for (uint64_t repeat = 0; repeat < 24; ++repeat) {
      for (Command command : body) {
        const bool move =
            load_state_of(command.funct) >= 0 || command.funct == static_cast<uint32_t>(Funct::kMvout);
        if (move && command.rs1 != 0) command.rs1 += repeat * 320;
        program.push_back(command);
      }
    }
    expect_same_without_skipping(program, seed % 2 == 0 ? 20 : 90, &skipped);
  }
  EXPECT_GE(skipped, 40u);
}

// An error in what follows a skipped stretch names the command as if nothing had been skipped.
TEST(GemminiTiming, ErrorsAfterSkippedCommandsNameTheCommand) {
  std::vector<Command> program = configs();
  for (int repeat = 0; repeat < 100; ++repeat) {
    for (uint32_t n = 0; n < 8; ++n) program.push_back(mvin(kDram + n * 256, {n * 16, 16, 16}));
    program.push_back(preload({0, 16, 16}, {accumulator_address(0), 16, 16}));
    program.push_back(compute(true, {4096, 16, 16}, {kGarbage, 16, 16}));
  }
  program.push_back({99, 1, 2});
  const auto result = simulate_timing(program, testing::default_machine());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().message(),
            "command 1004 (illegal funct=99 rs1=0x1 rs2=0x2): funct 99 is no Gemmini command");
}

// Random streams finish, or say why not; never a stall of the model itself.
TEST(GemminiTiming, RandomCommandsFinishOrFail) {
  const auto operand = [](Random& random) {
    Operand result = {static_cast<uint32_t>(random.below(64)) * 16, static_cast<uint16_t>(random.below(17)),
                      static_cast<uint16_t>(random.below(17))};
    if (random.below(3) == 0) result.address |= kAccumulatorBit;
    if (random.below(4) == 0) result.address = kGarbage;
    return result;
  };
  size_t finished = 0;
  for (uint64_t program = 0; program < 200; ++program) {
    Random random(21, program);
    std::vector<Command> commands = configs();
    for (int n = 0; n < 120; ++n) {
      const Operand first = operand(random), second = operand(random);
      switch (random.below(program < 100 ? 6 : 8)) {
        case 0: {
          const uint64_t dram = random.below(4) * 4096 + first.rows;
          commands.push_back(mvin(dram, first, static_cast<uint8_t>(random.below(2))));
          break;
        }
        case 1:
          commands.push_back(mvout(kDram, first));
          break;
        case 2:
        case 3:
          commands.push_back(preload(first, second));
          commands.push_back(compute(random.below(2) == 0, second, first));
          break;
        case 4:
          commands.push_back(config_ld({.dram_stride_bytes = random.below(80), .scale = 0.5f}));
          break;
        case 5:
          commands.push_back(config_ex(
              {.dataflow = random.below(2) == 0 ? Dataflow::kOutputStationary : Dataflow::kWeightStationary,
               .transpose_b = random.below(4) == 0}));
          break;
        case 6:
          commands.push_back(preload(first, second));
          break;
        default: {
          const uint64_t rs1 = random.next_u64() >> random.below(64);
          commands.push_back(
              {static_cast<uint32_t>(random.below(24)), rs1, random.next_u64() >> random.below(64)});
        }
      }
    }
    const auto result = simulate_timing(commands, testing::default_machine());
    finished += result.ok() ? 1 : 0;
    EXPECT_TRUE(result.ok() || result.status().code() != Code::kInternal) << result.status().message();
    if (result.ok()) {
      EXPECT_EQ(simulate_timing(commands, testing::default_machine())->cycles, result->cycles);
    }
  }
  EXPECT_GE(finished, 100u) << "programs 0..99 are well-formed";
}

}  // namespace
}  // namespace zomboss::gemmini
