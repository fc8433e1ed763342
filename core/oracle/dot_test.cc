// dot, convolution, reduce and reduce-window against direct definitions.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "core/oracle/inputs.h"
#include "core/oracle/test_util.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

using I32 = std::vector<int32_t>;
using Dims = std::vector<int64_t>;

// A random dot: axes with sizes, each in the lhs, the rhs and the result in random order within HLO's rules.
struct RandomDot {
  Dims lhs_dims, rhs_dims, out_dims;
  Dims lhs_batch, lhs_contract, rhs_batch, rhs_contract;
  Dims lhs_axes, rhs_axes, out_axes, sizes;  // axis of each dim
};

template <typename T>
void shuffle(std::vector<T>& items, Random& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

int64_t place_of(const Dims& axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) - axes.begin();
}

RandomDot random_dot(Random& random) {
  RandomDot dot;
  const auto new_axes = [&](uint64_t most) {
    Dims axes;
    for (uint64_t i = random.below(most + 1); i > 0; --i) {
      axes.push_back(static_cast<int64_t>(dot.sizes.size()));
      dot.sizes.push_back(random.between(1, 4));
    }
    return axes;
  };
  const Dims batch = new_axes(2), left = new_axes(2), right = new_axes(2), contract = new_axes(2);
  for (const Dims* part : {&batch, &left, &contract})
    dot.lhs_axes.insert(dot.lhs_axes.end(), part->begin(), part->end());
  for (const Dims* part : {&batch, &contract, &right})
    dot.rhs_axes.insert(dot.rhs_axes.end(), part->begin(), part->end());
  shuffle(dot.lhs_axes, random);
  shuffle(dot.rhs_axes, random);
  for (const int64_t axis : batch) {
    dot.lhs_batch.push_back(place_of(dot.lhs_axes, axis));
    dot.rhs_batch.push_back(place_of(dot.rhs_axes, axis));
    dot.out_axes.push_back(axis);
  }
  for (const int64_t axis : contract) {
    dot.lhs_contract.push_back(place_of(dot.lhs_axes, axis));
    dot.rhs_contract.push_back(place_of(dot.rhs_axes, axis));
  }
  for (const int64_t axis : dot.lhs_axes) {
    if (place_of(left, axis) < static_cast<int64_t>(left.size())) dot.out_axes.push_back(axis);
  }
  for (const int64_t axis : dot.rhs_axes) {
    if (place_of(right, axis) < static_cast<int64_t>(right.size())) dot.out_axes.push_back(axis);
  }
  const auto dims_of = [&](const Dims& axes) {
    Dims dims;
    for (const int64_t axis : axes) dims.push_back(dot.sizes[static_cast<size_t>(axis)]);
    return dims;
  };
  dot.lhs_dims = dims_of(dot.lhs_axes);
  dot.rhs_dims = dims_of(dot.rhs_axes);
  dot.out_dims = dims_of(dot.out_axes);
  return dot;
}

size_t position(const Dims& axes, const Dims& sizes, const Dims& index) {
  size_t at = 0;
  for (const int64_t axis : axes) {
    at = at * static_cast<size_t>(sizes[static_cast<size_t>(axis)]) +
         static_cast<size_t>(index[static_cast<size_t>(axis)]);
  }
  return at;
}

// Adds up over all axes at once.
I32 naive(const RandomDot& dot, const std::vector<int8_t>& lhs, const std::vector<int8_t>& rhs) {
  int64_t outputs = 1;
  for (const int64_t dim : dot.out_dims) outputs *= dim;
  I32 out(static_cast<size_t>(outputs), 0);
  Dims index(dot.sizes.size(), 0);
  for (;;) {
    out[position(dot.out_axes, dot.sizes, index)] +=
        lhs[position(dot.lhs_axes, dot.sizes, index)] * rhs[position(dot.rhs_axes, dot.sizes, index)];
    size_t axis = 0;
    while (axis < index.size() && ++index[axis] == dot.sizes[axis]) index[axis++] = 0;
    if (axis == index.size()) return out;
  }
}

std::string dot_text(const RandomDot& dot, std::string_view type, std::string_view result_type) {
  return fmt::format(
      "a = {}[{}] parameter(0)\nb = {}[{}] parameter(1)\nROOT r = {}[{}] dot(a, b), lhs_batch_dims={{{}}}, "
      "lhs_contracting_dims={{{}}}, rhs_batch_dims={{{}}}, rhs_contracting_dims={{{}}}",
      type, fmt::join(dot.lhs_dims, ","), type, fmt::join(dot.rhs_dims, ","), result_type,
      fmt::join(dot.out_dims, ","), fmt::join(dot.lhs_batch, ","), fmt::join(dot.lhs_contract, ","),
      fmt::join(dot.rhs_batch, ","), fmt::join(dot.rhs_contract, ","));
}

