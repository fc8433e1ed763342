#include "plugins/targets/gemmini/conv/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace zomboss::gemmini::conv {
namespace {

constexpr std::array<std::string_view, kKnobs> kNames = {
    "depthwise",      "interface",        "taps_per_step",    "tile_batch",  "tile_cols",
    "tile_k",         "tile_kernel_cols", "tile_kernel_rows", "tile_n",      "tile_rows",
    "bank_placement", "acc_buffering",    "buffering_a",      "buffering_b", "load_width_a",
    "load_width_b",   "store_schedule",   "store_width",      "inner_order", "loop_order"};

int64_t slots(Buffering buffering, int64_t tiles) {
  return buffering == Buffering::kSingle ? 1 : buffering == Buffering::kDouble ? 2 : tiles;
}

}  // namespace

std::string_view knob_name(Knob knob) {
  return kNames[static_cast<size_t>(knob)];
}

Values to_values(const Mapping& m) {
  return {m.form,
          static_cast<int64_t>(m.interface),
          m.taps_per_step,
          m.tile_batch,
          m.tile_cols,
          m.tile_k,
          m.tile_kernel_cols,
          m.tile_kernel_rows,
          m.tile_n,
          m.tile_rows,
          static_cast<int64_t>(m.placement),
          m.acc_buffers,
          static_cast<int64_t>(m.buffering_a),
          static_cast<int64_t>(m.buffering_b),
          m.load_width_a,
          m.load_width_b,
          static_cast<int64_t>(m.store_schedule),
          m.store_width,
          static_cast<int64_t>(m.inner_order),
          static_cast<int64_t>(m.loop_order)};
}

Mapping from_values(const Values& values) {
  const auto at = [&](Knob knob) { return values[static_cast<size_t>(knob)]; };
  const auto small = [&](Knob knob) { return static_cast<uint32_t>(at(knob)); };
  Mapping m;
  m.form = small(Knob::kDepthwise);
  m.interface = static_cast<Interface>(at(Knob::kInterface));
  m.taps_per_step = small(Knob::kTapsPerStep);
  m.tile_batch = at(Knob::kTileBatch);
  m.tile_cols = at(Knob::kTileCols);
  m.tile_k = at(Knob::kTileK);
  m.tile_kernel_cols = at(Knob::kTileKernelCols);
  m.tile_kernel_rows = at(Knob::kTileKernelRows);
  m.tile_n = at(Knob::kTileN);
  m.tile_rows = at(Knob::kTileRows);
  m.placement = static_cast<BankPlacement>(at(Knob::kBankPlacement));
  m.acc_buffers = small(Knob::kAccBuffering);
  m.buffering_a = static_cast<Buffering>(at(Knob::kBufferingA));
  m.buffering_b = static_cast<Buffering>(at(Knob::kBufferingB));
  m.load_width_a = small(Knob::kLoadWidthA);
  m.load_width_b = small(Knob::kLoadWidthB);
  m.store_schedule = static_cast<StoreSchedule>(at(Knob::kStoreSchedule));
  m.store_width = small(Knob::kStoreWidth);
  m.inner_order = static_cast<InnerOrder>(at(Knob::kInnerOrder));
  m.loop_order = static_cast<LoopOrder>(at(Knob::kLoopOrder));
  return m;
}

Result<Mapping> mapping_of(const wire::PlanT& plan, const Problem& problem) {
  std::array<std::optional<int64_t>, kKnobs> found;
  for (const auto& section : plan.sections) {
    if (section == nullptr) continue;
    for (const auto& decision : section->decisions) {
      const auto at = std::find(kNames.begin(), kNames.end(), decision->knob);
      if (at == kNames.end())
        return invalid_argument(
            fmt::format("gemmini: the plan decides '{}', which is no knob of this surface", decision->knob));
      auto& value = found[static_cast<size_t>(at - kNames.begin())];
      if (value) return invalid_argument(fmt::format("gemmini: the plan decides '{}' twice", decision->knob));
      value = decision->value;
    }
  }
  // The largest value of each knob, whatever the others say; legality is checked later.
  const int64_t any = int64_t{1} << 24;
  const Values least = {0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0};
  const Values most = {static_cast<int64_t>(problem.forms.size()) - 1,
                       2,
                       kMaxDim,
                       problem.batch,
                       problem.cols.out,
                       any,
                       problem.cols.kernel,
                       problem.rows.kernel,
                       any,
                       problem.rows.out,
                       3,
                       2,
                       2,
                       2,
                       kMaxDim,
                       kMaxDim,
                       2,
                       kMaxDim,
                       1,
                       1};
  Values values{};
  for (size_t i = 0; i < kKnobs; ++i) {
    if (!found[i]) return invalid_argument(fmt::format("gemmini: the plan does not decide '{}'", kNames[i]));
    if (*found[i] < least[i] || *found[i] > most[i])
      return invalid_argument(
          fmt::format("gemmini: the plan has {}={}, out of its domain", kNames[i], *found[i]));
    values[i] = *found[i];
  }
  const int64_t placement = values[static_cast<size_t>(Knob::kBankPlacement)];
  if (placement == 1 || placement == 2)
    return invalid_argument(
        fmt::format("gemmini: the plan has bank_placement={}, out of its domain", placement));
  return from_values(values);
}

