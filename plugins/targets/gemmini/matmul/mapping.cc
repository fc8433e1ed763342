#include "plugins/targets/gemmini/matmul/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace zomboss::gemmini {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int32_t>::max();

// The largest range of each knob that makes sense for any workload; tiles and widths have limits of their
// own.
struct Range {
  std::string_view name;
  int64_t low = 0, high = 0;
};
constexpr std::array<Range, kKnobs> kRanges = {{{"dataflow", 0, 1},
                                                {"interface", 0, 1},
                                                {"orientation", 0, 7},
                                                {"batch_regions", 1, kUnlimited},
                                                {"tile_k", 1, kUnlimited},
                                                {"tile_m", 1, kUnlimited},
                                                {"tile_n", 1, kUnlimited},
                                                {"bank_placement", 0, 3},
                                                {"acc_buffering", 1, 2},
                                                {"buffering_a", 0, 2},
                                                {"buffering_b", 0, 2},
                                                {"load_order", 0, 2},
                                                {"load_width_a", 1, kUnlimited},
                                                {"load_width_b", 1, kUnlimited},
                                                {"store_schedule", 0, 2},
                                                {"store_width", 1, kUnlimited},
                                                {"fence", 0, 1},
                                                {"inner_order", 0, 3},
                                                {"loop_order", 0, 1}}};

}  // namespace

std::string_view knob_name(Knob knob) {
  return kRanges[static_cast<size_t>(knob)].name;
}

std::vector<int64_t> to_values(const Mapping& mapping, uint32_t dim) {
  return {static_cast<int64_t>(mapping.dataflow),
          static_cast<int64_t>(mapping.interface),
          mapping.orientation,
          mapping.batch_regions,
          mapping.tile_k * dim,
          mapping.tile_m * dim,
          mapping.tile_n * dim,
          static_cast<int64_t>(mapping.placement),
          mapping.acc_buffers,
          static_cast<int64_t>(mapping.buffering_a),
          static_cast<int64_t>(mapping.buffering_b),
          static_cast<int64_t>(mapping.load_order),
          mapping.load_width_a,
          mapping.load_width_b,
          static_cast<int64_t>(mapping.store_schedule),
          mapping.store_width,
          static_cast<int64_t>(mapping.fence),
          static_cast<int64_t>(mapping.inner_order),
          static_cast<int64_t>(mapping.loop_order)};
}

Mapping from_values(const std::vector<int64_t>& values, uint32_t dim) {
  const auto at = [&](Knob knob) { return values[static_cast<size_t>(knob)]; };
  Mapping mapping;
  mapping.dataflow = static_cast<ArrayDataflow>(at(Knob::kDataflow));
  mapping.interface = static_cast<Interface>(at(Knob::kInterface));
  mapping.orientation = static_cast<uint32_t>(at(Knob::kOrientation));
  mapping.batch_regions = static_cast<uint32_t>(at(Knob::kBatchRegions));
  mapping.tile_k = at(Knob::kTileK) / dim;
  mapping.tile_m = at(Knob::kTileM) / dim;
  mapping.tile_n = at(Knob::kTileN) / dim;
  mapping.placement = static_cast<BankPlacement>(at(Knob::kBankPlacement));
  mapping.acc_buffers = static_cast<uint32_t>(at(Knob::kAccBuffering));
  mapping.buffering_a = static_cast<Buffering>(at(Knob::kBufferingA));
  mapping.buffering_b = static_cast<Buffering>(at(Knob::kBufferingB));
  mapping.load_order = static_cast<LoadOrder>(at(Knob::kLoadOrder));
  mapping.load_width_a = static_cast<uint32_t>(at(Knob::kLoadWidthA));
  mapping.load_width_b = static_cast<uint32_t>(at(Knob::kLoadWidthB));
  mapping.store_schedule = static_cast<StoreSchedule>(at(Knob::kStoreSchedule));
  mapping.store_width = static_cast<uint32_t>(at(Knob::kStoreWidth));
  mapping.fence = static_cast<FencePolicy>(at(Knob::kFence));
  mapping.inner_order = static_cast<InnerOrder>(at(Knob::kInnerOrder));
  mapping.loop_order = static_cast<LoopOrder>(at(Knob::kLoopOrder));
  return mapping;
}

Mapping as_loop(Mapping mapping) {
  Mapping loop;
  loop.interface = Interface::kLoopWs;
  loop.orientation = mapping.orientation;
  loop.tile_m = mapping.tile_m;
  loop.tile_n = mapping.tile_n;
  loop.tile_k = mapping.tile_k;
  loop.acc_buffers = 2;
  loop.buffering_a = loop.buffering_b = Buffering::kDouble;
  loop.fence = mapping.fence;
  loop.loop_order = mapping.loop_order;
  return loop;
}

