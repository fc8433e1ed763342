#include "plugins/targets/gemmini/sim/dram.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::gemmini {
namespace {

bool contains(const Dram::Segment& segment, uint64_t address, uint64_t size) {
  return address >= segment.base && address - segment.base <= segment.bytes.size() &&
         size <= segment.bytes.size() - (address - segment.base);
}

}  // namespace

Status Dram::add(uint64_t base, std::vector<uint8_t> bytes) {
  if (bytes.empty() || base + bytes.size() < base) {
    return invalid_argument(
        fmt::format("DRAM segment of {} bytes at {:#x} is empty or wraps around", bytes.size(), base));
  }
  const auto after =
      std::find_if(segments_.begin(), segments_.end(), [&](const Segment& s) { return s.end() > base; });
  if (after != segments_.end() && after->base < base + bytes.size()) {
    return invalid_argument(fmt::format("DRAM segment {:#x}..{:#x} overlaps {:#x}..{:#x}", base,
                                        base + bytes.size(), after->base, after->end()));
  }
  segments_.insert(after, {base, std::move(bytes)});
  return {};
}

uint8_t* Dram::find(uint64_t address, uint64_t size) {
  if (last_ >= segments_.size() || !contains(segments_[last_], address, size)) {
    const auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                        [](uint64_t value, const Segment& s) { return value < s.base; });
    if (after == segments_.begin() || !contains(*(after - 1), address, size)) return nullptr;
    last_ = static_cast<size_t>(after - 1 - segments_.begin());
  }
  Segment& segment = segments_[last_];
  return segment.bytes.data() + (address - segment.base);
}

uint64_t Dram::first_missing(uint64_t address, uint64_t size) const {
  for (const Segment& segment : segments_) {
    if (address < segment.base) return address;
    if (address >= segment.end()) continue;
    if (size <= segment.end() - address) return address + size;
    size -= segment.end() - address;
    address = segment.end();
  }
  return address;
}

}  // namespace zomboss::gemmini
