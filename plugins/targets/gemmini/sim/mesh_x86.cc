// Both versions keep four rows of weights side by side, column by column: packed[(k / 4 * dim + j) * 4 + k %
// 4]. Behind them stand, for AVX-512, 128 times each column's sum.
#include "plugins/targets/gemmini/sim/mesh_kernels.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#include <cstring>

#include "plugins/targets/gemmini/sim/arithmetic.h"
#define ZB_MESH_X86 1
#endif

namespace zomboss::gemmini {

#ifdef ZB_MESH_X86
namespace {

constexpr uint32_t kMaxDim = 128;

#define ZB_AVX2 __attribute__((target("avx2")))
#define ZB_AVX512 __attribute__((target("avx2,avx512f,avx512bw,avx512vl,avx512vnni")))

__m128i load16(const int8_t* bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
}

void pack(const int8_t* rows, int8_t* packed, uint32_t dim) {
  for (uint32_t k = 0; k < dim; k += 4) {
    for (uint32_t j = 0; j < dim; j += 16) {
      const int8_t* from = rows + size_t{k} * dim + j;
      const __m128i r0 = load16(from), r1 = load16(from + dim), r2 = load16(from + 2 * dim),
                    r3 = load16(from + 3 * dim);
      const __m128i low01 = _mm_unpacklo_epi8(r0, r1), low23 = _mm_unpacklo_epi8(r2, r3);
      const __m128i high01 = _mm_unpackhi_epi8(r0, r1), high23 = _mm_unpackhi_epi8(r2, r3);
      auto* to = reinterpret_cast<__m128i*>(packed + (size_t{k} * dim + 4 * j));
      _mm_storeu_si128(to, _mm_unpacklo_epi16(low01, low23));
      _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(low01, low23));
      _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(high01, high23));
      _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(high01, high23));
    }
  }
}

template <typename Word>
Word word_at(const void* bytes, size_t index) {
  Word word;
  std::memcpy(&word, static_cast<const char*>(bytes) + index * sizeof word, sizeof word);
  return word;
}

// Sixteen int16 pairs make eight sums; a column's four products end in two neighbours, added at the end.
ZB_AVX2 void multiply_avx2(const int8_t* a, size_t a_stride, const int8_t* packed, MeshOutput out,
                           uint32_t rows, uint32_t dim) {
  alignas(32) int16_t wide[kMaxDim];
  for (uint32_t i = 0; i < rows; ++i, a += a_stride, out.values += out.stride) {
    for (uint32_t k = 0; k < dim; k += 16) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(wide + k), _mm256_cvtepi8_epi16(load16(a + k)));
    }
    for (uint32_t j = 0; j < dim; j += 8) {
      __m256i low = _mm256_setzero_si256(), high = _mm256_setzero_si256();
      for (uint32_t k = 0; k < dim; k += 4) {
        const int8_t* weights = packed + (size_t{k} * dim + 4 * j);
        const __m256i factors = _mm256_set1_epi64x(word_at<int64_t>(wide, k / 4));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(factors, _mm256_cvtepi8_epi16(load16(weights))));
        high = _mm256_add_epi32(high, _mm256_madd_epi16(factors, _mm256_cvtepi8_epi16(load16(weights + 16))));
      }
      // Columns 0 1 4 5 | 2 3 6 7 after the addition of neighbours.
      __m256i sums = _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xd8);
      auto* to = reinterpret_cast<__m256i*>(out.values + j);
      if (out.add) sums = _mm256_add_epi32(sums, _mm256_loadu_si256(to));
      _mm256_storeu_si256(to, sums);
    }
  }
}

// The instruction multiplies unsigned by signed: A goes in with 128 more, which costs 128 times the column's
// sum of weights.
ZB_AVX512 void pack_avx512(const int8_t* rows, int8_t* packed, uint32_t dim) {
  pack(rows, packed, dim);
  const __m512i excess = _mm512_set1_epi8(-128);  // 128 as it is read
  for (uint32_t j = 0; j < dim; j += 16) {
    __m512i sum = _mm512_setzero_si512();
    for (uint32_t k = 0; k < dim; k += 4) {
      sum = _mm512_dpbusd_epi32(sum, excess, _mm512_loadu_si512(packed + (size_t{k} * dim + 4 * j)));
    }
    _mm512_storeu_si512(packed + size_t{dim} * dim + 4 * j, sum);
  }
}