Result<Mapping> mapping_of(const wire::PlanT& plan, const Machine& machine, const std::vector<Form>& forms) {
  std::vector<int64_t> values(kKnobs, -1);
  for (const auto& section : plan.sections) {
    for (const auto& decision : section->decisions) {
      const auto found = std::find_if(kRanges.begin(), kRanges.end(),
                                      [&](const Range& range) { return range.name == decision->knob; });
      if (found == kRanges.end())
        return invalid_argument(
            fmt::format("gemmini: the plan decides '{}', which is no knob of this target", decision->knob));
      int64_t& value = values[static_cast<size_t>(found - kRanges.begin())];
      if (value != -1)
        return invalid_argument(fmt::format("gemmini: the plan decides {} twice", decision->knob));
      value = decision->value;
    }
  }
  for (size_t i = 0; i < kKnobs; ++i) {
    if (values[i] == -1)
      return invalid_argument(fmt::format("gemmini: the plan does not decide {}", kRanges[i].name));
    if (values[i] < kRanges[i].low || values[i] > kRanges[i].high)
      return invalid_argument(
          fmt::format("gemmini: the plan has {}={}, outside of its domain", kRanges[i].name, values[i]));
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
  if (std::max({mapping.load_width_a, mapping.load_width_b, mapping.store_width}) > widest)
    return invalid_argument(fmt::format("gemmini: the plan moves more than {} blocks at once", widest));
  if (form.element_bytes[kC] == 4 && mapping.store_width > 1)
    return invalid_argument(
        "gemmini: the plan stores several blocks at once; results of full width go one by one");
  return mapping;
}

Footprint footprint(const Mapping& mapping, const Form& form) {
  Footprint result;
  result.tiles_m = ceil_div(form.m.blocks(), mapping.tile_m);
  result.tiles_n = ceil_div(form.n.blocks(), mapping.tile_n);
  result.tiles_k = ceil_div(form.k.blocks(), mapping.tile_k);
  const auto slots = [](Buffering buffering, int64_t tiles) {
    return buffering == Buffering::kResident ? tiles : buffering == Buffering::kDouble ? 2 : 1;
  };
  result.a_slots = slots(mapping.buffering_a, result.tiles_m * result.tiles_k);
  result.b_slots = slots(mapping.buffering_b, result.tiles_n * result.tiles_k);
  const int64_t dim = form.m.dim, regions = mapping.batch_regions;
  const int64_t a_rows = form.a_transposed ? mapping.tile_k : mapping.tile_m;
  const int64_t a_columns = form.a_transposed ? mapping.tile_m : mapping.tile_k;
  const int64_t b_rows = form.b_transposed ? mapping.tile_n : mapping.tile_k;
  const int64_t b_columns = form.b_transposed ? mapping.tile_k : mapping.tile_n;
  result.scratchpad_rows =
      regions * dim * (result.a_slots * a_rows * a_columns + result.b_slots * b_rows * b_columns);
  const auto quarter = [&](int64_t slots, int64_t rows, int64_t columns, int64_t width) {
    switch (mapping.placement) {
      case BankPlacement::kCopies:
        return ceil_div(regions * slots, 2) * rows * columns;
      case BankPlacement::kLoads:
        return regions * slots * quarter_blocks(rows * columns, width);
      default:
        return regions * slots * ceil_div(rows, 2) * columns;
    }
  };
  result.bank_rows = dim * std::max(quarter(result.a_slots, a_rows, a_columns, mapping.load_width_a),
                                    quarter(result.b_slots, b_rows, b_columns, mapping.load_width_b));
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
  if (mapping.interface == Interface::kLoopWs) {
    const int64_t tile = mapping.tile_m * mapping.tile_n;
    ZB_TRY(check("a loop's half of the scratchpad", dim * mapping.tile_k * (mapping.tile_m + mapping.tile_n),
                 machine.loop_scratchpad_rows(), dim));
    return check("a loop's half of the accumulator", dim * tile, machine.loop_accumulator_rows(), 4 * dim);
  }
  if (mapping.placement != BankPlacement::kEnds) {
    if (machine.scratchpad_banks % 4 != 0)
      return invalid_argument("gemmini: this bank_placement needs a multiple of 4 scratchpad banks");
    ZB_TRY(check("a quarter of the scratchpad", needs.bank_rows, machine.scratchpad_rows / 4, dim));
  }
  ZB_TRY(check("scratchpad", needs.scratchpad_rows, machine.scratchpad_rows, dim));
  return check("accumulator", needs.accumulator_rows, machine.accumulator_rows, 4 * dim);
}

}  // namespace zomboss::gemmini
