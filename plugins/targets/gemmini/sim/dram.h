// The DRAM that programs address: one or more segments of bytes; everything between them does not exist.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// Owns its bytes. Not thread-safe (look-ups remember the last segment).
class Dram {
 public:
  struct Segment {
    uint64_t base = 0;
    std::vector<uint8_t> bytes;
    uint64_t end() const { return base + bytes.size(); }
  };

  // Fails when the segment is empty, wraps around the address space or overlaps another one. Touching
  // segments stay separate: no single row may cross their border.
  Status add(uint64_t base, std::vector<uint8_t> bytes);

  // The `size` bytes at `address`, or null when they are not all inside one segment.
  uint8_t* find(uint64_t address, uint64_t size);
  // The first address in [address, address + size) that no segment holds, for messages.
  uint64_t first_missing(uint64_t address, uint64_t size) const;

  const std::vector<Segment>& segments() const { return segments_; }

 private:
  std::vector<Segment> segments_;  // by base
  size_t last_ = 0;
};

}  // namespace zomboss::gemmini
