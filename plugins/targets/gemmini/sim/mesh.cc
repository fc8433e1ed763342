#include "plugins/targets/gemmini/sim/mesh.h"

#include <algorithm>

#include "plugins/targets/gemmini/sim/arithmetic.h"
#include "plugins/targets/gemmini/sim/mesh_kernels.h"

namespace zomboss::gemmini {
namespace {

constexpr uint32_t kMaxDim = 128;

void pack(const int8_t* rows, int8_t* packed, uint32_t dim) {
  std::copy_n(rows, size_t{dim} * dim, packed);
}

void multiply(const int8_t* a, size_t a_stride, const int8_t* packed, MeshOutput out, uint32_t rows,
              uint32_t dim) {
  for (uint32_t i = 0; i < rows; ++i, a += a_stride, out.values += out.stride) {
    int32_t sums[kMaxDim] = {};
    for (uint32_t k = 0; k < dim; ++k) {
      const int32_t factor = a[k];
      for (uint32_t j = 0; j < dim; ++j) sums[j] += factor * packed[k * dim + j];
    }
    for (uint32_t j = 0; j < dim; ++j) out.values[j] = out.add ? wrap_add(out.values[j], sums[j]) : sums[j];
  }
}

void scale(const int32_t* in, float factor, int8_t* out, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) out[n] = scale_to_int8(static_cast<float>(in[n]), factor);
}

const MeshKernels& kernels_for(uint32_t dim) {
  for (const MeshKernels& kernels : mesh_kernels())
    if (kernels.least_dim <= dim) return kernels;
  return mesh_kernels().back();
}

}  // namespace

MeshKernels mesh_kernels_portable() {
  return {"portable", 1, pack, multiply, scale};
}

std::span<const MeshKernels> mesh_kernels() {
  static const std::vector<MeshKernels> kernels = [] {
    const auto x86 = mesh_kernels_x86();
    std::vector<MeshKernels> all(x86.begin(), x86.end());
    all.push_back(mesh_kernels_portable());
    return all;
  }();
  return kernels;
}

MeshWeights::MeshWeights(uint32_t dim) : dim_(dim), bytes_(mesh_packed_bytes(dim)) {
  assign(std::vector<int8_t>(size_t{dim} * dim).data());
}

void MeshWeights::assign(const int8_t* rows) {
  kernels_for(dim_).pack(rows, bytes_.data(), dim_);
}

void mesh_multiply(const int8_t* a, size_t a_stride, const MeshWeights& w, MeshOutput out, uint32_t rows) {
  kernels_for(w.dim()).multiply(a, a_stride, w.data(), out, rows, w.dim());
}

void scale_accumulators(const int32_t* in, float factor, int8_t* out, uint32_t count) {
  mesh_kernels().front().scale(in, factor, out, count);
}

void scale_elements(const int8_t* in, float factor, int8_t* out, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) out[n] = scale_to_int8(static_cast<float>(in[n]), factor);
}

}  // namespace zomboss::gemmini
