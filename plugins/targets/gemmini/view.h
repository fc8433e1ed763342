// Strided views of dense buffers. Transposes and reshapes of a tensor become views, so that a kernel reads
// and writes the buffers directly instead of moving data around. All values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace zomboss::gemmini {

// One loop over a buffer: `extent` steps of `stride` elements. Stride 0 repeats the same element.
struct Factor {
  int64_t extent = 1;
  int64_t stride = 0;
  bool operator==(const Factor&) const = default;
};

// A tensor dimension as a mixed-radix number, major to minor. The extents' product is the dimension's extent;
// no factors = extent 1.
using Dim = std::vector<Factor>;
int64_t extent_of(const Dim& dim);

struct View {
  uint32_t buffer = 0;  // for the owner of the view; not used here
  std::vector<Dim> dims;
};

// Row-major over `dims`, all positive.
View dense_view(uint32_t buffer, std::span<const int64_t> dims);

// Joins neighbours that one loop can walk, and drops extents of 1.
Dim merged(Dim dim);

// result.dims[j] = view.dims[permutation[j]]; the inverse puts view.dims[j] at permutation[j].
View transposed(const View& view, std::span<const int64_t> permutation);
View inverse_transposed(const View& view, std::span<const int64_t> permutation);

// The same elements in the same order with other dimensions of equal product. Nothing when a new dimension
// would begin inside a loop of the view that does not split evenly there.
std::optional<View> reshaped(const View& view, std::span<const int64_t> dims);

// A loop that several tensors walk at once, each with its own stride.
struct SharedLoop {
  int64_t extent = 1;
  std::vector<int64_t> strides;  // in the order of the dims given to `refined`
};

// The coarsest common loops of several spellings of one dimension (all of the same extent), major to minor.
// Nothing when their loop borders do not nest.
std::optional<std::vector<SharedLoop>> refined(std::span<const Dim> dims);

}  // namespace zomboss::gemmini
