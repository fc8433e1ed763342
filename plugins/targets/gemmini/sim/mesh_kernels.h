// The versions of the array's arithmetic, for mesh.cc and for tests that compare them.
#pragma once

#include <span>

#include "plugins/targets/gemmini/sim/mesh.h"

namespace zomboss::gemmini {

// One way to do it: `multiply` reads what `pack` wrote, mesh_packed_bytes(dim) bytes.
struct MeshKernels {
  const char* name;
  uint32_t least_dim;
  void (*pack)(const int8_t* rows, int8_t* packed, uint32_t dim);
  void (*multiply)(const int8_t* a, size_t a_stride, const int8_t* packed, MeshOutput out, uint32_t rows,
                   uint32_t dim);
  void (*scale)(const int32_t* in, float scale, int8_t* out, uint32_t count);
};

constexpr size_t mesh_packed_bytes(uint32_t dim) {
  return size_t{dim} * dim + 4 * size_t{dim};
}

// Those that this CPU can run, the fastest first; the last one runs anywhere and for every dim.
std::span<const MeshKernels> mesh_kernels();

// The fastest ones for x86-64; empty on other CPUs. mesh_x86.cc.
std::span<const MeshKernels> mesh_kernels_x86();
// For any CPU.
MeshKernels mesh_kernels_portable();

}  // namespace zomboss::gemmini
