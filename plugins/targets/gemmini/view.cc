#include "plugins/targets/gemmini/view.h"

#include <algorithm>

namespace zomboss::gemmini {

int64_t extent_of(const Dim& dim) {
  int64_t extent = 1;
  for (const Factor& factor : dim) extent *= factor.extent;
  return extent;
}

View dense_view(uint32_t buffer, std::span<const int64_t> dims) {
  View view{buffer, std::vector<Dim>(dims.size())};
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1) view.dims[i] = {{dims[i], stride}};
    stride *= dims[i];
  }
  return view;
}

Dim merged(Dim dim) {
  Dim result;
  for (const Factor& factor : dim) {
    if (factor.extent == 1) continue;
    if (!result.empty() && result.back().stride == factor.extent * factor.stride) {
      result.back() = {result.back().extent * factor.extent, factor.stride};
    } else {
      result.push_back(factor);
    }
  }
  return result;
}

View transposed(const View& view, std::span<const int64_t> permutation) {
  View result{view.buffer, {}};
  for (int64_t from : permutation) result.dims.push_back(view.dims[static_cast<size_t>(from)]);
  return result;
}

View inverse_transposed(const View& view, std::span<const int64_t> permutation) {
  View result{view.buffer, std::vector<Dim>(permutation.size())};
  for (size_t j = 0; j < permutation.size(); ++j)
    result.dims[static_cast<size_t>(permutation[j])] = view.dims[j];
  return result;
}

std::optional<View> reshaped(const View& view, std::span<const int64_t> dims) {
  Dim rest;
  for (const Dim& dim : view.dims) rest.insert(rest.end(), dim.begin(), dim.end());
  rest = merged(std::move(rest));
  View result{view.buffer, std::vector<Dim>(dims.size())};
  for (size_t i = dims.size(); i-- > 0;) {
    int64_t missing = dims[i];
    while (missing > 1) {
      if (rest.empty()) return std::nullopt;
      Factor& minor = rest.back();
      if (missing % minor.extent == 0) {
        missing /= minor.extent;
        result.dims[i].push_back(minor);
        rest.pop_back();
      } else if (minor.extent % missing == 0) {
        result.dims[i].push_back({missing, minor.stride});
        minor = {minor.extent / missing, minor.stride * missing};
        missing = 1;
      } else {
        return std::nullopt;
      }
    }
    std::reverse(result.dims[i].begin(), result.dims[i].end());
  }
  return rest.empty() ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<std::vector<SharedLoop>> refined(std::span<const Dim> dims) {
  std::vector<Dim> rest(dims.begin(), dims.end());
  for (Dim& dim : rest) dim = merged(std::move(dim));
  std::vector<SharedLoop> loops;
  while (!rest.empty() && !rest[0].empty()) {
    SharedLoop loop{rest[0].back().extent, {}};
    for (const Dim& dim : rest) {
      if (dim.empty()) return std::nullopt;
      loop.extent = std::min(loop.extent, dim.back().extent);
    }
    for (Dim& dim : rest) {
      Factor& minor = dim.back();
      if (minor.extent % loop.extent != 0) return std::nullopt;
      loop.strides.push_back(minor.stride);
      minor = {minor.extent / loop.extent, minor.stride * loop.extent};
      if (minor.extent == 1) dim.pop_back();
    }
    loops.push_back(std::move(loop));
  }
  for (const Dim& dim : rest)
    if (!dim.empty()) return std::nullopt;
  std::reverse(loops.begin(), loops.end());
  return loops;
}

}  // namespace zomboss::gemmini
