#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "zomboss/kit/bf16.h"
#include "zomboss/kit/float_format.h"
#include "zomboss/kit/mx.h"

namespace zomboss::kit {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Bf16, RoundsTiesToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(bf16_round(1.0f), 0x3F80);
  EXPECT_EQ(bf16_round(std::bit_cast<float>(0x3F808000u)), 0x3F80);
  EXPECT_EQ(bf16_round(std::bit_cast<float>(0x3F818000u)), 0x3F82);
  EXPECT_EQ(bf16_round(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bf16_round(std::bit_cast<float>(0x00010000u)), 0x0001);
}

TEST(Bf16, ScalarRoundingKeepsEveryNan) {
  EXPECT_EQ(bf16_round(std::bit_cast<float>(0x7F800001u)), 0x7FC0);
  EXPECT_EQ(bf16_round(std::bit_cast<float>(0xFFFFFFFFu)), 0xFFFF);
}

TEST(Bf16, BranchFreeCastAgreesWithTheGenericCastOnAllUpperHalves) {
  for (uint32_t upper = 0; upper < 0x10000u; ++upper) {
    for (const uint32_t lower : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const auto value = std::bit_cast<float>(upper << 16 | lower);
      ASSERT_EQ(std::bit_cast<uint32_t>(bf16_cast(value)) >> 16, encode_float(value, kBf16))
          << std::hex << (upper << 16 | lower);
    }
  }
}

TEST(Bf16, NanWhosePayloadRoundsAwayBecomesInfinity) {
  EXPECT_EQ(std::bit_cast<uint32_t>(bf16_cast(std::bit_cast<float>(0x7F800001u))), 0x7F800000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(bf16_cast(std::bit_cast<float>(0xFFFFFFFFu))), 0xFF800000u);
}

TEST(FloatFormat, DecodesE4m3WithInfinityAndHalvedSubnormals) {
  EXPECT_EQ(decode_float(0x38, kE4M3), 1.0f);
  EXPECT_EQ(decode_float(0x77, kE4M3), 240.0f);
  EXPECT_EQ(decode_float(0x78, kE4M3), kInf);
  EXPECT_EQ(decode_float(0xF8, kE4M3), -kInf);
  EXPECT_TRUE(std::isnan(decode_float(0x79, kE4M3)));
  EXPECT_EQ(decode_float(0x01, kE4M3), 0x1.0p-10f);  // IEEE: 2^-9
  EXPECT_EQ(decode_float(0x08, kE4M3), 0x1.0p-6f);
  EXPECT_TRUE(std::signbit(decode_float(0x80, kE4M3)));
}

TEST(FloatFormat, CastToFewerExponentBitsDoesNotRebias) {
  EXPECT_EQ(encode_float(1.0f, kE4M3), 0x78u);
  EXPECT_EQ(encode_float(0.5f, kE4M3), 0x78u);
  EXPECT_EQ(encode_float(0x1.0p-120f, kE4M3), 0x00u);
  EXPECT_EQ(encode_float(-1.5f, kE4M3), 0xFCu);
}

TEST(FloatFormat, MantissaCarrySticksAtAllOnes) {
  EXPECT_EQ(cast_code(0x7F7F, kBf16, {true, 8, 3}), 0x7F8u);
  EXPECT_EQ(cast_code(0xFF, kE8M0, kFloat32), 0x7F800000u);
}

TEST(FloatFormat, UnsignedTargetTakesNegativeNumbersAsZero) {
  EXPECT_EQ(encode_float(-2.0f, kE8M0), 0u);
  EXPECT_EQ(encode_float(2.0f, kE8M0), 128u);
}

TEST(FloatFormat, ReadsIeeeHalf) {
  EXPECT_EQ(half_to_float(0x3C00), 1.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1.0p-24f);
  EXPECT_EQ(half_to_float(0xFBFF), -65504.0f);
  EXPECT_EQ(half_to_float(0x7C00), kInf);
  EXPECT_TRUE(std::isnan(half_to_float(0x7E00)));
}

std::vector<uint32_t> quantise(std::vector<float> values, uint8_t expected_scale) {
  std::vector<uint32_t> codes(values.size());
  EXPECT_EQ(quantise_block(values, kE4M3, codes), expected_scale);
  return codes;
}

TEST(Mx, E8m0BytesArePowersOfTwo) {
  EXPECT_EQ(e8m0_to_float(0), 0.0f);
  EXPECT_EQ(e8m0_to_float(127), 1.0f);
  EXPECT_EQ(e8m0_to_float(1), 0x1.0p-126f);
  EXPECT_EQ(e8m0_to_float(255), kInf);
}

TEST(Mx, BlockOfZerosAndNansIsAllZero) {
  EXPECT_EQ(quantise({0.0f, -0.0f, kNan}, 0), (std::vector<uint32_t>{0, 0, 0}));
}

TEST(Mx, MantissaNeverCarriesIntoTheExponent) {
  EXPECT_EQ(quantise({1.0f, 1.97f, -1.5f, -0.0f}, 127), (std::vector<uint32_t>{0x38, 0x3F, 0xBC, 0}));
  // [2^-7, 2^-6) is one code: its fraction is at least 1 there and is limited to seven eighths.
  EXPECT_EQ(quantise({1.0f, 0x1.0p-7f, 0x1.8p-7f}, 127), (std::vector<uint32_t>{0x38, 7, 7}));
}

TEST(Mx, ScaleNeverFallsBelowTheEpsilon) {
  EXPECT_EQ(quantise({0x1.0p-100f}, 127 - 30), (std::vector<uint32_t>{0}));
}

TEST(Mx, InfinityTakesTheLargestScaleAndNanIsOne) {
  EXPECT_EQ(quantise({kInf, -kInf, kNan}, 254), (std::vector<uint32_t>{0x77, 0xF7, 0x38}));
}

}  // namespace
}  // namespace zomboss::kit
