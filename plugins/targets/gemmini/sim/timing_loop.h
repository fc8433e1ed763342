// Internal to the cycle model: the loop_ws unroller. Two loops may be in flight; five generators (load A, B
// and D, execute, store C) share one output, in fixed priority, and are throttled by each other and by the
// station.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/targets/gemmini/sim/loop_command.h"
#include "plugins/targets/gemmini/sim/timing_station.h"

namespace zomboss::gemmini::timing {

class LoopUnroller {
 public:
  LoopUnroller(const Machine& machine, Clock& clock, const Station& station)
      : machine_(machine), clock_(clock), station_(station) {}

  // Takes one of the six loop_ws commands; false when both loops are taken.
  Result<bool> accept(const Command& command, uint32_t index);
  bool idle() const { return !slots_[0].running && !slots_[1].running; }

  struct Output {
    Command command;
    uint32_t index = 0;  // of the run command
  };
  // The command that leaves in this cycle, if any; call at most once a cycle, and only when it can be taken.
  std::optional<Output> tick();

 private:
  static constexpr uint64_t kRetireDelay = 3;  // all generators done to the next loop's words accepted
  enum Generator : size_t { kLoadA, kLoadB, kLoadD, kExecute, kStoreC, kGenerators };
  struct Slot {
    bool running = false;  // its run command has arrived
    LoopWs loop;
    uint32_t index = 0;
    uint32_t a_row = 0, b_row = 0, c_row = 0, d_row = 0;
    std::array<bool, kGenerators> started{}, done{};
    uint64_t free_at = kNever;
  };
  struct State {  // of one generator
    int slot = -1;
    uint32_t i = 0, j = 0, k = 0;
    bool second = false;  // execute: the computation of the pair
  };

  Status check(const LoopWs& loop) const;
  void start_generators();
  bool may_start(Generator generator, const Slot& slot) const;
  bool skipped(Generator generator, const LoopWs& loop) const;
  bool throttled(Engine engine) const;
  bool ready(Generator generator) const;
  bool execute_ready(const State& ex) const;
  bool store_ready(const State& st) const;
  bool prefer_b() const;
  Output emit(Generator generator);
  Command load_a(const Slot& slot, State& state);
  Command load_b(const Slot& slot, State& state);
  Command load_d(const Slot& slot, State& state);
  Command execute(const Slot& slot, State& state);
  Command store_c(const Slot& slot, State& state);
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
  const Station& station_;
  LoopWs latched_;
  std::array<Slot, 2> slots_;
  size_t head_ = 0;  // the older loop
  std::array<State, kGenerators> states_;
  bool d_upper_ = false, c_upper_ = false;
  std::array<uint64_t, kEngines> emitted_{};
};

}  // namespace zomboss::gemmini::timing
