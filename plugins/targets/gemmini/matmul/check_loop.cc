#include "plugins/targets/gemmini/matmul/check_loop.h"

#include <fmt/format.h>

#include <array>

namespace zomboss::gemmini {
namespace {

using Kind = Operation::Kind;

class LoopChecker {
 public:
  explicit LoopChecker(const Schedule& schedule) : schedule_(schedule) {}

  Status run() {
    for (size_t i = 0; i < schedule_.operations.size(); ++i) {
      const Operation& operation = schedule_.operations[i];
      if (operation.place.tile != tile_) ZB_TRY(finish());
      tile_ = operation.place.tile;
      const bool of_tile = operation.kind == Kind::kStep ||
                           (operation.kind != Kind::kFence && operation.stream < kFirstCopyStream);
      if (!of_tile) continue;
      in_loop_ = true;
      if (operation.kind == Kind::kStep) continue;
      if (!expected(operation)) {
        return internal_error(
            fmt::format("gemmini: loop check failed at operation {} of {}: a move of {}x{} at {:#x} "
                        "that loop_ws would not do",
                        i, schedule_.operations.size(), operation.rows, operation.cols, operation.dram));
      }
      ++moves_[operation.tensor];
    }
    return finish();
  }

 private:
  // Block (row, col) of the tile, a dim-column block, as the unroller addresses and cuts it.
  bool expected(const Operation& move) const {
    const Tile& tile = schedule_.tiles[tile_];
    const Stream& stream = schedule_.streams[move.stream];
    uint32_t rows = 0, cols = 0, pad_rows = 0, pad_cols = 0;
    switch (move.tensor) {
      case kA:
        rows = tile.rows, cols = tile.depth, pad_rows = tile.pad_rows, pad_cols = tile.pad_depth;
        break;
      case kB:
        rows = tile.depth, cols = tile.cols, pad_rows = tile.pad_depth, pad_cols = tile.pad_cols;
        break;
      default:
        rows = tile.rows, cols = tile.cols, pad_rows = tile.pad_rows, pad_cols = tile.pad_cols;
        break;
    }
    if ((move.tensor == kA && schedule_.a_transposed) || (move.tensor == kB && schedule_.b_transposed)) {
      std::swap(rows, cols);
      std::swap(pad_rows, pad_cols);
    }
    const uint32_t dim = schedule_.dim;
    const uint64_t dram = tile.dram[move.tensor] + uint64_t{move.block_row} * dim * stream.stride_bytes +
                          uint64_t{move.block_col} * dim * stream.element_bytes();
    return tile.dram[move.tensor] != 0 && move.block_row < rows && move.block_col < cols &&
           move.dram == dram && move.rows == dim - (move.block_row + 1 == rows ? pad_rows : 0) &&
           move.cols == dim - (move.block_col + 1 == cols ? pad_cols : 0);
  }

  // Each block that the loop moves is among the tile's moves once.
  Status finish() {
    if (in_loop_) {
      const Tile& tile = schedule_.tiles[tile_];
      const std::array<uint32_t, kTensors> wanted = {
          tile.loads_a ? tile.rows * tile.depth : 0, tile.loads_b ? tile.depth * tile.cols : 0,
          tile.last_k ? tile.rows * tile.cols : 0,
          tile.first_k && tile.dram[kD] != 0 ? tile.rows * tile.cols : 0};
      if (wanted != moves_)
        return internal_error(
            fmt::format("gemmini: loop check failed at tile {}: its moves are not those of loop_ws", tile_));
    }
    in_loop_ = false;
    moves_ = {};
    return {};
  }

  const Schedule& schedule_;
  uint32_t tile_ = 0;
  bool in_loop_ = false;
  std::array<uint32_t, kTensors> moves_ = {};
};

}  // namespace

Status check_loops(const Schedule& schedule) {
  return schedule.interface == Interface::kLoopWs ? LoopChecker(schedule).run() : Status();
}

}  // namespace zomboss::gemmini
