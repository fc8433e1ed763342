#include "core/hlo/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "zomboss/sdk/random.h"

namespace zomboss::hlo {
namespace {

constexpr DType kSmallFloats[] = {DType::F8E5M2,     DType::F8E4M3,     DType::F8E4M3FN, DType::F8E4M3B11FNUZ,
                                  DType::F8E5M2FNUZ, DType::F8E4M3FNUZ, DType::F8E3M4,   DType::F8E8M0FNU,
                                  DType::F4E2M1FN,   DType::F6E3M2FN,   DType::F6E2M3FN, DType::F16,
                                  DType::BF16};

uint64_t count(DType dtype) {
  return uint64_t{1} << dtype_bits(dtype);
}

TEST(Encode, GivesBackEveryBitPatternOfEverySmallFormat) {
  for (const DType dtype : kSmallFloats) {
    for (uint64_t bits = 0; bits < count(dtype); ++bits) {
      const double value = decode(dtype, bits);
      if (is_nan(dtype, bits)) {
        EXPECT_TRUE(std::isnan(value));
        EXPECT_TRUE(is_nan(dtype, encode(dtype, value)));
      } else {
        EXPECT_EQ(encode(dtype, value), bits) << dtype_name(dtype);
        EXPECT_FALSE(overflows(dtype, value)) << dtype_name(dtype) << bits;
      }
    }
  }
}

// Between neighbours: below the middle down, above it up, the middle to the even bits.
TEST(Encode, RoundsToNearestEvenBetweenAllNeighbours) {
  for (const DType dtype : kSmallFloats) {
    if (dtype == DType::F8E8M0FNU) continue;
    for (uint64_t bits = 0; bits + 1 < count(dtype) / 2; ++bits) {
      const double low = decode(dtype, bits);
      const double high = decode(dtype, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const double middle = low + (high - low) / 2;
      EXPECT_EQ(encode(dtype, middle), bits % 2 == 0 ? bits : bits + 1) << dtype_name(dtype) << " " << bits;
      EXPECT_EQ(encode(dtype, std::nextafter(middle, low)), bits);
      EXPECT_EQ(encode(dtype, std::nextafter(middle, high)), bits + 1);
      const uint64_t sign = count(dtype) / 2;
      if (bits > 0) {
        EXPECT_EQ(encode(dtype, -std::nextafter(middle, low)), bits | sign);
      }
    }
  }
}

TEST(Encode, FollowsTheOverflowRuleOfEachFormat) {
  const double huge = 1e300;
  EXPECT_EQ(encode(DType::F16, 65519), 0x7bffu);
  EXPECT_EQ(encode(DType::F16, 65520), 0x7c00u);
  EXPECT_EQ(encode(DType::F16, -huge), 0xfc00u);
  EXPECT_EQ(encode(DType::F8E5M2, 61440), 0x7cu);
  EXPECT_EQ(encode(DType::F8E4M3, 248), 0x78u);
  EXPECT_EQ(encode(DType::F8E4M3FN, 464), 0x7eu);  // the middle, 448 is even
  EXPECT_EQ(encode(DType::F8E4M3FN, 465), 0x7fu);
  EXPECT_EQ(encode(DType::F8E4M3FN, -INFINITY), 0xffu);
  for (const DType dtype : {DType::F8E4M3B11FNUZ, DType::F8E5M2FNUZ, DType::F8E4M3FNUZ}) {
    EXPECT_EQ(encode(dtype, huge), 0x80u);
    EXPECT_EQ(encode(dtype, -0.0), 0u);
    EXPECT_EQ(encode(dtype, NAN), 0x80u);
  }
  EXPECT_EQ(encode(DType::F4E2M1FN, huge), 0x7u);
  EXPECT_EQ(encode(DType::F4E2M1FN, -INFINITY), 0xfu);
  EXPECT_EQ(encode(DType::F6E3M2FN, huge), 0x1fu);
  EXPECT_EQ(encode(DType::F6E2M3FN, -huge), 0x3fu);
  EXPECT_EQ(encode(DType::F4E2M1FN, NAN), 0x8u);
}

TEST(Encode, GivesPowersOfTwoForScales) {
  EXPECT_EQ(encode(DType::F8E8M0FNU, 1), 127u);
  EXPECT_EQ(encode(DType::F8E8M0FNU, 1.49), 127u);
  EXPECT_EQ(encode(DType::F8E8M0FNU, 1.5), 128u);
  EXPECT_EQ(encode(DType::F8E8M0FNU, 0x1p-140), 0u);
  EXPECT_EQ(encode(DType::F8E8M0FNU, 0x1p127), 254u);
  for (const double bad : {0.0, -1.0, 0x1.8p127, double{INFINITY}, double{NAN}})
    EXPECT_EQ(encode(DType::F8E8M0FNU, bad), 255u) << bad;
}

TEST(Decode, KnowsTheExtremesOfEachFormat) {
  EXPECT_EQ(decode(DType::F8E4M3FN, 0x7e), 448);
  EXPECT_EQ(decode(DType::F8E5M2, 0x7b), 57344);
  EXPECT_EQ(decode(DType::F8E4M3, 0x77), 240);
  EXPECT_EQ(decode(DType::F8E3M4, 0x6f), 15.5);
  EXPECT_EQ(decode(DType::F8E4M3B11FNUZ, 0x7f), 30);
  EXPECT_EQ(decode(DType::F8E5M2FNUZ, 0x7f), 57344);
  EXPECT_EQ(decode(DType::F8E4M3FNUZ, 0x7f), 240);
  EXPECT_EQ(decode(DType::F8E4M3FN, 0x01), 0x1p-9);
  EXPECT_EQ(decode(DType::F4E2M1FN, 0x7), 6);
  EXPECT_EQ(decode(DType::F4E2M1FN, 0x1), 0.5);
  EXPECT_EQ(decode(DType::F6E3M2FN, 0x1f), 28);
  EXPECT_EQ(decode(DType::F6E2M3FN, 0x1f), 7.5);
  EXPECT_EQ(decode(DType::F8E8M0FNU, 0), 0x1p-127);
  EXPECT_EQ(decode(DType::S4, 0xf8), -8);
  EXPECT_EQ(decode(DType::U4, 0x0f), 15);
  EXPECT_EQ(decode(DType::S64, ~uint64_t{0}), -1);
}

TEST(Encode, AgreesWithTheMachineForFloat) {
  Random random(7, 0);
  for (int i = 0; i < 200000; ++i) {
    const auto value =
        std::bit_cast<double>(random.next_u64() & ~(uint64_t{1} << 62));  // many in float's range
    if (std::isnan(value)) continue;
    EXPECT_EQ(encode(DType::F32, value), std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
    const auto narrow = std::bit_cast<float>(random.next_u32());
    if (std::isnan(narrow)) continue;
    EXPECT_EQ(decode(DType::F32, std::bit_cast<uint32_t>(narrow)), static_cast<double>(narrow));
  }
}

TEST(Integers, HaveTheRangesOfTheirWidths) {
  EXPECT_EQ(integer_min(DType::S4), -8);
  EXPECT_EQ(integer_max(DType::S4), 7u);
  EXPECT_EQ(integer_min(DType::S1), -1);
  EXPECT_EQ(integer_max(DType::S1), 0u);
  EXPECT_EQ(integer_max(DType::U4), 15u);
  EXPECT_EQ(integer_min(DType::S64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(integer_max(DType::U64), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(integer_max(DType::Pred), 1u);
}

}  // namespace
}  // namespace zomboss::hlo