TEST(Dot, AgreesWithTheSumOverAllAxesInAnyOrderOfDims) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, 1);
    const RandomDot dot = random_dot(random);
    const hlo::Module module = parse_entry(dot_text(dot, "s8", "s32"));
    const auto inputs = generate_inputs(module, seed);
    ASSERT_TRUE(inputs.ok());
    const I32 expected = naive(dot, tensor_values<int8_t>((*inputs)[0]), tensor_values<int8_t>((*inputs)[1]));
    ASSERT_EQ(tensor_values<int32_t>(run(module, *inputs)), expected) << "seed " << seed;
    // The same numbers as floats: all sums are exact.
    const hlo::Module floats = parse_entry(dot_text(dot, "f32", "f32"));
    std::vector<Tensor> float_inputs;
    for (const Tensor& input : *inputs) {
      const auto values = tensor_values<int8_t>(input);
      float_inputs.push_back(
          make_tensor(DType::F32, input.dims, std::vector<float>(values.begin(), values.end())));
    }
    const auto result = tensor_values<float>(run(floats, float_inputs));
    ASSERT_EQ(I32(result.begin(), result.end()), expected) << "seed " << seed;
  }
}

TEST(Dot, IntegersWrapAtTheResultWidth) {
  EXPECT_EQ(tensor_values<int8_t>(run(parse_entry(
                "a = s8[2] constant({100, 100})\nROOT r = s8[] dot(a, a), lhs_contracting_dims={0}, "
                "rhs_contracting_dims={0}"))),
            (std::vector<int8_t>{32}));  // 20000 mod 256
  EXPECT_EQ(tensor_values<int32_t>(run(parse_entry(
                "a = s32[2] constant({65536, 1})\nROOT r = s32[] dot(a, a), lhs_contracting_dims={0}, "
                "rhs_contracting_dims={0}"))),
            (I32{1}));
  EXPECT_EQ(
      tensor_values<int64_t>(run(parse_entry(
          "a = s64[1] constant({4294967296})\nb = s64[1] constant({4294967297})\nROOT r = s64[] dot(a, b), "
          "lhs_contracting_dims={0}, rhs_contracting_dims={0}"))),
      (std::vector<int64_t>{4294967296}));
}

TEST(Dot, WithoutContractionIsTheOuterProduct) {
  EXPECT_EQ(
      tensor_values<int32_t>(run(parse_entry("a = s32[2] constant({1, 2})\nb = s32[3] constant({3, 4, 5})\n"
                                             "ROOT r = s32[2,3] dot(a, b)"))),
      (I32{3, 4, 5, 6, 8, 10}));
}

TEST(Dot, LargeBatchedInt8TakesAboutASecond) {
  const hlo::Module module = parse_entry(
      "a = s8[32,64,256] parameter(0)\nb = s8[32,256,512] parameter(1)\nROOT r = s32[32,64,512] dot(a, b), "
      "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}");
  const auto inputs = generate_inputs(module, 1);
  ASSERT_TRUE(inputs.ok());
  const auto start = std::chrono::steady_clock::now();
  const Tensor result = run(module, *inputs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("milliseconds", static_cast<int>(seconds.count() * 1000));
  EXPECT_LT(seconds.count(), 30);  // generous: sanitizers and loaded machines
  const auto a = tensor_values<int8_t>((*inputs)[0]);
  const auto b = tensor_values<int8_t>((*inputs)[1]);
  int32_t last = 0;
  for (size_t k = 0; k < 256; ++k) last += a[(31 * 64 + 63) * 256 + k] * b[(31 * 256 + k) * 512 + 511];
  EXPECT_EQ(tensor_values<int32_t>(result).back(), last);
}

const char* const kSum =
    "HloModule m\nsum {\nx = s32[] parameter(0)\ny = s32[] parameter(1)\nROOT s = s32[] add(x, "
    "y)\n}\n";

TEST(Reduce, SumsOverAnyDims) {
  const auto sum = [](const std::string& dims, const std::string& shape) {
    return tensor_values<int32_t>(
        run(parse(std::string(kSum) +
                  "ENTRY e {\ni = s32[12] iota(), iota_dimension=0\na = s32[2,3,2] "
                  "reshape(i)\nz = s32[] constant(100)\nROOT r = s32[" +
                  shape + "] reduce(a, z), dimensions={" + dims + "}, to_apply=sum\n}\n")));
  };
  EXPECT_EQ(sum("1", "2,2"), (I32{106, 109, 124, 127}));
  EXPECT_EQ(sum("0,2", "3"), (I32{114, 122, 130}));
  EXPECT_EQ(sum("0,1,2", ""), (I32{166}));
  EXPECT_EQ(sum("", "2,3,2"), (I32{100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111}));
}

TEST(Reduce, KeepsTheOrderOfOperandsOfOtherReducers) {
  // Subtraction: accumulator - element, and swapped: element - accumulator.
  const auto fold = [](const std::string& operands) {
    return tensor_values<int32_t>(
        run(parse("HloModule m\nsub {\nx = s32[] parameter(0)\ny = s32[] parameter(1)\n"
                  "ROOT s = s32[] subtract(" +
                  operands +
                  ")\n}\nENTRY e {\na = s32[3] constant({1, 2, 4})\nz = s32[] constant(0)\n"
                  "ROOT r = s32[] reduce(a, z), dimensions={0}, to_apply=sub\n}\n")));
  };
  EXPECT_EQ(fold("x, y"), (I32{-7}));
  EXPECT_EQ(fold("y, x"), (I32{3}));  // 4 - (2 - (1 - 0))
}

TEST(Reduce, VariadicArgmax) {
  const auto outputs =
      evaluate(parse("HloModule m\nargmax {\na = f32[] parameter(0)\ni = s32[] parameter(1)\nb = f32[] "
                     "parameter(2)\nj = s32[] "
                     "parameter(3)\nge = pred[] compare(a, b), direction=GE\nv = f32[] select(ge, a, b)\nk = "
                     "s32[] select(ge, "
                     "i, j)\nROOT t = (f32[], s32[]) tuple(v, k)\n}\nENTRY e {\nx = f32[2,3] constant({{1, "
                     "9, 2}, {4, 3, "
                     "8}})\nn = s32[2,3] iota(), iota_dimension=1\nlo = f32[] constant(-inf)\nz = s32[] "
                     "constant(0)\nROOT r = "
                     "(f32[2], s32[2]) reduce(x, n, lo, z), dimensions={1}, to_apply=argmax\n}\n"),
               {});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), 2u);
  EXPECT_EQ(tensor_values<float>((*outputs)[0]), (std::vector<float>{9, 8}));
  EXPECT_EQ(tensor_values<int32_t>((*outputs)[1]), (I32{1, 2}));
}

