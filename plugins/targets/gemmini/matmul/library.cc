#include "plugins/targets/gemmini/matmul/library.h"

#include <algorithm>
#include <cmath>

namespace zomboss::gemmini {

std::optional<Mapping> library_mapping(const Problem& problem, const Machine& machine) {
  const auto written = std::find_if(problem.forms.begin(), problem.forms.end(),
                                    [](const Form& form) { return !form.exchanged && form.fold == 1; });
  const auto chosen = written == problem.forms.end() ? problem.forms.begin() : written;
  const Form& form = *chosen;
  if (!form.suits_loops() || !problem.before.empty() || !problem.after.empty() || !form.before.empty() ||
      !form.after.empty())
    return std::nullopt;

  const int64_t dim = machine.dim;
  const int64_t rows = form.m.blocks(), cols = form.n.blocks(), depth = form.k.blocks();
  const int64_t scratchpad = machine.loop_scratchpad_rows(), accumulator = machine.loop_accumulator_rows();
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(accumulator / dim)));
  const int64_t deepest = scratchpad / 2 / dim / std::max<int64_t>(side, 1);
  int64_t m = std::clamp<int64_t>(side, 1, rows), n = std::clamp<int64_t>(side, 1, cols),
          k = std::clamp<int64_t>(deepest, 1, depth);
  const auto fits = [&](int64_t i, int64_t j, int64_t l) {
    return (i * l + l * j) * dim <= scratchpad && i * j * dim <= accumulator;
  };
  if (!fits(m, n, k)) return std::nullopt;
  for (bool grows = true; grows;) {
    grows = false;
    const auto grow = [&](int64_t& size, int64_t most, bool fit) {
      if (!fit || size >= most) return;
      ++size;
      grows = true;
    };
    grow(n, cols, fits(m, n + 1, k));
    grow(m, rows, fits(m + 1, n, k));
    grow(k, depth, fits(m, n, k + 1));
  }

  Mapping mapping;
  mapping.orientation = static_cast<uint32_t>(chosen - problem.forms.begin());
  mapping.tile_m = m;
  mapping.tile_n = n;
  mapping.tile_k = k;
  mapping.fence = form.batches.size() > 1 ? FencePolicy::kBatch : FencePolicy::kOnce;
  mapping = as_loop(mapping);
  const Footprint tiles = footprint(mapping, form);
  if (tiles.tiles_m * tiles.tiles_k <= 2) mapping.buffering_a = Buffering::kResident;
  if (tiles.tiles_n * tiles.tiles_k <= 2) mapping.buffering_b = Buffering::kResident;
  return mapping;
}

}  // namespace zomboss::gemmini
