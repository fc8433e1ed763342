// The HBM as the transfer instructions see it: bytes, time and traffic counts. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/targets/plena/sim/byte_memory.h"
#include "plugins/targets/plena/sim/hbm_timing.h"
#include "plugins/targets/plena/sim/profile.h"

namespace zomboss::plena {

class Hbm {
 public:
  explicit Hbm(uint64_t capacity) : bytes_(capacity) {}

  ByteMemory& bytes() { return bytes_; }
  const ByteMemory& bytes() const { return bytes_; }
  // Ranges must be sorted and must not overlap.
  void watch(std::vector<TensorTraffic> tensors) { tensors_ = std::move(tensors); }

  // Time and counts of one transfer that reads 64-byte blocks (byte address / 64); returns its end. The data
  // are in bytes().
  uint64_t read_blocks(std::span<const uint64_t> blocks, uint64_t now);
  // Merges `data` into the memory at `address` block by block: read, wait, write, wait. False when a block
  // lies past the capacity; `now` is advanced either way.
  bool merge(uint64_t address, std::span<const uint8_t> data, uint64_t& now);

  // Copies traffic counts into the profile.
  void report(Profile& profile) const;

 private:
  void count(uint64_t block, bool write);

  ByteMemory bytes_;
  HbmTiming timing_;
  std::vector<TensorTraffic> tensors_;
  uint64_t read_bytes_ = 0;
  uint64_t written_bytes_ = 0;
  uint64_t other_read_bytes_ = 0;
  uint64_t other_written_bytes_ = 0;
};

}  // namespace zomboss::plena
