#include "plugins/targets/gemmini/residual/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace zomboss::gemmini::residual {
namespace {

constexpr std::array<std::string_view, kKnobs> kNames = {
    "interface",  "row_length", "tile_cols",      "tile_rows",   "bank_placement", "acc_buffering",
    "load_order", "load_width", "store_schedule", "store_width", "ordering"};

constexpr int64_t ceil_div(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

bool contains(const std::vector<int64_t>& sorted, int64_t value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

bool is_width(uint32_t width, uint32_t widest) {
  return width >= 1 && width <= widest && (width & (width - 1)) == 0;
}

// A loop's tiles, with the only value of all else.
bool is_loop(const Mapping& mapping) {
  Mapping loop;
  loop.interface = Interface::kLoopWs;
  loop.shape = mapping.shape;
  loop.tile_cols = mapping.tile_cols;
  loop.tile_rows = mapping.tile_rows;
  loop.acc_buffers = 2;
  return mapping == loop;
}

}  // namespace

std::string_view knob_name(Knob knob) {
  return kNames[static_cast<size_t>(knob)];
}

int64_t row_blocks(const Shape& shape, uint32_t dim) {
  return ceil_div(shape.rows, dim);
}
int64_t col_blocks(const Shape& shape, uint32_t dim) {
  return ceil_div(shape.columns, dim);
}

Values to_values(const Mapping& mapping, const Problem& problem, uint32_t dim) {
  return {static_cast<int64_t>(mapping.interface),
          problem.shapes[mapping.shape].columns,
          mapping.tile_cols * dim,
          mapping.tile_rows * dim,
          static_cast<int64_t>(mapping.placement),
          mapping.acc_buffers,
          static_cast<int64_t>(mapping.load_order),
          mapping.load_width,
          static_cast<int64_t>(mapping.store_schedule),
          mapping.store_width,
          static_cast<int64_t>(mapping.ordering)};
}

Mapping from_values(const Values& values, const Problem& problem, uint32_t dim) {
  const auto at = [&](Knob knob) { return values[static_cast<size_t>(knob)]; };
  Mapping mapping;
  mapping.interface = static_cast<Interface>(at(Knob::kInterface));
  for (uint32_t s = 0; s < problem.shapes.size(); ++s)
    if (problem.shapes[s].columns == at(Knob::kRowLength)) mapping.shape = s;
  mapping.tile_cols = at(Knob::kTileCols) / dim;
  mapping.tile_rows = at(Knob::kTileRows) / dim;
  mapping.placement = static_cast<Placement>(at(Knob::kBankPlacement));
  mapping.acc_buffers = static_cast<uint32_t>(at(Knob::kAccBuffering));
  mapping.load_order = static_cast<LoadOrder>(at(Knob::kLoadOrder));
  mapping.load_width = static_cast<uint32_t>(at(Knob::kLoadWidth));
  mapping.store_schedule = static_cast<StoreSchedule>(at(Knob::kStoreSchedule));
  mapping.store_width = static_cast<uint32_t>(at(Knob::kStoreWidth));
  mapping.ordering = static_cast<Ordering>(at(Knob::kOrdering));
  return mapping;
}

bool is_legal(const Mapping& mapping, const Problem& problem, const Machine& machine) {
  const Cuts cuts = cuts_of(problem, mapping.shape, machine);
  const uint32_t widest = machine.max_block_columns() / machine.dim;
  const int64_t tile_rows = mapping.tile_rows * mapping.tile_cols * machine.dim;  // of the accumulator
  if (!contains(cuts.rows, mapping.tile_rows) || !contains(cuts.cols, mapping.tile_cols)) return false;
  if (!is_width(mapping.load_width, widest) || !is_width(mapping.store_width, widest)) return false;
  if (mapping.acc_buffers != 1 && mapping.acc_buffers != 2 && mapping.acc_buffers != 4) return false;
  if (tile_rows * mapping.acc_buffers > machine.accumulator_rows) return false;
  if (mapping.interface == Interface::kLoopWs)
    return is_loop(mapping) && tile_rows <= machine.loop_accumulator_rows();
  for (const uint32_t width : {mapping.load_width, mapping.store_width})
    if (width > 1 && width / 2 >= mapping.tile_cols) return false;
  if (mapping.placement == Placement::kApart && mapping.acc_buffers == 1) return false;
  if (mapping.store_schedule == StoreSchedule::kDeferred &&
      (mapping.acc_buffers == 1 || mapping.ordering == Ordering::kFence))
    return false;
  return mapping.ordering == Ordering::kIssue || mapping.load_order == LoadOrder::kAFirst;
}

Cuts cuts_of(const Problem& problem, uint32_t shape, const Machine& machine) {
  const int64_t most = machine.accumulator_rows / machine.dim;
  const auto cuts = [&](int64_t blocks) {
    std::set<int64_t> sizes = {1};
    for (int64_t size = std::min(blocks, most); size > 1; size = ceil_div(size, 2)) sizes.insert(size);
    for (int64_t size = blocks; size > 1; size = ceil_div(size, 2))
      if (size <= most) sizes.insert(size);
    return sizes;
  };
  std::set<int64_t> rows = cuts(row_blocks(problem.shapes[shape], machine.dim)),
                    cols = cuts(col_blocks(problem.shapes[shape], machine.dim));
  if (shape == 0) {
    const Mapping library = library_mapping(problem, machine);
    rows.insert(library.tile_rows);
    cols.insert(library.tile_cols);
  }
  return {{rows.begin(), rows.end()}, {cols.begin(), cols.end()}};
}

Mapping library_mapping(const Problem& problem, const Machine& machine) {
  const Shape& shape = problem.shapes.front();
  const int64_t dim = machine.dim, most = machine.loop_accumulator_rows();
  int64_t rows = shape.rows, cols = shape.columns;
  while (ceil_div(rows, dim) * ceil_div(cols, dim) * dim > most) (rows > cols ? rows : cols) -= 1;
  Mapping mapping;
  mapping.interface = Interface::kLoopWs;
  mapping.tile_rows = ceil_div(rows, dim);
  mapping.tile_cols = ceil_div(cols, dim);
  mapping.acc_buffers = 2;
  return mapping;
}

Result<Mapping> mapping_of(const wire::PlanT& plan, const Problem& problem, const Machine& machine) {
  constexpr int64_t kOpen = -1;
  Values values;
  values.fill(kOpen);
  for (const auto& section : plan.sections) {
    for (const auto& decision : section->decisions) {
      const auto found = std::find(kNames.begin(), kNames.end(), decision->knob);
      if (found == kNames.end())
        return invalid_argument(fmt::format(
            "gemmini: the plan decides '{}', which is no knob of a residual addition", decision->knob));
      int64_t& value = values[static_cast<size_t>(found - kNames.begin())];
      if (value != kOpen)
        return invalid_argument(fmt::format("gemmini: the plan decides {} twice", decision->knob));
      if (decision->value < 0 || decision->value > int64_t{1} << 32)
        return invalid_argument(fmt::format("gemmini: the plan has {}={}, outside of its domain",
                                            decision->knob, decision->value));
      value = decision->value;
    }
  }
  for (size_t k = 0; k < kKnobs; ++k)
    if (values[k] == kOpen)
      return invalid_argument(fmt::format("gemmini: the plan does not decide {}", kNames[k]));
  const Mapping mapping = from_values(values, problem, machine.dim);
  if (to_values(mapping, problem, machine.dim) != values)
    return invalid_argument("gemmini: the plan has a value outside of its knob's domain");
  const int64_t rows = mapping.tile_rows * mapping.tile_cols * machine.dim * mapping.acc_buffers;
  if (rows > machine.accumulator_rows)
    return resource_exhausted(fmt::format("gemmini: accumulator needs {} bytes, has {} bytes",
                                          rows * machine.dim * 4,
                                          int64_t{machine.accumulator_rows} * machine.dim * 4));
  if (!is_legal(mapping, problem, machine))
    return invalid_argument("gemmini: the plan breaks a rule of the surface");
  return mapping;
}

}  // namespace zomboss::gemmini::residual
