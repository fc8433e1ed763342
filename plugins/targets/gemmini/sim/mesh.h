// The arithmetic of one pass through the array. Products are summed in float32, which is exact: |sum| is at
// most dim * 2^14 <= 2^21 < 2^24. So every CPU, vector width and order of addition gives the same integers.
#pragma once

#include <cstdint>

namespace zomboss::gemmini {

// out[i][j] = sum over k of a[i * a_stride + k] * w[k * dim + j], for i < rows, j < dim, k < dim. `dim` is a
// power of two in 2..128; `w` holds int8 values as floats.
void mesh_multiply(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows,
                   uint32_t dim);

// out[n] = scale_to_int8(in[n], scale).
void scale_accumulators(const int32_t* in, float scale, int8_t* out, uint32_t count);
void scale_elements(const int8_t* in, float scale, int8_t* out, uint32_t count);

}  // namespace zomboss::gemmini
