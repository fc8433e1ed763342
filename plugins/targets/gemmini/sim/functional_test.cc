// One instruction at a time, against values worked out by hand; and commands that must be refused.
#include "plugins/targets/gemmini/sim/functional.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>

#include "plugins/targets/gemmini/sim/arithmetic.h"
#include "plugins/targets/gemmini/sim/test_support.h"
#include "zomboss/sdk/random.h"

namespace zomboss::gemmini {
namespace {

constexpr uint64_t kBase = 0x1000;

// A machine with 4 KiB of DRAM at kBase whose byte n holds n mod 100.
class Fixture {
 public:
  explicit Fixture(uint32_t dim = 16, FunctionalOptions options = {}) {
    std::vector<uint8_t> bytes(4096);
    for (size_t n = 0; n < bytes.size(); ++n) bytes[n] = static_cast<uint8_t>(n % 100);
    EXPECT_TRUE(dram.add(kBase, bytes).ok());
    simulator.emplace(*FunctionalSimulator::create(testing::default_machine(dim), dram, options));
    run({config_ex({}), config_st({.dram_stride_bytes = dim})});
    for (uint8_t state = 0; state < 3; ++state) {
      run({config_ld(
          {.state = state, .dram_stride_bytes = dim, .block_stride = static_cast<uint16_t>(dim)})});
    }
  }
  void run(std::vector<Command> commands) {
    const Status status = simulator->run(commands);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  std::string error(std::vector<Command> commands) {
    const Status status = simulator->run(commands);
    EXPECT_FALSE(status.ok()) << "accepted";
    return status.message();
  }
  int8_t sp(size_t row, size_t col) const { return simulator->scratchpad()[row * dim() + col]; }
  int32_t acc(size_t row, size_t col) const { return simulator->accumulator()[row * dim() + col]; }
  int8_t byte(uint64_t offset) { return static_cast<int8_t>(*dram.find(kBase + offset, 1)); }
  void put(uint64_t offset, int8_t value) { *dram.find(kBase + offset, 1) = static_cast<uint8_t>(value); }
  void put32(uint64_t offset, int32_t value) { std::memcpy(dram.find(kBase + offset, 4), &value, 4); }
  size_t dim() const { return simulator->scratchpad().size() / 16384; }

  Dram dram;
  std::optional<FunctionalSimulator> simulator;
};

TEST(GemminiMove, MvinKeepsColumnsOutsideOfTheMove) {
  Fixture f;
  f.run({mvin(kBase, {5, 2, 16}), mvin(kBase + 50, {5, 1, 3})});
  EXPECT_EQ(f.sp(5, 0), 50);
  EXPECT_EQ(f.sp(5, 2), 52);
  EXPECT_EQ(f.sp(5, 3), 3);
  EXPECT_EQ(f.sp(6, 1), 17);
}

TEST(GemminiMove, MvinPutsWideRowsIntoBlocksAtTheBlockStride) {
  Fixture f;
  f.run({config_ld({.dram_stride_bytes = 64, .block_stride = 20}), mvin(kBase, {0, 2, 40})});
  EXPECT_EQ(f.sp(0, 15), 15);
  EXPECT_EQ(f.sp(20, 0), 16);
  EXPECT_EQ(f.sp(41, 7), (64 + 39) % 100);
  EXPECT_EQ(f.sp(41, 8), 0);
}

TEST(GemminiMove, MvinScalesHalfToEvenAndSaturates) {
  Fixture f;
  const int8_t values[] = {1, 3, 5, -1, -3, 127, -128, 90};
  for (size_t n = 0; n < 8; ++n) f.put(n, values[n]);
  f.run({config_ld({.dram_stride_bytes = 16, .scale = 0.5f, .block_stride = 16}), mvin(kBase, {0, 1, 8})});
  const int8_t halves[] = {0, 2, 2, 0, -2, 64, -64, 45};
  for (size_t n = 0; n < 8; ++n) EXPECT_EQ(f.sp(0, n), halves[n]) << n;
  f.run({config_ld({.dram_stride_bytes = 16, .scale = -2.0f, .block_stride = 16}), mvin(kBase, {0, 1, 8})});
  const int8_t doubles[] = {-2, -6, -10, 2, 6, -128, 127, -128};
  for (size_t n = 0; n < 8; ++n) EXPECT_EQ(f.sp(0, n), doubles[n]) << n;
}

TEST(GemminiMove, MvinFromAddressZeroWritesZeros) {
  Fixture f;
  f.run({mvin(kBase, {0, 16, 16}), mvin(0, {1, 1, 4})});
  EXPECT_EQ(f.sp(1, 3), 0);
  EXPECT_EQ(f.sp(1, 4), 20);
}

TEST(GemminiMove, MvinToAccumulatorOverwritesAddsAndWraps) {
  Fixture f;
  f.put32(0, INT32_MAX);
  f.put32(4, 7);
  f.run({mvin(kBase, {accumulator_address(3), 1, 2}), mvin(kBase, {accumulator_address(3, true), 1, 2})});
  EXPECT_EQ(f.acc(3, 0), -2);
  EXPECT_EQ(f.acc(3, 1), 14);
}

TEST(GemminiMove, MvinShrinksInt8IntoTheAccumulator) {
  Fixture f;
  f.put(0, -100);
  f.run({config_ld({.state = 2, .scale = 2.0f, .shrink = true, .block_stride = 16}),
         mvin3(kBase, {accumulator_address(0), 3, 2})});
  EXPECT_EQ(f.acc(0, 0), -128);
  EXPECT_EQ(f.acc(0, 1), 2);
  EXPECT_EQ(f.acc(2, 1), 2) << "stride 0 repeats the row";
}

TEST(GemminiMove, PixelRepeatsFillTheRowsBefore) {
  Fixture f;
  f.run({config_ld({.dram_stride_bytes = 16, .block_stride = 16, .pixel_repeats = 3}),
         mvin(kBase + 1, {1, 1, 2})});
  EXPECT_EQ(f.sp(1, 0), 1);
  EXPECT_EQ(f.sp(1, 1), 2);
  EXPECT_EQ(f.sp(1, 2), 0);
  EXPECT_EQ(f.sp(0, 2), 1);
  EXPECT_EQ(f.sp(0, 3), 2);
  EXPECT_EQ(f.sp(0, 4), 0) << "the third copy would lie before row 0";
}

TEST(GemminiMove, MvoutScalesActivatesAndSaturates) {
  Fixture f;
  const int32_t values[] = {5, -5, 3, 1000, -1000, 16777217};
  for (size_t n = 0; n < 6; ++n) f.put32(4 * n, values[n]);
  f.run({mvin(kBase, {accumulator_address(0), 1, 6}), config_st({.dram_stride_bytes = 16, .acc_scale = 0.5f}),
         mvout(kBase + 256, {accumulator_address(0), 1, 6})});
  const int8_t plain[] = {2, -2, 2, 127, -128, 127};
  for (size_t n = 0; n < 6; ++n) EXPECT_EQ(f.byte(256 + n), plain[n]) << n;
  f.run({config_st({.dram_stride_bytes = 16, .activation = Activation::kRelu, .acc_scale = 0.5f}),
         mvout(kBase + 256, {accumulator_address(0), 1, 6})});
  const int8_t relu[] = {2, 0, 2, 127, 0, 127};
  for (size_t n = 0; n < 6; ++n) EXPECT_EQ(f.byte(256 + n), relu[n]) << n;
}

TEST(GemminiMove, MvoutFullWidthIsUnscaled) {
  Fixture f;
  f.put32(0, -123456789);
  f.run({mvin(kBase, {accumulator_address(9), 1, 1}),
         config_st({.dram_stride_bytes = 16, .activation = Activation::kRelu, .acc_scale = 0.5f}),
         mvout(kBase + 512, {accumulator_address(9, false, true), 1, 1})});
  int32_t value = 0;
  std::memcpy(&value, f.dram.find(kBase + 512, 4), 4);
  EXPECT_EQ(value, -123456789);
}

TEST(GemminiMove, MvoutOfWideRowsTakesEveryDimthRow) {
  Fixture f;
  f.run({mvin(kBase + 10, {0, 1, 16}), mvin(kBase + 30, {16, 1, 4}), config_st({.dram_stride_bytes = 64}),
         mvout(kBase + 1024, {0, 1, 20})});
  EXPECT_EQ(f.byte(1024 + 15), 25);
  EXPECT_EQ(f.byte(1024 + 16), 30);
  EXPECT_EQ(f.byte(1024 + 19), 33);
}

TEST(GemminiMove, PoolingTakesTheMaximumAndPadsWithZero) {
  Fixture f;
  // A 2x2 image of one channel in rows 0..3: -1 -2 / -3 4; 2x2 windows, stride 2, padded by one: four
  // corners.
  const int8_t pixels[] = {-1, -2, -3, 4};
  for (size_t n = 0; n < 4; ++n) f.put(16 * n, pixels[n]);
  f.run({mvin(kBase, {0, 4, 1}),
         config_st({.dram_stride_bytes = 1,
                    .pooling = {.stride = 2,
                                .size = 2,
                                .upper_pad = 1,
                                .left_pad = 1,
                                .out_dim = 2,
                                .pooled_rows = 2,
                                .pooled_cols = 2,
                                .rows = 2,
                                .cols = 2}}),
         mvout(kBase + 256, {0, 0, 1})});
  EXPECT_EQ(f.byte(256), 0);
  EXPECT_EQ(f.byte(259), 4);
}

// A = [[1 2] [3 4]] at row 0, B = [[5 6] [7 8]] at row 16, D = [[1 1] [1 1]] at row 32.
void load_2x2(Fixture& f) {
  const int8_t a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  for (uint64_t n = 0; n < 4; ++n) {
    const uint64_t at = n / 2 * 16 + n % 2;
    f.put(at, a[n]);
    f.put(256 + at, b[n]);
    f.put(512 + at, 1);
  }
  f.run({mvin(kBase, {0, 2, 2}), mvin(kBase + 256, {16, 2, 2}), mvin(kBase + 512, {32, 2, 2})});
}

TEST(GemminiCompute, WeightStationaryAddsDAndKeepsWeights) {
  Fixture f;
  load_2x2(f);
  const Operand a = {0, 2, 2}, b = {16, 2, 2}, d = {32, 2, 2}, none = {kGarbage, 16, 16};
  f.run({preload(b, {accumulator_address(0), 2, 2}), compute(true, a, d)});
  EXPECT_EQ(f.acc(0, 0), 1 * 5 + 2 * 7 + 1);
  EXPECT_EQ(f.acc(0, 1), 1 * 6 + 2 * 8 + 1);
  EXPECT_EQ(f.acc(1, 0), 3 * 5 + 4 * 7 + 1);
  EXPECT_EQ(f.acc(1, 1), 3 * 6 + 4 * 8 + 1);
  f.run({preload(none, {accumulator_address(0, true), 2, 2}), compute(false, a, none)});
  EXPECT_EQ(f.acc(1, 1), 2 * (3 * 6 + 4 * 8) + 1);
  f.run({preload(none, {accumulator_address(8), 2, 2}), compute(true, a, none)});
  EXPECT_EQ(f.acc(8, 0), 0) << "garbage weights are zeros";
}

TEST(GemminiCompute, TransposesReadColumns) {
  Fixture f;
  load_2x2(f);
  const Operand a = {0, 2, 2}, b = {16, 2, 2}, none = {kGarbage, 16, 16}, c = {accumulator_address(0), 2, 2};
  f.run({config_ex({.transpose_a = true}), preload(b, c), compute(true, a, none)});
  EXPECT_EQ(f.acc(0, 1), 1 * 6 + 3 * 8);
  f.run({config_ex({.transpose_b = true}), preload(b, c), compute(true, a, none)});
  EXPECT_EQ(f.acc(0, 1), 1 * 7 + 2 * 8);
}

TEST(GemminiCompute, ResultsToTheScratchpadSaturateAndRelu) {
  Fixture f;
  load_2x2(f);
  f.put(0, -100);
  const Operand a = {0, 2, 2}, b = {16, 2, 2}, none = {kGarbage, 16, 16}, c = {64, 2, 2};
  f.run({mvin(kBase, {0, 1, 2}), preload(b, c), compute(true, a, none)});
  EXPECT_EQ(f.sp(64, 0), -128);
  EXPECT_EQ(f.sp(65, 0), 3 * 5 + 4 * 7);
  f.run({config_ex({.activation = Activation::kRelu}), preload(b, c), compute(true, a, none)});
  EXPECT_EQ(f.sp(64, 0), 0);
}

TEST(GemminiCompute, OutputStationaryAccumulatesInTheArray) {
  Fixture f;
  load_2x2(f);
  const Operand a = {0, 2, 2}, b = {16, 2, 2}, d = {32, 2, 2}, none = {kGarbage, 16, 16};
  f.run({config_ex({.dataflow = Dataflow::kOutputStationary, .in_shift = 1}), preload(d, none),
         compute(true, a, b), preload(none, {64, 2, 2}), compute(false, a, b)});
  EXPECT_EQ(f.sp(64, 0), 20) << "(1 + 2*19) / 2 = 19.5, half to even";
  EXPECT_EQ(f.sp(65, 1), 50) << "(1 + 2*50) / 2 = 50.5, half to even";
}

TEST(GemminiCompute, StridesSpreadRows) {
  Fixture f;
  load_2x2(f);
  f.run({mvin(kBase + 16, {3, 1, 2}), config_ex({.a_stride = 3, .c_stride = 2}),
         preload({16, 2, 2}, {accumulator_address(10), 2, 2}), compute(true, {0, 2, 2}, {kGarbage, 16, 16})});
  EXPECT_EQ(f.acc(10, 0), 19);
  EXPECT_EQ(f.acc(11, 0), 0);
  EXPECT_EQ(f.acc(12, 0), 43);
}

TEST(GemminiCompute, EveryDimMultipliesExactly) {
  for (const uint32_t dim : {2u, 4u, 8u, 16u, 32u, 64u, 128u}) {
    Fixture f(dim);
    Random random(7, dim);
    const auto n = static_cast<uint16_t>(dim);
    Dram dram;
    std::vector<uint8_t> bytes(size_t{dim} * dim * 2);
    for (auto& byte : bytes)
      byte = random.below(8) == 0 ? uint8_t{0x80} : static_cast<uint8_t>(random.next_u32());
    ASSERT_TRUE(dram.add(kBase, bytes).ok());
    auto simulator = FunctionalSimulator::create(testing::default_machine(dim), dram);
    const uint16_t rows = n > 2 ? static_cast<uint16_t>(n - 1) : n;
    const Status status = simulator->run(std::vector<Command>{
        config_ex({}), config_ld({.dram_stride_bytes = dim, .block_stride = n}), mvin(kBase, {0, n, n}),
        mvin(kBase + uint64_t{dim} * dim, {dim, n, n}),
        preload({dim, n, n}, {accumulator_address(0), rows, n}), compute(true, {0, n, n}, {kGarbage, n, n})});
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < dim; ++i) {
      for (size_t j = 0; j < dim; ++j) {
        int32_t sum = 0;
        for (size_t k = 0; k < dim && i < rows; ++k) {
          sum += static_cast<int8_t>(bytes[i * dim + k]) * static_cast<int8_t>(bytes[(dim + k) * dim + j]);
        }
        ASSERT_EQ(simulator->accumulator()[i * dim + j], sum) << "dim " << dim << " at " << i << "," << j;
      }
    }
  }
}

TEST(GemminiArithmetic, RoundingShiftIsHalfToEven) {
  EXPECT_EQ(rounding_shift(5, 0), 5);
  EXPECT_EQ(rounding_shift(5, 1), 2);
  EXPECT_EQ(rounding_shift(7, 1), 4);
  EXPECT_EQ(rounding_shift(-5, 1), -2);
  EXPECT_EQ(rounding_shift(-7, 1), -4);
  EXPECT_EQ(rounding_shift(11, 2), 3);
  EXPECT_EQ(rounding_shift(INT32_MIN, 31), -1);
}

TEST(GemminiArithmetic, ScalingAgreesWithTheLibraryRounding) {
  Random random(3, 0);
  for (int n = 0; n < 200000; ++n) {
    const auto value = static_cast<float>(static_cast<int32_t>(random.next_u32()) >> random.below(32));
    const float scale =
        static_cast<float>(random.normal()) * std::ldexp(1.0f, static_cast<int>(random.between(-30, 2)));
    const float product = value * scale;
    const double expected = std::fmin(127.0, std::fmax(-128.0, std::nearbyint(static_cast<double>(product))));
    ASSERT_EQ(scale_to_int8(value, scale), static_cast<int>(expected)) << value << " * " << scale;
  }
  EXPECT_EQ(scale_to_int8(0.0f, INFINITY), 0);
  EXPECT_EQ(scale_to_int8(-1.0f, INFINITY), -128);
}

TEST(GemminiLoop, LoopWsEqualsItsExpansion) {
  const LoopWs loop = {.i = 2,
                       .j = 1,
                       .k = 3,
                       .pad_i = 3,
                       .a = kBase,
                       .b = kBase + 1024,
                       .c = kBase + 3000,
                       .a_stride = 48,
                       .b_stride = 16,
                       .c_stride = 16};
  const std::vector<Command> configs = {config_ld({.state = 0, .dram_stride_bytes = 48, .block_stride = 16}),
                                        config_st({.dram_stride_bytes = 16, .acc_scale = 0.01f})};
  Fixture looped, expanded;
  looped.run(configs);
  expanded.run(configs);
  const auto commands = loop_ws(loop);
  looped.run({commands.begin(), commands.end()});
  auto primitives = expand(commands, testing::default_machine());
  ASSERT_TRUE(primitives.ok());
  EXPECT_EQ(primitives->size(), 6u + 3u + 6u * 2u + 2u);
  expanded.run(*primitives);
  EXPECT_EQ(looped.dram.segments()[0].bytes, expanded.dram.segments()[0].bytes);
  const Fixture fresh;
  EXPECT_NE(looped.dram.segments()[0].bytes, fresh.dram.segments()[0].bytes);
  EXPECT_EQ(looped.byte(3000 + 29 * 16), 3464 % 100) << "row 29 is padding";
}

TEST(GemminiErrors, NameTheCommandAndTheCause) {
  EXPECT_EQ(
      Fixture().error({fence(), {99, 1, 2}}),
      "command 1 (illegal funct=99 rs1=0x1 rs2=0x2): illegal instruction: funct 99 is no Gemmini command");
  EXPECT_EQ(Fixture().error({mvin(kBase, {16380, 5, 16})}),
            "command 0 (mvin 0x1000 -> sp[16380] 5x16): reaches scratchpad row 16384, the last one is 16383");
  EXPECT_EQ(Fixture().error({mvin(kBase + 4090, {0, 1, 16})}),
            "command 0 (mvin 0x1ffa -> sp[0] 1x16): DRAM address 0x2000 is outside of the image");
  EXPECT_EQ(Fixture().error({mvout(16, {0, 1, 4})}),
            "command 0 (mvout sp[0] 1x4 -> 0x10): DRAM address 0x10 is outside of the image");
  EXPECT_EQ(Fixture().error({mvout(kBase, {accumulator_address(1024), 1, 4})}),
            "command 0 (mvout acc[1024] 1x4 -> 0x1000): reaches accumulator row 1024, the last one is 1023");
  EXPECT_EQ(
      Fixture().error({config_ex({.transpose_a = true, .transpose_b = true})}),
      "command 0 (config_ex ws act=0 ta=1 tb=1 a_stride=1 c_stride=1 shift=0 acc_scale=1): weight-stationary "
      "computation cannot transpose both A and B");
  EXPECT_EQ(Fixture().error({mvin(kBase, {0, 17, 16})}),
            "command 0 (mvin 0x1000 -> sp[0] 17x16): a move of 17x16 elements, the largest is 16x64");
  EXPECT_EQ(
      Fixture().error({preload({0, 16, 16}, {accumulator_address(1020), 16, 16}),
                       compute(true, {0, 16, 16}, {kGarbage, 16, 16})}),
      "command 1 (compute_preloaded sp[0] 16x16, garbage 16x16): operand C reaches accumulator row 1035, the "
      "last one is 1023");
}

TEST(GemminiErrors, LoopsNameTheUnrolledCommand) {
  const auto commands =
      loop_ws({.i = 1, .j = 1, .k = 1, .a = kBase, .b = 64, .a_stride = 16, .b_stride = 16});
  EXPECT_EQ(Fixture().error({commands.begin(), commands.end()}),
            "command 5 (loop_ws rs1=0x0 rs2=0x0): mvin2 0x40 -> sp[8176] 16x16: DRAM address 0x40 is outside "
            "of the "
            "image");
  const auto large = loop_ws({.i = 6, .j = 6, .k = 1, .a = kBase, .b = kBase});
  EXPECT_EQ(Fixture().error({large.begin(), large.end()}),
            "command 5 (loop_ws rs1=0x0 rs2=0x0): loop_ws of 6x6 result tiles needs 576 accumulator rows, "
            "half of the "
            "accumulator has 512");
}

std::string strict_error(std::vector<Command> commands) {
  return Fixture(16, {.strict = true}).error(std::move(commands));
}

TEST(GemminiStrict, NamesTheRule) {
  const Operand tile = {0, 16, 16}, none = {kGarbage, 16, 16};
  const auto says = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says(strict_error({mvin(kBase, tile), preload(tile, none), compute(true, none, none)}), "A is garbage");
  says(strict_error({mvout(kBase, tile)}), "holds nothing defined");
  says(strict_error({config_st({.activation = Activation::kRelu, .acc_scale = -1.0f}),
                     mvin(kBase, {accumulator_address(0), 1, 16}),
                     mvout(kBase, {accumulator_address(0), 1, 16})}),
       "relu with a negative accumulator scale");
  says(strict_error({mvin(kBase, {accumulator_address(0), 1, 4}),
                     mvin(kBase + 2, {accumulator_address(0, true), 1, 4})}),
       "not aligned to 4 bytes");
  says(strict_error({mvin(kBase, {0, 0, 16})}), "a move of no elements");
  says(strict_error({config_ld({.dram_stride_bytes = 16, .block_stride = 8}), mvin(kBase, tile)}),
       "block stride 8");
  says(strict_error({config_norm({})}), "normalisation");
  says(strict_error({config_ex({.dataflow = Dataflow::kOutputStationary, .in_shift = 2}), mvin(kBase, tile),
                     preload(tile, {accumulator_address(0), 16, 16}), compute(true, tile, tile)}),
       "with shift 2");
  says(strict_error({config_ex({.dataflow = Dataflow::kOutputStationary}), mvin(kBase, tile),
                     preload(tile, {accumulator_address(0), 16, 16}), compute(true, tile, tile),
                     preload(none, none), compute(false, tile, tile)}),
       "continues after its sums were written");
  says(strict_error({mvin(kBase, tile), preload(none, none), compute(true, tile, none)}), "old weights stay");
}

TEST(GemminiStrict, OutputStationarySumsMustFit20Bits) {
  Fixture f(16, {.strict = true});
  for (uint64_t n = 0; n < 256; ++n) f.put(n, 127);
  const Operand tile = {0, 16, 16}, none = {kGarbage, 16, 16};
  f.run({config_ex({.dataflow = Dataflow::kOutputStationary}), mvin(kBase, tile), preload(none, none),
         compute(true, tile, tile), preload(none, none), compute(false, tile, tile)});
  const std::string message = f.error({preload(none, none), compute(false, tile, tile)});
  EXPECT_NE(message.find("sum 774192 at row 0, column 0 does not fit the array's 20 bits"), std::string::npos)
      << message;
}

TEST(GemminiMachine, RefusesConfigurationsThatCannotBeSimulated) {
  Machine machine = testing::default_machine();
  EXPECT_TRUE(check_machine(machine).ok());
  machine.dim = 12;
  EXPECT_EQ(check_machine(machine).message(), "gemmini configuration: dim is 12, must be a power of two");
  machine = testing::default_machine();
  machine.accumulator_banks = 3;
  EXPECT_EQ(check_machine(machine).message(),
            "gemmini configuration: 1024 accumulator rows do not divide into 3 banks and two halves");
  EXPECT_FALSE(check_machine(Machine{}).ok());
}

TEST(GemminiDram, SegmentsAreCheckedAndFound) {
  Dram dram;
  EXPECT_TRUE(dram.add(100, std::vector<uint8_t>(10)).ok());
  EXPECT_TRUE(dram.add(110, std::vector<uint8_t>(10)).ok());
  EXPECT_FALSE(dram.add(95, std::vector<uint8_t>(6)).ok());
  EXPECT_FALSE(dram.add(UINT64_MAX - 1, std::vector<uint8_t>(4)).ok());
  EXPECT_NE(dram.find(105, 5), nullptr);
  EXPECT_EQ(dram.find(105, 6), nullptr);
  EXPECT_EQ(dram.find(UINT64_MAX, 2), nullptr);
  EXPECT_EQ(dram.first_missing(105, 20), 120u);
  EXPECT_EQ(dram.first_missing(5, 20), 5u);
}

}  // namespace
}  // namespace zomboss::gemmini
