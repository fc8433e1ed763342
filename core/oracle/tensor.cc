#include "core/oracle/tensor.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace zomboss::oracle {

Result<int64_t> element_count(std::span<const int64_t> dims) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return invalid_argument(fmt::format("dimension {} is negative", dim));
    if (dim == 0) {
      empty = true;
    } else if (count > kLimit / dim) {
      return resource_exhausted("a shape has more than 2^62 elements");
    } else {
      count *= dim;
    }
  }
  return empty ? 0 : count;
}

Status check_tensor(const Tensor& tensor) {
  if (hlo::dtype_bits(tensor.dtype) == 0) {
    return invalid_argument(fmt::format("a tensor has the element type '{}', which has no elements",
                                        hlo::dtype_name(tensor.dtype)));
  }
  ZB_ASSIGN(const int64_t count, element_count(tensor.dims));
  const auto width = static_cast<uint64_t>(hlo::dtype_bytes(tensor.dtype));
  const auto size = static_cast<uint64_t>(tensor.bytes.size());
  if (size % width != 0 || size / width != static_cast<uint64_t>(count)) {
    return invalid_argument(fmt::format("a tensor {}[{}] needs {} elements of {} bytes, but holds {} bytes",
                                        hlo::dtype_name(tensor.dtype), fmt::join(tensor.dims, ","), count,
                                        width, size));
  }
  return {};
}

wire::TensorT to_wire(Tensor tensor, std::string name) {
  wire::TensorT message;
  message.name = std::move(name);
  message.type = std::make_unique<wire::TensorTypeT>();
  message.type->dtype = tensor.dtype;
  message.type->dims = std::move(tensor.dims);
  message.data = std::move(tensor.bytes);
  return message;
}

Result<Tensor> from_wire(const wire::TensorT& message) {
  if (message.type == nullptr) return invalid_argument(fmt::format("tensor '{}' has no type", message.name));
  Tensor tensor{message.type->dtype, message.type->dims, message.data};
  ZB_TRY(check_tensor(tensor).with_prefix(fmt::format("tensor '{}'", message.name)));
  return tensor;
}

}  // namespace zomboss::oracle
