// The DRAM side of a kernel: the workload's tensors and scratch as buffers, copies between them, and where
// they lie. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/workload_generated.h"

namespace zomboss::gemmini {

// An off-chip tensor.
struct Buffer {
  std::string name;
  wire::BufferRole role = wire::BufferRole::Input;
  uint32_t index = 0;  // position in Workload.inputs or outputs; of a constant, its node
  wire::TensorTypeT type;
  int64_t bytes = 0;
  std::vector<uint8_t> data;  // of a constant
};

// Moves elements between two buffers; nested loops, strides in elements.
struct CopyLoop {
  int64_t extent = 1;
  int64_t source_stride = 0;
  int64_t target_stride = 0;
};
struct Copy {
  uint32_t source = 0;  // buffer numbers
  uint32_t target = 0;
  uint32_t element_bytes = 1;  // 1 or 4
  std::vector<CopyLoop> loops;
};

// What a kernel has in DRAM, whatever its mapping.
struct Boundary {
  std::vector<Buffer> buffers;  // inputs in order, the output, then constants in node order, then scratch
  std::vector<Copy> before;     // copies that make operands readable
  std::vector<Copy> after;      // and that put the output in place
};

struct PlacedBuffer {
  Buffer buffer;
  uint64_t address = 0;
};

// First address of the DRAM image; buffers follow each other from here, each aligned to kBufferAlign.
inline constexpr uint64_t kDramBase = 0x100000;
inline constexpr uint64_t kBufferAlign = 64;
std::vector<PlacedBuffer> place(std::vector<Buffer> buffers);

// Elements of a tensor type, -1 when it overflows or is absurdly large.
int64_t element_count(const wire::TensorTypeT& type);
// "s8[64,64]"
std::string type_text(const wire::TensorTypeT& type);

}  // namespace zomboss::gemmini
