#include "plugins/targets/plena/sim/hbm_timing.h"

#include <algorithm>

namespace zomboss::plena {
namespace {

constexpr size_t kAccessesPerBlock = 4;

}  // namespace

int64_t HbmTiming::next_event() const {
  int64_t next = DramChannel::kNever;
  for (const DramChannel& channel : channels_) next = std::min(next, channel.next_event());
  return next;
}

void HbmTiming::tick() {
  ++clock_;
  for (DramChannel& channel : channels_) outstanding_ -= channel.tick(clock_) ? 1 : 0;
}

void HbmTiming::catch_up(int64_t now) {
  while (clock_ < now) {
    const int64_t next = next_event();
    if (next > now) {
      clock_ = now;
      return;
    }
    clock_ = std::max(clock_, next - 1);
    tick();
  }
}

void HbmTiming::push_reads(std::span<const uint64_t> blocks, size_t& next_access) {
  const size_t count = blocks.size() * kAccessesPerBlock;
  while (next_access < count) {
    // The accesses of a block differ in their channel only.
    const uint64_t first = blocks[next_access / kAccessesPerBlock] * kAccessesPerBlock;
    const DramPlace place = place_of(first);
    do {
      const uint64_t n = next_access % kAccessesPerBlock;
      if (!channels_[place.channel ^ n].offer_read(place, first + n, clock_)) return;
      ++next_access;
    } while (next_access % kAccessesPerBlock != 0);
  }
}

uint64_t HbmTiming::read(std::span<const uint64_t> blocks, uint64_t now) {
  if (blocks.empty()) return now;
  const auto issue = static_cast<int64_t>(now);
  catch_up(issue);
  outstanding_ = blocks.size() * kAccessesPerBlock;
  size_t next_access = 0;
  push_reads(blocks, next_access);
  for (;;) {
    const int64_t time = clock_;
    tick();
    if (outstanding_ == 0) return static_cast<uint64_t>(time);
    if (time > issue) push_reads(blocks, next_access);
  }
}

uint64_t HbmTiming::write(uint64_t block, uint64_t now) {
  auto time = static_cast<int64_t>(now);
  for (size_t n = 0; n < kAccessesPerBlock; ++n) {
    const uint64_t unit = block * kAccessesPerBlock + n;
    const DramPlace place = place_of(unit);
    for (;; ++time) {
      catch_up(time);
      if (channels_[place.channel].offer_write(place, unit, clock_)) break;
    }
  }
  return static_cast<uint64_t>(time);
}

}  // namespace zomboss::plena
