#include "plugins/targets/plena/sim/kernels.h"

#include "plugins/targets/plena/sim/kernels_body.h"

namespace zomboss::plena {

#ifdef ZB_PLENA_AVX2
extern const Kernels kAvx2Kernels;  // kernels_avx2.cc
#endif

const Kernels& portable_kernels() {
  return kKernels;
}

const Kernels& best_kernels() {
#ifdef ZB_PLENA_AVX2
  if (__builtin_cpu_supports("avx2")) return kAvx2Kernels;
#endif
  return kKernels;
}

void clamp_row(const float* a, float low, float high, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    const float raised = a[n] < low ? low : a[n];
    out[n] = raised > high ? high : raised;
  }
}

void transpose(const float* matrix, size_t pitch, size_t rows, size_t columns, float* out) {
  for (size_t j = 0; j < rows; ++j) {
    for (size_t k = 0; k < columns; ++k) out[k * rows + j] = matrix[j * pitch + k];
  }
}

}  // namespace zomboss::plena
