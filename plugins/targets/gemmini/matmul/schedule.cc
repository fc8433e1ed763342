#include "plugins/targets/gemmini/matmul/schedule.h"

#include <algorithm>
#include <tuple>

#include "plugins/targets/gemmini/matmul/copy_schedule.h"
#include "plugins/targets/gemmini/matmul/layout.h"

namespace zomboss::gemmini {
namespace {

// The copies of one operand's tiles in one batch region, and what each holds now.
class Slots {
 public:
  Slots(int64_t count, uint32_t first) : holds_(static_cast<size_t>(count)), first_(first) {}

  struct Key {
    int64_t batch = -1, outer = 0, inner = 0;
    bool operator==(const Key&) const = default;
  };
  // The slot of a tile, and whether it must be loaded. Among many, the one used longest ago gives way.
  std::pair<uint32_t, bool> acquire(const Key& key) {
    ++now_;
    size_t oldest = 0;
    for (size_t i = 0; i < holds_.size(); ++i) {
      if (holds_[i].key == key) {
        holds_[i].used = now_;
        return {first_ + static_cast<uint32_t>(i), false};
      }
      if (holds_[i].used < holds_[oldest].used) oldest = i;
    }
    holds_[oldest] = {key, now_};
    return {first_ + static_cast<uint32_t>(oldest), true};
  }

 private:
  struct Entry {
    Key key;
    uint64_t used = 0;
  };
  std::vector<Entry> holds_;
  uint32_t first_;
  uint64_t now_ = 0;
};

// Blocks of an axis that a macro tile covers.
struct Range {
  int64_t first = 0, count = 0;
};
Range range(int64_t tile, int64_t size, int64_t blocks) {
  return {tile * size, std::min(size, blocks - tile * size)};
}

class Builder {
 public:
  Builder(const Problem& problem, const Form& form, const Mapping& mapping, const Machine& machine,
          int64_t limit)
      : problem_(problem),
        form_(form),
        mapping_(mapping),
        needs_(footprint(mapping, form)),
        layout_(mapping, form, machine),
        addresses_(buffer_addresses(problem, form)),
        copier_(machine, addresses_, schedule_),
        limit_(limit) {
    schedule_.dataflow = mapping.dataflow;
    schedule_.interface = mapping.interface;
    schedule_.a_transposed = form.a_transposed;
    schedule_.b_transposed = form.b_transposed;
    schedule_.dim = machine.dim;
    add_streams(machine);
    const auto batches = static_cast<int64_t>(form.batches.size());
    const int64_t tiles = std::min(limit, batches * needs_.tiles_m * needs_.tiles_n * needs_.tiles_k);
    schedule_.tiles.reserve(static_cast<size_t>(tiles) + 2);
  }

  Schedule run() {
    for (const Copy& copy : problem_.before) copier_.add(copy, true);
    for (const Copy& copy : form_.before) copier_.add(copy, true);
    const auto batches = static_cast<int64_t>(form_.batches.size());
    for (int64_t first = 0; first < batches && limit_ > 0; first += mapping_.batch_regions) {
      if (first > 0 && mapping_.fence == FencePolicy::kBatch) add_fence();
      add_group(first, batches);
    }
    for (const Copy& copy : form_.after) copier_.add(copy, false);
    for (const Copy& copy : problem_.after) copier_.add(copy, false);
    return std::move(schedule_);
  }

 private:
  void add_fence() {
    schedule_.operations.push_back(
        {.kind = Operation::Kind::kFence, .place = {static_cast<uint32_t>(schedule_.tiles.size()), 0, 0}});
    schedule_.tiles.emplace_back();
  }

  void add_streams(const Machine& machine) {
    const auto state = [&](uint32_t wanted) {
      return static_cast<uint8_t>(std::min(wanted, machine.load_states - 1));
    };
    const auto stride = [](const Axis& axis, Tensor tensor) {
      return static_cast<uint64_t>(axis.stride[tensor]);
    };
    schedule_.streams = {
        {.state = state(0), .stride_bytes = stride(form_.a_transposed ? form_.k : form_.m, kA)},
        {.state = state(1), .stride_bytes = stride(form_.b_transposed ? form_.n : form_.k, kB)},
        {.accumulator = true, .full_width = true, .state = state(2), .stride_bytes = stride(form_.m, kD)},
        {.load = false,
         .accumulator = true,
         .full_width = problem_.epilogue.full_width,
         .relu = problem_.epilogue.relu,
         .scale = problem_.epilogue.scale,
         .stride_bytes = stride(form_.m, kC)}};
  }

