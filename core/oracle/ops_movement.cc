#include <fmt/format.h>

#include <algorithm>

#include "core/oracle/context.h"
#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

StridedView whole(const Array& array) {
  return {0, row_major_strides(array.dims)};
}

// Start indices of dynamic-slice and dynamic-update-slice: scalars, or one vector in old dumps; clamped so
// that the piece lies inside.
std::vector<int64_t> clamped_starts(std::span<const Value> indices, std::span<const int64_t> whole_dims,
                                    std::span<const int64_t> piece_dims) {
  std::vector<int64_t> starts(whole_dims.size());
  const bool vector = indices.size() == 1 && indices[0]->dims.size() == 1;
  for (size_t d = 0; d < starts.size(); ++d) {
    const Array& index = vector ? *indices[0] : *indices[d];
    const Lane lane = index.lanes[vector ? d : 0];
    const int64_t highest = whole_dims[d] - piece_dims[d];
    const bool beyond = index.dtype == DType::U64 && lane_int(lane) < 0;
    starts[d] = beyond ? highest : std::clamp(lane_int(lane), int64_t{0}, highest);
  }
  return starts;
}

int64_t offset_of(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

}  // namespace

Result<Value> eval_constant(Context& context, const hlo::Instruction& instruction, std::span<const Value>) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const std::string& bytes = instruction.literal->bytes;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  if (bytes.size() != result->lanes.size() * static_cast<size_t>(hlo::dtype_bytes(result->dtype))) {
    return invalid_argument("a constant has not the bytes of its shape");
  }
  decode(result->dtype, {data, bytes.size()}, result->lanes);
  return array_value(std::move(result));
}

Result<Value> eval_iota(Context& context, const hlo::Instruction& instruction, std::span<const Value>) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const auto dim = static_cast<size_t>(instruction.attributes.iota_dimension.value_or(0));
  if (dim >= result->dims.size()) return invalid_argument("iota_dimension is outside the shape");
  const int64_t stride = row_major_strides(result->dims)[dim];
  for (int64_t i = 0; i < result->size(); ++i) {
    const int64_t index = i / stride % result->dims[dim];
    result->lanes[static_cast<size_t>(i)] = convert_lane(to_lane(index), DType::S64, result->dtype, true);
  }
  return array_value(std::move(result));
}

Result<Value> eval_broadcast(Context& context, const hlo::Instruction& instruction,
                             std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const std::vector<int64_t> operand_strides = row_major_strides(operands[0]->dims);
  StridedView from{0, std::vector<int64_t>(result->dims.size(), 0)};
  const auto& dimensions = instruction.attributes.dimensions;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (operands[0]->dims[d] != 1) from.strides[static_cast<size_t>(dimensions[d])] = operand_strides[d];
  }
  copy_strided(result->dims, operands[0]->lanes, from, result->lanes, whole(*result));
  return array_value(std::move(result));
}

// reshape; bitcast where it means the same.
Result<Value> eval_reshape(Context& context, const hlo::Instruction& instruction,
                           std::span<const Value> operands) {
  if (operands[0]->dtype != instruction.shape.dtype) {
    return unimplemented("bitcast to another element type; bitcast-convert is known");
  }
  ZB_ASSIGN(auto result, result_array(context, instruction));
  if (result->lanes.size() != operands[0]->lanes.size()) {
    return invalid_argument("the number of elements changes");
  }
  std::copy(operands[0]->lanes.begin(), operands[0]->lanes.end(), result->lanes.begin());
  return array_value(std::move(result));
}

Result<Value> eval_transpose(Context& context, const hlo::Instruction& instruction,
                             std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const std::vector<int64_t> operand_strides = row_major_strides(operands[0]->dims);
  StridedView from{0, {}};
  for (const int64_t d : instruction.attributes.dimensions) {
    from.strides.push_back(operand_strides[static_cast<size_t>(d)]);
  }
  copy_strided(result->dims, operands[0]->lanes, from, result->lanes, whole(*result));
  return array_value(std::move(result));
}

