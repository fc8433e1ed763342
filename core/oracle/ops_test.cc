// Hand-computed values for each group of operations.
#include <cmath>
#include <limits>

#include "core/oracle/elementwise.h"
#include "core/oracle/test_util.h"

namespace zomboss::oracle {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

using I8 = std::vector<int8_t>;
using U8 = std::vector<uint8_t>;
using I32 = std::vector<int32_t>;
using F32 = std::vector<float>;

// A binary operation on two constants.
template <typename T>
std::vector<T> binary(const std::string& op, const std::string& type, const std::string& a,
                      const std::string& b) {
  return values_of<T>("a = " + type + " constant(" + a + ")\nb = " + type + " constant(" + b +
                      ")\nROOT r = " + type + " " + op + "(a, b)");
}

template <typename T>
std::vector<T> unary(const std::string& op, const std::string& type, const std::string& a) {
  return values_of<T>("a = " + type + " constant(" + a + ")\nROOT r = " + type + " " + op + "(a)");
}

TEST(Integers, WrapAtTheirWidth) {
  EXPECT_EQ(binary<int8_t>("add", "s8[2]", "{127, -128}", "{1, -1}"), (I8{-128, 127}));
  EXPECT_EQ(binary<int8_t>("subtract", "s8[2]", "{-128, 127}", "{1, -1}"), (I8{127, -128}));
  EXPECT_EQ(binary<int8_t>("multiply", "s8[2]", "{-128, 100}", "{-1, 3}"), (I8{-128, 44}));
  EXPECT_EQ(binary<uint8_t>("add", "u8[1]", "{255}", "{2}"), (U8{1}));
  EXPECT_EQ(binary<int32_t>("multiply", "s32[1]", "{65536}", "{65537}"), (I32{65536}));
  EXPECT_EQ(binary<int64_t>("multiply", "s64[1]", "{4611686018427387904}", "{4}"), (std::vector<int64_t>{0}));
  EXPECT_EQ(unary<int8_t>("negate", "s8[2]", "{-128, 5}"), (I8{-128, -5}));
  EXPECT_EQ(unary<int8_t>("abs", "s8[2]", "{-128, -5}"), (I8{-128, 5}));
  EXPECT_EQ(binary<int8_t>("add", "s4[2]", "{7, -8}", "{1, -1}"), (I8{-8, 7}));
}

TEST(Integers, DivideByZeroGivesAllOnesAndRemainderGivesTheDividend) {
  EXPECT_EQ(binary<int8_t>("divide", "s8[4]", "{7, -7, -128, 0}", "{0, 2, -1, 0}"), (I8{-1, -3, -128, -1}));
  EXPECT_EQ(binary<uint8_t>("divide", "u8[2]", "{7, 200}", "{0, 3}"), (U8{255, 66}));
  EXPECT_EQ(binary<int8_t>("remainder", "s8[4]", "{7, -7, -128, 5}", "{0, 2, -1, -3}"), (I8{7, -1, 0, 2}));
  EXPECT_EQ(binary<uint64_t>("divide", "u64[2]", "{18446744073709551615, 5}", "{2, 0}"),
            (std::vector<uint64_t>{9223372036854775807u, ~uint64_t{0}}));
  EXPECT_EQ(binary<int64_t>("divide", "s64[1]", "{-9223372036854775808}", "{-1}"),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min()}));
}

TEST(Integers, ShiftAllBitsOutFromTheWidthOn) {
  EXPECT_EQ(binary<int8_t>("shift-left", "s8[4]", "{1, 1, 1, 3}", "{7, 8, -1, 6}"), (I8{-128, 0, 0, -64}));
  EXPECT_EQ(binary<int8_t>("shift-right-logical", "s8[3]", "{-1, -1, -1}", "{1, 8, 0}"), (I8{127, 0, -1}));
  EXPECT_EQ(binary<int8_t>("shift-right-arithmetic", "s8[3]", "{-128, -128, 64}", "{1, 9, -56}"),
            (I8{-64, -1, 0}));
  EXPECT_EQ(binary<int32_t>("shift-left", "s32[2]", "{1, 1}", "{31, 32}"),
            (I32{std::numeric_limits<int32_t>::min(), 0}));
}

