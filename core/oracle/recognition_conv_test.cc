// Convolutions in random orders of dims, with what compilers print around them, give one conv2d with the
// values of the oracle.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/oracle/recognition_check.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

std::string shape(std::string_view type, const std::string& labels, const std::map<char, int64_t>& sizes) {
  std::string dims;
  for (const char label : labels) dims += fmt::format("{}{}", dims.empty() ? "" : ",", sizes.at(label));
  return fmt::format("{}[{}]", type, dims);
}

class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed, 3) {}

  std::string write() {
    const int64_t groups = pick({1, 1, 2, 3}), group_inputs = pick({1, 2, 5}),
                  group_outputs = pick({1, 2, 4});
    const std::array<int64_t, 2> kernel = {pick({1, 2, 3}), pick({1, 3, 4})};
    std::array<int64_t, 2> image{}, low{}, high{}, stride{}, dilation{}, out{};
    for (size_t d = 0; d < 2; ++d) {
      stride[d] = pick({1, 1, 2, 3});
      dilation[d] = pick({1, 1, 2});
      low[d] = pick({0, 1, 2});
      high[d] = pick({0, 1, 3});
      const int64_t window = (kernel[d] - 1) * dilation[d] + 1;
      image[d] = window + pick({0, 1, 4});
      out[d] = (image[d] + low[d] + high[d] - window) / stride[d] + 1;
    }
    const int64_t batch = pick({1, 2});
    const std::map<char, int64_t> input = {
        {'b', batch}, {'0', image[0]}, {'1', image[1]}, {'f', groups * group_inputs}};
    const std::map<char, int64_t> weights = {
        {'0', kernel[0]}, {'1', kernel[1]}, {'i', group_inputs}, {'o', groups * group_outputs}};
    const std::map<char, int64_t> result = {
        {'b', batch}, {'0', out[0]}, {'1', out[1]}, {'f', groups * group_outputs}};
    const std::string out_labels = shuffled("b01f");
    std::string in_labels = shuffled("b01f"), kernel_labels = shuffled("01io");
    const bool widens = coin();
    const std::string x = operand("x", in_labels, input, widens, 0, low, high);
    const std::string w = operand("w", kernel_labels, weights, widens, 1, low, high);
    const size_t pads_written = pads_ ? 0 : 1;  // the window has what no pad operation has
    text_ += fmt::format(
        "c = {} convolution({}, {}), window={{size={}x{} stride={}x{} pad={}_{}x{}_{} rhs_dilate={}x{}}}, "
        "dim_labels={}_{}->{}, feature_group_count={}\n",
        shape("s32", out_labels, result), x, w, kernel[0], kernel[1], stride[0], stride[1],
        pads_written * static_cast<size_t>(low[0]), pads_written * static_cast<size_t>(high[0]),
        pads_written * static_cast<size_t>(low[1]), pads_written * static_cast<size_t>(high[1]), dilation[0],
        dilation[1], in_labels, kernel_labels, out_labels, groups);
    const auto channel = out_labels.find('f');
    text_ += fmt::format("v = s32[{}] parameter(2)\n", groups * group_outputs);
    text_ += fmt::format("V = {0} broadcast(v), dimensions={{{1}}}\nROOT r = {0} add(c, V)\n",
                         shape("s32", out_labels, result), channel);
    return "HloModule test\nENTRY e {\n" + text_ + "}\n";
  }

 private:
  bool coin() { return random_.below(2) == 0; }
  int64_t pick(std::initializer_list<int64_t> items) {
    return *(items.begin() + random_.below(items.size()));
  }
  std::string shuffled(std::string labels) {
    for (size_t i = labels.size(); i > 1; --i) std::swap(labels[i - 1], labels[random_.below(i)]);
    return labels;
  }

  // A parameter, perhaps transposed from another order, widened and padded on the way.
  std::string operand(const std::string& name, const std::string& labels, std::map<char, int64_t> sizes,
                      bool widens, int number, const std::array<int64_t, 2>& low,
                      const std::array<int64_t, 2>& high) {
    const std::string stored = coin() ? shuffled(labels) : labels;
    std::string at = name, type = "s8";
    text_ += fmt::format("{} = {} parameter({})\n", at, shape("s8", stored, sizes), number);
    const auto step = [&](const std::string& order, const std::string& operation) {
      const std::string next = at + name;
      text_ += fmt::format("{} = {} {}\n", next, shape(type, order, sizes), operation);
      at = next;
    };
    const bool pads = number == 0 && coin(), early = coin();
    const auto pad = [&](const std::string& order) {
      pads_ = true;
      text_ += fmt::format("zero_{} = {}[] constant(0)\n", at, type);
      std::string amounts;
      for (const char label : order) {
        const bool spatial = label == '0' || label == '1';
        const auto d = static_cast<size_t>(label - '0');
        amounts +=
            fmt::format("{}{}_{}", amounts.empty() ? "" : "x", spatial ? low[d] : 0, spatial ? high[d] : 0);
        if (spatial) sizes[label] += low[d] + high[d];
      }
      step(order, fmt::format("pad({0}, zero_{0}), padding={1}", at, amounts));
    };
    if (pads && early) pad(stored);
    if (widens) {
      type = "s32";
      step(stored, fmt::format("convert({})", at));
    }
    if (pads && !early) pad(stored);
    std::string permutation;
    for (const char label : labels) {
      permutation += fmt::format("{}{}", permutation.empty() ? "" : ",", stored.find(label));
    }
    if (stored != labels) step(labels, fmt::format("transpose({}), dimensions={{{}}}", at, permutation));
    return at;
  }

  Random random_;
  std::string text_;
  bool pads_ = false;
};

