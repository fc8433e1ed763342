#include "plugins/targets/gemmini/sim/timing_station.h"

#include <algorithm>
#include <bit>

namespace zomboss::gemmini::timing {

Station::Station(const Machine& machine, Clock& clock) : clock_(clock) {
  const uint32_t entries[] = {machine.load_entries, machine.execute_entries, machine.store_entries};
  for (size_t n = 0; n < kEngines; ++n) {
    classes[n].ops.resize(entries[n]);
    classes[n].touched.resize(entries[n]);
    classes[n].waits.resize(entries[n]);
    classes[n].age.resize(entries[n]);
  }
}

// The slots of the other engines that a command which enters now must wait for until they complete.
std::array<uint64_t, kEngines> Station::overlapping(Engine engine, const Touched& touched) const {
  std::array<uint64_t, kEngines> mask{};
  const auto collect = [&](Engine other, auto&& overlaps) {
    const Class& each = classes[index_of(other)];
    for (uint64_t left = each.valid; left != 0; left &= left - 1) {
      const auto slot = static_cast<size_t>(std::countr_zero(left));
      if (overlaps(each.touched[slot])) mask[index_of(other)] |= uint64_t{1} << slot;
    }
  };
  switch (engine) {
    case Engine::kLoad:
      collect(Engine::kExecute, [&](const Touched& older) {
        return older.first.overlaps(touched.first) || older.second.overlaps(touched.first);
      });
      collect(Engine::kStore, [&](const Touched& older) { return older.first.overlaps(touched.first); });
      break;
    case Engine::kExecute:
      collect(Engine::kLoad, [&](const Touched& older) {
        return touched.first.overlaps(older.first) || touched.second.overlaps(older.first);
      });
      collect(Engine::kStore, [&](const Touched& older) { return touched.written.overlaps(older.first); });
      break;
    case Engine::kStore:
      collect(Engine::kLoad, [&](const Touched& older) { return older.first.overlaps(touched.first); });
      collect(Engine::kExecute, [&](const Touched& older) { return older.written.overlaps(touched.first); });
      break;
  }
  return mask;
}

bool Station::allocate(const Op& op) {
  Class& own = classes[index_of(op.engine)];
  const int slot = std::countr_one(own.valid);
  const size_t index = slot_index(slot);
  if (index >= own.ops.size()) return false;
  own.ops[index] = op;
  Touched& touched = own.touched[index];
  touched = {};
  if (op.kind != Kind::kConfig) {
    touched = {op.first, op.second, op.kind == Kind::kPreload ? op.second : Rows{}};
    own.waits[index] = overlapping(op.engine, touched);
  } else {
    own.waits[index] = {};
  }
  if (op.engine == Engine::kExecute) solitary_preload = op.kind == Kind::kPreload;
  own.age[index] = allocated++;
  own.valid |= uint64_t{1} << slot;
  ++own.used;
  own.unissued.push_back(slot);
  clock_.wake(clock_.now + 1);
  return true;
}

int Station::issue_head(Engine engine) {
  Class& own = classes[index_of(engine)];
  const int slot = own.unissued.front();
  own.unissued.pop_front();
  if (own.ops[slot_index(slot)].kind == Kind::kConfig && engine != Engine::kExecute) release(engine, slot);
  clock_.wake(clock_.now + 1);
  return slot;
}

void Station::complete_at(Engine engine, int slot, uint64_t cycle) {
  classes[index_of(engine)].completions.push_back({slot, cycle});
  next_completion = std::min(next_completion, cycle);
  clock_.wake(cycle);
}

void Station::release(Engine engine, int slot) {
  const size_t own = index_of(engine);
  const uint64_t keep = ~(uint64_t{1} << slot);
  classes[own].valid &= keep;
  --classes[own].used;
  classes[own].from_loop_completed += classes[own].ops[slot_index(slot)].from_loop ? 1 : 0;
  for (size_t other = 0; other < kEngines; ++other) {
    if (other == own) continue;
    for (auto& waits : classes[other].waits) waits[own] &= keep;
  }
  clock_.wake(clock_.now + 1);
}

void Station::retire_one() {
  next_completion = kNever;
  bool retired = false;
  for (const Engine engine : {Engine::kExecute, Engine::kLoad, Engine::kStore}) {
    auto& list = classes[index_of(engine)].completions;
    for (size_t n = 0; n < list.size();) {
      if (list[n].cycle <= clock_.now && !retired) {
        release(engine, list[n].slot);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(n));
        retired = true;
        continue;
      }
      next_completion = std::min(next_completion, list[n].cycle);
      ++n;
    }
  }
  clock_.wake(next_completion);
}

void Station::describe(Words& words, Names& names) const {
  std::array<std::array<uint8_t, 64>, kEngines> by_age;
  std::array<size_t, kEngines> counts{};
  for (size_t n = 0; n < kEngines; ++n) {
    const Class& each = classes[n];
    for (uint64_t left = each.valid; left != 0; left &= left - 1) {
      by_age[n][counts[n]++] = static_cast<uint8_t>(std::countr_zero(left));
    }
    std::sort(by_age[n].begin(), by_age[n].begin() + static_cast<std::ptrdiff_t>(counts[n]),
              [&](uint8_t a, uint8_t b) { return each.age[a] < each.age[b]; });
    for (size_t rank = 0; rank < counts[n]; ++rank) names[n][by_age[n][rank]] = static_cast<uint8_t>(rank);
  }
  const auto renamed = [&](uint64_t mask, size_t n) {
    uint64_t result = 0;
    for (; mask != 0; mask &= mask - 1)
      result |= uint64_t{1} << names[n][static_cast<size_t>(std::countr_zero(mask))];
    return result;
  };
  for (size_t n = 0; n < kEngines; ++n) {
    const Class& each = classes[n];
    words.add(counts[n]);
    for (size_t rank = 0; rank < counts[n]; ++rank) {
      const size_t slot = by_age[n][rank];
      timing::describe(each.ops[slot], words);
      for (size_t other = 0; other < kEngines; ++other) {
        if (other != n) words.add(renamed(each.waits[slot][other], other));
      }
    }
    words.add(each.unissued.size());  // the youngest ones
    words.add(each.completions.size());
    for (const auto& completion : each.completions) {
      words.add(names[n][slot_index(completion.slot)]);
      words.time(completion.cycle);
    }
  }
  words.add(solitary_preload);
}

}  // namespace zomboss::gemmini::timing
