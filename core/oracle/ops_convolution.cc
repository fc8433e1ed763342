#include <fmt/format.h>

#include <algorithm>

#include "core/oracle/context.h"
#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

// Which dimension of an array is which: from one third of "b01f_01io->b01f".
struct Labels {
  size_t first = 0;             // batch (input, output) or input feature (kernel)
  size_t second = 0;            // feature, or output feature
  std::vector<size_t> spatial;  // by digit
};

Result<Labels> parse_labels(std::string_view text, char first, char second, size_t rank) {
  Labels labels;
  const Status bad = invalid_argument(fmt::format("dim_labels '{}' do not name {} dimensions", text, rank));
  if (text.size() != rank || rank < 2) return bad;
  const size_t first_at = text.find(first);
  const size_t second_at = text.find(second);
  if (first_at == std::string_view::npos || second_at == std::string_view::npos) return bad;
  labels = {first_at, second_at, {}};
  for (size_t digit = 0; digit + 2 < rank; ++digit) {
    const size_t at = text.find(static_cast<char>('0' + digit));
    if (digit > 9 || at == std::string_view::npos) return bad;
    labels.spatial.push_back(at);
  }
  return labels;
}

struct Geometry {
  Labels input, kernel, output;
  std::vector<int64_t> input_strides, kernel_strides;
  std::vector<int64_t> kernel_sizes;  // spatial
  int64_t input_features = 0;         // per feature group
  int64_t feature_group = 0;          // output features per feature group
  int64_t batch_group = 0;            // output features per batch group
  int64_t output_batch = 0;
};

Result<Geometry> geometry(const hlo::Instruction& instruction, const Array& input, const Array& kernel,
                          const Array& output) {
  const hlo::Attributes& attributes = instruction.attributes;
  const std::string_view labels = attributes.dim_labels;
  const size_t underscore = labels.find('_');
  const size_t arrow = labels.find("->");
  if (underscore == std::string_view::npos || arrow == std::string_view::npos || arrow < underscore) {
    return invalid_argument(fmt::format("dim_labels '{}' are not of the form b01f_01io->b01f", labels));
  }
  Geometry g;
  ZB_ASSIGN(g.input, parse_labels(labels.substr(0, underscore), 'b', 'f', input.dims.size()));
  ZB_ASSIGN(g.kernel, parse_labels(labels.substr(underscore + 1, arrow - underscore - 1), 'i', 'o',
                                   kernel.dims.size()));
  ZB_ASSIGN(g.output, parse_labels(labels.substr(arrow + 2), 'b', 'f', output.dims.size()));
  if (g.input.spatial.size() != g.kernel.spatial.size() ||
      g.input.spatial.size() != g.output.spatial.size() ||
      attributes.window.size() != g.input.spatial.size()) {
    return invalid_argument(
        "convolution operands, window and dim_labels disagree about the spatial dimensions");
  }
  g.input_strides = row_major_strides(input.dims);
  g.kernel_strides = row_major_strides(kernel.dims);
  for (const size_t d : g.kernel.spatial) g.kernel_sizes.push_back(kernel.dims[d]);
  const int64_t feature_groups = attributes.feature_group_count.value_or(1);
  const int64_t batch_groups = attributes.batch_group_count.value_or(1);
  const int64_t output_features = output.dims[g.output.second];
  g.input_features = kernel.dims[g.kernel.first];
  g.output_batch = output.dims[g.output.first];
  const bool fits = feature_groups > 0 && batch_groups > 0 && output_features % feature_groups == 0 &&
                    output_features % batch_groups == 0 && kernel.dims[g.kernel.second] == output_features &&
                    input.dims[g.input.second] / feature_groups == g.input_features &&
                    input.dims[g.input.second] % feature_groups == 0 &&
                    input.dims[g.input.first] / batch_groups == g.output_batch &&
                    input.dims[g.input.first] % batch_groups == 0;
  if (!fits)
    return invalid_argument("convolution group counts do not divide the feature and batch dimensions");
  g.feature_group = std::max(int64_t{1}, output_features / feature_groups);
  g.batch_group = std::max(int64_t{1}, output_features / batch_groups);
  return g;
}