  // Macro tiles of up to batch_regions batches, taking turns.
  void add_group(int64_t first, int64_t batches) {
    const int64_t count = std::min<int64_t>(mapping_.batch_regions, batches - first);
    if (a_slots_.empty()) {
      for (uint32_t region = 0; region < mapping_.batch_regions; ++region) {
        a_slots_.emplace_back(needs_.a_slots, region * static_cast<uint32_t>(needs_.a_slots));
        b_slots_.emplace_back(needs_.b_slots, region * static_cast<uint32_t>(needs_.b_slots));
      }
      c_turn_.assign(mapping_.batch_regions, 0);
    }
    const bool rows_outside = mapping_.loop_order == LoopOrder::kRowsOutside;
    const int64_t outer = rows_outside ? needs_.tiles_m : needs_.tiles_n;
    const int64_t inner = rows_outside ? needs_.tiles_n : needs_.tiles_m;
    for (int64_t x = 0; x < outer; ++x)
      for (int64_t y = 0; y < inner; ++y)
        for (int64_t k = 0; k < needs_.tiles_k; ++k)
          for (int64_t region = 0; region < count && limit_-- > 0; ++region)
            add_tile(first + region, static_cast<size_t>(region), rows_outside ? x : y, rows_outside ? y : x,
                     k);
  }

  void add_tile(int64_t batch, size_t region, int64_t tm, int64_t tn, int64_t tk) {
    batch_ = &form_.batches[static_cast<size_t>(batch)];
    m_ = range(tm, mapping_.tile_m, form_.m.blocks());
    n_ = range(tn, mapping_.tile_n, form_.n.blocks());
    k_ = range(tk, mapping_.tile_k, form_.k.blocks());
    Tile tile;
    tile.rows = static_cast<uint32_t>(m_.count);
    tile.cols = static_cast<uint32_t>(n_.count);
    tile.depth = static_cast<uint32_t>(k_.count);
    tile.steps = tile.rows * tile.cols * tile.depth;
    tile.first_k = tk == 0;
    tile.last_k = tk + 1 == needs_.tiles_k;
    tile.order = mapping_.inner_order;
    if (mapping_.interface == Interface::kLoopWs) {
      place_loop(tile, tm, tn, tk);
    } else {
      std::tie(tile.a_slot, tile.loads_a) = a_slots_[region].acquire({(*batch_)[kA], tm, tk});
      std::tie(tile.b_slot, tile.loads_b) = b_slots_[region].acquire({(*batch_)[kB], tk, tn});
    }
    if (tile.first_k) ++c_turn_[region];
    tile.c_slot =
        static_cast<uint32_t>(region) * mapping_.acc_buffers + c_turn_[region] % mapping_.acc_buffers;
    tile_ = static_cast<uint32_t>(schedule_.tiles.size());
    schedule_.tiles.push_back(tile);
    if (tile.loads_a) load_operand(kA, form_.a_transposed ? k_ : m_, form_.a_transposed ? m_ : k_);
    if (tile.loads_b) load_operand(kB, form_.b_transposed ? n_ : k_, form_.b_transposed ? k_ : n_);
    if (tile.first_k && form_.has_bias) load_bias(tile);
    add_steps(tile);
  }

