// How the dims of an operator lie in the value that holds it. Plain values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zomboss::plena {

using ValueId = int32_t;  // index into Problem::values
inline constexpr ValueId kNoValue = -1;

// The value's storage is row-major over `dims`; the first `split` of them are its rows. Dim i of the operator
// is storage dim order[i]. A uniform value is one number everywhere.
struct View {
  ValueId value = kNoValue;
  std::vector<int64_t> dims;
  size_t split = 0;
  std::vector<size_t> order;

  bool rounded = false;  // by a convert of the workload to bf16 or narrower
  bool is_uniform = false;
  double uniform = 0;
  // A broadcast of a smaller view: dim i of the operator follows dim along[i] of `value`'s operator dims, or
  // repeats when it is -1. Empty when it is no broadcast.
  std::vector<int64_t> along;
  std::vector<int64_t> shape;  // the operator's dims

  bool in_order() const;
  int64_t rows() const;
  int64_t cols() const;
};

View view_of(ValueId value, std::vector<int64_t> dims, size_t split);
// The same storage under other dims; nothing when rows and columns cannot be told apart in them.
bool reshape_view(View& view, const std::vector<int64_t>& dims);
int64_t product(const std::vector<int64_t>& dims, size_t begin, size_t end);

}  // namespace zomboss::plena
