#include <fmt/format.h>

#include <cmath>

#include "core/base/check.h"
#include "core/graph/types.h"
#include "core/oracle/context.h"
#include "core/oracle/elementwise.h"
#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

// Scalars stand for every element where HLO allows it (select, clamp).
Lane lane_at(const Array& array, size_t i) {
  return array.lanes[array.lanes.size() == 1 ? 0 : i];
}

}  // namespace

Result<Value> eval_elementwise(Context& context, const hlo::Instruction& instruction,
                               std::span<const Value> operands) {
  const ElementwiseRow* row = find_elementwise(instruction.opcode);
  ZB_CHECK(row != nullptr && operands.size() == static_cast<size_t>(row->arity), "checked by the caller");
  const DType dtype = instruction.shape.dtype;
  if (hlo::is_float(dtype) ? row->on_float == nullptr : row->on_int == nullptr) {
    return unimplemented(fmt::format("{} is not defined for {}", row->opcode, hlo::dtype_name(dtype)));
  }
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const std::span<const Lane> a = operands[0]->lanes;
  const std::span<const Lane> b = operands.back()->lanes;
  for (size_t i = 0; i < result->lanes.size(); ++i) result->lanes[i] = apply_row(*row, a[i], b[i], dtype);
  return array_value(std::move(result));
}

Result<Value> eval_compare(Context& context, const hlo::Instruction& instruction,
                           std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const Array& a = *operands[0];
  const Array& b = *operands[1];
  const bool total_order = instruction.attributes.comparison_type == "TOTALORDER";
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    result->lanes[i] =
        compare_lanes(instruction.attributes.direction, a.lanes[i], b.lanes[i], a.dtype, total_order) ? 1 : 0;
  }
  return array_value(std::move(result));
}

Result<Value> eval_select(Context& context, const hlo::Instruction& instruction,
                          std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    result->lanes[i] = operands[lane_at(*operands[0], i) != 0 ? 1 : 2]->lanes[i];
  }
  return array_value(std::move(result));
}

Result<Value> eval_clamp(Context& context, const hlo::Instruction& instruction,
                         std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const DType dtype = instruction.shape.dtype;
  const ElementwiseRow& minimum = *find_elementwise("minimum");
  const ElementwiseRow& maximum = *find_elementwise("maximum");
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    const Lane raised = apply_row(maximum, lane_at(*operands[0], i), operands[1]->lanes[i], dtype);
    result->lanes[i] = apply_row(minimum, raised, lane_at(*operands[2], i), dtype);
  }
  return array_value(std::move(result));
}

Result<Value> eval_convert(Context& context, const hlo::Instruction& instruction,
                           std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const DType from = operands[0]->dtype;
  const DType to = instruction.shape.dtype;
  const bool exact_floats = context.rounding() == Rounding::kWide && graph::holds_all_values(to, from);
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    result->lanes[i] = convert_lane(operands[0]->lanes[i], from, to, exact_floats);
  }
  return array_value(std::move(result));
}

Result<Value> eval_bitcast_convert(Context& context, const hlo::Instruction& instruction,
                                   std::span<const Value> operands) {
  const Array& operand = *operands[0];
  const DType to = instruction.shape.dtype;
  const bool whole_bytes = hlo::dtype_bits(to) % 8 == 0 && hlo::dtype_bits(operand.dtype) % 8 == 0;
  if (!whole_bytes && hlo::dtype_bits(to) != hlo::dtype_bits(operand.dtype)) {
    return unimplemented("bitcast-convert between types under a byte and types of another width");
  }
  ZB_ASSIGN(auto result, result_array(context, instruction));
  std::vector<uint8_t> bytes(operand.lanes.size() * static_cast<size_t>(hlo::dtype_bytes(operand.dtype)));
  if (bytes.size() != result->lanes.size() * static_cast<size_t>(hlo::dtype_bytes(to))) {
    return invalid_argument("bitcast-convert changes the number of bytes");
  }
  encode(operand.dtype, operand.lanes, bytes);
  decode(to, bytes, result->lanes);
  return array_value(std::move(result));
}

Result<Value> eval_is_finite(Context& context, const hlo::Instruction& instruction,
                             std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const bool is_float = hlo::is_float(operands[0]->dtype);
  for (size_t i = 0; i < result->lanes.size(); ++i) {
    result->lanes[i] = !is_float || std::isfinite(lane_float(operands[0]->lanes[i])) ? 1 : 0;
  }
  return array_value(std::move(result));
}

}  // namespace zomboss::oracle
