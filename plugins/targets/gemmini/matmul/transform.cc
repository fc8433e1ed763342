#include "plugins/targets/gemmini/matmul/transform.h"

#include <algorithm>

namespace zomboss::gemmini {
namespace {

using Kind = Operation::Kind;

// Steps by which a load is issued ahead of its first use. The station holds 16 execute entries, two a step.
constexpr uint32_t kLeadSteps = 8;

bool is_operand_load(const Operation& operation) {
  return operation.kind == Kind::kLoad && operation.stream <= kStreamD;
}
bool is_output_store(const Operation& operation) {
  return operation.kind == Kind::kStore && operation.stream == kStreamC;
}
uint32_t blocks_of(const Schedule& schedule, const Operation& move) {
  return (move.cols + schedule.dim - 1) / schedule.dim;
}

// The first step of its tile that needs what `load` brings.
uint32_t first_use(const Schedule& schedule, const Operation& load) {
  const Tile& tile = schedule.tiles[load.place.tile];
  const uint32_t row = load.block_row, col = load.block_col;
  switch (load.tensor) {
    case kA:
      return schedule.a_transposed ? tile.step_number(col, 0, row) : tile.step_number(row, 0, col);
    case kB:
      return schedule.b_transposed ? tile.step_number(0, row, col) : tile.step_number(0, col, row);
    default:
      return tile.step_number(row, col, 0);
  }
}

// True when `next` is right of `move`, in DRAM and on chip, so that the two make one move: the next block of
// its row, or of folded rows the first block of the next one.
bool continues(const Schedule& schedule, const Operation& move, const Operation& next, uint32_t width) {
  const uint32_t blocks = blocks_of(schedule, move);
  const uint64_t bytes = uint64_t{move.cols} * schedule.streams[move.stream].element_bytes();
  return next.stream == move.stream && next.place.tile == move.place.tile &&
         blocks + blocks_of(schedule, next) <= width && move.cols % schedule.dim == 0 &&
         next.rows == move.rows && next.dram == move.dram + bytes &&
         next.row == move.row + blocks * schedule.dim;
}

}  // namespace

void widen_loads(Schedule& schedule, uint32_t width_a, uint32_t width_b) {
  std::vector<Operation> result;
  result.reserve(schedule.operations.size());
  for (const Operation& operation : schedule.operations) {
    const uint32_t width = operation.stream == kStreamA   ? width_a
                           : operation.stream == kStreamB ? width_b
                                                          : 1;
    if (is_operand_load(operation) && !result.empty() && is_operand_load(result.back()) &&
        continues(schedule, result.back(), operation, width)) {
      result.back().cols = static_cast<uint16_t>(result.back().cols + operation.cols);
    } else {
      result.push_back(operation);
    }
  }
  schedule.operations = std::move(result);
}

void order_loads(Schedule& schedule, LoadOrder order) {
  const auto comes_first = [&](const Operation& load) {
    return (order == LoadOrder::kAFirst && load.tensor == kA) ||
           (order == LoadOrder::kBFirst && load.tensor == kB);
  };
  auto& operations = schedule.operations;
  for (size_t begin = 0; begin < operations.size();) {
    size_t end = begin;
    while (end < operations.size() && is_operand_load(operations[end]) &&
           operations[end].place.tile == operations[begin].place.tile)
      ++end;
    if (end == begin) {
      ++begin;
      continue;
    }
    for (size_t i = begin; i < end; ++i) operations[i].place.step = first_use(schedule, operations[i]);
    std::stable_sort(operations.begin() + static_cast<std::ptrdiff_t>(begin),
                     operations.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const Operation& x, const Operation& y) {
                       return std::pair(!comes_first(x), x.place) < std::pair(!comes_first(y), y.place);
                     });
    for (size_t i = begin; i < end; ++i) {
      uint32_t& step = operations[i].place.step;
      step = comes_first(operations[i]) ? 0 : step - std::min(step, kLeadSteps);
    }
    begin = end;
  }
}

