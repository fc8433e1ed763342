#include "plugins/targets/gemmini/sim/timing_memory.h"

#include <bit>

namespace zomboss::gemmini::timing {

// Gives back the places whose time has come; false when all are still taken.
bool MemoryPort::has_place(Direction direction, size_t limit) {
  auto& waiting = releases[direction];
  while (!waiting.empty() && waiting.front() <= clock_.now) {
    waiting.pop_front();
    --places[direction];
  }
  if (places[direction] < limit) return true;
  if (!waiting.empty()) clock_.wake(waiting.front());
  return false;
}

bool MemoryPort::request_read(uint32_t response_beats) {
  if (!has_place(kRead, limit_)) return false;
  // Round robin between reader and writer.
  if (free > clock_.now || (writer_waits && last_was_read)) {
    clock_.wake(std::max(free, clock_.now + 1));
    return false;
  }
  free = clock_.now + 1;
  last_was_read = true;
  ++places[kRead];
  ++in_flight[kRead];
  responses.push_back({true, response_beats, clock_.now + latency_ + kResponseDelay});
  if (responses.size() == 1) head_is_new[kRead] = true;
  return true;
}

bool MemoryPort::request_write(uint32_t beats) {
  // A burst needs its place one request early.
  writer_waits = has_place(kWrite, beats > 1 && limit_ > 1 ? limit_ - 1 : limit_);
  if (!writer_waits) return false;
  if (free > clock_.now) {
    clock_.wake(free);
    return false;
  }
  free = clock_.now + beats;
  last_was_read = false;
  writer_waits = false;
  ++places[kWrite];
  ++in_flight[kWrite];
  responses.push_back({false, 1, clock_.now + beats - 1 + latency_ + kResponseDelay});
  if (responses.size() == 1) head_is_new[kWrite] = true;
  return true;
}

bool MemoryPort::head_ready(bool read) {
  if (responses.empty() || responses.front().read != read) return false;
  const uint64_t ready = taken_at == clock_.now ? clock_.now + 1 : responses.front().ready;
  if (ready <= clock_.now) return true;
  clock_.wake(ready);
  return false;
}

bool MemoryPort::take_beat() {
  Response& head = responses.front();
  taken_at = clock_.now;
  clock_.wake(clock_.now + 1);
  if (--head.beats != 0) return false;
  const Direction direction = head.read ? kRead : kWrite;
  releases[direction].push_back(clock_.now + kReuseDelay);
  --in_flight[direction];
  responses.pop_front();
  if (!responses.empty()) head_is_new[responses.front().read ? kRead : kWrite] = true;
  return true;
}

void MemoryPort::describe(Words& words) const {
  words.time(free);
  words.add(writer_waits);
  words.add(last_was_read);
  words.time(taken_at);
  words.add(responses.size());
  for (size_t n = 0; n < responses.size(); ++n) {
    words.add(uint64_t{responses[n].beats} << 1 | (responses[n].read ? 1 : 0));
    words.time(responses[n].ready);
  }
  for (size_t direction = 0; direction < 2; ++direction) {
    // Places whose time has come are as good as free.
    const auto& waiting = releases[direction];
    size_t due = 0;
    while (due < waiting.size() && waiting[due] <= words.now()) ++due;
    words.add(places[direction] - due);
    words.add(waiting.size() - due);
    for (size_t n = due; n < waiting.size(); ++n) words.time(waiting[n]);
  }
}

Banks::Geometry Banks::geometry(uint32_t rows) {
  return {rows, std::has_single_bit(rows) ? std::countr_zero(rows) : -1};
}

Banks::Banks(const Machine& machine, Clock& clock)
    : scratchpad_(geometry(machine.scratchpad_bank_rows())),
      accumulator_(geometry(machine.accumulator_bank_rows())),
      clock_(clock) {}

void Banks::schedule(uint64_t scratchpad, uint64_t added, uint32_t count, uint64_t cycle) {
  if (!results.empty()) {
    Results& last = results.back();
    if (last.end == cycle && last.scratchpad == scratchpad && last.accumulator_adds == added) {
      last.end += count;
      return;
    }
  }
  results.push_back({cycle, cycle + count, scratchpad, added});
}

void Banks::schedule_results(const ResultTarget& target, uint32_t count, uint64_t cycle) {
  if (count == 0 || (target.accumulator && !target.adds)) return;
  const auto bank = [&](uint32_t n) {
    const uint32_t row = target.row + n * target.stride;
    return target.accumulator ? accumulator_bit(row) : scratchpad_bit(row);
  };
  const auto add = [&](uint64_t bit, uint32_t rows, uint64_t start) {
    schedule(target.accumulator ? 0 : bit, target.accumulator ? bit : 0, rows, start);
  };
  const uint64_t first = bank(0);
  if (bank(count - 1) == first) {
    add(first, count, cycle);
  } else {
    for (uint32_t n = 0; n < count; ++n) add(bank(n), 1, cycle + n);
  }
}

bool Banks::expects_scratchpad_results() const {
  for (size_t n = 0; n < results.size(); ++n) {
    if (results[n].scratchpad != 0 && results[n].end > clock_.now) return true;
  }
  return false;
}

bool Banks::write_scratchpad(uint32_t row) {
  const uint64_t bit = scratchpad_bit(row);
  if ((scratchpad_results & bit) != 0) return false;
  scratchpad_written |= bit;
  return true;
}

bool Banks::read_scratchpad(uint32_t row) {
  const uint64_t bit = scratchpad_bit(row);
  if (((scratchpad_written | scratchpad_read) & bit) != 0) return false;
  scratchpad_read |= bit;
  return true;
}

void Banks::describe(Words& words) const {
  for (size_t n = 0; n < results.size(); ++n) {
    const Results& each = results[n];
    if (each.end <= words.now()) continue;
    words.time(each.start);
    words.time(each.end);
    words.add(each.scratchpad);
    words.add(each.accumulator_adds);
  }
  words.add(kNever);
}

}  // namespace zomboss::gemmini::timing
