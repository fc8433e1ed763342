// Internal to the cycle model: the reservation station. One command enters a cycle; each engine's commands
// issue in order, one a cycle, when what they overlap with on the other engines has completed; one completion
// a cycle.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_op.h"
#include "plugins/targets/gemmini/sim/timing_ring.h"

namespace zomboss::gemmini::timing {

constexpr size_t index_of(Engine engine) {
  return static_cast<size_t>(engine);
}

struct StationState {
  struct Touched {  // by a command; empty where it does not matter
    Rows first, second;
    Rows written;  // by the computation of a preload
  };
  struct Class {  // the commands of one engine
    std::vector<Op> ops;
    std::vector<Touched> touched;
    std::vector<std::array<uint64_t, kEngines>> waits;  // for slots of the other engines
    uint64_t valid = 0;                                 // bit per slot
    uint32_t used = 0;                                  // entries
    std::vector<uint64_t> age;                          // counts up, by slot
    Ring<int> unissued;                                 // oldest first
    struct Completion {
      int slot = 0;
      uint64_t cycle = 0;
    };
    std::vector<Completion> completions;
    uint64_t from_loop_completed = 0;
  };
  std::array<Class, kEngines> classes;
  uint64_t allocated = 0;
  uint64_t next_completion = kNever;
  bool solitary_preload = false;
};

class Station : private StationState {
 public:
  Station(const Machine& machine, Clock& clock);

  // Takes the command unless its class is full.
  bool allocate(const Op& op);
  // The slot of the command of `engine` that issues in this cycle, or -1. The caller passes it on; a config
  // of the load and store engines completes by issuing.
  int issue(Engine engine) { return can_issue(classes[index_of(engine)]) ? issue_head(engine) : -1; }
  // Valid until the command completes.
  const Op& op(Engine engine, int slot) const { return classes[index_of(engine)].ops[slot_index(slot)]; }
  // The engine is done with `slot`; the station learns of it at `cycle`.
  void complete_at(Engine engine, int slot, uint64_t cycle);
  // One completion; call after issue and allocate.
  void retire() {
    if (next_completion > clock_.now) {
      clock_.wake(next_completion);
    } else {
      retire_one();
    }
  }

  // Empty but for a preload whose computation has not been given.
  bool idle() const {
    if (classes[index_of(Engine::kLoad)].used + classes[index_of(Engine::kStore)].used != 0) return false;
    const uint32_t left = classes[index_of(Engine::kExecute)].used;
    return left == 0 || (left == 1 && solitary_preload);
  }
  uint64_t completed_from_loop(Engine engine) const { return classes[index_of(engine)].from_loop_completed; }
  uint32_t entries_used(Engine engine) const { return classes[index_of(engine)].used; }

  const StationState& state() const { return *this; }
  void restore(const StationState& state) { static_cast<StationState&>(*this) = state; }
  // Slots are named by age, as which one a command lies in makes no difference. `names` maps them, for the
  // engines.
  using Names = std::array<std::array<uint8_t, 64>, kEngines>;
  void describe(Words& words, Names& names) const;

 private:
  static size_t slot_index(int slot) { return static_cast<size_t>(slot); }
  static bool can_issue(const Class& own) {
    if (own.unissued.empty()) return false;
    const auto& waits = own.waits[slot_index(own.unissued.front())];
    return (waits[0] | waits[1] | waits[2]) == 0;
  }
  int issue_head(Engine engine);
  void retire_one();
  std::array<uint64_t, kEngines> overlapping(Engine engine, const Touched& touched) const;
  void release(Engine engine, int slot);

  Clock& clock_;
};

}  // namespace zomboss::gemmini::timing
