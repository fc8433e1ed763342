#include "plugins/targets/gemmini/sim/mesh.h"

#include "plugins/targets/gemmini/sim/arithmetic.h"

// One binary for all CPUs: the dynamic linker picks the widest clone. Sanitizers and ifuncs do not mix, and
// only ELF x86-64 has them.
#if defined(__x86_64__) && defined(__ELF__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ZB_CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define ZB_CLONES
#endif

namespace zomboss::gemmini {
namespace {

// Four rows at once, so that each row of w is loaded once for four.
template <uint32_t kDim>
__attribute__((always_inline)) inline void multiply(const int8_t* a, uint32_t a_stride, const float* w,
                                                    int32_t* out, uint32_t rows) {
  constexpr uint32_t kColumns = kDim < 16 ? kDim : 16;
  uint32_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    const int8_t* row = a + i * a_stride;
    for (uint32_t j0 = 0; j0 < kDim; j0 += kColumns) {
      float sum0[kColumns] = {}, sum1[kColumns] = {}, sum2[kColumns] = {}, sum3[kColumns] = {};
      for (uint32_t k = 0; k < kDim; ++k) {
        const float a0 = row[k], a1 = row[a_stride + k], a2 = row[2 * a_stride + k],
                    a3 = row[3 * a_stride + k];
        const float* weights = w + k * kDim + j0;
        for (uint32_t j = 0; j < kColumns; ++j) {
          sum0[j] += a0 * weights[j];
          sum1[j] += a1 * weights[j];
          sum2[j] += a2 * weights[j];
          sum3[j] += a3 * weights[j];
        }
      }
      int32_t* target = out + i * kDim + j0;
      for (uint32_t j = 0; j < kColumns; ++j) {
        target[j] = static_cast<int32_t>(sum0[j]);
        target[kDim + j] = static_cast<int32_t>(sum1[j]);
        target[2 * kDim + j] = static_cast<int32_t>(sum2[j]);
        target[3 * kDim + j] = static_cast<int32_t>(sum3[j]);
      }
    }
  }
  for (; i < rows; ++i) {
    float sum[kDim] = {};
    for (uint32_t k = 0; k < kDim; ++k) {
      const float factor = a[i * a_stride + k];
      for (uint32_t j = 0; j < kDim; ++j) sum[j] += factor * w[k * kDim + j];
    }
    for (uint32_t j = 0; j < kDim; ++j) out[i * kDim + j] = static_cast<int32_t>(sum[j]);
  }
}

ZB_CLONES void multiply4(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows) {
  multiply<4>(a, a_stride, w, out, rows);
}
ZB_CLONES void multiply8(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows) {
  multiply<8>(a, a_stride, w, out, rows);
}
ZB_CLONES void multiply16(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows) {
  multiply<16>(a, a_stride, w, out, rows);
}
ZB_CLONES void multiply32(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows) {
  multiply<32>(a, a_stride, w, out, rows);
}
ZB_CLONES void multiply64(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows) {
  multiply<64>(a, a_stride, w, out, rows);
}
ZB_CLONES void multiply128(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows) {
  multiply<128>(a, a_stride, w, out, rows);
}

}  // namespace

void mesh_multiply(const int8_t* a, uint32_t a_stride, const float* w, int32_t* out, uint32_t rows,
                   uint32_t dim) {
  switch (dim) {
    case 2:
      return multiply<2>(a, a_stride, w, out, rows);
    case 4:
      return multiply4(a, a_stride, w, out, rows);
    case 8:
      return multiply8(a, a_stride, w, out, rows);
    case 16:
      return multiply16(a, a_stride, w, out, rows);
    case 32:
      return multiply32(a, a_stride, w, out, rows);
    case 64:
      return multiply64(a, a_stride, w, out, rows);
    default:
      return multiply128(a, a_stride, w, out, rows);
  }
}

void scale_accumulators(const int32_t* in, float scale, int8_t* out, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) out[n] = scale_to_int8(static_cast<float>(in[n]), scale);
}

void scale_elements(const int8_t* in, float scale, int8_t* out, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) out[n] = scale_to_int8(static_cast<float>(in[n]), scale);
}

}  // namespace zomboss::gemmini
