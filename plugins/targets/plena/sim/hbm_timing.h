// When transfers with the HBM end: eight channels, their lazy ticking and the queue in front of them. Only
// time, no data. Times are nanoseconds since the start of the program. Not thread-safe; a plain value.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "plugins/targets/plena/sim/dram_channel.h"

namespace zomboss::plena {

inline constexpr uint64_t kHbmBlockBytes = 64;

class HbmTiming {
 public:
  // Reads 64-byte blocks (given as byte addresses / 64) as one transfer issued at `now`; returns when the
  // last of them completes. `now` never decreases from one call to the next.
  uint64_t read(std::span<const uint64_t> blocks, uint64_t now);
  // Writes one block; returns when its last access is accepted. The data drain later.
  uint64_t write(uint64_t block, uint64_t now);

 private:
  static constexpr size_t kChannels = 8;

  // Runs the ticks at times before `now` that have not run.
  void catch_up(int64_t now);
  // Runs the next tick, at time clock_.
  void tick();
  // Offers the accesses from `next_access` on until one is refused.
  void push_reads(std::span<const uint64_t> blocks, size_t& next_access);
  int64_t next_event() const;

  std::array<DramChannel, kChannels> channels_;
  int64_t clock_ = 0;  // ticks run so far; the tick at time t leaves it at t + 1
  size_t outstanding_ = 0;
};

}  // namespace zomboss::plena
