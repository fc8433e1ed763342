#include "plugins/targets/gemmini/conv/tests/conv_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"

namespace zomboss::gemmini::conv {
namespace {

using wire::DType;
using Sizes = std::map<char, int64_t>;

Dims sizes_in(const std::string& order, const Sizes& sizes) {
  Dims dims;
  for (const char label : order) dims.push_back(sizes.at(label));
  return dims;
}

std::vector<int64_t> places(const std::string& order, const std::string& labels) {
  std::vector<int64_t> result;
  for (const char label : labels) result.push_back(static_cast<int64_t>(order.find(label)));
  return result;
}

// Strides of a dense tensor whose dims are named in `order`; 0 for names that are not there.
class Index {
 public:
  Index(const std::string& order, const Sizes& sizes, const std::string& names) {
    for (const char name : names) {
      int64_t stride = order.find(name) == std::string::npos ? 0 : 1;
      for (size_t d = order.size(); stride != 0 && d-- > 0 && order[d] != name;) stride *= sizes.at(order[d]);
      strides_.push_back(stride);
    }
  }
  size_t operator()(int64_t a, int64_t b, int64_t c, int64_t d) const {
    return static_cast<size_t>(a * strides_[0] + b * strides_[1] + c * strides_[2] + d * strides_[3]);
  }

 private:
  std::vector<int64_t> strides_;
};

void set(wire::NodeT& node, const char* key, std::vector<int64_t> ints) {
  auto attribute = std::make_unique<wire::AttributeT>();
  attribute->key = key;
  attribute->ints = std::move(ints);
  node.attributes.push_back(std::move(attribute));
}

int32_t s32_at(const std::vector<uint8_t>& bytes, size_t index) {
  int32_t value = 0;
  std::memcpy(&value, bytes.data() + 4 * index, 4);
  return value;
}

}  // namespace

int64_t ConvCase::out(size_t axis) const {
  const int64_t in = axis == 0 ? rows : cols;
  return (in + low[axis] + high[axis] - (kernel[axis] - 1) * dilation[axis] - 1) / stride[axis] + 1;
}

std::string ConvCase::text() const {
  return fmt::format(
      "batch {} image {}x{} groups {} channels {}->{} kernel {}x{} stride {}x{} dilation {}x{} pad "
      "{}_{}x{}_{} "
      "{} {} -> {} bias '{}' quantize {} relu {}",
      batch, rows, cols, groups, in_channels, out_channels, kernel[0], kernel[1], stride[0], stride[1],
      dilation[0], dilation[1], low[0], high[0], low[1], high[1], input_order, kernel_order, output_order,
      bias, quantizes, relu);
}

wire::WorkloadT ConvCase::workload() const {
  const Sizes in = {{'b', batch}, {'y', rows}, {'x', cols}, {'f', groups * in_channels}};
  const Sizes weights = {
      {'y', kernel[0]}, {'x', kernel[1]}, {'i', in_channels}, {'o', groups * out_channels}};
  const Sizes result = {{'b', batch}, {'y', out(0)}, {'x', out(1)}, {'f', groups * out_channels}};
  GraphBuilder graph;
  const uint32_t x = graph.parameter(sizes_in(input_order, in));
  const uint32_t w = graph.parameter(sizes_in(kernel_order, weights));
  uint32_t d = 0;
  if (!bias.empty()) d = graph.parameter(sizes_in(bias, result), DType::S32);
  uint32_t c = graph.node("conv2d", {x, w}, sizes_in(output_order, result), DType::S32);
  wire::NodeT& node = graph.at(c);
  set(node, "input_dims", places(input_order, "byxf"));
  set(node, "kernel_dims", places(kernel_order, "yxio"));
  set(node, "output_dims", places(output_order, "byxf"));
  set(node, "strides", {stride[0], stride[1]});
  set(node, "pad_low", {low[0], low[1]});
  set(node, "pad_high", {high[0], high[1]});
  set(node, "dilations", {dilation[0], dilation[1]});
  set(node, "groups", {groups});
  if (!bias.empty()) c = graph.bias(c, d, places(output_order, bias));
  if (relu) c = graph.relu(c);
  if (quantizes) c = graph.quantize(c, scale);
  return graph.finish();
}

std::vector<uint8_t> ConvCase::reference(const wire::TensorsT& inputs) const {
  const Sizes in = {{'b', batch}, {'y', rows}, {'x', cols}, {'f', groups * in_channels}};
  const Sizes weights = {
      {'y', kernel[0]}, {'x', kernel[1]}, {'i', in_channels}, {'o', groups * out_channels}};
  const Sizes result = {{'b', batch}, {'y', out(0)}, {'x', out(1)}, {'f', groups * out_channels}};
  const auto &input = inputs.tensors[0]->data, &filter = inputs.tensors[1]->data;
  const Index in_at(input_order, in, "byxf"), weight_at(kernel_order, weights, "yxio"),
      out_at(output_order, result, "byxf"), bias_at(bias, result, "byxf");
  std::vector<uint8_t> bytes(static_cast<size_t>(batch * out(0) * out(1) * groups * out_channels) *
                             (quantizes ? 1 : 4));
  const auto sum_at = [&](int64_t b, int64_t oy, int64_t ox, int64_t o) {
    int32_t sum = bias.empty() ? 0 : s32_at(inputs.tensors[2]->data, bias_at(b, oy, ox, o));
    for (int64_t ky = 0; ky < kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < kernel[1]; ++kx) {
        const int64_t y = oy * stride[0] + ky * dilation[0] - low[0];
        const int64_t x = ox * stride[1] + kx * dilation[1] - low[1];
        if (y < 0 || y >= rows || x < 0 || x >= cols) continue;
        for (int64_t i = 0; i < in_channels; ++i) {
          const auto a = static_cast<int8_t>(input[in_at(b, y, x, o / out_channels * in_channels + i)]);
          sum += a * static_cast<int8_t>(filter[weight_at(ky, kx, i, o)]);
        }
      }
    }
    return sum;
  };
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t oy = 0; oy < out(0); ++oy) {
      for (int64_t ox = 0; ox < out(1); ++ox) {
        for (int64_t o = 0; o < groups * out_channels; ++o) {
          const int32_t sum = relu ? std::max(sum_at(b, oy, ox, o), 0) : sum_at(b, oy, ox, o);
          const size_t to = out_at(b, oy, ox, o);
          if (!quantizes) {
            std::memcpy(bytes.data() + 4 * to, &sum, 4);
            continue;
          }
          const float scaled = static_cast<float>(sum) * static_cast<float>(scale);
          bytes[to] =
              static_cast<uint8_t>(static_cast<int8_t>(std::clamp(std::nearbyint(scaled), -128.0f, 127.0f)));
        }
      }
    }
  }
  return bytes;
}

