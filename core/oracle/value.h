// How the oracle holds values while it computes: every element is one 64-bit lane, either an integer (two's
// complement, extended from its width; u64 as the same 64 bits; pred as 0 or 1) or the bits of a double. So
// data movement needs no knowledge of the element type. Internal to core/oracle.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/hlo/module.h"
#include "zomboss/sdk/status.h"

namespace zomboss::oracle {

using hlo::DType;

using Lane = uint64_t;

inline int64_t lane_int(Lane lane) {
  return static_cast<int64_t>(lane);
}
inline double lane_float(Lane lane) {
  return std::bit_cast<double>(lane);
}
inline Lane to_lane(int64_t value) {
  return static_cast<Lane>(value);
}
inline Lane to_lane(double value) {
  return std::bit_cast<Lane>(value);
}

// Counts the bytes of live arrays and the elementary operations of one evaluation, against their limits.
class Budget {
 public:
  Budget(int64_t byte_limit, int64_t work_limit) : byte_limit_(byte_limit), work_limit_(work_limit) {}

  Status reserve(int64_t elements);  // fails, reserving nothing, when the limit would be passed
  void release(int64_t elements) { bytes_ -= elements * int64_t{sizeof(Lane)}; }
  Status charge(int64_t operations);
  // The product of the factors, none negative.
  Status charge_product(std::initializer_list<int64_t> factors);

 private:
  int64_t byte_limit_;
  int64_t work_limit_;
  int64_t bytes_ = 0;
  int64_t work_ = 0;
};

// Elements of scratch memory, held until the end of the scope.
class Reservation {
 public:
  static Result<Reservation> make(Budget& budget, int64_t elements) {
    ZB_TRY(budget.reserve(elements));
    return Reservation(budget, elements);
  }
  Reservation(Reservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), elements_(other.elements_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation() {
    if (budget_ != nullptr) budget_->release(elements_);
  }

 private:
  Reservation(Budget& budget, int64_t elements) : budget_(&budget), elements_(elements) {}
  Budget* budget_;
  int64_t elements_;
};

// An array of lanes. Gives its bytes back to the Budget, which must outlive it.
class Array {
 public:
  // `elements` were reserved by make_array.
  Array(Budget& budget, DType dtype, std::vector<int64_t> dims, int64_t elements);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  DType dtype;
  std::vector<int64_t> dims;
  std::vector<Lane> lanes;

  int64_t size() const { return static_cast<int64_t>(lanes.size()); }

 private:
  Budget& budget_;
};

// An array or a tuple. Arrays are immutable once made and are shared between the instruction that made them,
// tuples, and the parameters of called computations: hence shared_ptr.
struct Value {
  std::shared_ptr<const Array> array;  // null for a tuple
  std::vector<Value> elements;         // of a tuple

  const Array& operator*() const { return *array; }
  const Array* operator->() const { return array.get(); }
};

// An array of zero lanes, or why it would be too large.
Result<std::shared_ptr<Array>> make_array(Budget& budget, DType dtype, std::vector<int64_t> dims);

// Row-major strides of `dims`, in elements.
std::vector<int64_t> row_major_strides(std::span<const int64_t> dims);

// to[to_offset + sum(i[d] * to_strides[d])] = from[from_offset + sum(i[d] * from_strides[d])] for every index
// i below `dims`. The caller guarantees that all those positions exist.
struct StridedView {
  int64_t offset = 0;
  std::vector<int64_t> strides;
};
void copy_strided(std::span<const int64_t> dims, std::span<const Lane> from, const StridedView& from_view,
                  std::span<Lane> to, const StridedView& to_view);

// Calls f(position) for every index below `dims` in row-major order, with the position as copy_strided forms
// it.
template <typename F>
void for_each_position(std::span<const int64_t> dims, const StridedView& view, F&& f) {
  for (const int64_t dim : dims) {
    if (dim == 0) return;
  }
  std::vector<int64_t> index(dims.size(), 0);
  int64_t position = view.offset;
  for (;;) {
    f(static_cast<size_t>(position));
    size_t d = dims.size();
    for (;;) {
      if (d == 0) return;
      --d;
      position += view.strides[d];
      if (++index[d] < dims[d]) break;
      position -= view.strides[d] * dims[d];
      index[d] = 0;
    }
  }
}

// Counts an index vector through row-major order.
class Odometer {
 public:
  explicit Odometer(std::span<const int64_t> dims) : dims_(dims), index_(dims.size(), 0) {}
  const std::vector<int64_t>& index() const { return index_; }
  void next();  // after the last index it starts again at zero

 private:
  std::span<const int64_t> dims_;
  std::vector<int64_t> index_;
};

}  // namespace zomboss::oracle
