// The table of elementwise operations of HLO: one row each. Integer results are exact before they are wrapped
// to the type; float results are f64. Pure. Also used by graph_evaluate, whose elementwise nodes have the
// same names. Internal to core/oracle.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/oracle/value.h"

namespace zomboss::oracle {

// `b` is 0 for unary rows. Integers of u64 arrive as their 64-bit pattern.
using IntFunction = int64_t (*)(int64_t a, int64_t b, DType dtype);
using FloatFunction = double (*)(double a, double b);

struct ElementwiseRow {
  std::string_view opcode;
  int arity;
  IntFunction on_int;      // null: not defined for integers
  FloatFunction on_float;  // null: not defined for floats
};

std::span<const ElementwiseRow> elementwise_rows();
const ElementwiseRow* find_elementwise(std::string_view opcode);  // null when there is none

// The row on one lane: integers wrapped to `dtype`, floats not rounded.
Lane apply_row(const ElementwiseRow& row, Lane a, Lane b, DType dtype);

// True when `direction` (EQ NE LT GT LE GE) holds. `total_order`: floats by IEEE total order.
bool compare_lanes(std::string_view direction, Lane a, Lane b, DType dtype, bool total_order);

}  // namespace zomboss::oracle
