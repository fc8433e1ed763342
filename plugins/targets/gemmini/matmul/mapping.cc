#include "plugins/targets/gemmini/matmul/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace zomboss::gemmini {
namespace {

constexpr std::array<std::string_view, kKnobs> kNames = {
    "orientation",   "batch_regions", "tile_k",       "tile_m",       "tile_n",         "bank_placement",
    "acc_buffering", "buffering",     "load_width_a", "load_width_b", "store_schedule", "loop_order"};

// The largest value of each knob that makes sense for any workload; tiles and widths have limits of their
// own.
constexpr int64_t kUnlimited = std::numeric_limits<int32_t>::max();
constexpr std::array<int64_t, kKnobs> kLowest = {0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0};
constexpr std::array<int64_t, kKnobs> kHighest = {1, kUnlimited, kUnlimited, kUnlimited, kUnlimited, 2,
                                                  2, 2,          kUnlimited, kUnlimited, 3,          1};

}  // namespace

std::string_view knob_name(Knob knob) {
  return kNames[static_cast<size_t>(knob)];
}

std::vector<int64_t> to_values(const Mapping& mapping, uint32_t dim) {
  return {mapping.orientation,
          mapping.batch_regions,
          mapping.tile_k * dim,
          mapping.tile_m * dim,
          mapping.tile_n * dim,
          static_cast<int64_t>(mapping.placement),
          mapping.acc_buffers,
          static_cast<int64_t>(mapping.buffering),
          mapping.load_width_a,
          mapping.load_width_b,
          static_cast<int64_t>(mapping.store_schedule),
          static_cast<int64_t>(mapping.loop_order)};
}

Mapping from_values(const std::vector<int64_t>& values, uint32_t dim) {
  const auto at = [&](Knob knob) { return values[static_cast<size_t>(knob)]; };
  Mapping mapping;
  mapping.orientation = static_cast<uint32_t>(at(Knob::kOrientation));
  mapping.batch_regions = static_cast<uint32_t>(at(Knob::kBatchRegions));
  mapping.tile_k = at(Knob::kTileK) / dim;
  mapping.tile_m = at(Knob::kTileM) / dim;
  mapping.tile_n = at(Knob::kTileN) / dim;
  mapping.placement = static_cast<BankPlacement>(at(Knob::kBankPlacement));
  mapping.acc_buffers = static_cast<uint32_t>(at(Knob::kAccBuffering));
  mapping.buffering = static_cast<Buffering>(at(Knob::kBuffering));
  mapping.load_width_a = static_cast<uint32_t>(at(Knob::kLoadWidthA));
  mapping.load_width_b = static_cast<uint32_t>(at(Knob::kLoadWidthB));
  mapping.store_schedule = static_cast<StoreSchedule>(at(Knob::kStoreSchedule));
  mapping.loop_order = static_cast<LoopOrder>(at(Knob::kLoopOrder));
  return mapping;
}

Result<Mapping> mapping_of(const wire::PlanT& plan, const Machine& machine, const std::vector<Form>& forms) {
  std::vector<int64_t> values(kKnobs, -1);
  for (const auto& section : plan.sections) {
    for (const auto& decision : section->decisions) {
      const auto found = std::find(kNames.begin(), kNames.end(), decision->knob);
      if (found == kNames.end())
        return invalid_argument(
            fmt::format("gemmini: the plan decides '{}', which is no knob of this target", decision->knob));
      int64_t& value = values[static_cast<size_t>(found - kNames.begin())];
      if (value != -1)
        return invalid_argument(fmt::format("gemmini: the plan decides {} twice", decision->knob));
      value = decision->value;
    }
  }
  for (size_t i = 0; i < kKnobs; ++i) {
    if (values[i] == -1)
      return invalid_argument(fmt::format("gemmini: the plan does not decide {}", kNames[i]));
    if (values[i] < kLowest[i] || values[i] > kHighest[i])
      return invalid_argument(
          fmt::format("gemmini: the plan has {}={}, outside of its domain", kNames[i], values[i]));
  }
  for (Knob knob : {Knob::kTileM, Knob::kTileN, Knob::kTileK})
    if (values[static_cast<size_t>(knob)] % machine.dim != 0)
      return invalid_argument(fmt::format("gemmini: the plan has {}={}, no multiple of {}", knob_name(knob),
                                          values[static_cast<size_t>(knob)], machine.dim));
  Mapping mapping = from_values(values, machine.dim);
  if (mapping.orientation >= forms.size())
    return invalid_argument(fmt::format("gemmini: the plan has orientation={}; the workload allows {}",
                                        mapping.orientation, forms.size()));
  const Form& form = forms[mapping.orientation];
  if (mapping.tile_m > form.m.blocks() || mapping.tile_n > form.n.blocks() ||
      mapping.tile_k > form.k.blocks() || mapping.batch_regions > form.batches.size())
    return invalid_argument("gemmini: the plan's tile or batch_regions is larger than the workload");
  const uint32_t widest = machine.max_block_columns() / machine.dim;
  if (std::max(mapping.load_width_a, mapping.load_width_b) > widest)
    return invalid_argument(fmt::format("gemmini: the plan loads more than {} blocks at once", widest));
  return mapping;
}

