#include "plugins/targets/plena/sim/byte_memory.h"

#include <algorithm>
#include <cstring>

namespace zomboss::plena {

ByteMemory::ByteMemory(uint64_t capacity)
    : capacity_(capacity), pages_((capacity + kPageBytes - 1) / kPageBytes) {}

void ByteMemory::read(uint64_t address, std::span<uint8_t> bytes) const {
  while (!bytes.empty()) {
    const uint64_t offset = address % kPageBytes;
    const size_t count = std::min<size_t>(bytes.size(), kPageBytes - offset);
    const uint64_t page = address / kPageBytes;
    if (page < pages_.size() && pages_[page] != nullptr) {
      std::memcpy(bytes.data(), pages_[page].get() + offset, count);
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
    Page& page = pages_[address / kPageBytes];
    if (page == nullptr) page = std::make_unique<uint8_t[]>(kPageBytes);
    std::memcpy(page.get() + offset, bytes.data(), count);
    bytes = bytes.subspan(count);
    address += count;
  }
}

}  // namespace zomboss::plena
