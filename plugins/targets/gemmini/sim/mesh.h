// The arithmetic of one pass through the array, in integers. |sum| is at most dim * 2^14 <= 2^21, so every
// CPU, vector width and order of addition gives the same result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zomboss::gemmini {

// dim x dim weights in the order in which the multiplication of this CPU reads them.
class MeshWeights {
 public:
  explicit MeshWeights(uint32_t dim);  // a power of two in 2..128; all weights 0
  void assign(const int8_t* rows);     // dim x dim
  uint32_t dim() const { return dim_; }
  const int8_t* data() const { return bytes_.data(); }

 private:
  uint32_t dim_;
  std::vector<int8_t> bytes_;
};

struct MeshOutput {
  int32_t* values = nullptr;
  size_t stride = 0;  // from one row to the next
  bool add = false;   // wraps around
};

// out[i][j] = (or +=) sum over k of a[i * a_stride + k] * w[k][j], for i < rows, j < dim, k < dim.
void mesh_multiply(const int8_t* a, size_t a_stride, const MeshWeights& w, MeshOutput out, uint32_t rows);

// out[n] = scale_to_int8(in[n], scale).
void scale_accumulators(const int32_t* in, float scale, int8_t* out, uint32_t count);
void scale_elements(const int8_t* in, float scale, int8_t* out, uint32_t count);

}  // namespace zomboss::gemmini
