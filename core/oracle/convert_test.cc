// `convert`: XLA's corner cases, and all sources of small types against an independent statement of the rule.
#include <cmath>
#include <limits>

#include "core/graph/types.h"
#include "core/hlo/number.h"
#include "core/oracle/numeric.h"
#include "core/oracle/test_util.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

using I8 = std::vector<int8_t>;

int8_t to_s8(double value) {
  return static_cast<int8_t>(lane_int(convert_lane(to_lane(value), DType::F32, DType::S8, false)));
}

TEST(Convert, FloatToS8TruncatesAndSaturatesEverywhere) {
  for (int sixteenth = -200 * 16; sixteenth <= 200 * 16; ++sixteenth) {
    const double value = sixteenth / 16.0;
    int expected = sixteenth / 16;  // integer division truncates toward zero
    expected = expected < -128 ? -128 : (expected > 127 ? 127 : expected);
    ASSERT_EQ(to_s8(value), expected) << value;
  }
  EXPECT_EQ(to_s8(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(to_s8(std::numeric_limits<double>::infinity()), 127);
  EXPECT_EQ(to_s8(-std::numeric_limits<double>::infinity()), -128);
  EXPECT_EQ(to_s8(-0.0), 0);
  EXPECT_EQ(to_s8(3e38), 127);
}

TEST(Convert, EveryBf16ToS8AndU8) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = hlo::decode(DType::BF16, bits);
    const double limited = std::isnan(value) ? 0 : std::trunc(std::min(std::max(value, -128.0), 127.0));
    const double unsigned_limited = std::isnan(value) ? 0 : std::trunc(std::min(std::max(value, 0.0), 255.0));
    const Lane lane = to_lane(value);
    ASSERT_EQ(lane_int(convert_lane(lane, DType::BF16, DType::S8, false)), static_cast<int64_t>(limited))
        << value;
    ASSERT_EQ(lane_int(convert_lane(lane, DType::BF16, DType::U8, false)),
              static_cast<int64_t>(unsigned_limited))
        << value;
    ASSERT_EQ(convert_lane(lane, DType::BF16, DType::Pred, false), value != 0 ? 1u : 0u) << value;
  }
}

TEST(Convert, EveryS16ToS8Wraps) {
  for (int value = -32768; value <= 32767; ++value) {
    const int low = value & 255;
    ASSERT_EQ(lane_int(convert_lane(to_lane(int64_t{value}), DType::S16, DType::S8, false)),
              low >= 128 ? low - 256 : low);
    ASSERT_EQ(lane_int(convert_lane(to_lane(int64_t{value}), DType::S16, DType::U8, false)), low);
  }
}

TEST(Convert, ThroughTheProgramText) {
  EXPECT_EQ(
      tensor_values<int8_t>(run(parse_entry("a = f32[7] constant({1.9, -1.9, 300, -300, nan, inf, -0.5})\n"
                                            "ROOT r = s8[7] convert(a)"))),
      (I8{1, -1, 127, -128, 0, 127, 0}));
  EXPECT_EQ(tensor_values<uint8_t>(
                run(parse_entry("a = s32[3] constant({256, -1, 0})\nROOT r = pred[3] convert(a)"))),
            (std::vector<uint8_t>{1, 1, 0}));
  EXPECT_EQ(
      tensor_values<float>(run(parse_entry("a = pred[2] constant({1, 0})\nROOT r = f32[2] convert(a)"))),
      (std::vector<float>{1, 0}));
}

TEST(Convert, IntegerToFloatRoundsToNearestEven) {
  const auto to_f32 = [](int64_t value, DType from) {
    return lane_float(convert_lane(to_lane(value), from, DType::F32, false));
  };
  EXPECT_EQ(to_f32(16777217, DType::S32), 16777216.0);
  EXPECT_EQ(to_f32(16777219, DType::S32), 16777220.0);
  EXPECT_EQ(to_f32(-16777217, DType::S32), -16777216.0);
  EXPECT_EQ(to_f32(-1, DType::U64), 0x1p64);
  // Just above the middle of two f32, where rounding to f64 first would fall on the tie.
  const int64_t above_tie = (int64_t{1} << 62) + (int64_t{1} << 38) + 1;
  EXPECT_EQ(to_f32(above_tie, DType::S64), static_cast<double>(static_cast<float>(above_tie)));
  EXPECT_EQ(to_f32(above_tie, DType::S64), 0x1p62 + 0x1p39);
}