  // The hardware alternates between its two halves from run to run. A resident operand has the half that its
  // run forces, and later runs find it there.
  void place_loop(Tile& tile, int64_t tm, int64_t tn, int64_t tk) {
    const auto half = static_cast<uint32_t>(runs_++ % 2);
    const bool resident_a = mapping_.buffering_a == Buffering::kResident,
               resident_b = mapping_.buffering_b == Buffering::kResident;
    tile.a_slot = resident_a ? (tm + tk == 0 ? 0 : 1) : half;
    tile.b_slot = resident_b ? (tn + tk == 0 ? 0 : 1) : half;
    tile.a_id = resident_a ? static_cast<uint8_t>(tile.a_slot + 1) : 0;
    tile.b_id = resident_b ? static_cast<uint8_t>(tile.b_slot + 1) : 0;
    tile.loads_a = !resident_a || tn == 0;
    tile.loads_b = !resident_b || tm == 0;
    const auto pad = [](const Axis& axis, Range range) {
      return static_cast<uint16_t>(axis.dim - axis.extent(range.first + range.count - 1));
    };
    tile.pad_rows = pad(form_.m, m_);
    tile.pad_cols = pad(form_.n, n_);
    tile.pad_depth = pad(form_.k, k_);
    for (Tensor tensor : {kA, kB, kC, kD}) {
      int64_t offset = 0;
      if (has_dim(tensor, DimKind::kM)) offset += form_.m.offset(tensor, m_.first);
      if (has_dim(tensor, DimKind::kN)) offset += form_.n.offset(tensor, n_.first);
      if (has_dim(tensor, DimKind::kK)) offset += form_.k.offset(tensor, k_.first);
      if (tensor != kD || form_.has_bias) tile.dram[tensor] = address(tensor, offset);
    }
  }

  const Axis& axis(Tensor tensor, bool along_rows) const {
    if (tensor == kA) return along_rows == form_.a_transposed ? form_.k : form_.m;
    return along_rows == form_.b_transposed ? form_.n : form_.k;
  }

  uint64_t address(Tensor tensor, int64_t offset) const {
    return addresses_[form_.buffer[tensor]] + static_cast<uint64_t>((*batch_)[tensor] + offset);
  }

  void load_operand(Tensor tensor, Range rows, Range cols) {
    const Axis& row_axis = axis(tensor, true);
    const Axis& col_axis = axis(tensor, false);
    const Tile& tile = schedule_.tiles[tile_];
    for (int64_t r = 0; r < rows.count; ++r) {
      for (int64_t c = 0; c < cols.count; ++c) {
        Operation load{.kind = Operation::Kind::kLoad, .place = {tile_, 0, 0}};
        load.stream = tensor == kA ? kStreamA : kStreamB;
        load.tensor = tensor;
        load.dram = address(
            tensor, row_axis.offset(tensor, rows.first + r) + col_axis.offset(tensor, cols.first + c));
        load.row = tensor == kA ? layout_.a_row(tile.a_slot, r, c) : layout_.b_row(tile.b_slot, r, c);
        load.rows = static_cast<uint16_t>(row_axis.extent(rows.first + r));
        load.cols = static_cast<uint16_t>(col_axis.extent(cols.first + c));
        load.block_row = static_cast<uint32_t>(r);
        load.block_col = static_cast<uint32_t>(c);
        schedule_.operations.push_back(load);
      }
    }
  }

  Operation output_move(const Tile& tile, Tensor tensor, int64_t i, int64_t j) const {
    Operation move;
    move.tensor = tensor;
    move.dram = address(tensor, form_.m.offset(tensor, m_.first + i) + form_.n.offset(tensor, n_.first + j));
    move.row = layout_.c_row(tile.c_slot, i, j);
    move.rows = static_cast<uint16_t>(form_.m.extent(m_.first + i));
    move.cols = static_cast<uint16_t>(form_.n.extent(n_.first + j));
    move.block_row = static_cast<uint32_t>(i);
    move.block_col = static_cast<uint32_t>(j);
    return move;
  }

  void load_bias(const Tile& tile) {
    for (int64_t i = 0; i < m_.count; ++i) {
      for (int64_t j = 0; j < n_.count; ++j) {
        Operation load = output_move(tile, kD, i, j);
        load.kind = Operation::Kind::kLoad;
        load.place = {tile_, 0, 0};
        load.stream = kStreamD;
        schedule_.operations.push_back(load);
      }
    }
  }

  void add_steps(const Tile& tile) {
    const bool column_outside = tile.order == InnerOrder::kNmk;
    const int64_t rows = m_.count, cols = n_.count, depth = k_.count;
    last_weights_ = {-1, -1};
    switch (tile.order) {
      case InnerOrder::kKnm:
        for (int64_t k = 0; k < depth; ++k)
          for (int64_t j = 0; j < cols; ++j)
            for (int64_t i = 0; i < rows; ++i) add_step(tile, i, j, k);
        break;
      case InnerOrder::kKmn:
        for (int64_t k = 0; k < depth; ++k)
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < cols; ++j) add_step(tile, i, j, k);
        break;
      case InnerOrder::kMnk:
      case InnerOrder::kNmk:
        for (int64_t x = 0; x < (column_outside ? cols : rows); ++x)
          for (int64_t y = 0; y < (column_outside ? rows : cols); ++y)
            for (int64_t k = 0; k < depth; ++k)
              add_step(tile, column_outside ? y : x, column_outside ? x : y, k);
        break;
    }
  }

