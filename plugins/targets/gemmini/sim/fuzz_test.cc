// Seeded random commands: any 64-bit garbage must give an error or a defined effect. Most useful under the
// sanitizers.
#include <gtest/gtest.h>

#include <cstdio>

#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/loop_command.h"
#include "plugins/targets/gemmini/sim/test_support.h"
#include "zomboss/sdk/random.h"

namespace zomboss::gemmini {
namespace {

constexpr uint64_t kBase = 0x1000;
constexpr uint32_t kBytes = 65536;

uint64_t garbage(Random& random) {
  switch (random.below(4)) {
    case 0:
      return random.next_u64();
    case 1:
      return random.next_u64() & random.next_u64() & random.next_u64();
    case 2:
      return random.next_u64() >> random.below(64);
    default:
      return 0;
  }
}

Operand near_legal_operand(Random& random) {
  constexpr uint32_t kFlags[] = {0, kAccumulatorBit, kAccumulatorBit | kAccumulateBit,
                                 kAccumulatorBit | kFullRowBit};
  const uint32_t flags = kFlags[random.below(4)];
  Operand operand = {flags | static_cast<uint32_t>(random.below(1100)),
                     static_cast<uint16_t>(random.below(18)), static_cast<uint16_t>(random.below(66))};
  if (random.below(8) == 0) operand.address = kGarbage;
  if (random.below(16) == 0) operand.address |= static_cast<uint32_t>(random.below(8)) << 26;
  return operand;
}

// Small numbers in every 16-bit field: loops that pass their checks.
uint64_t small_fields(Random& random) {
  uint64_t word = 0;
  for (int n = 0; n < 4; ++n) word = word << 16 | random.below(6);
  return word;
}

Command random_command(Random& random) {
  const auto funct = static_cast<uint32_t>(random.below(24));
  const uint64_t dram = kBase + random.below(kBytes);
  switch (random.below(8)) {
    case 0:
      return {static_cast<uint32_t>(garbage(random)), garbage(random), garbage(random)};
    case 1:
      return {funct, garbage(random), garbage(random)};
    case 2:
      return {funct, small_fields(random), small_fields(random)};
    case 3: {
      // Separate statements: the order in which arguments are drawn must not depend on the compiler.
      const Operand operand = near_legal_operand(random);
      const auto state = static_cast<uint8_t>(random.below(3));
      return mvin(random.below(8) == 0 ? 0 : dram, operand, state);
    }
    case 4:
      return mvout(dram, near_legal_operand(random));
    case 5: {
      const Operand stationary = near_legal_operand(random);
      return preload(stationary, near_legal_operand(random));
    }
    case 6: {
      const bool flip = random.below(2) == 0;
      const Operand a = near_legal_operand(random);
      return compute(flip, a, near_legal_operand(random));
    }
    default: {
      Command config = {0, garbage(random), random.below(2) == 0 ? random.below(200) : garbage(random)};
      config.rs1 = (config.rs1 & ~uint64_t{3}) | random.below(4);
      return config;
    }
  }
}

// Programs of random commands. A failed program is continued after its failing command: the state must stay
// sound.
size_t run_programs(uint64_t seed, bool strict, size_t programs, size_t length) {
  size_t accepted = 0;
  for (size_t program = 0; program < programs; ++program) {
    Random random(seed, program);
    Dram dram;
    EXPECT_TRUE(dram.add(kBase, std::vector<uint8_t>(kBytes, 3)).ok());
    const uint32_t dims[] = {4, 8, 16, 32};
    auto simulator =
        FunctionalSimulator::create(testing::default_machine(dims[random.below(4)]), dram, {strict});
    for (size_t n = 0; n < length; ++n) {
      const Command command = random_command(random);
      EXPECT_FALSE(disassemble(command).empty());
      const Status status = simulator->run({&command, 1});
      accepted += status.ok() ? 1 : 0;
      EXPECT_TRUE(status.ok() || status.message().starts_with("command 0 (")) << status.message();
    }
  }
  return accepted;
}

TEST(GemminiFuzz, RandomCommandsGiveAnErrorOrAnEffect) {
  const size_t accepted = run_programs(11, false, 60, 400);
  std::printf("%zu of 24000 random commands accepted\n", accepted);
  EXPECT_GT(accepted, 4000u) << "the generator has lost its legal part";
  EXPECT_LT(accepted, 23000u);
}

TEST(GemminiFuzz, StrictModeNeverCrashesEither) {
  EXPECT_LT(run_programs(12, true, 20, 400), 8000u);
}

TEST(GemminiFuzz, CommandFieldsSurviveEncodingAndDecoding) {
  Random random(13, 0);
  for (int n = 0; n < 2000; ++n) {
    // Encoding what was decoded reproduces every defined bit, so decoding again gives the same encoding.
    const Command command = {0, garbage(random), garbage(random)};
    const Command ex = config_ex(decode_config_ex(command));
    EXPECT_EQ(config_ex(decode_config_ex(ex)), ex);
    const Command ld = config_ld(decode_config_ld(command));
    EXPECT_EQ(config_ld(decode_config_ld(ld)), ld);
    const Command st = config_st(decode_config_st(command));
    EXPECT_EQ(config_st(decode_config_st(st)), st);
    const Command norm = config_norm(decode_config_norm(command));
    EXPECT_EQ(config_norm(decode_config_norm(norm)), norm);
    LoopWs ws, ws_again;
    LoopConv conv, conv_again;
    for (uint32_t funct = 8; funct < 22; ++funct) {
      const Command loop = {funct, garbage(random), garbage(random)};
      EXPECT_EQ(latch(ws, loop) || latch(conv, loop), funct != 14);
    }
    for (const Command& loop : loop_ws(ws)) EXPECT_TRUE(latch(ws_again, loop));
    EXPECT_EQ(loop_ws(ws_again), loop_ws(ws));
    for (const Command& loop : loop_conv(conv)) EXPECT_TRUE(latch(conv_again, loop));
    EXPECT_EQ(loop_conv(conv_again), loop_conv(conv));
  }
}

}  // namespace
}  // namespace zomboss::gemmini
