#include "core/oracle/value.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "core/base/text.h"
#include "core/oracle/tensor.h"

namespace zomboss::oracle {

Status Budget::reserve(int64_t elements) {
  constexpr auto kWidth = int64_t{sizeof(Lane)};
  if (elements > (byte_limit_ - bytes_) / kWidth) {
    return resource_exhausted(fmt::format(
        "a result of {} elements needs {} while {} of the limit of {} are in use; use a smaller workload or "
        "raise the limit",
        elements, elements > (int64_t{1} << 59) ? "more than 4 EiB" : format_bytes(elements * kWidth),
        format_bytes(bytes_), format_bytes(byte_limit_)));
  }
  bytes_ += elements * kWidth;
  return {};
}

Status Budget::charge(int64_t operations) {
  if (operations > work_limit_ - work_) {
    return resource_exhausted(
        fmt::format("the evaluation needs more than {} elementary operations (the limit); a loop may not "
                    "end, or the workload "
                    "is too large for the oracle",
                    work_limit_));
  }
  work_ += operations;
  return {};
}

Status Budget::charge_product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  bool overflow = false;
  for (const int64_t factor : factors) {
    if (factor == 0) return {};
    overflow = overflow || __builtin_mul_overflow(product, factor, &product);
  }
  return charge(overflow ? std::numeric_limits<int64_t>::max() : product);
}

Array::Array(Budget& budget, DType type, std::vector<int64_t> dimensions, int64_t elements)
    : dtype(type), dims(std::move(dimensions)), lanes(static_cast<size_t>(elements)), budget_(budget) {}

Array::~Array() {
  budget_.release(size());
}

Result<std::shared_ptr<Array>> make_array(Budget& budget, DType dtype, std::vector<int64_t> dims) {
  ZB_ASSIGN(const int64_t elements, element_count(dims));
  ZB_TRY(budget.reserve(elements));
  return std::make_shared<Array>(budget, dtype, std::move(dims), elements);
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d] == 0 ? 1 : dims[d];
  }
  return strides;
}

void Odometer::next() {
  for (size_t d = index_.size(); d-- > 0;) {
    if (++index_[d] < dims_[d]) return;
    index_[d] = 0;
  }
}

void copy_strided(std::span<const int64_t> dims, std::span<const Lane> from, const StridedView& from_view,
                  std::span<Lane> to, const StridedView& to_view) {
  for (const int64_t dim : dims) {
    if (dim == 0) return;
  }
  if (dims.empty()) {
    to[static_cast<size_t>(to_view.offset)] = from[static_cast<size_t>(from_view.offset)];
    return;
  }
  const size_t last = dims.size() - 1;
  const int64_t inner = dims[last];
  const int64_t from_step = from_view.strides[last];
  const int64_t to_step = to_view.strides[last];
  int64_t from_at = from_view.offset;
  int64_t to_at = to_view.offset;
  std::vector<int64_t> index(last, 0);
  for (;;) {
    for (int64_t i = 0; i < inner; ++i) {
      to[static_cast<size_t>(to_at + i * to_step)] = from[static_cast<size_t>(from_at + i * from_step)];
    }
    size_t d = last;
    for (;;) {
      if (d == 0) return;
      --d;
      from_at += from_view.strides[d];
      to_at += to_view.strides[d];
      if (++index[d] < dims[d]) break;
      from_at -= from_view.strides[d] * dims[d];
      to_at -= to_view.strides[d] * dims[d];
      index[d] = 0;
    }
  }
}

}  // namespace zomboss::oracle
