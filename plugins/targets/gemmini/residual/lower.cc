#include "plugins/targets/gemmini/residual/lower.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "plugins/targets/gemmini/sim/loop_command.h"

namespace zomboss::gemmini::residual {
namespace {

constexpr int64_t ceil_div(int64_t value, int64_t by) {
  return (value + by - 1) / by;
}

class Generator {
 public:
  Generator(const Problem& problem, const Mapping& mapping, const Machine& machine)
      : problem_(problem),
        shape_(problem.shapes[mapping.shape]),
        mapping_(mapping),
        machine_(machine),
        dim_(machine.dim) {
    const std::vector<PlacedBuffer> placed = place(problem.buffers);
    for (size_t s = 0; s < kSides; ++s) address_[s] = placed[problem.buffer[s]].address;
  }

  std::vector<Command> run(int64_t limit) {
    list_tiles(limit);
    configure();
    if (mapping_.interface == Interface::kLoopWs)
      for (const Tile& tile : tiles_) add_loop(tile);
    else if (mapping_.ordering == Ordering::kFence)
      add_fenced();
    else
      add_ordered();
    return std::move(commands_);
  }

 private:
  // In elements of the matrix.
  struct Tile {
    const Offsets* outer = nullptr;
    int64_t row = 0, col = 0, rows = 0, cols = 0;
    uint32_t local = 0;  // first row of its copy
  };
  // Blocks of one block row that one move takes.
  struct Move {
    int64_t row = 0, col = 0;  // of the tile, elements
    uint16_t rows = 0, cols = 0;
  };

  void list_tiles(int64_t limit) {
    const int64_t rows = mapping_.tile_rows * dim_, cols = mapping_.tile_cols * dim_;
    const auto tile_rows = static_cast<uint32_t>(mapping_.tile_rows * mapping_.tile_cols) * dim_;
    const uint32_t step = mapping_.placement == Placement::kApart
                              ? machine_.accumulator_rows / mapping_.acc_buffers
                              : tile_rows;
    for (const Offsets& outer : shape_.outer)
      for (int64_t r = 0; r < shape_.rows; r += rows)
        for (int64_t c = 0; c < shape_.columns; c += cols) {
          if (static_cast<int64_t>(tiles_.size()) == limit) return;
          const auto copy = static_cast<uint32_t>(tiles_.size() % mapping_.acc_buffers);
          tiles_.push_back({&outer, r, c, std::min(rows, shape_.rows - r), std::min(cols, shape_.columns - c),
                            copy * step});
        }
  }

  void configure() {
    for (const Side side : {kA, kB}) {
      ConfigLd load;
      load.state = side;
      load.dram_stride_bytes = static_cast<uint64_t>(shape_.stride[side]);
      load.scale = problem_.scale[side];
      load.shrink = true;
      load.block_stride = static_cast<uint16_t>(dim_);
      commands_.push_back(config_ld(load));
    }
    ConfigSt store;
    store.dram_stride_bytes = static_cast<uint32_t>(shape_.stride[kC]);
    store.activation = problem_.relu ? Activation::kRelu : Activation::kNone;
    store.acc_scale = problem_.sum_scale;
    commands_.push_back(config_st(store));
  }

  uint64_t dram(const Tile& tile, Side side, int64_t row, int64_t col) const {
    return address_[side] + static_cast<uint64_t>((*tile.outer)[side] +
                                                  (tile.row + row) * shape_.stride[side] + tile.col + col);
  }

  void add_loop(const Tile& tile) {
    LoopWs loop;
    loop.i = static_cast<uint16_t>(ceil_div(tile.rows, dim_));
    loop.j = static_cast<uint16_t>(ceil_div(tile.cols, dim_));
    loop.k = 1;
    loop.pad_i = static_cast<uint16_t>(loop.i * dim_ - tile.rows);
    loop.pad_j = static_cast<uint16_t>(loop.j * dim_ - tile.cols);
    loop.a = dram(tile, kA, 0, 0);
    loop.b = dram(tile, kB, 0, 0);
    loop.c = dram(tile, kC, 0, 0);
    loop.a_stride = static_cast<uint64_t>(shape_.stride[kA]);
    loop.b_stride = static_cast<uint64_t>(shape_.stride[kB]);
    loop.c_stride = static_cast<uint64_t>(shape_.stride[kC]);
    loop.activation = problem_.relu ? Activation::kRelu : Activation::kNone;
    loop.residual_add = true;
    for (const Command& command : loop_ws(loop)) commands_.push_back(command);
  }

