// Internal to the cycle model: the loop_ws unroller. Two loops may be in flight; five generators (load A, B
// and D, execute, store C) share one output, in fixed priority, and are throttled by each other and by the
// station.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "plugins/targets/gemmini/sim/loop_command.h"
#include "plugins/targets/gemmini/sim/timing_throttle.h"

namespace zomboss::gemmini::timing {

struct LoopState {
  enum Generator : size_t { kLoadA, kLoadB, kLoadD, kExecute, kStoreC, kGenerators };
  struct Slot {
    bool running = false;  // its run command has arrived
    LoopWs loop;
    uint32_t index = 0;
    uint32_t a_row = 0, b_row = 0, c_row = 0, d_row = 0;
    std::array<bool, kGenerators> started{}, done{};
    uint64_t free_at = kNever;
  };
  struct Position {  // of one generator
    int slot = -1;
    uint32_t i = 0, j = 0, k = 0;
    bool second = false;  // execute: the computation of the pair
  };
  LoopWs latched;
  std::array<Slot, 2> slots;
  size_t head = 0;  // the older loop
  std::array<Position, kGenerators> positions;
  bool d_upper = false, c_upper = false;
};

class LoopUnroller : private LoopState {
 public:
  LoopUnroller(const Machine& machine, Clock& clock, LoopThrottle& throttle)
      : machine_(machine), clock_(clock), throttle_(throttle) {}

  bool can_accept() const { return !slots[0].running || !slots[1].running; }
  // Takes one of the six loop_ws commands. Only when it can.
  Status accept(const Command& command, uint32_t index);
  bool idle() const { return !slots[0].running && !slots[1].running; }
  // The command that leaves in this cycle, if any; call at most once a cycle, and only when it can be taken.
  bool tick(LoopOutput& output);

  const LoopState& state() const { return *this; }
  void restore(const LoopState& state) { static_cast<LoopState&>(*this) = state; }
  void describe(Words& words) const;

 private:
  static constexpr uint64_t kRetireDelay = 3;  // all generators done to the next loop's words accepted

  Status check(const LoopWs& loop) const;
  void start_generators();
  bool may_start(Generator generator, const Slot& slot) const;
  bool skipped(Generator generator, const LoopWs& loop) const;
  bool ready(Generator generator) const;
  bool execute_ready(const Position& ex) const;
  bool store_ready(const Position& st) const;
  bool prefer_b() const;
  void emit(Generator generator, LoopOutput& output);
  Command load_a(const Slot& slot, Position& at);
  Command load_b(const Slot& slot, Position& at);
  Command load_d(const Slot& slot, Position& at);
  Command execute(const Slot& slot, Position& at);
  Command store_c(const Slot& slot, Position& at);
  void finish(Generator generator);
  void retire_slots();

  uint32_t max_blocks() const { return machine_.max_move_bytes / machine_.dim; }
  uint32_t wide_blocks(bool narrow) const { return narrow ? max_blocks() : 1; }
  // Elements of `count` blocks from `block` on.
  uint16_t extent(uint32_t block, uint32_t count, uint32_t blocks, uint32_t pad) const {
    const uint32_t full = count * machine_.dim;
    return static_cast<uint16_t>(block + count >= blocks ? full - std::min(pad, machine_.dim) : full);
  }

  const Machine& machine_;
  Clock& clock_;
  LoopThrottle& throttle_;
};

}  // namespace zomboss::gemmini::timing
