#include "plugins/targets/gemmini/sim/timing_station.h"

#include <algorithm>
#include <bit>

namespace zomboss::gemmini::timing {
namespace {

constexpr size_t index_of(Engine engine) {
  return static_cast<size_t>(engine);
}

}  // namespace

Station::Station(const Machine& machine, Clock& clock) : clock_(clock) {
  entries_[index_of(Engine::kLoad)].resize(machine.load_entries);
  entries_[index_of(Engine::kExecute)].resize(machine.execute_entries);
  entries_[index_of(Engine::kStore)].resize(machine.store_entries);
}

// Slots of `engine` that `op`, entering now, must wait for until they complete.
uint64_t Station::overlapping(const Op& op, Engine engine) const {
  uint64_t mask = 0;
  for (uint64_t left = valid_[index_of(engine)]; left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    const Op& older = entries_[index_of(engine)][slot_index(slot)].op;
    if (older.kind == Kind::kConfig || op.kind == Kind::kConfig) continue;
    bool waits = false;
    if (op.engine == Engine::kExecute && engine == Engine::kStore) {
      waits = op.kind == Kind::kPreload && op.second.overlaps(older.first);
    } else if (op.engine == Engine::kStore && engine == Engine::kExecute) {
      waits = older.kind == Kind::kPreload && older.second.overlaps(op.first);
    } else if (op.engine == Engine::kExecute) {
      waits = op.first.overlaps(older.first) || op.second.overlaps(older.first);
    } else {
      waits = older.first.overlaps(op.first) || older.second.overlaps(op.first);
    }
    if (waits) mask |= uint64_t{1} << slot;
  }
  return mask;
}

bool Station::allocate(const Op& op) {
  const size_t own = index_of(op.engine);
  const size_t capacity = entries_[own].size();
  const int slot = std::countr_one(valid_[own]);
  if (slot_index(slot) >= capacity) return false;
  Entry& entry = entries_[own][slot_index(slot)];
  entry.op = op;
  entry.allocated = clock_.now;
  for (size_t engine = 0; engine < kEngines; ++engine) {
    entry.waits[engine] = engine == own ? unissued_[own] : overlapping(op, static_cast<Engine>(engine));
  }
  if (op.engine == Engine::kExecute) solitary_preload_ = op.kind == Kind::kPreload;
  valid_[own] |= uint64_t{1} << slot;
  unissued_[own] |= uint64_t{1} << slot;
  clock_.wake(clock_.now + 1);
  return true;
}

int Station::issue(Engine engine) {
  const size_t own = index_of(engine);
  for (uint64_t left = unissued_[own]; left != 0; left &= left - 1) {
    const int slot = std::countr_zero(left);
    Entry& entry = entries_[own][slot_index(slot)];
    if ((entry.waits[0] | entry.waits[1] | entry.waits[2]) != 0 || entry.allocated == clock_.now) continue;
    const uint64_t bit = uint64_t{1} << slot;
    unissued_[own] &= ~bit;
    for (Entry& other : entries_[own]) other.waits[own] &= ~bit;
    if (entry.op.kind == Kind::kConfig && engine != Engine::kExecute) release(engine, slot);
    clock_.wake(clock_.now + 1);
    return slot;
  }
  return -1;
}

void Station::complete_at(Engine engine, int slot, uint64_t cycle) {
  completions_[index_of(engine)].push_back({slot, cycle});
  clock_.wake(cycle);
}

void Station::release(Engine engine, int slot) {
  const size_t own = index_of(engine);
  const uint64_t bit = uint64_t{1} << slot;
  valid_[own] &= ~bit;
  loop_completed_[own] += entries_[own][slot_index(slot)].op.from_loop ? 1 : 0;
  for (size_t other = 0; other < kEngines; ++other) {
    if (other == own) continue;
    for (Entry& entry : entries_[other]) entry.waits[own] &= ~bit;
  }
  clock_.wake(clock_.now + 1);
}

void Station::retire() {
  bool retired = false;
  for (const Engine engine : {Engine::kExecute, Engine::kLoad, Engine::kStore}) {
    auto& list = completions_[index_of(engine)];
    for (size_t n = 0; n < list.size(); ++n) {
      if (list[n].cycle > clock_.now || retired) {
        clock_.wake(list[n].cycle);
        continue;
      }
      const int slot = list[n].slot;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(n));
      --n;
      release(engine, slot);
      retired = true;
    }
  }
}

bool Station::idle() const {
  if (valid_[index_of(Engine::kLoad)] != 0 || valid_[index_of(Engine::kStore)] != 0) return false;
  const uint64_t left = valid_[index_of(Engine::kExecute)];
  return left == 0 || ((left & (left - 1)) == 0 && solitary_preload_);
}

}  // namespace zomboss::gemmini::timing