TEST(RecogniseConv, RandomConvolutionsAreOneOperatorWithItsBias) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    expect_ops(Program(seed).write(), "bias conv2d", seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RecogniseConv, FoldsTheEpilogueOfAQuantisedLayer) {
  expect_ops(
      "HloModule test\nENTRY e {\nx = s8[1,5,5,3] parameter(0)\nw = s8[3,3,3,4] parameter(1)\n"
      "b = s32[4] parameter(2)\n"
      "c = s32[1,3,3,4] convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f\n"
      "B = s32[1,3,3,4] broadcast(b), dimensions={3}\na = s32[1,3,3,4] add(c, B)\n"
      "z = s32[] constant(0)\nZ = s32[1,3,3,4] broadcast(z), dimensions={}\nr = s32[1,3,3,4] maximum(a, Z)\n"
      "f = f32[1,3,3,4] convert(r)\ns = f32[] constant(0.01)\nS = f32[1,3,3,4] broadcast(s), dimensions={}\n"
      "m = f32[1,3,3,4] multiply(f, S)\nn = f32[1,3,3,4] round-nearest-even(m)\n"
      "ROOT q = s8[1,3,3,4] convert(n)\n}\n",
      "bias conv2d quantize relu");
}

TEST(RecogniseConv, LeavesOtherConvolutionsAsTheyAre) {
  const auto one = [](const std::string& window, const std::string& out, const std::string& more = "") {
    return "HloModule test\nENTRY e {\nx = s8[1,6,6,2] parameter(0)\nw = s8[3,3,2,4] parameter(1)\nROOT c = "
           "s32[" +
           out + "] convolution(x, w), window={size=3x3" + window + "}, dim_labels=b01f_01io->b01f" + more +
           "\n}\n";
  };
  expect_ops(one("", "1,4,4,4"), "conv2d");
  expect_ops(one(" lhs_dilate=2x2", "1,9,9,4"), "convolution");
  expect_ops(one(" rhs_reversal=1x1", "1,4,4,4"), "convolution");
  expect_ops(one(" pad=-1_0x0_0", "1,3,4,4"), "convolution");
  expect_ops(
      "HloModule test\nENTRY e {\nx = s8[1,6,2] parameter(0)\nw = s8[3,2,4] parameter(1)\n"
      "ROOT c = s32[1,4,4] convolution(x, w), window={size=3}, dim_labels=b0f_0io->b0f\n}\n",
      "convolution");
  // Padding with something else than zero.
  expect_ops(
      "HloModule test\nENTRY e {\nx = s8[1,6,6,2] parameter(0)\nw = s8[3,3,2,4] parameter(1)\n"
      "o = s8[] constant(1)\np = s8[1,8,6,2] pad(x, o), padding=0_0x1_1x0_0x0_0\n"
      "ROOT c = s32[1,6,4,4] convolution(p, w), window={size=3x3}, dim_labels=b01f_01io->b01f\n}\n",
      "conv2d pad");
}

}  // namespace
}  // namespace zomboss::oracle