TEST(Reduce, FloatSumsAreRoundedOnce) {
  const Tensor result = run(
      parse("HloModule m\nsum {\nx = f32[] parameter(0)\ny = f32[] parameter(1)\nROOT s = f32[] add(x, "
            "y)\n}\nENTRY e "
            "{\na = f32[3] constant({16777216, 1, 1})\nz = f32[] constant(0)\nROOT r = f32[] reduce(a, z), "
            "dimensions={0}, to_apply=sum\n}\n"));
  EXPECT_EQ(tensor_values<float>(result), (std::vector<float>{16777218}));
}

TEST(ReduceWindow, MovesPadsAndStrides) {
  const Tensor result =
      run(parse(std::string(kSum) +
                "ENTRY e {\na = s32[5] constant({1, 2, 3, 4, 5})\nz = s32[] constant(0)\nROOT r = "
                "s32[3] reduce-window(a, z), window={size=3 stride=2 pad=1_1}, to_apply=sum\n}\n"));
  EXPECT_EQ(tensor_values<int32_t>(result), (I32{3, 9, 9}));
}

TEST(Convolution, OneDimensionWithPaddingAndTwoFeatures) {
  // input [batch 1, width 3, feature 2], kernel [width 2, in 2, out 1], padded by one on the left.
  const Tensor result = run(
      parse_entry("x = s8[1,3,2] constant({{{1, 2}, {3, 4}, {5, 6}}})\nk = s8[2,2,1] constant({{{10}, {1}}, "
                  "{{100}, {7}}})\n"
                  "ROOT r = s32[1,3,1] convolution(x, k), window={size=2 pad=1_0}, dim_labels=b0f_0io->b0f"));
  EXPECT_EQ(tensor_values<int32_t>(result), (I32{114, 10 + 2 + 300 + 28, 30 + 4 + 500 + 42}));
}

TEST(Convolution, DepthwiseStridedReversed) {
  // Two groups of one feature; kernel reversed: out[x, g] = in[2x, g] * k[1, g] + in[2x+1, g] * k[0, g].
  const Tensor result = run(
      parse_entry("x = f32[1,4,2] constant({{{1, 2}, {3, 4}, {5, 6}, {7, 8}}})\nk = f32[2,1,2] "
                  "constant({{{1, 10}}, {{100, "
                  "1000}}})\nROOT r = f32[1,2,2] convolution(x, k), window={size=2 stride=2 rhs_reversal=1}, "
                  "dim_labels=b0f_0io->b0f, feature_group_count=2"));
  EXPECT_EQ(tensor_values<float>(result), (std::vector<float>{103, 2040, 507, 6080}));
}

TEST(Convolution, AgreesWithDotForOneByOneKernels) {
  const hlo::Module convolution = parse_entry(
      "x = s8[2,3,3,4] parameter(0)\nk = s8[1,1,4,5] parameter(1)\nROOT r = s32[2,3,3,5] convolution(x, k), "
      "window={size=1x1}, dim_labels=b01f_01io->b01f");
  const hlo::Module dot = parse_entry(
      "x = s8[2,3,3,4] parameter(0)\nk = s8[1,1,4,5] parameter(1)\nm = s8[4,5] reshape(k)\nROOT r = "
      "s32[2,3,3,5] "
      "dot(x, m), lhs_contracting_dims={3}, rhs_contracting_dims={0}");
  const auto inputs = generate_inputs(convolution, 3);
  ASSERT_TRUE(inputs.ok());
  EXPECT_EQ(run(convolution, *inputs), run(dot, *inputs));
}

}  // namespace
}  // namespace zomboss::oracle