Footprint footprint(const Mapping& mapping, const Form& form) {
  Footprint result;
  result.tiles_m = ceil_div(form.m.blocks(), mapping.tile_m);
  result.tiles_n = ceil_div(form.n.blocks(), mapping.tile_n);
  result.tiles_k = ceil_div(form.k.blocks(), mapping.tile_k);
  const int64_t copies = mapping.buffering == Buffering::kDouble ? 2 : 1;
  const bool resident = mapping.buffering == Buffering::kResident;
  result.a_slots = resident ? result.tiles_m * result.tiles_k : copies;
  result.b_slots = resident ? result.tiles_n * result.tiles_k : copies;
  const int64_t dim = form.m.dim, regions = mapping.batch_regions;
  const int64_t a_rows = form.a_transposed ? mapping.tile_k : mapping.tile_m;
  const int64_t a_columns = form.a_transposed ? mapping.tile_m : mapping.tile_k;
  const int64_t b_rows = form.b_transposed ? mapping.tile_n : mapping.tile_k;
  const int64_t b_columns = form.b_transposed ? mapping.tile_k : mapping.tile_n;
  result.scratchpad_rows =
      regions * dim * (result.a_slots * a_rows * a_columns + result.b_slots * b_rows * b_columns);
  const auto quarter = [&](int64_t slots, int64_t rows, int64_t columns) {
    return mapping.placement == BankPlacement::kCopies ? ceil_div(regions * slots, 2) * rows * columns
                                                       : regions * slots * ceil_div(rows, 2) * columns;
  };
  result.bank_rows =
      dim * std::max(quarter(result.a_slots, a_rows, a_columns), quarter(result.b_slots, b_rows, b_columns));
  result.accumulator_rows = regions * dim * mapping.acc_buffers * mapping.tile_m * mapping.tile_n;
  return result;
}

Status check_capacity(const Mapping& mapping, const Form& form, const Machine& machine) {
  const Footprint needs = footprint(mapping, form);
  const auto check = [](std::string_view memory, int64_t rows, int64_t available,
                        int64_t row_bytes) -> Status {
    if (rows <= available) return {};
    return resource_exhausted(fmt::format("gemmini: {} needs {} bytes, has {} bytes", memory,
                                          rows * row_bytes, available * row_bytes));
  };
  const int64_t dim = machine.dim;
  if (mapping.placement != BankPlacement::kEnds) {
    if (machine.scratchpad_banks % 4 != 0)
      return invalid_argument("gemmini: this bank_placement needs a multiple of 4 scratchpad banks");
    ZB_TRY(check("a quarter of the scratchpad", needs.bank_rows, machine.scratchpad_rows / 4, dim));
  }
  ZB_TRY(check("scratchpad", needs.scratchpad_rows, machine.scratchpad_rows, dim));
  return check("accumulator", needs.accumulator_rows, machine.accumulator_rows, 4 * dim);
}

}  // namespace zomboss::gemmini
