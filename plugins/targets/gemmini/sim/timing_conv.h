// Internal to the cycle model: the loop_conv_ws unroller. Two loops may be in flight; five generators (load
// bias, weights and input, execute, store) share one output, in fixed priority. Other than in loop_ws, a loop
// computes only when all its loads have left, stores only when all its computations have, and the next loop's
// loads wait for those of a loop that waits to compute. Made from the hardware's source: there are no
// measured cycles of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "plugins/targets/gemmini/sim/timing_throttle.h"
#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini::timing {

struct ConvState {
  enum Generator : size_t {
    kStore,
    kExecute,
    kLoadBias,
    kLoadWeights,
    kLoadInput,
    kGenerators
  };  // by priority
  struct Slot {
    bool running = false;  // its run command has arrived
    LoopConv loop;
    uint32_t index = 0;
    bool upper_results = false;
    // Shared by the snapshots of the state, which are many, and never changed.
    std::shared_ptr<const ConvParts> parts;
    std::array<bool, kGenerators> started{}, done{};
    uint64_t free_at = kNever;
  };
  struct Position {  // of one generator
    int slot = -1;
    size_t next = 0;
  };
  LoopConv latched;
  std::array<Slot, 2> slots;
  size_t head = 0;  // the older loop
  std::array<Position, kGenerators> positions;
  bool upper_results = false;
};

class ConvUnroller : private ConvState {
 public:
  ConvUnroller(const Machine& machine, Clock& clock, LoopThrottle& throttle)
      : machine_(machine), clock_(clock), throttle_(throttle) {}

  bool can_accept() const { return !slots[0].running || !slots[1].running; }
  // Takes one of the seven loop_conv_ws commands. Only when it can.
  Status accept(const Command& command, uint32_t index);
  bool idle() const { return !slots[0].running && !slots[1].running; }
  // The command that leaves in this cycle, if any; call at most once a cycle, and only when it can be taken.
  bool tick(LoopOutput& output);

  const ConvState& state() const { return *this; }
  void restore(const ConvState& state) { static_cast<ConvState&>(*this) = state; }
  void describe(Words& words) const;

 private:
  static constexpr uint64_t kRetireDelay = 3;  // as of loop_ws

  const std::vector<Command>& commands_of(Generator generator, const Slot& slot) const;
  bool may_start(Generator generator, const Slot& slot) const;
  void start_generators();
  bool ready(Generator generator) const;
  bool loads_done(const Slot& slot) const {
    return slot.done[kLoadBias] && slot.done[kLoadWeights] && slot.done[kLoadInput];
  }
  bool waits_for_previous(size_t slot) const;
  void finish(Generator generator);
  void retire_slots();

  const Machine& machine_;
  Clock& clock_;
  LoopThrottle& throttle_;
};

}  // namespace zomboss::gemmini::timing