TEST(Convert, RandomIntegersToF32MatchTheMachine) {
  Random random(7, 0);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = random.next_u64() >> random.below(64);
    const auto value = static_cast<int64_t>(bits);
    ASSERT_EQ(lane_float(convert_lane(to_lane(value), DType::S64, DType::F32, false)),
              static_cast<double>(static_cast<float>(value)));
    ASSERT_EQ(lane_float(convert_lane(bits, DType::U64, DType::F32, false)),
              static_cast<double>(static_cast<float>(bits)));
    ASSERT_EQ(lane_float(convert_lane(bits, DType::U64, DType::F64, false)), static_cast<double>(bits));
  }
}

TEST(Convert, FloatToWideIntegersSaturates) {
  const auto to = [](double value, DType type) {
    return lane_int(convert_lane(to_lane(value), DType::F64, type, false));
  };
  EXPECT_EQ(to(1e30, DType::S64), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to(-1e30, DType::S64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(to(0x1p63, DType::S64), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(to(1e30, DType::U64), -1);
  EXPECT_EQ(to(-5, DType::U64), 0);
  EXPECT_EQ(to(0x1.8p63, DType::U64), int64_t{3} << 62);
  EXPECT_EQ(to(2147483648.0, DType::S32), 2147483647);
  EXPECT_EQ(to(4294967295.5, DType::U32), 4294967295);
}

TEST(Storage, EveryBytePatternOfEightBitTypesSurvivesDecodeAndEncode) {
  for (const DType dtype : {DType::S8, DType::U8, DType::F8E5M2, DType::F8E4M3FN, DType::F8E4M3FNUZ}) {
    for (int byte = 0; byte < 256; ++byte) {
      const uint8_t in = static_cast<uint8_t>(byte);
      Lane lane = 0;
      uint8_t out = 0;
      decode(dtype, {&in, 1}, {&lane, 1});
      encode(dtype, {&lane, 1}, {&out, 1});
      if (hlo::is_float(dtype) && std::isnan(lane_float(lane))) {
        EXPECT_TRUE(hlo::is_nan(dtype, out)) << hlo::dtype_name(dtype) << byte;
      } else {
        EXPECT_EQ(out, in) << hlo::dtype_name(dtype);
      }
    }
  }
}

TEST(Types, HoldsAllValuesAgreesWithRoundTrips) {
  const DType types[] = {DType::Pred, DType::S8,  DType::U8,   DType::S16,    DType::U16,     DType::S4,
                         DType::U4,   DType::F16, DType::BF16, DType::F8E5M2, DType::F8E4M3FN};
  const DType wide_types[] = {DType::S8,  DType::U8,  DType::S16,  DType::U16, DType::S32, DType::U32,
                              DType::S64, DType::F16, DType::BF16, DType::F32, DType::F64};
  for (const DType narrow : types) {
    const int width = hlo::dtype_bytes(narrow);
    for (const DType wide : wide_types) {
      bool all = true;  // every value of `narrow` keeps its value in `wide`
      for (uint32_t bits = 0; bits < (1u << (8 * width)); ++bits) {
        uint8_t bytes[2] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8)};
        if (narrow == DType::Pred && bits > 1) break;
        Lane lane = 0;
        decode(narrow, {bytes, static_cast<size_t>(width)}, {&lane, 1});
        const double value = hlo::is_float(narrow) ? lane_float(lane) : static_cast<double>(lane_int(lane));
        if (std::isnan(value)) {
          all = all && hlo::is_float(wide);
          continue;
        }
        const Lane there = convert_lane(lane, narrow, wide, false);
        const double kept = hlo::is_float(wide) ? lane_float(there) : static_cast<double>(lane_int(there));
        all = all && kept == value;
      }
      EXPECT_EQ(graph::holds_all_values(wide, narrow), all)
          << hlo::dtype_name(wide) << " holds " << hlo::dtype_name(narrow);
    }
  }
}

}  // namespace
}  // namespace zomboss::oracle
