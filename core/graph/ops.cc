#include "core/graph/ops.h"

#include <array>

namespace zomboss::graph {
namespace {

constexpr std::array kOps = std::to_array<OpInfo>({
    {"parameter", 0, "number:int", "an input of the workload"},
    {"constant", 0, "", "a value known at compile time"},
    {"matmul", 2, "lhs_batch:ints lhs_contract:ints rhs_batch:ints rhs_contract:ints",
     "sum over the contraction dims of the products of the operands' exact values, in the result type "
     "(integers "
     "wrap); result dims: batch, the other lhs dims, the other rhs dims, each in ascending order"},
    {"conv2d", 2,
     "dilations:ints groups:int input_dims:ints kernel_dims:ints output_dims:ints pad_high:ints pad_low:ints "
     "strides:ints",
     "sum over kernel rows, kernel columns and input channels of the group of the products of the operands' "
     "exact values, in the result type (integers wrap); input_dims and output_dims: where batch, rows, "
     "columns "
     "and channels lie; kernel_dims: rows, columns, input channels of a group, output channels; strides, "
     "dilations and padding with zeros: of rows and columns; output channels fall evenly into the groups"},
    {"bias", 2, "dims:ints",
     "operand 0 plus operand 1, whose dim i lies along result dim dims[i]; the first is "
     "a matmul or conv2d result; integers wrap"},
    {"quantize", 1, "scale:float low:int high:int zero_point:int",
     "f32(x) * f32(scale) in f32, rounded to nearest even, plus zero_point, limited to [low, high]; NaN "
     "gives 0"},
    {"relu", 1, "", "the larger of x and 0; NaN stays NaN"},
    {"softmax", 1, "dims:ints", "exp(x) over its sum along dims[0]"},
    {"layer_norm", -1, "dims:ints epsilon:float scale:int shift:int",
     "(x - mean) / sqrt(variance + epsilon) over dims, ascending; then times the next operand if scale is 1, "
     "plus the next if shift is 1, which both have exactly these dims"},
    {"rms_norm", -1, "dims:ints epsilon:float scale:int",
     "x / sqrt(mean of x squared + epsilon) over dims, ascending; then times operand 1 if scale is 1, which "
     "has exactly these dims"},
    {"silu", 1, "", "x * logistic(x)"},
    {"gelu", 1, "form:text",
     "erf: x / 2 * (1 + erf(x / sqrt 2)); tanh: x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))); "
     "sigmoid: x * logistic(1.702 x)"},
    {"rope", 3, "dims:ints layout:text table:text",
     "operands x, cos, sin, whose dims lie along dims of x; pairs (a, b) of the last dim of x become "
     "(a cos - b sin, b cos + a sin); layout half: a in the first half, interleaved: a at even places; table "
     "full: the tables' last dim is that of x, half: one entry a pair"},
    {"attention", -1, "equation:text mask:text scale:float",
     "operands q, k, v and perhaps a mask, result softmax(scale * q k + mask) v; equation, such as "
     "qhgd,khd,khe->qhge, names the dims: q and k positions, d features of q and k, e of v, g queries that "
     "share k and v, others batch; mask none, causal (key <= query), additive, or boolean (true = keep; "
     "where nothing is kept the mean of v)"},

    {"abs", 1, "", "absolute value; the lowest integer stays"},
    {"add", 2, "", "sum"},
    {"and", 2, "", "bitwise and"},
    {"atan2", 2, "", "angle of (y, x)"},
    {"bitcast-convert", 1, "", "the same bits as another type"},
    {"broadcast", 1, "dims:ints", "operand dim i becomes result dim dims[i]; other result dims repeat"},
    {"cbrt", 1, "", "cube root"},
    {"ceil", 1, "", "round up"},
    {"clamp", 3, "", "min(max(operand 1, operand 0), operand 2); bounds may be scalars"},
    {"compare", 2, "comparison_type:text direction:text", "EQ NE LT GT LE GE"},
    {"concatenate", -1, "dims:ints", "the operands one after the other along dims[0]"},
    {"convert", 1, "", "to the result type: to integer truncates and saturates, narrowing integers wrap"},
    {"convolution", 2,
     "batch_group_count:int dim_labels:text feature_group_count:int window_*:ints (size stride pad_low "
     "pad_high "
     "lhs_dilate rhs_dilate reversal)",
     "convolution as HLO defines it"},
    {"cosine", 1, "", "cosine"},
    {"count-leading-zeros", 1, "", "zero bits above the highest one"},
    {"divide", 2, "", "quotient; integers toward zero, all ones for a zero divisor"},
    {"dynamic-slice", -1, "sizes:ints", "the piece of these sizes at the start operands, clamped inside"},
    {"dynamic-update-slice", -1, "", "operand 0 with operand 1 written at the start operands"},
    {"erf", 1, "", "error function"},
    {"exponential", 1, "", "e to the x"},
    {"exponential-minus-one", 1, "", "e to the x, minus 1"},
    {"floor", 1, "", "round down"},
    {"iota", 0, "dim:int", "the index along dim"},
    {"is-finite", 1, "", "neither infinite nor NaN"},
    {"log", 1, "", "natural logarithm"},
    {"log-plus-one", 1, "", "natural logarithm of 1 + x"},
    {"logistic", 1, "", "1 / (1 + e to the -x)"},
    {"maximum", 2, "", "the larger; NaN wins"},
    {"minimum", 2, "", "the smaller; NaN wins"},
    {"multiply", 2, "", "product"},
    {"negate", 1, "", "-x"},
    {"not", 1, "", "bitwise complement"},
    {"or", 2, "", "bitwise or"},
    {"pad", 2, "high:ints interior:ints low:ints",
     "operand 0 with operand 1 around and between its elements"},
    {"popcnt", 1, "", "number of one bits"},
    {"power", 2, "", "x to the y"},
    {"reduce", 2, "dims:ints reducer:text", "operand 0 folded over dims by reducer, from operand 1"},
    {"reduce-window", 2, "reducer:text window_*:ints", "as reduce, over a moving window"},
    {"remainder", 2, "", "of the division; sign of x"},
    {"reshape", 1, "", "the same elements in row-major order under other dims"},
    {"reverse", 1, "dims:ints", "the order along dims turned around"},
    {"round-nearest-afz", 1, "", "to nearest, ties away from zero"},
    {"round-nearest-even", 1, "", "to nearest, ties to even"},
    {"rsqrt", 1, "", "1 / square root"},
    {"select", 3, "", "operand 1 where operand 0 holds, else operand 2"},
    {"shift-left", 2, "", "bits shifted up"},
    {"shift-right-arithmetic", 2, "", "bits shifted down, sign kept"},
    {"shift-right-logical", 2, "", "bits shifted down, zeros in"},
    {"sign", 1, "", "-1, 0 or 1"},
    {"sine", 1, "", "sine"},
    {"slice", 1, "limit:ints start:ints stride:ints", "elements start, start + stride, ... below limit"},
    {"sqrt", 1, "", "square root"},
    {"subtract", 2, "", "difference"},
    {"tan", 1, "", "tangent"},
    {"tanh", 1, "", "hyperbolic tangent"},
    {"transpose", 1, "dims:ints", "result dim i is operand dim dims[i]"},
    {"xor", 2, "", "bitwise exclusive or"},
});

}  // namespace

std::span<const OpInfo> ops() {
  return kOps;
}

const OpInfo* find_op(std::string_view id) {
  for (const OpInfo& info : kOps) {
    if (info.id == id) return &info;
  }
  return nullptr;
}

}  // namespace zomboss::graph
