// A convolution over two spatial dims in any order of dims, with what stands around its operands: widening
// converts, transposes, and zero padding.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/graph/recognisers.h"
#include "core/graph/widening.h"

namespace zomboss::graph {
namespace {

using Places = std::vector<int64_t>;  // of the four dims of one tensor, in the order of ops.h

// The places of `letters` in one third of dim_labels; nothing when one is missing.
std::optional<Places> places(std::string_view labels, std::string_view letters) {
  if (labels.size() != letters.size()) return std::nullopt;
  Places result;
  for (const char letter : letters) {
    const size_t at = labels.find(letter);
    if (at == std::string_view::npos) return std::nullopt;
    result.push_back(static_cast<int64_t>(at));
  }
  return result;
}

struct Layout {
  Places input, kernel, output;
};

std::optional<Layout> read_layout(std::string_view labels) {
  const size_t underscore = labels.find('_'), arrow = labels.find("->");
  if (underscore == std::string_view::npos || arrow == std::string_view::npos || arrow < underscore) {
    return std::nullopt;
  }
  auto input = places(labels.substr(0, underscore), "b01f");
  auto kernel = places(labels.substr(underscore + 1, arrow - underscore - 1), "01io");
  auto output = places(labels.substr(arrow + 2), "b01f");
  if (!input || !kernel || !output) return std::nullopt;
  return Layout{*std::move(input), *std::move(kernel), *std::move(output)};
}

bool all_are(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t each) { return each == value; });
}

bool none_negative(const std::vector<int64_t>& values) {
  return std::all_of(values.begin(), values.end(), [](int64_t each) { return each >= 0; });
}

// Reads a transposed operand directly.
void absorb_transposes(const Rewriter& rewriter, uint32_t& operand, Places& dims) {
  for (int step = 0; step < kChainLimit; ++step) {
    const Node& node = rewriter.node(operand);
    if (node.op != "transpose") return;
    const std::vector<int64_t>& permutation = node.ints("dims");
    for (int64_t& d : dims) d = permutation[static_cast<size_t>(d)];
    operand = rewriter.operand(operand, 0);
  }
}

struct Padding {
  std::array<int64_t, 2> low, high;
};

// The padding of the spatial dims, when `id` pads with zeros, around those dims alone.
std::optional<Padding> zero_padding(Rewriter& rewriter, uint32_t id, const Places& input) {
  const Node& pad = rewriter.node(id);
  if (pad.op != "pad") return std::nullopt;
  const auto value = rewriter.uniform(rewriter.operand(id, 1));
  if (!value || *value != 0) return std::nullopt;
  const auto &low = pad.ints("low"), &high = pad.ints("high");
  if (!all_are(pad.ints("interior"), 0) || !none_negative(low) || !none_negative(high)) return std::nullopt;
  const auto y = static_cast<size_t>(input[1]), x = static_cast<size_t>(input[2]);
  for (const int64_t place : {input[0], input[3]}) {
    if (low[static_cast<size_t>(place)] != 0 || high[static_cast<size_t>(place)] != 0) return std::nullopt;
  }
  return Padding{{low[y], low[x]}, {high[y], high[x]}};
}

// Transposes and zero padding above the input, in any order.
void absorb_padding(Rewriter& rewriter, uint32_t& input, Places& dims, std::vector<int64_t>& low,
                    std::vector<int64_t>& high) {
  for (int step = 0; step < kChainLimit; ++step) {
    absorb_transposes(rewriter, input, dims);
    const auto padding = zero_padding(rewriter, input, dims);
    if (!padding) return;
    for (size_t d = 0; d < 2; ++d) {
      low[d] += padding->low[d];
      high[d] += padding->high[d];
    }
    input = rewriter.operand(input, 0);
  }
}

}  // namespace

std::optional<uint32_t> recognise_conv(Rewriter& rewriter, uint32_t id) {
  const Node& conv = rewriter.node(id);
  auto layout = read_layout(conv.text("dim_labels"));
  if (!layout || conv.operands.size() != 2 || conv.ints("window_size").size() != 2) return std::nullopt;
  const auto& batch_groups = conv.ints("batch_group_count");
  std::vector<int64_t> low = conv.ints("window_pad_low"), high = conv.ints("window_pad_high");
  if (!all_are(conv.ints("window_lhs_dilate"), 1) || !all_are(conv.ints("window_reversal"), 0) ||
      !all_are(batch_groups, 1) || !none_negative(low) || !none_negative(high)) {
    return std::nullopt;
  }
  uint32_t input = rewriter.operand(id, 0), kernel = rewriter.operand(id, 1);
  absorb_padding(rewriter, input, layout->input, low, high);
  const auto narrow_input = without_widening(rewriter, input);
  const auto narrow_kernel = without_widening(rewriter, kernel);
  if (narrow_input && narrow_kernel) {
    input = *narrow_input;
    kernel = *narrow_kernel;
  }
  absorb_padding(rewriter, input, layout->input, low, high);
  absorb_transposes(rewriter, kernel, layout->kernel);
  const Node from = rewriter.node(id);
  const uint32_t result = rewriter.add("conv2d", {input, kernel}, from.shape, id);
  Node& node = rewriter.node(result);
  node.set({"input_dims", std::move(layout->input), {}, {}});
  node.set({"kernel_dims", std::move(layout->kernel), {}, {}});
  node.set({"output_dims", std::move(layout->output), {}, {}});
  node.set({"strides", from.ints("window_stride"), {}, {}});
  node.set({"pad_low", std::move(low), {}, {}});
  node.set({"pad_high", std::move(high), {}, {}});
  node.set({"dilations", from.ints("window_rhs_dilate"), {}, {}});
  const auto& groups = from.ints("feature_group_count");
  node.set({"groups", {groups.empty() ? 1 : groups[0]}, {}, {}});
  return result;
}

}  // namespace zomboss::graph