  std::vector<Move> moves(const Tile& tile, uint32_t width) const {
    std::vector<Move> result;
    const int64_t wide = int64_t{width} * dim_;
    for (int64_t r = 0; r < tile.rows; r += dim_)
      for (int64_t c = 0; c < tile.cols; c += wide)
        result.push_back({r, c, static_cast<uint16_t>(std::min<int64_t>(dim_, tile.rows - r)),
                          static_cast<uint16_t>(std::min(wide, tile.cols - c))});
    return result;
  }

  uint32_t local(const Tile& tile, const Move& move) const {
    const int64_t block = move.row / dim_ * mapping_.tile_cols + move.col / dim_;
    return tile.local + static_cast<uint32_t>(block) * dim_;
  }

  void load(const Tile& tile, Side side, const Move& move) {
    commands_.push_back(mvin(dram(tile, side, move.row, move.col),
                             {accumulator_address(local(tile, move), side == kB), move.rows, move.cols},
                             side));
    spread_stores();
  }

  void store(const Tile& tile, const Move& move) {
    commands_.push_back(mvout(dram(tile, kC, move.row, move.col),
                              {accumulator_address(local(tile, move)), move.rows, move.cols}));
  }

  // B of a tile; early stores follow as soon as all of their blocks are there.
  void add_sums(const Tile& tile, bool with_a) {
    const std::vector<Move> loads = moves(tile, mapping_.load_width),
                            stores = moves(tile, mapping_.store_width);
    size_t stored = 0;
    const auto complete = [&](const Move& store, const Move& loaded) {
      return store.row < loaded.row ||
             (store.row == loaded.row && store.col + store.cols <= loaded.col + loaded.cols);
    };
    for (const Move& move : loads) {
      if (with_a) load(tile, kA, move);
      load(tile, kB, move);
      while (mapping_.store_schedule == StoreSchedule::kEarly && stored < stores.size() &&
             complete(stores[stored], move))
        store(tile, stores[stored++]);
    }
    if (mapping_.store_schedule == StoreSchedule::kDeferred) return defer_stores(tile, stores, loads.size());
    for (; stored < stores.size(); ++stored) store(tile, stores[stored]);
  }

  void add_a(const Tile& tile) {
    for (const Move& move : moves(tile, mapping_.load_width)) load(tile, kA, move);
  }

  void add_ordered() {
    for (const Tile& tile : tiles_) {
      const bool a_first = mapping_.load_order == LoadOrder::kAFirst;
      if (a_first) add_a(tile);
      add_sums(tile, !a_first);
    }
    flush_stores();
  }

  void add_fenced() {
    const bool ahead = mapping_.acc_buffers > 1;  // the next A may come before B
    for (size_t t = 0; t < tiles_.size(); ++t) {
      if (t == 0 || !ahead) add_a(tiles_[t]);
      commands_.push_back(fence());
      if (ahead && t + 1 < tiles_.size()) add_a(tiles_[t + 1]);
      add_sums(tiles_[t], false);
    }
  }

  // Stores of a finished tile go among the loads of the next one, evenly.
  void defer_stores(const Tile& tile, const std::vector<Move>& stores, size_t loads) {
    flush_stores();
    for (const Move& move : stores) deferred_.emplace_back(&tile, move);
    every_ = std::max<size_t>(1, 2 * loads / (stores.size() + 1));
    loads_ = 0;
  }
  void spread_stores() {
    if (deferred_.empty() || ++loads_ % every_ != 0) return;
    store(*deferred_.front().first, deferred_.front().second);
    deferred_.pop_front();
  }
  void flush_stores() {
    for (const auto& [tile, move] : deferred_) store(*tile, move);
    deferred_.clear();
  }

  const Problem& problem_;
  const Shape& shape_;
  const Mapping& mapping_;
  const Machine& machine_;
  uint32_t dim_;
  std::array<uint64_t, kSides> address_ = {};
  std::vector<Tile> tiles_;
  std::vector<Command> commands_;
  std::deque<std::pair<const Tile*, Move>> deferred_;
  size_t every_ = 1, loads_ = 0;
};

}  // namespace

int64_t tile_count(const Problem& problem, const Mapping& mapping, const Machine& machine) {
  const Shape& shape = problem.shapes[mapping.shape];
  return static_cast<int64_t>(shape.outer.size()) *
         ceil_div(row_blocks(shape, machine.dim), mapping.tile_rows) *
         ceil_div(col_blocks(shape, machine.dim), mapping.tile_cols);
}

std::vector<Command> lower_mapping(const Problem& problem, const Mapping& mapping, const Machine& machine,
                                   int64_t tiles) {
  return Generator(problem, mapping, machine).run(tiles);
}

}  // namespace zomboss::gemmini::residual
