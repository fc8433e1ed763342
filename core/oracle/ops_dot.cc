#include <algorithm>
#include <type_traits>

#include "core/oracle/context.h"
#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

// Dims and strides of one operand, in the order batch, free, contracting (lhs) or batch, contracting, free
// (rhs).
struct Side {
  std::vector<int64_t> batch_dims, free_dims, contract_dims;
  std::vector<int64_t> batch_strides, free_strides, contract_strides;
};

Side split(const Array& operand, std::span<const int64_t> batch, std::span<const int64_t> contract) {
  Side side;
  const std::vector<int64_t> strides = row_major_strides(operand.dims);
  const auto take = [&](int64_t d, std::vector<int64_t>& to_dims, std::vector<int64_t>& to_strides) {
    to_dims.push_back(operand.dims[static_cast<size_t>(d)]);
    to_strides.push_back(strides[static_cast<size_t>(d)]);
  };
  for (const int64_t d : batch) take(d, side.batch_dims, side.batch_strides);
  for (const int64_t d : contract) take(d, side.contract_dims, side.contract_strides);
  for (int64_t d = 0; d < static_cast<int64_t>(operand.dims.size()); ++d) {
    const bool used = std::find(batch.begin(), batch.end(), d) != batch.end() ||
                      std::find(contract.begin(), contract.end(), d) != contract.end();
    if (!used) take(d, side.free_dims, side.free_strides);
  }
  return side;
}

int64_t product(std::span<const int64_t> dims) {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

// The elements of two dimension groups from `offset` on, as a dense row-major matrix of T. Integers are taken
// modulo the width of T, which is all that a result of that width depends on.
template <typename T>
void pack(const Array& operand, int64_t offset, const std::vector<int64_t>& outer_dims,
          const std::vector<int64_t>& outer_strides, const std::vector<int64_t>& inner_dims,
          const std::vector<int64_t>& inner_strides, std::vector<T>& packed) {
  std::vector<int64_t> dims = outer_dims;
  dims.insert(dims.end(), inner_dims.begin(), inner_dims.end());
  StridedView view{offset, outer_strides};
  view.strides.insert(view.strides.end(), inner_strides.begin(), inner_strides.end());
  const bool int_to_float = std::is_same_v<T, double> && !hlo::is_float(operand.dtype);
  packed.clear();
  for_each_position(dims, view, [&](size_t position) {
    const Lane lane = operand.lanes[position];
    if constexpr (std::is_same_v<T, double>) {
      packed.push_back(lane_float(int_to_float ? convert_lane(lane, operand.dtype, DType::F64, true) : lane));
    } else {
      packed.push_back(static_cast<T>(lane));
    }
  });
}

// c[m,n] += sum over k of a[m,k] * b[k,n], in the order of k. Four rows of `a` share each row of `b`.
template <typename T>
void multiply(const T* a, const T* b, T* c, size_t rows, size_t depth, size_t columns) {
  size_t m = 0;
  for (; m + 4 <= rows; m += 4) {
    T* c0 = c + m * columns;
    T* c1 = c0 + columns;
    T* c2 = c1 + columns;
    T* c3 = c2 + columns;
    for (size_t k = 0; k < depth; ++k) {
      const T a0 = a[m * depth + k];
      const T a1 = a[(m + 1) * depth + k];
      const T a2 = a[(m + 2) * depth + k];
      const T a3 = a[(m + 3) * depth + k];
      const T* row = b + k * columns;
      for (size_t n = 0; n < columns; ++n) {
        const T value = row[n];
        c0[n] += a0 * value;
        c1[n] += a1 * value;
        c2[n] += a2 * value;
        c3[n] += a3 * value;
      }
    }
  }
  for (; m < rows; ++m) {
    for (size_t k = 0; k < depth; ++k) {
      const T value = a[m * depth + k];
      for (size_t n = 0; n < columns; ++n) c[m * columns + n] += value * b[k * columns + n];
    }
  }
}

template <typename T>
Status dot(Context& context, const Array& lhs, const Array& rhs, const hlo::Attributes& attributes,
           Array& result) {
  const Side left = split(lhs, attributes.lhs_batch_dims, attributes.lhs_contracting_dims);
  const Side right = split(rhs, attributes.rhs_batch_dims, attributes.rhs_contracting_dims);
  const int64_t rows = product(left.free_dims);
  const int64_t depth = product(left.contract_dims);
  const int64_t columns = product(right.free_dims);
  ZB_TRY(context.budget().charge_product({product(left.batch_dims), rows, columns, depth}));
  ZB_ASSIGN(const auto scratch,
            Reservation::make(context.budget(), rows * depth + depth * columns + rows * columns));
  std::vector<T> a, b, c;
  std::vector<int64_t> right_offsets;
  for_each_position(right.batch_dims, {0, right.batch_strides},
                    [&](size_t position) { right_offsets.push_back(static_cast<int64_t>(position)); });
  size_t batch = 0;
  for_each_position(left.batch_dims, {0, left.batch_strides}, [&](size_t position) {
    pack(lhs, static_cast<int64_t>(position), left.free_dims, left.free_strides, left.contract_dims,
         left.contract_strides, a);
    pack(rhs, right_offsets[batch], right.contract_dims, right.contract_strides, right.free_dims,
         right.free_strides, b);
    c.assign(static_cast<size_t>(rows * columns), T{});
    multiply(a.data(), b.data(), c.data(), static_cast<size_t>(rows), static_cast<size_t>(depth),
             static_cast<size_t>(columns));
    Lane* out = result.lanes.data() + batch * c.size();
    for (size_t i = 0; i < c.size(); ++i) {
      if constexpr (std::is_same_v<T, double>) {
        out[i] = to_lane(c[i]);
      } else {
        out[i] = to_lane(wrap(static_cast<int64_t>(c[i]), result.dtype));
      }
    }
    ++batch;
  });
  return {};
}

}  // namespace

// Integers are accumulated modulo 2^32 or 2^64, whichever holds the result type: exact after wrapping.
Result<Value> eval_dot(Context& context, const hlo::Instruction& instruction,
                       std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_array(context, instruction));
  const Array& lhs = *operands[0];
  const Array& rhs = *operands[1];
  if (hlo::is_float(result->dtype)) {
    ZB_TRY(dot<double>(context, lhs, rhs, instruction.attributes, *result));
  } else if (hlo::is_float(lhs.dtype) || hlo::is_float(rhs.dtype)) {
    return unimplemented("dot of floats with an integer result");
  } else if (hlo::dtype_bits(result->dtype) <= 32) {
    ZB_TRY(dot<uint32_t>(context, lhs, rhs, instruction.attributes, *result));
  } else {
    ZB_TRY(dot<uint64_t>(context, lhs, rhs, instruction.attributes, *result));
  }
  return array_value(std::move(result));
}

}  // namespace zomboss::oracle