ConvCase random_case(Random& random, int64_t most_channels) {
  const auto pick = [&](std::initializer_list<int64_t> items) {
    return *(items.begin() + random.below(items.size()));
  };
  const auto below = [&](int64_t limit) {
    return 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(limit)));
  };
  ConvCase c;
  c.batch = pick({1, 1, 2, 3});
  c.groups = pick({1, 1, 1, 1, 2, 5});
  c.in_channels = below(c.groups > 1 ? std::max<int64_t>(1, most_channels / 8) : most_channels);
  c.out_channels = below(c.groups > 1 ? std::max<int64_t>(1, most_channels / 8) : most_channels);
  if (random.below(8) == 0) {  // depthwise
    c.groups = below(most_channels);
    c.in_channels = c.out_channels = 1;
  }
  const bool vendor = random.below(2) == 0;  // as the vendor's loops take them
  for (size_t d = 0; d < 2; ++d) {
    c.kernel[d] = pick({1, 1, 2, 3, 3, 5});
    c.stride[d] = vendor && d == 1 ? c.stride[0] : pick({1, 1, 2, 3});
    c.dilation[d] = vendor && d == 1 ? c.dilation[0] : pick({1, 1, 1, 2});
    c.low[d] = pick({0, 1, 2});
    c.high[d] = pick({0, 1, 3});
    const int64_t window = (c.kernel[d] - 1) * c.dilation[d] + 1;
    (d == 0 ? c.rows : c.cols) = std::max<int64_t>(1, window - c.low[d] - c.high[d]) + pick({0, 1, 4, 9});
  }
  if (vendor) {
    c.bias = random.below(2) == 0 ? "f" : "";
    c.relu = random.below(2) == 0;
    if (c.groups == 1 && random.below(2) == 0) c.in_channels = pick({1, 2, 3, 4, 7, 18, 20});
    return c;
  }
  if (random.below(6) == 0) c.input_order = "bfyx";
  if (random.below(6) == 0) c.kernel_order = "oiyx";
  if (random.below(6) == 0) c.kernel_order = "iyxo";
  if (random.below(6) == 0) c.output_order = "bfyx";
  if (random.below(6) == 0) c.input_order = "yxbf";
  constexpr std::array<const char*, 6> kBiases = {"f", "f", "", "byxf", "x", "yf"};
  c.bias = kBiases[random.below(kBiases.size())];
  c.quantizes = random.below(5) != 0;
  c.relu = c.quantizes && random.below(2) == 0;
  return c;
}

}  // namespace zomboss::gemmini::conv
