// Space in the vector SRAM: panels and their allocation. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plugins/targets/plena/code/affine.h"

namespace zomboss::plena {

// A matrix in the vector SRAM: one column of tiles after the other, `pitch` rows apart.
struct Panel {
  int64_t first = 0;  // row of the vector SRAM
  int64_t rows = 0;
  int64_t tiles = 0;
  int64_t pitch = 0;
  int64_t width = 64;  // elements of a row

  Affine at(const Affine& row, const Affine& tile) const { return (row + tile * pitch + first) * width; }
  int64_t size() const { return tiles * pitch; }
};

// First fit over rows; what was freed is used again.
class VectorSpace {
 public:
  int64_t allocate(int64_t rows) {
    int64_t at = 0;
    size_t before = 0;
    for (; before < used_.size(); ++before) {
      if (used_[before].begin - at >= rows) break;
      at = used_[before].end;
    }
    used_.insert(used_.begin() + static_cast<std::ptrdiff_t>(before), {at, at + rows});
    high_ = std::max(high_, at + rows);
    return at;
  }
  // Frees what was allocated at `begin`, or its rows from `keep` on.
  void release(int64_t begin, int64_t keep = 0) {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (used_[i].begin != begin) continue;
      if (keep > 0)
        used_[i].end = begin + keep;
      else
        used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  int64_t high_water() const { return high_; }

 private:
  struct Range {
    int64_t begin, end;
  };
  std::vector<Range> used_;  // ascending
  int64_t high_ = 0;
};

}  // namespace zomboss::plena