// The array with its dims in the order first, spatial, second (or second, spatial, first): the dim that sums
// run over is then the fastest one, and long sums read memory in order. `labels` become those of the result.
Result<std::shared_ptr<const Array>> reordered(Context& context, const Array& array, Labels& labels,
                                               bool second_last) {
  std::vector<size_t> order = labels.spatial;
  order.insert(order.begin(), second_last ? labels.first : labels.second);
  order.push_back(second_last ? labels.second : labels.first);
  const std::vector<int64_t> strides = row_major_strides(array.dims);
  std::vector<int64_t> dims;
  StridedView from;
  for (const size_t d : order) {
    dims.push_back(array.dims[d]);
    from.strides.push_back(strides[d]);
  }
  ZB_ASSIGN(std::shared_ptr<Array> result, make_array(context.budget(), array.dtype, dims));
  copy_strided(dims, array.lanes, from, result->lanes, {0, row_major_strides(dims)});
  for (size_t s = 0; s < labels.spatial.size(); ++s) labels.spatial[s] = s + 1;
  labels.first = second_last ? 0 : order.size() - 1;
  labels.second = second_last ? order.size() - 1 : 0;
  return std::shared_ptr<const Array>(std::move(result));
}

// Calls run(input position, kernel position) for every tap inside the image: input_features products from
// there on.
template <typename Run>
void convolve_at(const Geometry& g, std::span<const hlo::WindowDim> window, const Array& input,
                 std::span<const int64_t> out, Run&& run) {
  const int64_t feature = out[g.output.second];
  const int64_t batch = feature / g.batch_group * g.output_batch + out[g.output.first];
  const int64_t first_feature = feature / g.feature_group * g.input_features;
  const int64_t input_base =
      batch * g.input_strides[g.input.first] + first_feature * g.input_strides[g.input.second];
  const int64_t kernel_base = feature * g.kernel_strides[g.kernel.second];
  Odometer tap(g.kernel_sizes);
  int64_t taps = 1;
  for (const int64_t size : g.kernel_sizes) taps *= size;
  for (int64_t t = 0; t < taps; ++t, tap.next()) {
    int64_t input_at = input_base;
    int64_t kernel_at = kernel_base;
    bool inside = true;
    for (size_t s = 0; s < window.size() && inside; ++s) {
      const hlo::WindowDim& w = window[s];
      const int64_t at = out[g.output.spatial[s]] * w.stride + tap.index()[s] * w.rhs_dilate - w.pad_low;
      inside = at >= 0 && at % w.lhs_dilate == 0 && at / w.lhs_dilate < input.dims[g.input.spatial[s]];
      input_at += at / w.lhs_dilate * g.input_strides[g.input.spatial[s]];
      const int64_t k = w.reversal ? g.kernel_sizes[s] - 1 - tap.index()[s] : tap.index()[s];
      kernel_at += k * g.kernel_strides[g.kernel.spatial[s]];
    }
    if (!inside) continue;
    run(static_cast<size_t>(input_at), static_cast<size_t>(kernel_at));
  }
}

}  // namespace

// Integers are accumulated modulo 2^64, floats in f64.
Result<Value> eval_convolution(Context& context, const hlo::Instruction& instruction,
                               std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  ZB_ASSIGN(Geometry g, geometry(instruction, *operands[0], *operands[1], *result));
  ZB_ASSIGN(const auto input_array, reordered(context, *operands[0], g.input, true));
  ZB_ASSIGN(const auto kernel_array, reordered(context, *operands[1], g.kernel, false));
  const Array &input = *input_array, &kernel = *kernel_array;
  g.input_strides = row_major_strides(input.dims);
  g.kernel_strides = row_major_strides(kernel.dims);
  ZB_ASSIGN(const int64_t taps, element_count(g.kernel_sizes));
  ZB_TRY(context.budget().charge_product({result->size(), taps, g.input_features + 4}));
  const bool is_float = hlo::is_float(result->dtype);
  if (is_float != hlo::is_float(input.dtype) || is_float != hlo::is_float(kernel.dtype)) {
    return unimplemented("convolution that mixes integer and float types");
  }
  Odometer out(result->dims);
  for (Lane& lane : result->lanes) {
    double sum = 0;
    uint64_t int_sum = 0;
    convolve_at(g, instruction.attributes.window, input, out.index(), [&](size_t a, size_t b) {
      const auto count = static_cast<size_t>(g.input_features);
      if (is_float) {
        for (size_t i = 0; i < count; ++i)
          sum += lane_float(input.lanes[a + i]) * lane_float(kernel.lanes[b + i]);
      } else {
        for (size_t i = 0; i < count; ++i) int_sum += input.lanes[a + i] * kernel.lanes[b + i];
      }
    });
    lane = is_float ? to_lane(sum) : to_lane(wrap(static_cast<int64_t>(int_sum), result->dtype));
    out.next();
  }
  return array_value(std::move(result));
}

}  // namespace zomboss::oracle