void prefetch_next_tile(Schedule& schedule, bool bias_too) {
  const auto hoists = [&](const Operation& load) {
    if (!is_operand_load(load) || load.place.tile == 0) return false;
    const Tile& tile = schedule.tiles[load.place.tile];
    const Tile& before = schedule.tiles[load.place.tile - 1];
    if (before.steps == 0) return false;
    if (load.tensor == kA) return tile.a_slot != before.a_slot;
    if (load.tensor == kB) return tile.b_slot != before.b_slot;
    return bias_too && tile.c_slot != before.c_slot;
  };
  auto& operations = schedule.operations;
  for (size_t begin = 0; begin < operations.size();) {
    size_t end = begin;
    uint32_t moved = 0;
    while (end < operations.size() && is_operand_load(operations[end]) &&
           operations[end].place.tile == operations[begin].place.tile)
      moved += hoists(operations[end++]) ? 1 : 0;
    // Spread over the steps before, but no slower than the array takes steps: a block costs about a step to
    // load.
    uint32_t number = 0, loaded = 0;
    for (size_t i = begin; i < end; ++i) {
      if (!hoists(operations[i])) continue;
      Place& place = operations[i].place;
      const uint32_t steps = schedule.tiles[place.tile - 1].steps;
      place = {place.tile - 1, std::min(loaded, static_cast<uint32_t>(uint64_t{number} * steps / moved)), 0};
      loaded += blocks_of(schedule, operations[i]);
      ++number;
    }
    begin = end == begin ? begin + 1 : end;
  }
}

namespace {

// Gives the stores of one macro tile their places.
void place_stores(const Schedule& schedule, StoreSchedule when, std::vector<Operation>& stores) {
  if (stores.empty() || when == StoreSchedule::kEarly) return;
  const uint32_t tile = stores.front().place.tile;
  const bool defer = when == StoreSchedule::kDeferred && tile + 1 < schedule.tiles.size() &&
                     schedule.tiles[tile + 1].steps != 0;
  for (size_t i = 0; i < stores.size(); ++i) {
    if (defer) {
      const uint64_t steps = schedule.tiles[tile + 1].steps;
      stores[i].place = {tile + 1, static_cast<uint32_t>((i + 1) * steps / (stores.size() + 1)), 2};
    } else {
      stores[i].place = {tile, schedule.tiles[tile].steps - 1, 2};
    }
  }
}

}  // namespace

void schedule_stores(Schedule& schedule, StoreSchedule when, uint32_t width) {
  if (when == StoreSchedule::kEarly && width == 1) return;
  std::vector<Operation> result, stores;
  result.reserve(schedule.operations.size());
  const auto flush = [&] {
    std::stable_sort(stores.begin(), stores.end(), [](const Operation& x, const Operation& y) {
      return std::pair(x.block_row, x.block_col) < std::pair(y.block_row, y.block_col);
    });
    std::vector<Operation> wide;
    for (const Operation& store : stores) {
      if (!wide.empty() && continues(schedule, wide.back(), store, width)) {
        wide.back().cols = static_cast<uint16_t>(wide.back().cols + store.cols);
        wide.back().place = std::max(wide.back().place, store.place);
      } else {
        wide.push_back(store);
      }
    }
    place_stores(schedule, when, wide);
    result.insert(result.end(), wide.begin(), wide.end());
    stores.clear();
  };
  for (const Operation& operation : schedule.operations) {
    if (is_output_store(operation)) {
      if (!stores.empty() && stores.back().place.tile != operation.place.tile) flush();
      stores.push_back(operation);
    } else {
      result.push_back(operation);
    }
  }
  flush();
  schedule.operations = std::move(result);
}

void arrange(Schedule& schedule) {
  std::stable_sort(schedule.operations.begin(), schedule.operations.end(),
                   [](const Operation& x, const Operation& y) { return x.place < y.place; });
}

void apply_mapping(Schedule& schedule, const Mapping& mapping) {
  if (mapping.interface == Interface::kLoopWs) return;
  widen_loads(schedule, mapping.load_width_a, mapping.load_width_b);
  order_loads(schedule, mapping.load_order);
  prefetch_next_tile(schedule, mapping.store_schedule != StoreSchedule::kDeferred);
  schedule_stores(schedule, mapping.store_schedule, mapping.store_width);
  arrange(schedule);
}

void arrange_as_hardware(Schedule& schedule, const Machine& machine) {
  const uint32_t widest = machine.max_block_columns() / machine.dim;
  widen_loads(schedule, widest, widest);
  order_loads(schedule, LoadOrder::kJustInTime);
  schedule_stores(schedule, StoreSchedule::kEarly, schedule.streams[kStreamC].full_width ? 1 : widest);
  arrange(schedule);
}

}  // namespace zomboss::gemmini
