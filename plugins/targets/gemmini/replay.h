// A cheap model of a kernel's time, for estimates: commands are replayed one by one on three engines with
// in-order issue, the station's entries, the memory's window and the banks. What the cycle model does row by
// row is a formula here. Good enough to rank mappings; the simulator has the last word.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {

struct ReplayTimes {
  double cycles = 0;  // from the first command to the end
  double load = 0;    // busy cycles of each engine
  double execute = 0;
  double store = 0;
};

// One kernel under one memory latency. Constant time per command, but for the rows of its moves. One thread.
class Replay {
 public:
  // `command_gap`: idle cycles between two commands that are offered. `machine` is borrowed.
  Replay(const Machine& machine, const MemorySystem& memory, uint32_t latency, uint32_t command_gap);

  // Primitive commands, their configuration, and fences. Loops must be unrolled before; of other commands
  // only the issue counts.
  void add(const Command& command);
  // When the array is done with all steps so far.
  double array_time() const { return computed_; }
  // After the last command.
  ReplayTimes finish();

 private:
  // When the entries of one class of the station become free again, the earliest first.
  class Entries {
   public:
    explicit Entries(uint32_t count);
    double available(size_t entries) const { return free_at_[entries - 1]; }
    void take(double until);

   private:
    std::vector<double> free_at_;
  };
  // Memory requests under way: the next one waits until the one that was sent `places` before has returned.
  class Window {
   public:
    explicit Window(uint32_t places);
    double send(double when, double round_trip);

   private:
    std::vector<double> returns_;
    size_t next_ = 0;
  };
  // dim rows of a local memory.
  struct Block {
    double loaded = 0;     // the last load of it is done
    double written = 0;    // the last result in it is there
    double used = 0;       // what last read it is done with it
    uint32_t pending = 0;  // stores of it that are not placed yet
  };
  // A time in which an engine uses banks (a bit each), for `share` of the cycles.
  struct Use {
    double start = 0, end = 0;
    uint32_t banks = 0;
    double share = 1;
  };
  template <size_t kSize>
  struct Recent {  // the last uses, the oldest first
    std::array<Use, kSize> uses;
    size_t next = 0;
    void add(const Use& use) { uses[next++ % kSize] = use; }
    const Use& at(size_t i) const { return uses[(next + i) % kSize]; }
  };
  struct Store {
    Command command;
    ConfigSt config;
    double issued = 0;
  };

  void configure(const Command& command);
  void add_load(const Command& load);
  void add_step(const Command& compute);
  void add_store(const Command& store);
  void place_store();
  void settle(uint32_t row, uint32_t rows);
  void push_back_steps(const Use& write);
  double stream_rows(double start, double rows, uint32_t banks);
  void issue(double available, double commands);
  template <typename Visit>
  void for_blocks(std::vector<Block>& memory, uint32_t row, uint32_t rows, Visit visit) const;
  uint32_t banks_of(uint32_t row, uint32_t rows) const;
  uint32_t accumulator_bank(uint32_t row) const;

  const Machine& machine_;
  uint64_t bus_;
  double latency_, gap_;
  ConfigEx ex_;
  std::array<ConfigLd, 3> ld_;
  ConfigSt st_;
  Command preload_;
  Entries load_entries_, execute_entries_, store_entries_;
  Window reads_, writes_back_;
  std::vector<Block> scratchpad_, accumulator_;
  Recent<8> writes_;  // of moves, to the scratchpad
  Recent<32> steps_;  // reads of the scratchpad
  Recent<24> sums_;   // results that are added to what is in the accumulator
  std::deque<Store> pending_;
  double front_ = 0, end_ = 0;
  double request_free_ = 0, data_free_ = 0, loaded_last_ = 0, loaded_before_last_ = 0;
  double compute_issued_ = 0, compute_start_ = 0, computed_ = 0, stored_ = 0, results_ = 0;
  uint32_t compute_banks_ = 0;
  ReplayTimes times_;
};

// Hash of a kernel's commands, for telling equal kernels apart from different ones; `seed` is what else makes
// kernels different.
uint64_t kernel_hash(std::span<const Command> commands, uint64_t seed);

}  // namespace zomboss::gemmini