TEST(Integers, PowerIsExactModuloTheWidth) {
  EXPECT_EQ(binary<int32_t>("power", "s32[5]", "{3, -2, 2, -1, 5}", "{4, 3, -1, -3, 0}"),
            (I32{81, -8, 0, -1, 1}));
}

TEST(Integers, BitOperations) {
  EXPECT_EQ(binary<int8_t>("xor", "s8[1]", "{12}", "{10}"), (I8{6}));
  EXPECT_EQ(unary<int8_t>("not", "s8[1]", "{5}"), (I8{-6}));
  EXPECT_EQ(unary<uint8_t>("not", "pred[2]", "{1, 0}"), (U8{0, 1}));
  EXPECT_EQ(unary<int8_t>("popcnt", "s8[1]", "{-1}"), (I8{8}));
  EXPECT_EQ(unary<int8_t>("count-leading-zeros", "s8[3]", "{0, 1, -1}"), (I8{8, 7, 0}));
  EXPECT_EQ(unary<int8_t>("sign", "s8[3]", "{-9, 0, 9}"), (I8{-1, 0, 1}));
}

TEST(Floats, MaximumAndMinimumPropagateNan) {
  const F32 maximum = binary<float>("maximum", "f32[4]", "{nan, 1, -0, 2}", "{1, nan, 0, -3}");
  EXPECT_TRUE(std::isnan(maximum[0]) && std::isnan(maximum[1]));
  EXPECT_FALSE(std::signbit(maximum[2]));
  EXPECT_EQ(maximum[3], 2.0f);
  const F32 minimum = binary<float>("minimum", "f32[3]", "{nan, -0, 0}", "{1, 0, -0}");
  EXPECT_TRUE(std::isnan(minimum[0]));
  EXPECT_TRUE(std::signbit(minimum[1]) && std::signbit(minimum[2]));
}

TEST(Floats, ClampLimitsAndKeepsNan) {
  const F32 result = values_of<float>(
      "lo = f32[] constant(-1)\nhi = f32[] constant(2)\nx = f32[4] constant({-5, 0.5, 7, nan})\n"
      "ROOT r = f32[4] clamp(lo, x, hi)");
  EXPECT_EQ(F32(result.begin(), result.begin() + 3), (F32{-1, 0.5, 2}));
  EXPECT_TRUE(std::isnan(result[3]));
}

TEST(Floats, RoundToNearestEvenAndAwayFromZero) {
  const std::string halves = "{0.5, 1.5, 2.5, -0.5, -1.5, 2.4}";
  EXPECT_EQ(unary<float>("round-nearest-even", "f32[6]", halves), (F32{0, 2, 2, -0.0f, -2, 2}));
  EXPECT_EQ(unary<float>("round-nearest-afz", "f32[6]", halves), (F32{1, 2, 3, -1, -2, 2}));
}

