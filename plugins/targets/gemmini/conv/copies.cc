#include "plugins/targets/gemmini/conv/copies.h"

#include <algorithm>

namespace zomboss::gemmini::conv {
namespace {

// Takes the longest loop that `suits` out of `loops`; a loop of one step when there is none.
template <typename Suits>
CopyLoop take(std::vector<CopyLoop>& loops, Suits suits) {
  auto best = loops.end();
  for (auto it = loops.begin(); it != loops.end(); ++it)
    if (suits(*it) && (best == loops.end() || it->extent > best->extent)) best = it;
  if (best == loops.end()) return {};
  const CopyLoop loop = *best;
  loops.erase(best);
  return loop;
}

}  // namespace

std::vector<CopyMove> copy_moves(const OffsetCopy& copy, const std::vector<uint64_t>& addresses,
                                 const Machine& machine) {
  std::vector<CopyLoop> outer = copy.loops;
  std::erase_if(outer, [](const CopyLoop& loop) { return loop.extent == 1; });
  const CopyLoop cols =
      take(outer, [](const CopyLoop& loop) { return loop.source_stride == 1 && loop.target_stride == 1; });
  const CopyLoop rows = take(outer, [](const CopyLoop&) { return true; });

  const bool wide = copy.element_bytes == 4;
  const int64_t dim = machine.dim, bytes = copy.element_bytes;
  const int64_t widest = wide ? dim : machine.max_block_columns();
  const auto stride = [&](int64_t elements) { return static_cast<uint64_t>(elements * bytes); };
  const Command load_config = config_ld({.state = 0,
                                         .dram_stride_bytes = stride(rows.source_stride),
                                         .block_stride = static_cast<uint16_t>(dim)});
  const Command store_config =
      config_st({.dram_stride_bytes = static_cast<uint32_t>(stride(rows.target_stride))});
  const int64_t rows_each = (std::min(widest, cols.extent) + dim - 1) / dim * dim;
  const int64_t memory = wide ? machine.accumulator_rows : machine.scratchpad_rows;
  const int64_t places = std::max<int64_t>(1, std::min<int64_t>(16, memory / rows_each));

  std::vector<CopyMove> moves;
  std::vector<int64_t> at(outer.size(), 0);
  for (bool more = true; more;) {
    int64_t source = copy.source_offset, target = copy.target_offset;
    for (size_t i = 0; i < outer.size(); ++i) {
      source += at[i] * outer[i].source_stride;
      target += at[i] * outer[i].target_stride;
    }
    for (int64_t r = 0; r < rows.extent; r += dim) {
      for (int64_t c = 0; c < cols.extent; c += widest) {
        const auto row = static_cast<uint32_t>(static_cast<int64_t>(moves.size()) % places * rows_each);
        const Operand local = {wide ? accumulator_address(row, false, false) : scratchpad_address(row),
                               static_cast<uint16_t>(std::min(dim, rows.extent - r)),
                               static_cast<uint16_t>(std::min(widest, cols.extent - c))};
        Operand out = local;
        if (wide) out.address = accumulator_address(row, false, true);
        moves.push_back({load_config, store_config,
                         mvin(addresses[copy.source] + stride(source + r * rows.source_stride + c), local),
                         mvout(addresses[copy.target] + stride(target + r * rows.target_stride + c), out)});
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
  return moves;
}

}  // namespace zomboss::gemmini::conv
