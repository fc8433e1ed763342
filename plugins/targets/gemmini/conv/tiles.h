// The macro tiles of a mapping, in the order in which a kernel works on them. Plain values; any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"

namespace zomboss::gemmini::conv {

struct Range {
  int64_t first = 0, count = 1;
};

// Output pixels times output channels, summed over taps and input channels. Tile numbers of operands count
// inside one group: equal numbers of a group mean the same data.
struct Tile {
  int64_t group = 0;
  Range batch, rows, cols;                  // output pixels
  Range kernel_rows, kernel_cols, in, out;  // taps; input and output channels of the group
  int64_t a_tile = 0, b_tile = 0;
  bool first_k = true, last_k = true;

  int64_t lines() const { return batch.count * rows.count; }
  int64_t pixels() const { return lines() * cols.count; }
  int64_t taps() const { return kernel_rows.count * kernel_cols.count; }
};

// Calls visit(tile) for each; the sums of one output tile follow each other. Stops when visit returns false.
template <typename Visit>
void for_each_tile(const Problem& problem, const Mapping& m, Visit&& visit) {
  const auto cut = [](int64_t index, int64_t size, int64_t extent) {
    return Range{index * size, std::min(size, extent - index * size)};
  };
  const Form& form = problem.forms[m.form];
  const int64_t batches = ceil_div(problem.batch, m.tile_batch),
                rows = ceil_div(problem.rows.out, m.tile_rows),
                cols = ceil_div(problem.cols.out, m.tile_cols);
  const int64_t pixel_tiles = batches * rows * cols;
  const bool rows_outside = m.loop_order == LoopOrder::kRowsOutside;
  for (int64_t g = 0; g < static_cast<int64_t>(form.groups.size()); ++g) {
    const Group& group = form.groups[static_cast<size_t>(g)];
    const int64_t n_tiles = ceil_div(group.out_channels, m.tile_n);
    const int64_t in_tiles = ceil_div(group.in_channels, m.tile_k);
    const int64_t kernel_cols = ceil_div(problem.cols.kernel, m.tile_kernel_cols);
    const int64_t k_tiles = in_tiles * kernel_cols * ceil_div(problem.rows.kernel, m.tile_kernel_rows);
    Tile tile;
    tile.group = g;
    for (int64_t outer = 0; outer < (rows_outside ? pixel_tiles : n_tiles); ++outer) {
      for (int64_t inner = 0; inner < (rows_outside ? n_tiles : pixel_tiles); ++inner) {
        const int64_t pixel = rows_outside ? outer : inner, n = rows_outside ? inner : outer;
        tile.batch = cut(pixel / (rows * cols), m.tile_batch, problem.batch);
        tile.rows = cut(pixel / cols % rows, m.tile_rows, problem.rows.out);
        tile.cols = cut(pixel % cols, m.tile_cols, problem.cols.out);
        tile.out = cut(n, m.tile_n, group.out_channels);
        for (int64_t k = 0; k < k_tiles; ++k) {
          tile.kernel_rows = cut(k / in_tiles / kernel_cols, m.tile_kernel_rows, problem.rows.kernel);
          tile.kernel_cols = cut(k / in_tiles % kernel_cols, m.tile_kernel_cols, problem.cols.kernel);
          tile.in = cut(k % in_tiles, m.tile_k, group.in_channels);
          tile.a_tile = pixel * k_tiles + k;
          tile.b_tile = n * k_tiles + k;
          tile.first_k = k == 0;
          tile.last_k = k + 1 == k_tiles;
          if (!visit(static_cast<const Tile&>(tile))) return;
        }
      }
    }
  }
}

}  // namespace zomboss::gemmini::conv
