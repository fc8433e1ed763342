#include "plugins/targets/plena/sim/byte_memory.h"

#include <algorithm>
#include <cstring>

namespace zomboss::plena {

ByteMemory::ByteMemory(uint64_t capacity)
    : capacity_(capacity),
      groups_((capacity + kPageBytes * kPagesPerGroup - 1) / (kPageBytes * kPagesPerGroup)) {}

const uint8_t* ByteMemory::find_page(uint64_t page) const {
  const uint64_t group = page / kPagesPerGroup;
  if (group >= groups_.size() || groups_[group] == nullptr) return nullptr;
  return (*groups_[group])[page % kPagesPerGroup].get();
}

uint8_t* ByteMemory::make_page(uint64_t page) {
  auto& group = groups_[page / kPagesPerGroup];
  if (group == nullptr) group = std::make_unique<Group>();
  Page& bytes = (*group)[page % kPagesPerGroup];
  if (bytes == nullptr) bytes = std::make_unique<uint8_t[]>(kPageBytes);
  return bytes.get();
}

void ByteMemory::read(uint64_t address, std::span<uint8_t> bytes) const {
  while (!bytes.empty()) {
    const uint64_t offset = address % kPageBytes;
    const size_t count = std::min<size_t>(bytes.size(), kPageBytes - offset);
    if (const uint8_t* page = find_page(address / kPageBytes)) {
      std::memcpy(bytes.data(), page + offset, count);
    } else {
      std::memset(bytes.data(), 0, count);
    }
    bytes = bytes.subspan(count);
    address += count;
  }
}

void ByteMemory::write(uint64_t address, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const uint64_t offset = address % kPageBytes;
    const size_t count = std::min<size_t>(bytes.size(), kPageBytes - offset);
    std::memcpy(make_page(address / kPageBytes) + offset, bytes.data(), count);
    bytes = bytes.subspan(count);
    address += count;
  }
}

}  // namespace zomboss::plena
