// A dense array as bytes: what goes into the oracle and what comes out of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/hlo/module.h"
#include "zomboss/sdk/status.h"

namespace zomboss::oracle {

using hlo::DType;

// Row-major, little-endian, whole bytes per element (types under 8 bits take one byte each), like
// zomboss::wire::Tensor. A plain value.
struct Tensor {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;  // major to minor; empty = scalar
  std::vector<uint8_t> bytes;

  bool operator==(const Tensor&) const = default;
};

// A tensor of the C++ type that stores `dtype`, e.g. int8_t for S8 and Pred, float for F32. The sizes are the
// caller's responsibility: checked by check_tensor.
template <typename T>
Tensor make_tensor(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  Tensor tensor{dtype, std::move(dims), std::vector<uint8_t>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

// The elements of a tensor whose dtype is stored as T; a shorter tail than one T is ignored.
template <typename T>
std::vector<T> tensor_values(const Tensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), values.size() * sizeof(T));
  return values;
}

// Product of the dims, or an error when a dim is negative or the product needs more than 62 bits.
Result<int64_t> element_count(std::span<const int64_t> dims);

// Ok when dtype is an array type and `bytes` has the size that dtype and dims ask for.
Status check_tensor(const Tensor& tensor);

wire::TensorT to_wire(Tensor tensor, std::string name);
Result<Tensor> from_wire(const wire::TensorT& message);

}  // namespace zomboss::oracle