// All weights of a 16 x 16 array stay in registers.
ZB_AVX512 void multiply16_avx512(const int8_t* a, size_t a_stride, const int8_t* packed, MeshOutput out,
                                 uint32_t rows) {
  __m512i weights[4];
  for (int k = 0; k < 4; ++k) weights[k] = _mm512_loadu_si512(packed + 64 * k);
  const __m512i excess = _mm512_loadu_si512(packed + 256);
  const __m128i sign = _mm_set1_epi8(-128);
  for (uint32_t i = 0; i < rows; ++i, a += a_stride, out.values += out.stride) {
    alignas(16) int8_t row[16];
    _mm_store_si128(reinterpret_cast<__m128i*>(row), _mm_xor_si128(load16(a), sign));
    __m512i even = out.add ? _mm512_loadu_si512(out.values) : _mm512_setzero_si512();
    even = _mm512_sub_epi32(even, excess);
    __m512i odd =
        _mm512_dpbusd_epi32(_mm512_setzero_si512(), _mm512_set1_epi32(word_at<int>(row, 1)), weights[1]);
    even = _mm512_dpbusd_epi32(even, _mm512_set1_epi32(word_at<int>(row, 0)), weights[0]);
    odd = _mm512_dpbusd_epi32(odd, _mm512_set1_epi32(word_at<int>(row, 3)), weights[3]);
    even = _mm512_dpbusd_epi32(even, _mm512_set1_epi32(word_at<int>(row, 2)), weights[2]);
    _mm512_storeu_si512(out.values, _mm512_add_epi32(even, odd));
  }
}

ZB_AVX512 void multiply_avx512(const int8_t* a, size_t a_stride, const int8_t* packed, MeshOutput out,
                               uint32_t rows, uint32_t dim) {
  if (dim == 16) {
    multiply16_avx512(a, a_stride, packed, out, rows);
    return;
  }
  const __m128i sign = _mm_set1_epi8(-128);
  for (uint32_t i = 0; i < rows; ++i, a += a_stride, out.values += out.stride) {
    alignas(16) int8_t row[kMaxDim];
    for (uint32_t k = 0; k < dim; k += 16) {
      _mm_store_si128(reinterpret_cast<__m128i*>(row + k), _mm_xor_si128(load16(a + k), sign));
    }
    for (uint32_t j = 0; j < dim; j += 16) {
      __m512i sum = out.add ? _mm512_loadu_si512(out.values + j) : _mm512_setzero_si512();
      sum = _mm512_sub_epi32(sum, _mm512_loadu_si512(packed + size_t{dim} * dim + 4 * j));
      for (uint32_t k = 0; k < dim; k += 4) {
        const __m512i weights = _mm512_loadu_si512(packed + (size_t{k} * dim + 4 * j));
        sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(word_at<int>(row, k / 4)), weights);
      }
      _mm512_storeu_si512(out.values + j, sum);
    }
  }
}

ZB_AVX2 void scale_avx2(const int32_t* in, float scale, int8_t* out, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) out[n] = scale_to_int8(static_cast<float>(in[n]), scale);
}

std::vector<MeshKernels> find_kernels() {
  __builtin_cpu_init();
  std::vector<MeshKernels> found;
  if (!__builtin_cpu_supports("avx2")) return found;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) {
    found.push_back({"avx512vnni", 16, pack_avx512, multiply_avx512, scale_avx2});
  }
  found.push_back({"avx2", 16, pack, multiply_avx2, scale_avx2});
  return found;
}

}  // namespace

std::span<const MeshKernels> mesh_kernels_x86() {
  static const std::vector<MeshKernels> kernels = find_kernels();
  return kernels;
}

#else

std::span<const MeshKernels> mesh_kernels_x86() {
  return {};
}

#endif

}  // namespace zomboss::gemmini
