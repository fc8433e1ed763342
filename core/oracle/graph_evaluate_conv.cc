#include "core/oracle/graph_evaluate_conv.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

using Four = std::array<int64_t, 4>;

// Sizes and strides of a tensor's four dims in the order of the operator's attribute.
struct Tensor4 {
  Four size{}, stride{};
};

bool fits(const std::vector<int64_t>& places) {
  std::vector<int64_t> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  return sorted == std::vector<int64_t>{0, 1, 2, 3};
}

Tensor4 in_order(const Array& array, const std::vector<int64_t>& places) {
  Tensor4 result;
  const std::vector<int64_t> strides = row_major_strides(array.dims);
  for (size_t d = 0; d < 4; ++d) {
    result.size[d] = array.dims[static_cast<size_t>(places[d])];
    result.stride[d] = strides[static_cast<size_t>(places[d])];
  }
  return result;
}

double as_real(Lane lane, DType dtype) {
  return hlo::is_float(dtype) ? lane_float(lane) : static_cast<double>(lane_int(lane));
}

}  // namespace

Result<Value> eval_conv2d(Context& context, const graph::Node& node, std::span<const Value> operands) {
  const Array &input = *operands[0], &kernel = *operands[1];
  for (const char* key : {"strides", "pad_low", "dilations"}) {
    if (node.ints(key).size() != 2) return invalid_argument("a conv2d node without two spatial dims");
  }
  ZB_ASSIGN(auto result, make_array(context.budget(), node.shape.dtype, node.shape.dims));
  if (input.dims.size() != 4 || kernel.dims.size() != 4 || result->dims.size() != 4 ||
      !fits(node.ints("input_dims")) || !fits(node.ints("kernel_dims")) || !fits(node.ints("output_dims"))) {
    return invalid_argument("the dims of a conv2d node do not fit its operands");
  }
  const Tensor4 in = in_order(input, node.ints("input_dims")), w = in_order(kernel, node.ints("kernel_dims")),
                out = in_order(*result, node.ints("output_dims"));
  const int64_t groups = node.ints("groups").empty() ? 1 : node.ints("groups")[0];
  if (groups < 1 || w.size[3] != out.size[3] || w.size[3] % groups != 0 || in.size[3] != w.size[2] * groups ||
      in.size[0] != out.size[0]) {
    return invalid_argument("the channels of a conv2d node do not fit its groups");
  }
  ZB_TRY(context.budget().charge_product({result->size(), w.size[0], w.size[1], w.size[2]}));
  const auto &strides = node.ints("strides"), &low = node.ints("pad_low"),
             &dilations = node.ints("dilations");
  const std::array<int64_t, 4> order = {out.size[0], out.size[1], out.size[2], out.size[3]};
  Odometer at(order);
  for (int64_t n = 0; n < result->size(); ++n, at.next()) {
    const auto& o = at.index();
    const int64_t first_channel = o[3] / (out.size[3] / groups) * w.size[2];
    double sum = 0;
    uint64_t int_sum = 0;
    for (int64_t ky = 0; ky < w.size[0]; ++ky) {
      const int64_t y = o[1] * strides[0] + ky * dilations[0] - low[0];
      if (y < 0 || y >= in.size[1]) continue;
      for (int64_t kx = 0; kx < w.size[1]; ++kx) {
        const int64_t x = o[2] * strides[1] + kx * dilations[1] - low[1];
        if (x < 0 || x >= in.size[2]) continue;
        for (int64_t c = 0; c < w.size[2]; ++c) {
          const Lane a =
              input.lanes[static_cast<size_t>(o[0] * in.stride[0] + y * in.stride[1] + x * in.stride[2] +
                                              (first_channel + c) * in.stride[3])];
          const Lane b = kernel.lanes[static_cast<size_t>(ky * w.stride[0] + kx * w.stride[1] +
                                                          c * w.stride[2] + o[3] * w.stride[3])];
          sum += as_real(a, input.dtype) * as_real(b, kernel.dtype);
          int_sum += a * b;
        }
      }
    }
    Lane& lane = result->lanes[static_cast<size_t>(o[0] * out.stride[0] + o[1] * out.stride[1] +
                                                   o[2] * out.stride[2] + o[3] * out.stride[3])];
    lane = hlo::is_float(result->dtype) ? to_lane(round_to(sum, result->dtype))
                                        : to_lane(wrap(static_cast<int64_t>(int_sum), result->dtype));
  }
  return array_value(std::move(result));
}

}  // namespace zomboss::oracle
