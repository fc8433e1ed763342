#include <algorithm>
#include <set>

#include "plugins/targets/gemmini/conv/library.h"
#include "plugins/targets/gemmini/conv/loop.h"
#include "plugins/targets/gemmini/conv/surface.h"

namespace zomboss::gemmini::conv {
namespace {

// Balanced cuts into 1, 2, 4, ... parts, no smaller than `least`: the sizes of the larger part.
void add_cuts(std::set<int64_t>& values, int64_t extent, int64_t least, int64_t unit = 1) {
  for (int64_t size = extent;; size = ceil_div(size, 2)) {
    if (size >= least || size == extent) values.insert(size * unit);
    if (size == 1) return;
  }
}

// 1, 2, 4, ... up to what one move can take and the tensor has.
std::vector<int64_t> widths(int64_t widest, int64_t blocks) {
  std::vector<int64_t> values = {1};
  while (values.back() * 2 <= widest && values.back() < blocks) values.push_back(values.back() * 2);
  return values;
}

std::vector<int64_t> listed(const std::set<int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

Domains knob_domains(const Problem& problem, const Machine& machine) {
  const int64_t dim = machine.dim, widest = machine.max_block_columns() / dim;
  std::set<int64_t> forms, interfaces = {0, 1}, taps = {1}, batch, rows, cols, k, n, kernel_rows, kernel_cols;
  kernel_rows.insert(problem.rows.kernel);
  kernel_cols.insert(problem.cols.kernel);
  // Tiles of less than most of a block of pixels only waste steps.
  add_cuts(cols, problem.cols.out, dim / 2 + 1);
  add_cuts(rows, problem.rows.out, ceil_div(3 * dim / 4, *cols.begin()));
  add_cuts(batch, problem.batch, ceil_div(3 * dim / 4, *cols.begin() * *rows.begin()));
  int64_t k_blocks = 1, n_blocks = 1;
  for (uint32_t f = 0; f < problem.forms.size(); ++f) {
    const Form& form = problem.forms[f];
    forms.insert(f);
    const int64_t in = form.most_in_channels();
    k_blocks = std::max(k_blocks, ceil_div(in, dim));
    n_blocks = std::max(n_blocks, ceil_div(form.most_out_channels(), dim));
    add_cuts(k, ceil_div(in, dim), 1, dim);
    add_cuts(n, ceil_div(form.most_out_channels(), dim), 1, dim);
    const int64_t several = std::min(dim / ((in - 1) % dim + 1), problem.cols.kernel);
    if (several > 1 && problem.cols.dilation == 1 && form.groups.size() == 1) taps.insert(several);
    if (const auto library = library_mapping(problem, f, machine)) {
      interfaces.insert(2);
      batch.insert(library->tile_batch);
      rows.insert(library->tile_rows);
      cols.insert(library->tile_cols);
      k.insert(library->tile_k);
      n.insert(library->tile_n);
      kernel_rows.insert(library->tile_kernel_rows);
      kernel_cols.insert(library->tile_kernel_cols);
    }
  }
  Domains domains;
  const auto set = [&](Knob knob, std::vector<int64_t> values) {
    domains[static_cast<size_t>(knob)] = std::move(values);
  };
  set(Knob::kDepthwise, listed(forms));
  set(Knob::kInterface, listed(interfaces));
  set(Knob::kTapsPerStep, listed(taps));
  set(Knob::kTileBatch, listed(batch));
  set(Knob::kTileCols, listed(cols));
  set(Knob::kTileK, listed(k));
  set(Knob::kTileKernelCols, listed(kernel_cols));
  set(Knob::kTileKernelRows, listed(kernel_rows));
  set(Knob::kTileN, listed(n));
  set(Knob::kTileRows, listed(rows));
  set(Knob::kBankPlacement,
      machine.scratchpad_banks % 4 == 0 ? std::vector<int64_t>{0, 3} : std::vector<int64_t>{0});
  set(Knob::kAccBuffering, {1, 2});
  set(Knob::kBufferingA, {0, 1, 2});
  set(Knob::kBufferingB, {0, 1, 2});
  set(Knob::kLoadWidthA, widths(widest, k_blocks));
  set(Knob::kLoadWidthB, widths(widest, n_blocks));
  set(Knob::kStoreSchedule, {0, 1, 2});
  set(Knob::kStoreWidth, problem.full_width ? std::vector<int64_t>{1} : widths(widest, n_blocks));
  set(Knob::kInnerOrder, {0, 1});
  set(Knob::kLoopOrder, {0, 1});
  return domains;
}

}  // namespace zomboss::gemmini::conv