  void add_step(const Tile& tile, int64_t i, int64_t j, int64_t k) {
    const uint32_t number =
        tile.step_number(static_cast<uint32_t>(i), static_cast<uint32_t>(j), static_cast<uint32_t>(k));
    Operation step{.kind = Operation::Kind::kStep, .place = {tile_, number, 1}};
    step.row = form_.a_transposed ? layout_.a_row(tile.a_slot, k, i) : layout_.a_row(tile.a_slot, i, k);
    step.b_row = form_.b_transposed ? layout_.b_row(tile.b_slot, j, k) : layout_.b_row(tile.b_slot, k, j);
    step.c_row = layout_.c_row(tile.c_slot, i, j);
    step.rows = static_cast<uint16_t>(form_.m.extent(m_.first + i));
    step.cols = static_cast<uint16_t>(form_.k.extent(k_.first + k));
    step.n_cols = static_cast<uint16_t>(form_.n.extent(n_.first + j));
    step.flip = std::pair(k, j) != last_weights_ || mapping_.dataflow == ArrayDataflow::kOutputStationary;
    last_weights_ = {k, j};
    step.accumulate = !tile.first_k || k > 0 || form_.has_bias;
    schedule_.operations.push_back(step);
    if (!tile.last_k || k + 1 != k_.count) return;
    Operation store = output_move(tile, kC, i, j);
    store.kind = Operation::Kind::kStore;
    store.place = {tile_, number, 2};
    store.stream = kStreamC;
    schedule_.operations.push_back(store);
  }

  const Problem& problem_;
  const Form& form_;
  const Mapping& mapping_;
  Footprint needs_;
  Layout layout_;
  std::vector<uint64_t> addresses_;
  Schedule schedule_;
  CopyScheduler copier_;
  std::vector<Slots> a_slots_, b_slots_;  // by region
  std::vector<uint32_t> c_turn_;
  const Offsets* batch_ = nullptr;
  Range m_, n_, k_;
  std::pair<int64_t, int64_t> last_weights_;  // block of B in the array, inside a tile
  uint32_t tile_ = 0;
  int64_t limit_ = 0;  // macro tiles that may still be added
  uint64_t runs_ = 0;  // of loop_ws
};

}  // namespace

uint32_t Tile::step_number(uint32_t i, uint32_t j, uint32_t k) const {
  switch (order) {
    case InnerOrder::kKnm:
      return (k * cols + j) * rows + i;
    case InnerOrder::kKmn:
      return (k * rows + i) * cols + j;
    case InnerOrder::kMnk:
      return (i * cols + j) * depth + k;
    case InnerOrder::kNmk:
      return (j * rows + i) * depth + k;
  }
  return 0;
}

std::vector<PlacedBuffer> placed_buffers(const Problem& problem, const Form& form) {
  std::vector<Buffer> buffers = problem.buffers;
  for (const Scratch& scratch : form.scratch) {
    Buffer buffer{
        scratch.name, wire::BufferRole::Scratch, 0, {}, scratch.elements * scratch.element_bytes, {}};
    buffer.type.dtype = scratch.element_bytes == 1 ? wire::DType::S8 : wire::DType::S32;
    buffer.type.dims = {scratch.elements};
    buffers.push_back(std::move(buffer));
  }
  return place(std::move(buffers));
}

std::vector<uint64_t> buffer_addresses(const Problem& problem, const Form& form) {
  std::vector<uint64_t> addresses;
  for (const PlacedBuffer& placed : placed_buffers(problem, form)) addresses.push_back(placed.address);
  return addresses;
}

Schedule build_primitive(const Problem& problem, const Form& form, const Mapping& mapping,
                         const Machine& machine, int64_t tiles) {
  return Builder(problem, form, mapping, machine, tiles).run();
}

}  // namespace zomboss::gemmini
