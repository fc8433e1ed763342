#include "plugins/targets/gemmini/matmul/copy_schedule.h"

#include <algorithm>

namespace zomboss::gemmini {
namespace {

// Takes the loop with the best claim out of `loops`; a loop of one step when there is none.
template <typename Better>
CopyLoop take(std::vector<CopyLoop>& loops, Better better) {
  auto best = loops.end();
  for (auto it = loops.begin(); it != loops.end(); ++it)
    if (better(*it) && (best == loops.end() || it->extent > best->extent)) best = it;
  if (best == loops.end()) return {};
  const CopyLoop loop = *best;
  loops.erase(best);
  return loop;
}

}  // namespace

void CopyScheduler::add(const Copy& copy, bool fence_behind) {
  std::vector<CopyLoop> outer = copy.loops;
  std::erase_if(outer, [](const CopyLoop& loop) { return loop.extent == 1; });
  const CopyLoop cols =
      take(outer, [](const CopyLoop& loop) { return loop.source_stride == 1 && loop.target_stride == 1; });
  const CopyLoop rows = take(outer, [](const CopyLoop&) { return true; });

  const bool wide = copy.element_bytes == 4;
  const uint32_t dim = machine_.dim, bytes = copy.element_bytes;
  const auto stream = static_cast<uint8_t>(schedule_.streams.size());
  const auto stride = [&](int64_t elements) { return static_cast<uint64_t>(elements) * bytes; };
  schedule_.streams.push_back(
      {.accumulator = wide, .full_width = wide, .stride_bytes = stride(rows.source_stride)});
  schedule_.streams.push_back(
      {.load = false, .accumulator = wide, .full_width = wide, .stride_bytes = stride(rows.target_stride)});

  const auto tile = static_cast<uint32_t>(schedule_.tiles.size());
  schedule_.tiles.emplace_back();
  const Operation fence{.kind = Operation::Kind::kFence, .place = {tile, 0, 0}};
  if (!fence_behind) schedule_.operations.push_back(fence);

  // Enough places in turn that a move seldom waits for the one that used its rows before.
  const int64_t widest = wide ? dim : machine_.max_block_columns();
  const int64_t rows_each = ceil_div(std::min(widest, cols.extent), dim) * dim;
  const int64_t places = std::max<int64_t>(
      1, std::min<int64_t>(16, (wide ? machine_.accumulator_rows : machine_.scratchpad_rows) / rows_each));
  int64_t turn = 0;
  std::vector<int64_t> at(outer.size(), 0);
  for (bool more = true; more;) {
    int64_t source = 0, target = 0;
    for (size_t i = 0; i < outer.size(); ++i) {
      source += at[i] * outer[i].source_stride;
      target += at[i] * outer[i].target_stride;
    }
    for (int64_t r = 0; r < rows.extent; r += dim) {
      for (int64_t c = 0; c < cols.extent; c += widest) {
        Operation move{.kind = Operation::Kind::kLoad, .place = {tile, 0, 0}};
        move.stream = stream;
        move.row = static_cast<uint32_t>(turn++ % places * rows_each);
        move.rows = static_cast<uint16_t>(std::min<int64_t>(dim, rows.extent - r));
        move.cols = static_cast<uint16_t>(std::min(widest, cols.extent - c));
        move.dram = addresses_[copy.source] + stride(source + r * rows.source_stride + c);
        schedule_.operations.push_back(move);
        move.kind = Operation::Kind::kStore;
        move.stream = static_cast<uint8_t>(stream + 1);
        move.dram = addresses_[copy.target] + stride(target + r * rows.target_stride + c);
        schedule_.operations.push_back(move);
      }
    }
    more = false;
    for (size_t i = outer.size(); i-- > 0 && !more;) {
      if (++at[i] < outer[i].extent)
        more = true;
      else
        at[i] = 0;
    }
  }
  if (fence_behind) schedule_.operations.push_back(fence);
}

}  // namespace zomboss::gemmini
