// Internal to the cycle model: the whole unit, cycle by cycle, without what is the same every time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_conv.h"
#include "plugins/targets/gemmini/sim/timing_execute.h"
#include "plugins/targets/gemmini/sim/timing_load.h"
#include "plugins/targets/gemmini/sim/timing_loop.h"
#include "plugins/targets/gemmini/sim/timing_memo.h"
#include "plugins/targets/gemmini/sim/timing_store.h"

namespace zomboss::gemmini::timing {

struct FrontState {
  struct Item {
    Command command;
    uint64_t index = 0;
    bool from_loop = false;
    uint64_t ready = 0;
  };
  uint64_t next_command = 0;
  uint64_t next_offer = 0;
  Ring<Item> offered, unrolled;
  bool waiting = false;  // `decoded` waits for an entry of the station
  Op decoded;
  std::array<uint64_t, kEngines> engine_events{};  // bit per event, since the engine's last tick
  std::array<uint64_t, kEngines> due{};            // the next tick of each engine
  uint64_t loops_due = 0;                          // of the unroller of loop_ws
  bool loops_poked = false;
  uint64_t front_due = 0;
  uint64_t front_seen = 0;  // completed commands of loops at the last tick of the front end
};

// Everything that changes, but for what is only counted.
struct UnitState {
  uint64_t now = 0;
  FrontState front;
  PortState port;
  BanksState banks;
  StationState station;
  LoopState loops;
  ConvState convs;
  std::array<uint64_t, kEngines> throttle{};
  Configuration configuration;
  LoadState load;
  ExecuteState execute;
  StoreState store;
};

// One cycle: engines, then the station (issue, allocate, retire), then the front end, so that what one part
// hands on is seen by the next in the following cycle.
class Unit : private FrontState {
 public:
  Unit(std::span<const Command> commands, const Machine& machine, const TimingParameters& parameters,
       bool record);

  Result<TimingResult> run();

 private:
  static constexpr size_t kOutputs = 3;  // between the unroller and the station

  bool idle() const;
  bool next_is_fence() const;
  Status stalled() const;
  Status cycle();
  void tick_engines();
  void issue();
  template <typename Controller>
  void issue_to(Engine engine, Controller& controller);
  Status allocate();
  Status tick_front();
  Status unroll(bool loops_news);
  void tick_loops(uint64_t ready, bool news);
  Status take(const Item& item, uint64_t ready, bool& taken);
  void offer();
  Status with_command(uint64_t index, Status status) const;
  uint64_t front_delay() const { return parameters_.front_latency / 2; }
  void count(uint64_t span);
  void note_events(uint64_t events, uint64_t cycle);

  void checkpoint();
  std::vector<uint64_t> describe() const;
  UnitState snapshot() const;
  void restore(const UnitState& state);
  uint64_t cycles() const { return clock_.now + recorder_.cycle_offset; }
  uint64_t position() const { return next_command + recorder_.command_offset; }

  std::span<const Command> commands_;
  const Machine machine_;
  const TimingParameters parameters_;
  Clock clock_;
  TimingCounters counters_;
  Recorder recorder_;
  MemoryPort port_;
  Banks banks_;
  Station station_;
  LoopThrottle throttle_;
  LoopUnroller loops_;
  ConvUnroller convs_;
  Decoder decoder_;
  LoadEngine load_;
  ExecuteEngine execute_;
  StoreEngine store_;
  Memo<UnitState> memo_;
  bool at_boundary_ = false;
  uint64_t events_ = 0;  // bit per event, those that hold now
};

}  // namespace zomboss::gemmini::timing
