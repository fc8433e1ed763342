#include "plugins/targets/gemmini/sim/timing_memory.h"

namespace zomboss::gemmini::timing {

// Gives back the places whose time has come; false when all are still taken.
bool MemoryPort::has_place(Direction direction, size_t limit) {
  auto& releases = releases_[direction];
  while (!releases.empty() && releases.front() <= clock_.now) {
    releases.pop_front();
    --outstanding_[direction];
  }
  if (outstanding_[direction] < limit) return true;
  if (!releases.empty()) clock_.wake(releases.front());
  return false;
}

bool MemoryPort::request_read(uint32_t response_beats) {
  if (!has_place(kRead, limit_)) return false;
  // Round robin between reader and writer.
  if (port_free_ > clock_.now || (writer_waits_ && last_was_read_)) {
    clock_.wake(std::max(port_free_, clock_.now + 1));
    return false;
  }
  port_free_ = clock_.now + 1;
  last_was_read_ = true;
  ++outstanding_[kRead];
  responses_.push_back({true, response_beats, clock_.now + latency_ + kResponseDelay});
  return true;
}

bool MemoryPort::request_write(uint32_t beats) {
  // A burst needs its place one request early.
  writer_waits_ = has_place(kWrite, beats > 1 && limit_ > 1 ? limit_ - 1 : limit_);
  if (!writer_waits_) return false;
  if (port_free_ > clock_.now) {
    clock_.wake(port_free_);
    return false;
  }
  port_free_ = clock_.now + beats;
  last_was_read_ = false;
  writer_waits_ = false;
  ++outstanding_[kWrite];
  responses_.push_back({false, 1, clock_.now + beats - 1 + latency_ + kResponseDelay});
  return true;
}

bool MemoryPort::head_ready(bool read) {
  if (responses_.empty() || responses_.front().read != read) return false;
  const uint64_t ready = taken_at_ == clock_.now ? clock_.now + 1 : responses_.front().ready;
  if (ready <= clock_.now) return true;
  clock_.wake(ready);
  return false;
}

bool MemoryPort::read_beat_ready() {
  return head_ready(true);
}

bool MemoryPort::write_ack_ready() {
  return head_ready(false);
}

bool MemoryPort::take_beat() {
  Response& head = responses_.front();
  taken_at_ = clock_.now;
  clock_.wake(clock_.now + 1);
  if (--head.beats != 0) return false;
  releases_[head.read ? kRead : kWrite].push_back(clock_.now + kReuseDelay);
  responses_.pop_front();
  return true;
}

void Banks::begin_cycle() {
  Result& result = results_[clock_.now % kHorizon];
  const bool now = result.cycle == clock_.now;
  scratchpad_results_ = scratchpad_written_ = now ? result.scratchpad : 0;
  accumulator_adds_ = now ? result.accumulator_adds : 0;
  scratchpad_read_ = 0;
}

void Banks::schedule_result(bool accumulator, bool adds, uint32_t row, uint64_t delay) {
  const uint64_t cycle = clock_.now + delay;
  Result& result = results_[cycle % kHorizon];
  if (result.cycle != cycle) result = {cycle, 0, 0};
  if (!accumulator) {
    result.scratchpad |= scratchpad_bit(row);
  } else if (adds) {
    result.accumulator_adds |= accumulator_bit(row);
  }
}

bool Banks::write_scratchpad(uint32_t row) {
  const uint64_t bit = scratchpad_bit(row);
  if ((scratchpad_results_ & bit) != 0) return false;
  scratchpad_written_ |= bit;
  return true;
}

bool Banks::read_scratchpad(uint32_t row) {
  const uint64_t bit = scratchpad_bit(row);
  if (((scratchpad_written_ | scratchpad_read_) & bit) != 0) return false;
  scratchpad_read_ |= bit;
  return true;
}

}  // namespace zomboss::gemmini::timing
