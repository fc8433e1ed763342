#include "plugins/targets/plena/problem/view.h"

#include <numeric>

namespace zomboss::plena {

int64_t product(const std::vector<int64_t>& dims, size_t begin, size_t end) {
  int64_t result = 1;
  for (size_t i = begin; i < end; ++i) result *= dims[i];
  return result;
}

bool View::in_order() const {
  size_t last = 0;
  for (const size_t axis : order) {  // dims of size 1 may stand anywhere
    if (dims[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

int64_t View::rows() const {
  return product(dims, 0, split);
}
int64_t View::cols() const {
  return product(dims, split, dims.size());
}

View view_of(ValueId value, std::vector<int64_t> dims, size_t split) {
  View view;
  view.value = value;
  view.shape = dims;
  view.order.resize(dims.size());
  std::iota(view.order.begin(), view.order.end(), size_t{0});
  view.dims = std::move(dims);
  view.split = split;
  return view;
}

bool reshape_view(View& view, const std::vector<int64_t>& dims) {
  if (!view.in_order() || !view.along.empty()) return false;
  const int64_t rows = view.rows();
  for (size_t split = dims.size() + 1; split-- > 0;) {
    if (product(dims, 0, split) != rows) continue;
    if (split == dims.size() && view.cols() != 1) continue;
    const ValueId value = view.value;
    const bool rounded = view.rounded;
    view = view_of(value, dims, split);
    view.rounded = rounded;
    return true;
  }
  return false;
}

}  // namespace zomboss::plena
