#include "plugins/targets/gemmini/conv/library.h"

#include <array>

#include "plugins/targets/gemmini/conv/loop.h"

namespace zomboss::gemmini::conv {
namespace {

// The library's seven loops, in its order.
enum Loop : size_t { kBatch, kRows, kCols, kOut, kKernelRows, kKernelCols, kIn, kLoops };
using Sizes = std::array<int64_t, kLoops>;

Mapping mapping_with(const Sizes& sizes, uint32_t form) {
  Mapping m;
  m.form = form;
  m.interface = Interface::kLoop;
  m.tile_batch = sizes[kBatch];
  m.tile_rows = sizes[kRows];
  m.tile_cols = sizes[kCols];
  m.tile_n = sizes[kOut];
  m.tile_kernel_rows = sizes[kKernelRows];
  m.tile_kernel_cols = sizes[kKernelCols];
  m.tile_k = sizes[kIn];
  return m;
}

class Chooser {
 public:
  Chooser(const Problem& problem, uint32_t form, const Machine& machine)
      : problem_(problem), form_(form), machine_(machine) {}

  // Nothing when even the smallest tile does not fit.
  std::optional<Sizes> run() {
    const Form& form = problem_.forms[form_];
    const Sizes whole = {problem_.batch,           problem_.rows.out,    problem_.cols.out,
                         form.most_out_channels(), problem_.rows.kernel, problem_.cols.kernel,
                         form.most_in_channels()};
    Sizes sizes = whole;
    while (!fits(sizes))
      if (!shrink(sizes)) return std::nullopt;
    while (grow(sizes, whole, kCols)) {
    }
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = 0; i < kLoops; ++i) grown = grow(sizes, whole, i) || grown;
    }
    return sizes;
  }

 private:
  bool fits(const Sizes& sizes) const {
    const LoopRows rows = loop_rows(problem_, mapping_with(sizes, form_), machine_);
    return rows.scratchpad <= machine_.loop_scratchpad_rows() &&
           rows.accumulator <= machine_.loop_accumulator_rows();
  }

  // Takes from the largest: a block of channels, or one. Columns that fill the array at most stay while there
  // are rows to take.
  bool shrink(Sizes& sizes) const {
    const int64_t dim = machine_.dim;
    size_t largest = kLoops;
    for (size_t i = 0; i < kLoops; ++i) {
      if (i == kCols && sizes[i] <= dim && sizes[kRows] > 1) continue;
      if (largest == kLoops || sizes[i] > sizes[largest]) largest = i;
    }
    int64_t& size = sizes[largest];
    if (size <= 1) return false;
    if (largest == kOut || largest == kIn) {
      size = size % dim != 0 ? size / dim * dim : size - dim;
      if (size == 0) size = 1;
    } else {
      --size;
    }
    return true;
  }

  bool grow(Sizes& sizes, const Sizes& whole, size_t loop) const {
    Sizes larger = sizes;
    ++larger[loop];
    if (larger[loop] > whole[loop] || !fits(larger)) return false;
    sizes = larger;
    return true;
  }

  const Problem& problem_;
  const uint32_t form_;
  const Machine& machine_;
};

}  // namespace

std::optional<Mapping> library_mapping(const Problem& problem, uint32_t form, const Machine& machine) {
  if (!check_loop_form(problem, problem.forms[form]).ok()) return std::nullopt;
  const auto sizes = Chooser(problem, form, machine).run();
  if (!sizes) return std::nullopt;
  Mapping mapping = mapping_with(*sizes, form);
  // All channels are spelled as whole blocks, like in every other mapping.
  const int64_t dim = machine.dim;
  if (mapping.tile_k == problem.forms[form].most_in_channels())
    mapping.tile_k = ceil_div(mapping.tile_k, dim) * dim;
  if (mapping.tile_n == problem.forms[form].most_out_channels())
    mapping.tile_n = ceil_div(mapping.tile_n, dim) * dim;
  if (!check_loop_tiles(problem, mapping, machine).ok()) return std::nullopt;
  return mapping;
}

}  // namespace zomboss::gemmini::conv
