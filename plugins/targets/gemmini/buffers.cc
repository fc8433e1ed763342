#include "plugins/targets/gemmini/buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace zomboss::gemmini {
namespace {

using wire::DType;

constexpr int64_t kMaxElements = int64_t{1} << 28;

std::string dtype_text(DType dtype) {
  std::string name = wire::EnumNameDType(dtype);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

std::vector<PlacedBuffer> place(std::vector<Buffer> buffers) {
  std::vector<PlacedBuffer> placed;
  uint64_t next = kDramBase;
  for (Buffer& buffer : buffers) {
    const auto bytes = static_cast<uint64_t>(std::max<int64_t>(buffer.bytes, 1));
    placed.push_back({std::move(buffer), next});
    next += (bytes + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
  }
  return placed;
}

int64_t element_count(const wire::TensorTypeT& type) {
  int64_t count = 1;
  for (int64_t dim : type.dims) {
    if (dim < 0 || dim > kMaxElements) return -1;
    count *= dim;
    if (count > kMaxElements) return -1;
  }
  return count;
}

std::string type_text(const wire::TensorTypeT& type) {
  return fmt::format("{}[{}]", dtype_text(type.dtype), fmt::join(type.dims, ","));
}

}  // namespace zomboss::gemmini
