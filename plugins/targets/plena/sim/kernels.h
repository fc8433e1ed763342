// The inner loops of the vector and matrix units, on plain arrays. Each result is a fixed sequence of
// binary32 operations: products and sums rounded separately, sums in the order stated. Compiled with
// vectorisation in every build type. Pure functions, usable from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zomboss::plena {

// out[n] = a[n] op b[n] and out[n] = a[n] op scalar. `out` may be `a` or `b`.
void add_rows(const float* a, const float* b, float* out, size_t count);
void subtract_rows(const float* a, const float* b, float* out, size_t count);
void multiply_rows(const float* a, const float* b, float* out, size_t count);
void add_scalar(const float* a, float scalar, float* out, size_t count);
void subtract_scalar(const float* a, float scalar, float* out, size_t count);
// -(a[n] - scalar): equal operands give -0.
void subtract_scalar_reversed(const float* a, float scalar, float* out, size_t count);
void multiply_scalar(const float* a, float scalar, float* out, size_t count);
// NaN if either is NaN, else the larger (smaller); ties keep a[n].
void max_scalar(const float* a, float scalar, float* out, size_t count);
void min_scalar(const float* a, float scalar, float* out, size_t count);
void reciprocal_row(const float* a, float* out, size_t count);
void clamp_row(const float* a, float low, float high, float* out, size_t count);  // NaN stays
void round_to_bf16(const float* a, float* out, size_t count);

// The order of libtorch's vectorised sum: see the definition.
float sum_row(const float* a, size_t count);
// NaN if any element is NaN, else the maximum.
float max_row(const float* a, size_t count);

// accumulator[i * width + j] += sum over k ascending of rows[i][k * step] * matrix[k * pitch + j], for
// i < row_count, j < width, k < depth; the inner sum starts from 0 and is multiplied by `scale` before it is
// added.
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
void accumulate_dots(const DotArguments& arguments);

// out[k * rows + j] = matrix[j * pitch + k] for j < rows, k < columns.
void transpose(const float* matrix, size_t pitch, size_t rows, size_t columns, float* out);

}  // namespace zomboss::plena
