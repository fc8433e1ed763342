#include <algorithm>
#include <set>

#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {
namespace {

// Balanced cuts into 1, 2, 4, ... parts: the block counts of the larger part.
void add_cuts(std::set<int64_t>& values, int64_t blocks, uint32_t dim) {
  for (int64_t size = blocks;; size = ceil_div(size, 2)) {
    values.insert(size * dim);
    if (size == 1) return;
  }
}

// 1, 2, 4, ... up to what one move can take and the longest run has.
std::vector<int64_t> widths(int64_t widest, int64_t longest_run) {
  std::vector<int64_t> values = {1};
  while (values.back() * 2 <= widest && values.back() < longest_run) values.push_back(values.back() * 2);
  return values;
}

std::vector<int64_t> listed(const std::set<int64_t>& values) {
  return {values.begin(), values.end()};
}

const Axis& a_columns(const Form& form) {
  return form.a_transposed ? form.m : form.k;
}
const Axis& b_columns(const Form& form) {
  return form.b_transposed ? form.k : form.n;
}

}  // namespace

Domains knob_domains(const Problem& problem, const Machine& machine) {
  const int64_t widest = machine.max_block_columns() / machine.dim;
  std::set<int64_t> m, n, k, regions = {1};
  int64_t a_run = 1, b_run = 1, n_run = 1;
  for (const Form& form : problem.forms) {
    add_cuts(m, form.m.blocks(), machine.dim);
    add_cuts(n, form.n.blocks(), machine.dim);
    add_cuts(k, form.k.blocks(), machine.dim);
    a_run = std::max(a_run, a_columns(form).blocks_per_run());
    b_run = std::max(b_run, b_columns(form).blocks_per_run());
    n_run = std::max(n_run, form.n.blocks_per_run());
  }
  const auto batches = static_cast<int64_t>(problem.forms.front().batches.size());
  for (int64_t count : {int64_t{2}, int64_t{4}, batches})
    if (count <= batches) regions.insert(count);

  Domains domains(kKnobs);
  const auto set = [&](Knob knob, std::vector<int64_t> values) {
    domains[static_cast<size_t>(knob)] = std::move(values);
  };
  std::vector<int64_t> orientations;
  for (size_t i = 0; i < problem.forms.size(); ++i) orientations.push_back(static_cast<int64_t>(i));
  set(Knob::kOrientation, std::move(orientations));
  set(Knob::kBatchRegions, listed(regions));
  set(Knob::kTileK, listed(k));
  set(Knob::kTileM, listed(m));
  set(Knob::kTileN, listed(n));
  set(Knob::kBankPlacement,
      machine.scratchpad_banks % 4 == 0 ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{0});
  set(Knob::kAccBuffering, {1, 2});
  set(Knob::kBuffering, {0, 1, 2});
  set(Knob::kLoadWidthA, widths(widest, a_run));
  set(Knob::kLoadWidthB, widths(widest, b_run));
  const bool wide_stores = !problem.epilogue.full_width && n_run > 1 && widest > 1;
  set(Knob::kStoreSchedule, wide_stores ? std::vector<int64_t>{0, 1, 2, 3} : std::vector<int64_t>{0, 2, 3});
  set(Knob::kLoopOrder, {0, 1});
  return domains;
}

std::string_view redundant_by(const Problem& problem, const Machine& machine, const Mapping& mapping) {
  const Form& form = problem.forms[mapping.orientation];
  const Footprint needs = footprint(mapping, form);
  const auto batches = static_cast<int64_t>(form.batches.size());
  const int64_t a_tiles = needs.tiles_m * needs.tiles_k, b_tiles = needs.tiles_n * needs.tiles_k;
  const int64_t c_tiles = needs.tiles_m * needs.tiles_n;
  const bool streams_batches = batches > mapping.batch_regions;

  // The same commands as single buffering, or the same tiles on chip as double buffering.
  if (mapping.buffering == Buffering::kDouble && a_tiles == 1 && b_tiles == 1 && !streams_batches)
    return "copies";
  if (mapping.buffering == Buffering::kResident && a_tiles <= 2 && b_tiles <= 2) return "copies";
  // A second accumulator tile that is never used, or one that fits and would let stores overlap.
  const bool one_sum = c_tiles == 1 && !streams_batches;
  if (mapping.acc_buffers == 2 && one_sum) return "accumulator_copies";
  if (mapping.acc_buffers == 1 && !one_sum && mapping.buffering != Buffering::kSingle) {
    Mapping doubled = mapping;
    doubled.acc_buffers = 2;
    if (check_capacity(doubled, form, machine).ok()) return "accumulator_copies";
  }
  if (mapping.loop_order == LoopOrder::kColumnsOutside && (needs.tiles_m == 1 || needs.tiles_n == 1))
    return "order";
  // Nothing to alternate with.
  const bool one_copy = mapping.batch_regions == 1 && needs.a_slots == 1 && needs.b_slots == 1;
  if (mapping.placement == BankPlacement::kCopies && one_copy) return "banks";
  // The same stores as another schedule.
  if (mapping.store_schedule == StoreSchedule::kRow && (mapping.tile_n == 1 || form.n.blocks_per_run() == 1))
    return "stores";
  if (mapping.store_schedule == StoreSchedule::kLate && mapping.tile_m * mapping.tile_n == 1) return "stores";
  const int64_t widest = machine.max_block_columns() / machine.dim;
  const bool one_move = mapping.tile_n > 1 && mapping.tile_n <= std::min(widest, form.n.blocks_per_run());
  if (mapping.store_schedule == StoreSchedule::kLate && mapping.tile_m == 1 && one_move &&
      !problem.epilogue.full_width)
    return "stores";
  if (mapping.store_schedule == StoreSchedule::kDeferred && c_tiles * batches == 1) return "stores";
  return "";
}

}  // namespace zomboss::gemmini
