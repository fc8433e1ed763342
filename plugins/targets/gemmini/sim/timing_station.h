// Internal to the cycle model: the reservation station. One command enters a cycle; each engine's commands
// issue in order, one a cycle, when what they overlap with on the other engines has completed; one completion
// a cycle.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_op.h"

namespace zomboss::gemmini::timing {

class Station {
 public:
  Station(const Machine& machine, Clock& clock);

  // Takes the command unless its class is full.
  bool allocate(const Op& op);
  // The slot of the command of `engine` that issues in this cycle, or -1. The caller passes it on; a config
  // of the load and store engines completes by issuing.
  int issue(Engine engine);
  const Op& op(Engine engine, int slot) const {
    return entries_[static_cast<size_t>(engine)][slot_index(slot)].op;
  }
  // The engine is done with `slot`; the station learns of it at `cycle`.
  void complete_at(Engine engine, int slot, uint64_t cycle);
  // One completion; call after issue and allocate.
  void retire();

  // Empty but for a preload whose computation has not been given.
  bool idle() const;
  uint64_t completed_from_loop(Engine engine) const { return loop_completed_[static_cast<size_t>(engine)]; }

 private:
  struct Entry {
    Op op;
    uint64_t allocated = 0;
    std::array<uint64_t, kEngines> waits{};  // slots of each engine
  };
  struct Completion {
    int slot;
    uint64_t cycle;
  };
  static size_t slot_index(int slot) { return static_cast<size_t>(slot); }
  uint64_t overlapping(const Op& op, Engine engine) const;
  void release(Engine engine, int slot);

  Clock& clock_;
  std::array<std::vector<Entry>, kEngines> entries_;
  std::array<uint64_t, kEngines> valid_{};     // bit per slot
  std::array<uint64_t, kEngines> unissued_{};  // bit per slot
  std::array<std::vector<Completion>, kEngines> completions_;
  std::array<uint64_t, kEngines> loop_completed_{};
  bool solitary_preload_ = false;
};

}  // namespace zomboss::gemmini::timing