Result<Value> eval_slice(Context& context, const hlo::Instruction& instruction,
                         std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  StridedView from = whole(*operands[0]);
  for (size_t d = 0; d < result->dims.size(); ++d) {
    const hlo::SliceDim& slice = instruction.attributes.slice[d];
    if (result->dims[d] == 0) return array_value(std::move(result));
    from.offset += slice.start * from.strides[d];
    from.strides[d] *= result->dims[d] == 1 ? 1 : slice.stride;
  }
  copy_strided(result->dims, operands[0]->lanes, from, result->lanes, whole(*result));
  return array_value(std::move(result));
}

Result<Value> eval_reverse(Context& context, const hlo::Instruction& instruction,
                           std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  StridedView from = whole(*operands[0]);
  for (const int64_t dimension : instruction.attributes.dimensions) {
    const auto d = static_cast<size_t>(dimension);
    from.offset += (result->dims[d] - 1) * from.strides[d];
    from.strides[d] = -from.strides[d];
  }
  copy_strided(result->dims, operands[0]->lanes, from, result->lanes, whole(*result));
  return array_value(std::move(result));
}

Result<Value> eval_concatenate(Context& context, const hlo::Instruction& instruction,
                               std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const auto dim = static_cast<size_t>(instruction.attributes.dimensions[0]);
  StridedView to = whole(*result);
  for (const Value& operand : operands) {
    copy_strided(operand->dims, operand->lanes, whole(*operand), result->lanes, to);
    to.offset += operand->dims[dim] * to.strides[dim];
  }
  return array_value(std::move(result));
}

// Negative padding drops elements; the visited index range per dimension is cut to those that stay.
Result<Value> eval_pad(Context& context, const hlo::Instruction& instruction,
                       std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  std::fill(result->lanes.begin(), result->lanes.end(), operands[1]->lanes[0]);
  StridedView from = whole(*operands[0]);
  StridedView to = whole(*result);
  std::vector<int64_t> dims(result->dims.size());
  constexpr int64_t kLargest = int64_t{1} << 60;  // keeps the sums below in range
  for (size_t d = 0; d < dims.size(); ++d) {
    const hlo::PadDim& pad = instruction.attributes.padding[d];
    if (pad.low < -kLargest || pad.low > kLargest || pad.interior < 0 || pad.interior > kLargest) {
      return unimplemented("padding beyond 2^60");
    }
    const int64_t step = pad.interior + 1;
    const int64_t first = pad.low < 0 ? (-pad.low + step - 1) / step : 0;
    // Last operand index i with low + i * step < result dim.
    const int64_t room = result->dims[d] - 1 - pad.low;
    const int64_t last = std::min(operands[0]->dims[d] - 1, room < 0 ? int64_t{-1} : room / step);
    dims[d] = std::max(int64_t{0}, last - first + 1);
    if (dims[d] == 0) return array_value(std::move(result));
    from.offset += first * from.strides[d];
    to.offset += (pad.low + first * step) * to.strides[d];
    to.strides[d] *= dims[d] == 1 ? 1 : step;
  }
  copy_strided(dims, operands[0]->lanes, from, result->lanes, to);
  return array_value(std::move(result));
}

Result<Value> eval_dynamic_slice(Context& context, const hlo::Instruction& instruction,
                                 std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  StridedView from = whole(*operands[0]);
  from.offset = offset_of(clamped_starts(operands.subspan(1), operands[0]->dims, result->dims), from.strides);
  copy_strided(result->dims, operands[0]->lanes, from, result->lanes, whole(*result));
  return array_value(std::move(result));
}

Result<Value> eval_dynamic_update_slice(Context& context, const hlo::Instruction& instruction,
                                        std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  std::copy(operands[0]->lanes.begin(), operands[0]->lanes.end(), result->lanes.begin());
  StridedView to = whole(*result);
  to.offset = offset_of(clamped_starts(operands.subspan(2), result->dims, operands[1]->dims), to.strides);
  copy_strided(operands[1]->dims, operands[1]->lanes, whole(*operands[1]), result->lanes, to);
  return array_value(std::move(result));
}

}  // namespace zomboss::oracle