TEST(Floats, FunctionsMatchTheirDefinition) {
  const struct {
    const char* op;
    double (*function)(double);
  } kCases[] = {
      {"exponential", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"logistic", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"sine", [](double x) { return std::sin(x); }},
      {"cosine", [](double x) { return std::cos(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"floor", [](double x) { return std::floor(x); }},
      {"ceil", [](double x) { return std::ceil(x); }},
      {"exponential-minus-one", [](double x) { return std::exp(x) - 1; }},
      {"log-plus-one", [](double x) { return std::log(1 + x); }},
      {"abs", [](double x) { return x < 0 ? -x : x; }},
      {"negate", [](double x) { return -x; }},
  };
  for (const auto& each : kCases) {
    const F32 result = unary<float>(each.op, "f32[2]", "{0.75, 2.25}");
    ASSERT_EQ(result.size(), 2u) << each.op;
    EXPECT_FLOAT_EQ(result[0], static_cast<float>(each.function(0.75))) << each.op;
    EXPECT_FLOAT_EQ(result[1], static_cast<float>(each.function(2.25))) << each.op;
  }
}

TEST(Compare, NanIsUnorderedAndTotalOrderIsNot) {
  const auto compare = [](const std::string& how) {
    return values_of<uint8_t>(
        "a = f32[3] constant({nan, 1, -0})\nb = f32[3] constant({1, 1, 0})\nROOT r = "
        "pred[3] compare(a, b), direction=" +
        how);
  };
  EXPECT_EQ(compare("EQ"), (U8{0, 1, 1}));
  EXPECT_EQ(compare("NE"), (U8{1, 0, 0}));
  EXPECT_EQ(compare("LT"), (U8{0, 0, 0}));
  EXPECT_EQ(compare("GE"), (U8{0, 1, 1}));
  EXPECT_EQ(compare("LT, type=TOTALORDER"), (U8{0, 0, 1}));
  EXPECT_EQ(compare("GT, type=TOTALORDER"), (U8{1, 0, 0}));
}

TEST(Compare, U64IsUnsigned) {
  EXPECT_EQ(values_of<uint8_t>("a = u64[1] constant({18446744073709551615})\nb = u64[1] constant({1})\n"
                               "ROOT r = pred[1] compare(a, b), direction=GT"),
            (U8{1}));
}

TEST(Select, TakesByPredicate) {
  EXPECT_EQ(values_of<int32_t>("p = pred[3] constant({1, 0, 1})\na = s32[3] constant({1, 2, 3})\nb = s32[3] "
                               "constant({4, 5, 6})\nROOT r = s32[3] select(p, a, b)"),
            (I32{1, 5, 3}));
}

TEST(Movement, BroadcastReshapeTranspose) {
  EXPECT_EQ(values_of<int32_t>("a = s32[2] constant({1, 2})\nROOT r = s32[2,3] broadcast(a), dimensions={0}"),
            (I32{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values_of<int32_t>("a = s32[2] constant({1, 2})\nROOT r = s32[3,2] broadcast(a), dimensions={1}"),
            (I32{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(values_of<int32_t>("a = s32[2,3] constant({{1,2,3},{4,5,6}})\nROOT r = s32[3,2] transpose(a), "
                               "dimensions={1,0}"),
            (I32{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values_of<int32_t>("a = s32[2,3] constant({{1,2,3},{4,5,6}})\nROOT r = s32[3,2] reshape(a)"),
            (I32{1, 2, 3, 4, 5, 6}));
}

TEST(Movement, TransposeOfRankThreeFollowsThePermutation) {
  // result[i][j][k] = a[j][k][i] for dimensions={2,0,1}.
  EXPECT_EQ(values_of<int32_t>("i = s32[12] iota(), iota_dimension=0\na = s32[2,3,2] reshape(i)\n"
                               "ROOT r = s32[2,2,3] transpose(a), dimensions={2,0,1}"),
            (I32{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}));
}

TEST(Movement, SliceReverseConcatenateIota) {
  EXPECT_EQ(
      values_of<int32_t>("i = s32[10] iota(), iota_dimension=0\nROOT r = s32[3] slice(i), slice={[1:9:3]}"),
      (I32{1, 4, 7}));
  EXPECT_EQ(values_of<int32_t>("i = s32[2,3] iota(), iota_dimension=1\nROOT r = s32[2,3] reverse(i), "
                               "dimensions={1}"),
            (I32{2, 1, 0, 2, 1, 0}));
  EXPECT_EQ(values_of<int32_t>("a = s32[2,1] constant({{1},{2}})\nb = s32[2,2] constant({{3,4},{5,6}})\n"
                               "ROOT r = s32[2,3] concatenate(a, b), dimensions={1}"),
            (I32{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(values_of<float>("ROOT r = f32[3] iota(), iota_dimension=0"), (F32{0, 1, 2}));
}

TEST(Movement, PadGrowsDilatesAndCuts) {
  const auto pad = [](const std::string& padding, int size) {
    return values_of<int32_t>("a = s32[3] constant({1, 2, 3})\nz = s32[] constant(9)\nROOT r = s32[" +
                              std::to_string(size) + "] pad(a, z), padding=" + padding);
  };
  EXPECT_EQ(pad("1_2", 6), (I32{9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(pad("0_0_1", 5), (I32{1, 9, 2, 9, 3}));
  EXPECT_EQ(pad("-1_0", 2), (I32{2, 3}));
  EXPECT_EQ(pad("-1_-1_1", 3), (I32{9, 2, 9}));
  EXPECT_EQ(pad("-2_1_1", 4), (I32{2, 9, 3, 9}));
  EXPECT_EQ(pad("2_-4", 1), (I32{9}));
  EXPECT_EQ(pad("-5_3", 1), (I32{9}));
}

TEST(Movement, DynamicSliceClampsItsStart) {
  const auto slice = [](const std::string& start) {
    return values_of<int32_t>("i = s32[5] iota(), iota_dimension=0\ns = s32[] constant(" + start +
                              ")\nROOT r = s32[2] dynamic-slice(i, s), dynamic_slice_sizes={2}");
  };
  EXPECT_EQ(slice("1"), (I32{1, 2}));
  EXPECT_EQ(slice("4"), (I32{3, 4}));
  EXPECT_EQ(slice("-3"), (I32{0, 1}));
  EXPECT_EQ(values_of<int32_t>("i = s32[4] iota(), iota_dimension=0\nu = s32[2] constant({8, 9})\ns = s32[] "
                               "constant(3)\nROOT r = s32[4] dynamic-update-slice(i, u, s)"),
            (I32{0, 1, 8, 9}));
}

TEST(Movement, ZeroSizedDimensionsGiveEmptyResults) {
  EXPECT_TRUE(
      values_of<int32_t>("a = s32[0,3] constant({})\nROOT r = s32[3,0] transpose(a), dimensions={1,0}")
          .empty());
  EXPECT_EQ(values_of<int32_t>("a = s32[2,0] constant({{},{}})\nb = s32[0,2] constant({})\nROOT r = s32[2,2] "
                               "dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            (I32{0, 0, 0, 0}));
}

TEST(Elementwise, EveryRowHasARuleForItsOpcode) {
  for (const ElementwiseRow& row : elementwise_rows()) {
    EXPECT_TRUE(knows_opcode(row.opcode)) << row.opcode;
    EXPECT_TRUE(row.on_int != nullptr || row.on_float != nullptr) << row.opcode;
  }
  EXPECT_FALSE(knows_opcode("sort"));
}

TEST(BitcastConvert, KeepsBits) {
  EXPECT_EQ(values_of<int32_t>("a = f32[2] constant({1, -2})\nROOT r = s32[2] bitcast-convert(a)"),
            (I32{0x3f800000, static_cast<int32_t>(0xc0000000)}));
  EXPECT_EQ(values_of<uint8_t>("a = u32[1] constant({67305985})\nROOT r = u8[1,4] bitcast-convert(a)"),
            (U8{1, 2, 3, 4}));
}

TEST(Rounding, DeclaredRoundsEachResultAndWideRoundsOnce) {
  // 2^24 + 1 does not fit in f32: rounding each sum loses both ones, rounding once keeps them.
  const std::string program =
      "a = f32[1] constant({16777216})\nb = f32[1] constant({1})\nc = f32[1] add(a, b)\nROOT r = f32[1] "
      "add(c, b)";
  EXPECT_EQ(values_of<float>(program), (F32{16777216}));
  EXPECT_EQ(values_of<float>(program, {.rounding = Rounding::kWide, .source_name = {}}), (F32{16777218}));
}

TEST(Rounding, WideStillRoundsAtNarrowingConverts) {
  const std::string program =
      "a = f32[1] constant({1.00390625})\nb = bf16[1] convert(a)\nROOT r = f32[1] convert(b)";  // 1 + 2^-8
  EXPECT_EQ(values_of<float>(program, {.rounding = Rounding::kWide, .source_name = {}}), (F32{1}));
}

TEST(Rounding, F32ArithmeticIsThatOfTheMachine) {
  const F32 a = {0.1f, 1e-40f, 3.4e38f, 16777217.0f, -7.5f};
  const F32 b = {0.3f, 2.5e-3f, 2.0f, 3.0f, 0.7f};
  const Tensor inputs[] = {make_tensor(DType::F32, {5}, a), make_tensor(DType::F32, {5}, b)};
  const auto run_op = [&](const std::string& op) {
    return tensor_values<float>(
        run(parse_entry("a = f32[5] parameter(0)\nb = f32[5] parameter(1)\nROOT r = f32[5] " + op + "(a, b)"),
            {inputs[0], inputs[1]}));
  };
  const F32 sum = run_op("add"), product = run_op("multiply"), quotient = run_op("divide");
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(sum[i], a[i] + b[i]);
    EXPECT_EQ(product[i], a[i] * b[i]);
    EXPECT_EQ(quotient[i], a[i] / b[i]);
  }
  EXPECT_EQ(product[2], kInf);
}

}  // namespace
}  // namespace zomboss::oracle
