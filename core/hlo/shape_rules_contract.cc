// Rules of dot, convolution and reduce-window.
#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/shape_rules.h"

namespace zomboss::hlo {
namespace {

unsigned kind_of(DType dtype) {
  return dtype == DType::Pred ? kPredType
         : is_integer(dtype)  ? kIntegerType
         : is_float(dtype)    ? kFloatType
                              : kComplexType;
}

// The element type of a product: that of the operands, or the wider type that the text states. Quantised
// convolutions may go from integers to floats.
Result<DType> product_type(const Op& op) {
  const DType lhs = op.operand(0).dtype;
  const DType rhs = op.operand(1).dtype;
  if (kind_of(lhs) != kind_of(rhs))
    return rule_error(op, fmt::format("cannot multiply {} by {}", dtype_name(lhs), dtype_name(rhs)));
  if (op.stated == nullptr) {
    if (lhs != rhs)
      return rule_error(op, fmt::format("operands are {} and {}: the result type must be stated",
                                        dtype_name(lhs), dtype_name(rhs)));
    return lhs;
  }
  const unsigned result = op.stated->is_array() ? kind_of(op.stated->dtype) : 0;
  if (result != kind_of(lhs) && !(kind_of(lhs) == kIntegerType && result == kFloatType))
    return rule_error(op, fmt::format("cannot give {} from {} and {}", op.stated->text(), dtype_name(lhs),
                                      dtype_name(rhs)));
  return op.stated->dtype;
}

Status check_pairs(const Op& op, const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs,
                   std::string_view what) {
  if (lhs.size() != rhs.size())
    return rule_error(op, fmt::format("lhs has {} {} dimensions, rhs has {}", lhs.size(), what, rhs.size()));
  for (size_t i = 0; i < lhs.size(); ++i) {
    const int64_t left = op.operand(0).dims[static_cast<size_t>(lhs[i])];
    const int64_t right = op.operand(1).dims[static_cast<size_t>(rhs[i])];
    if (left != right)
      return rule_error(
          op, fmt::format("{} dimension {} of lhs {} has size {}, dimension {} of rhs {} has size {}", what,
                          lhs[i], op.operand(0).text(), left, rhs[i], op.operand(1).text(), right));
  }
  return {};
}

void append_free_dims(const Shape& shape, std::span<const int64_t> used, std::vector<int64_t>& out) {
  for (size_t i = 0; i < shape.rank(); ++i)
    if (std::ranges::find(used, static_cast<int64_t>(i)) == used.end()) out.push_back(shape.dims[i]);
}

// Output positions of a window over `size` elements, or -1 when the window is no window.
WideInt window_positions(int64_t size, const WindowDim& window) {
  if (window.size < 0 || window.stride < 1 || window.lhs_dilate < 1 || window.rhs_dilate < 1) return -1;
  const WideInt base = size == 0 ? 0 : static_cast<WideInt>(size - 1) * window.lhs_dilate + 1;
  const WideInt padded = base + window.pad_low + window.pad_high;
  const WideInt reach = window.size == 0 ? 0 : static_cast<WideInt>(window.size - 1) * window.rhs_dilate + 1;
  if (padded < 0) return -1;
  return padded < reach || window.size == 0 ? 0 : (padded - reach) / window.stride + 1;
}

Status append_positions(const Op& op, int64_t size, const WindowDim& window, int64_t& out) {
  const WideInt positions = window_positions(size, window);
  if (positions < 0 || positions > int64_t{1} << 62)
    return rule_error(op, fmt::format("a window of size {} cannot slide over {} elements with padding {}_{}",
                                      window.size, size, window.pad_low, window.pad_high));
  out = static_cast<int64_t>(positions);
  return {};
}

// Where each label of dim_labels stands: the two named dimensions and the spatial ones.
struct Labels {
  int64_t first = -1, second = -1;
  std::vector<int64_t> spatial;
};

bool read_labels(std::string_view text, char first, char second, size_t spatial, Labels& out) {
  out.spatial.assign(spatial, -1);
  if (text.size() != spatial + 2) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    int64_t* slot = text[i] == first ? &out.first : text[i] == second ? &out.second : nullptr;
    if (digit && static_cast<size_t>(text[i] - '0') < spatial)
      slot = &out.spatial[static_cast<size_t>(text[i] - '0')];
    if (slot == nullptr || *slot != -1) return false;
    *slot = static_cast<int64_t>(i);
  }
  return true;
}

struct ConvolutionLabels {
  Labels input, kernel, output;
};

Result<ConvolutionLabels> convolution_labels(const Op& op) {
  const std::string_view text = op.attributes().dim_labels;
  const size_t spatial = op.attributes().window.size();
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  ConvolutionLabels labels;
  const bool split = underscore != text.npos && arrow != text.npos && underscore < arrow;
  if (text.empty()) return rule_error(op, "needs dim_labels=, as in dim_labels=b01f_01io->b01f");
  if (!split || !read_labels(text.substr(0, underscore), 'b', 'f', spatial, labels.input) ||
      !read_labels(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', spatial, labels.kernel) ||
      !read_labels(text.substr(arrow + 2), 'b', 'f', spatial, labels.output))
    return rule_error(op, fmt::format("dim_labels '{}' do not fit a window of {} dimensions", text, spatial));
  if (op.operand(0).rank() != spatial + 2 || op.operand(1).rank() != spatial + 2)
    return rule_error(op, fmt::format("operands are {} and {}, expected {} dimensions each",
                                      op.operand(0).text(), op.operand(1).text(), spatial + 2));
  return labels;
}

}  // namespace

Result<Shape> dot_rule(const Op& op) {
  const Attributes& attributes = op.attributes();
  const Shape& lhs = op.operand(0);
  const Shape& rhs = op.operand(1);
  std::vector<int64_t> lhs_used = attributes.lhs_batch_dims;
  std::vector<int64_t> rhs_used = attributes.rhs_batch_dims;
  lhs_used.insert(lhs_used.end(), attributes.lhs_contracting_dims.begin(),
                  attributes.lhs_contracting_dims.end());
  rhs_used.insert(rhs_used.end(), attributes.rhs_contracting_dims.begin(),
                  attributes.rhs_contracting_dims.end());
  ZB_TRY(check_dims(op, lhs_used, lhs.rank(), "the dimensions of lhs"));
  ZB_TRY(check_dims(op, rhs_used, rhs.rank(), "the dimensions of rhs"));
  ZB_TRY(check_pairs(op, attributes.lhs_batch_dims, attributes.rhs_batch_dims, "batch"));
  ZB_TRY(check_pairs(op, attributes.lhs_contracting_dims, attributes.rhs_contracting_dims, "contracting"));
  ZB_ASSIGN(const DType dtype, product_type(op));
  Shape out = array_of(dtype, {});
  for (const int64_t dim : attributes.lhs_batch_dims) out.dims.push_back(lhs.dims[static_cast<size_t>(dim)]);
  append_free_dims(lhs, lhs_used, out.dims);
  append_free_dims(rhs, rhs_used, out.dims);
  return out;
}

Result<Shape> convolution_rule(const Op& op) {
  ZB_ASSIGN(const ConvolutionLabels labels, convolution_labels(op));
  ZB_ASSIGN(const DType dtype, product_type(op));
  const Shape& input = op.operand(0);
  const Shape& kernel = op.operand(1);
  const auto size = [](const Shape& shape, int64_t dim) { return shape.dims[static_cast<size_t>(dim)]; };
  const int64_t features = op.attributes().feature_group_count.value_or(1);
  const int64_t batches = op.attributes().batch_group_count.value_or(1);
  const int64_t input_features = size(input, labels.input.second);
  const int64_t kernel_inputs = size(kernel, labels.kernel.first);
  const int64_t outputs = size(kernel, labels.kernel.second);
  if (features < 1 || batches < 1 || (features > 1 && batches > 1))
    return rule_error(
        op, fmt::format("feature_group_count {} and batch_group_count {} are no pair of groupings", features,
                        batches));
  if (input_features % features != 0 || input_features / features != kernel_inputs || outputs % features != 0)
    return rule_error(
        op, fmt::format("{} input features in {} groups do not match {} kernel inputs and {} outputs",
                        input_features, features, kernel_inputs, outputs));
  const int64_t batch = size(input, labels.input.first);
  if (batch % batches != 0 || outputs % batches != 0)
    return rule_error(op, fmt::format("batch {} and {} outputs do not divide into {} batch groups", batch,
                                      outputs, batches));
  Shape out = array_of(dtype, std::vector<int64_t>(input.rank(), 0));
  out.dims[static_cast<size_t>(labels.output.first)] = batch / batches;
  out.dims[static_cast<size_t>(labels.output.second)] = outputs;
  for (size_t i = 0; i < op.attributes().window.size(); ++i) {
    const WindowDim& window = op.attributes().window[i];
    if (size(kernel, labels.kernel.spatial[i]) != window.size)
      return rule_error(op, fmt::format("the window has size {} in dimension {}, the kernel {}", window.size,
                                        i, size(kernel, labels.kernel.spatial[i])));
    ZB_TRY(append_positions(op, size(input, labels.input.spatial[i]), window,
                            out.dims[static_cast<size_t>(labels.output.spatial[i])]));
  }
  return out;
}

Result<Shape> reduce_window_rule(const Op& op) {
  const size_t arrays = op.operands() / 2;
  if (op.operands() % 2 != 0)
    return rule_error(op, fmt::format("has {} operands, expected pairs", op.operands()));
  Shape tuple;
  tuple.dtype = DType::Tuple;
  for (size_t i = 0; i < arrays; ++i) {
    const Shape& from = op.operand(i);
    const Shape& init = op.operand(arrays + i);
    if (from.dims != op.operand(0).dims || !is_scalar(init) || init.dtype != from.dtype)
      return rule_error(
          op, fmt::format("operand {} is {} with the initial value {}", i, from.text(), init.text()));
    if (op.attributes().window.size() != from.rank())
      return rule_error(op, fmt::format("the operand {} has {} dimensions, window= has {}", from.text(),
                                        from.rank(), op.attributes().window.size()));
    Shape out = array_of(from.dtype, from.dims);
    for (size_t dim = 0; dim < from.rank(); ++dim)
      ZB_TRY(append_positions(op, from.dims[dim], op.attributes().window[dim], out.dims[dim]));
    tuple.elements.push_back(std::move(out));
  }
  if (op.attributes().calls.size() != 1) return rule_error(op, "needs one computation to apply");
  if (arrays == 1) return std::move(tuple.elements[0]);
  return tuple;
}

}  // namespace zomboss::hlo