Mapping as_loop(Mapping m) {
  Mapping loop;
  loop.form = m.form;
  loop.interface = Interface::kLoop;
  loop.tile_batch = m.tile_batch;
  loop.tile_rows = m.tile_rows;
  loop.tile_cols = m.tile_cols;
  loop.tile_k = m.tile_k;
  loop.tile_n = m.tile_n;
  loop.tile_kernel_rows = m.tile_kernel_rows;
  loop.tile_kernel_cols = m.tile_kernel_cols;
  loop.loop_order = m.loop_order;
  return loop;
}

bool crosses_lines(const Problem& problem, Interface interface) {
  return interface == Interface::kIm2col || (problem.rows.decimates() && problem.cols.decimates());
}

int64_t pixel_blocks(const Problem& problem, Interface interface, int64_t dim, int64_t lines, int64_t cols) {
  if (crosses_lines(problem, interface)) return ceil_div(lines * cols, dim);
  return 2 * cols > dim ? lines * ceil_div(cols, dim) : ceil_div(lines, dim / cols);
}

Footprint footprint(const Problem& problem, const Mapping& m, const Machine& machine) {
  const Form& form = problem.forms[m.form];
  const int64_t dim = machine.dim;
  const int64_t in_channels = form.most_in_channels(), out_channels = form.most_out_channels();
  Footprint result;
  result.pixel_tiles = ceil_div(problem.batch, m.tile_batch) * ceil_div(problem.rows.out, m.tile_rows) *
                       ceil_div(problem.cols.out, m.tile_cols);
  result.n_tiles = ceil_div(out_channels, m.tile_n);
  result.k_tiles = ceil_div(in_channels, m.tile_k) * ceil_div(problem.rows.kernel, m.tile_kernel_rows) *
                   ceil_div(problem.cols.kernel, m.tile_kernel_cols);
  const int64_t k_blocks = ceil_div(m.tile_k, dim), n_blocks = ceil_div(m.tile_n, dim);
  const int64_t lines = m.tile_batch * m.tile_rows;
  const int64_t blocks = pixel_blocks(problem, m.interface, dim, lines, m.tile_cols);
  // Blocks of weights for one kernel row; a tile of more channels takes its taps one by one.
  const int64_t together = in_channels * m.taps_per_step <= dim ? m.taps_per_step : 1;
  const int64_t groups_of_taps = m.tile_kernel_rows * ceil_div(m.tile_kernel_cols, together);
  if (m.interface == Interface::kIm2col) {
    result.a_block_rows = dim;
    result.a_rows = blocks * m.tile_kernel_rows * m.tile_kernel_cols * k_blocks * dim;
  } else {
    result.a_block_rows = m.tile_batch * problem.rows.patch(m.tile_rows, m.tile_kernel_rows) *
                          problem.cols.patch(m.tile_cols, m.tile_kernel_cols);
    // Repeated pixels are written to rows before the patch as well.
    result.a_rows = result.a_block_rows * k_blocks + m.taps_per_step - 1;
  }
  result.b_rows = groups_of_taps * k_blocks * n_blocks * dim;
  result.c_rows = blocks * n_blocks * dim;
  result.a_slots = slots(m.buffering_a, result.pixel_tiles * result.k_tiles);
  result.b_slots = slots(m.buffering_b, result.n_tiles * result.k_tiles);
  result.scratchpad_rows = result.a_slots * result.a_rows + result.b_slots * result.b_rows;
  result.accumulator_rows = m.acc_buffers * result.c_rows;
  return result;
}

Status check_capacity(const Problem& problem, const Mapping& mapping, const Machine& machine) {
  const Footprint needs = footprint(problem, mapping, machine);
  const auto check = [](std::string_view memory, int64_t rows, int64_t available,
                        int64_t row_bytes) -> Status {
    if (rows <= available) return {};
    return resource_exhausted(fmt::format("gemmini: {} needs {} bytes, has {} bytes", memory,
                                          rows * row_bytes, available * row_bytes));
  };
  const int64_t dim = machine.dim, scratchpad = machine.scratchpad_rows;
  if (mapping.placement == BankPlacement::kCopies) {
    if (machine.scratchpad_banks % 4 != 0)
      return invalid_argument("gemmini: this bank_placement needs a multiple of 4 scratchpad banks");
    ZB_TRY(
        check("a quarter of the scratchpad", ceil_div(needs.a_slots, 2) * needs.a_rows, scratchpad / 4, dim));
    ZB_TRY(
        check("a quarter of the scratchpad", ceil_div(needs.b_slots, 2) * needs.b_rows, scratchpad / 4, dim));
  }
  ZB_TRY(check("scratchpad", needs.scratchpad_rows, scratchpad, dim));
  // Loads that repeat pixels must not reach from one half into the other.
  if (mapping.taps_per_step > 1)
    ZB_TRY(check("half of the scratchpad", needs.a_slots * needs.a_rows, scratchpad / 2, dim));
  if (mapping.tile_k > dim) ZB_TRY(check("one block stride", needs.a_block_rows, kMaxBlockStride, dim));
  return check("accumulator", needs.accumulator_rows, machine.accumulator_rows, 4 * dim);
}

}  // namespace zomboss::gemmini::conv
