// All versions of the array's arithmetic give what the definition gives.
#include "plugins/targets/gemmini/sim/mesh_kernels.h"

#include <gtest/gtest.h>

#include "plugins/targets/gemmini/sim/arithmetic.h"
#include "zomboss/sdk/random.h"

namespace zomboss::gemmini {
namespace {

std::vector<int8_t> random_bytes(Random& random, size_t count) {
  std::vector<int8_t> bytes(count);
  for (int8_t& byte : bytes) {
    // The extremes often: they make the largest sums.
    byte = random.below(3) == 0 ? (random.below(2) == 0 ? int8_t{-128} : int8_t{127})
                                : static_cast<int8_t>(random.below(256));
  }
  return bytes;
}

TEST(GemminiMesh, EveryVersionMultipliesAsDefined) {
  for (const MeshKernels& kernels : mesh_kernels()) {
    for (uint32_t dim = std::max(kernels.least_dim, 2u); dim <= 128; dim *= 2) {
      for (const bool add : {false, true}) {
        SCOPED_TRACE(kernels.name);
        Random random(31, dim + (add ? 1 : 0));
        const uint32_t rows = 1 + static_cast<uint32_t>(random.below(dim));
        const size_t a_stride = 2 * dim, stride = dim + 4;
        const auto a = random_bytes(random, dim * a_stride), w = random_bytes(random, size_t{dim} * dim);
        std::vector<int32_t> out(dim * stride);
        for (int32_t& value : out) value = static_cast<int32_t>(random.next_u64());
        std::vector<int32_t> expected = out;
        for (uint32_t i = 0; i < rows; ++i) {
          for (uint32_t j = 0; j < dim; ++j) {
            int32_t sum = 0;
            for (uint32_t k = 0; k < dim; ++k) sum += a[i * a_stride + k] * w[k * dim + j];
            int32_t& target = expected[i * stride + j];
            target = add ? wrap_add(target, sum) : sum;
          }
        }
        std::vector<int8_t> packed(mesh_packed_bytes(dim));
        kernels.pack(w.data(), packed.data(), dim);
        kernels.multiply(a.data(), a_stride, packed.data(), {out.data(), stride, add}, rows, dim);
        EXPECT_EQ(out, expected) << "dim " << dim << ", " << rows << " rows";
      }
    }
  }
}

TEST(GemminiMesh, EveryVersionScalesAsDefined) {
  for (const MeshKernels& kernels : mesh_kernels()) {
    for (const float scale : {1.0f, 0.5f, 0.01f, -0.25f, 1e9f}) {
      SCOPED_TRACE(kernels.name);
      Random random(32, 0);
      std::vector<int32_t> in(67);
      for (int32_t& value : in) value = static_cast<int32_t>(random.next_u64()) >> random.below(32);
      std::vector<int8_t> out(in.size()), expected(in.size());
      for (size_t n = 0; n < in.size(); ++n) expected[n] = scale_to_int8(static_cast<float>(in[n]), scale);
      kernels.scale(in.data(), scale, out.data(), static_cast<uint32_t>(in.size()));
      EXPECT_EQ(out, expected) << scale;
    }
  }
}

}  // namespace
}  // namespace zomboss::gemmini
