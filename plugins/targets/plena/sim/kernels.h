// The inner loops of the vector and matrix units, on plain arrays. Each result is a fixed sequence of
// binary32 operations: products and sums rounded separately, sums in the order stated. Every table of kernels
// gives the same bits, payloads of NaNs apart. Pure functions and constant data, usable from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zomboss::plena {

// accumulator[i * width + j] += scale * sum, with sum = 0 + rows[i][0] * matrix[j] +
// rows[i][step] * matrix[pitch + j] + ... over `depth` terms in this order, for i < row_count, j < width.
struct DotArguments {
  const float* const* rows = nullptr;
  size_t row_count = 0;
  size_t step = 1;
  const float* matrix = nullptr;
  size_t pitch = 0;
  size_t width = 0;
  size_t depth = 0;
  float scale = 1.0f;
  float* accumulator = nullptr;
};

struct Kernels {
  // out[n] = a[n] op b[n] and out[n] = a[n] op scalar. `out` overlaps neither operand.
  using Binary = void (*)(const float* a, const float* b, float* out, size_t count);
  using WithScalar = void (*)(const float* a, float scalar, float* out, size_t count);
  using Unary = void (*)(const float* a, float* out, size_t count);
  using Reduce = float (*)(const float* a, size_t count);

  Binary add_rows;
  Binary subtract_rows;
  Binary multiply_rows;
  WithScalar add_scalar;
  WithScalar subtract_scalar;
  WithScalar subtract_scalar_reversed;  // -(a[n] - scalar): equal operands give -0
  WithScalar multiply_scalar;
  WithScalar max_scalar;  // NaN if either is NaN, else the larger; ties keep a[n]
  WithScalar min_scalar;  // the smaller
  Unary reciprocal_row;
  Unary round_to_bf16;  // kit::bf16_cast; `out` may be `a`
  Reduce sum_row;       // in the order of libtorch's vectorised sum: see the definition
  Reduce max_row;       // NaN if any element is NaN, else the maximum
  void (*accumulate_dots)(const DotArguments& arguments);
};

// For any machine; and for this one, with the widest vectors that it has.
const Kernels& portable_kernels();
const Kernels& best_kernels();

void clamp_row(const float* a, float low, float high, float* out, size_t count);  // NaN stays

// out[k * rows + j] = matrix[j * pitch + k] for j < rows, k < columns.
void transpose(const float* matrix, size_t pitch, size_t rows, size_t columns, float* out);

}  // namespace zomboss::plena
