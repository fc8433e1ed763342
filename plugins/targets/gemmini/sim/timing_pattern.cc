#include "plugins/targets/gemmini/sim/timing_pattern.h"

#include <algorithm>
#include <map>

#include "plugins/targets/gemmini/sim/timing_words.h"

namespace zomboss::gemmini::timing {
namespace {

constexpr size_t kShortest = 32, kLongest = 2 * kShortest;  // commands of a chunk

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

uint64_t hash_of(const SeenCommand& seen) {
  return mix(mix(mix(0, seen.funct), seen.rs1), seen.rs2);
}

// False for addresses and strides of loops so large that sums of them could wrap around to null.
bool is_plain(const Command& command) {
  constexpr int kAddressBits = 47, kStrideBits = 32;
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kLoopWsAddressAB:
    case Funct::kLoopWsAddressDC:
    case Funct::kLoopConvAddressWO:
    case Funct::kLoopConvAddressBI:
      return (command.rs1 | command.rs2) >> kAddressBits == 0;
    case Funct::kLoopWsStrideAB:
    case Funct::kLoopWsStrideDC:
      return (command.rs1 | command.rs2) >> kStrideBits == 0;
    default:
      return true;
  }
}

bool ends_loop(const SeenCommand& command) {
  return command.funct == static_cast<uint64_t>(Funct::kLoopWs) ||
         command.funct == static_cast<uint64_t>(Funct::kLoopConv);
}

// The end of the chunk that starts at `start`: after a loop's run command, else where the hash of the last
// command is least, so that equal stretches are cut alike whatever came before.
size_t chunk_end(const std::vector<SeenCommand>& seen, const std::vector<uint32_t>& hashes, size_t start) {
  constexpr auto kFence = static_cast<uint64_t>(Funct::kFence);
  const size_t limit = std::min(seen.size(), start + kLongest);
  size_t best = limit;
  for (size_t n = start; n < limit; ++n) {
    if (ends_loop(seen[n])) return n + 1;
    if (n + 1 < start + kShortest || seen[n].funct == kFence) continue;
    if (best == limit || hashes[n] < hashes[best]) best = n;
  }
  if (best < limit && limit == start + kLongest) return best + 1;
  // The rest of the program, or commands without a loop among fences: the last one that is no fence.
  size_t end = limit;
  while (end > start && seen[end - 1].funct == kFence) --end;
  return end;
}

}  // namespace

SeenCommand see(const Command& command, uint64_t granule) {
  SeenCommand seen = {command.funct, command.rs1, command.rs2};
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
    case Funct::kMvout:
      seen.rs1 = dram_phase(command.rs1, granule);
      break;
    case Funct::kLoopWsAddressAB:
    case Funct::kLoopWsAddressDC:
    case Funct::kLoopConvAddressWO:
    case Funct::kLoopConvAddressBI:
      seen.rs1 = dram_phase(command.rs1, granule);
      seen.rs2 = dram_phase(command.rs2, granule);
      break;
    default:
      break;
  }
  return seen;
}

Pattern::Pattern(std::span<const Command> commands, uint64_t granule) {
  if (commands.size() < 4) return;
  std::vector<SeenCommand> seen(commands.size());
  std::vector<uint32_t> hashes(commands.size());
  for (size_t n = 0; n < commands.size(); ++n) {
    if (!is_plain(commands[n])) return;
    seen[n] = see(commands[n], granule);
    hashes[n] = static_cast<uint32_t>(hash_of(seen[n]) >> 20);
  }
  struct Content {
    size_t start, size;
    size_t first_chunk;
  };
  std::multimap<uint64_t, uint32_t> by_hash;
  std::vector<Content> contents;
  bool repeats = false;
  for (size_t start = 0; start < seen.size();) {
    const size_t end = chunk_end(seen, hashes, start);
    if (end == start) break;  // only fences are left
    uint64_t hash = end - start;
    for (size_t n = start; n < end; ++n) hash = mix(hash, hashes[n]);
    Chunk chunk = {end, static_cast<uint32_t>(contents.size()), false};
    const auto [first, last] = by_hash.equal_range(hash);
    for (auto each = first; each != last; ++each) {
      const Content& content = contents[each->second];
      if (content.size != end - start ||
          !std::equal(seen.begin() + static_cast<std::ptrdiff_t>(start),
                      seen.begin() + static_cast<std::ptrdiff_t>(end),
                      seen.begin() + static_cast<std::ptrdiff_t>(content.start)))
        continue;
      chunk.content = each->second;
      chunk.repeats = repeats = true;
      chunks_[content.first_chunk].repeats = true;
      break;
    }
    if (!chunk.repeats) {
      by_hash.emplace(hash, chunk.content);
      contents.push_back({start, end - start, chunks_.size()});
    }
    chunks_.push_back(chunk);
    start = end;
  }
  if (!repeats) chunks_.clear();
}

}  // namespace zomboss::gemmini::timing
