// Internal to the cycle model: the store controller and everything between the local banks and memory.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_execute.h"

namespace zomboss::gemmini::timing {

struct StoreState {
  struct Move {
    bool active = false;
    int slot = 0;
    uint32_t command = 0;
    uint64_t blocks_left = 0;  // to reach the writer
    uint64_t start = 0;
    uint64_t free = 0;
  };
  struct Block {  // of one row
    uint32_t row = 0;
    bool accumulator = false;
    bool last = false;  // of its DRAM row: the row is written then
    uint64_t dram = 0;
    uint32_t bytes = 0;
    uint32_t move = 0;
    uint64_t ready = 0;
  };

  Ring<Issued> queue;
  std::vector<Move> moves;
  size_t in_flight = 0;
  bool sending = false;
  bool started = false;  // the first block of the command was sent
  bool pooling = false;  // as configured last
  uint32_t sending_move = 0;
  uint64_t next = 0;   // block counter of the command
  uint64_t total = 0;  // blocks of the command
  Ring<Block> dispatched, reading;
  bool writing = false;
  Block written_row;
  uint32_t written = 0;
  uint64_t writer_free = 0;
  Ring<uint32_t> unacknowledged;  // bytes
  uint64_t drained_at = 0;
};

class StoreEngine : private StoreState {
 public:
  StoreEngine(const Context& context, ExecuteEngine& execute);

  bool can_accept() const { return queue.size() < kQueue; }
  bool sees_commands() const { return !sending; }
  void accept(const Op& op, int slot) {
    queue.push_back({slot, op.kind == Kind::kConfig, context_.clock.now + 1});
  }
  void tick();
  bool busy() const { return in_flight != 0 || !drained(); }
  bool has_commands() const { return in_flight != 0 || !queue.empty(); }
  // A command is complete when its data have left the local memory; the unit is idle when memory has them.
  bool drained() const { return !writing && unacknowledged.empty() && clock_.now >= drained_at; }
  // Bits of the events that hold from the last tick to the next one.
  uint64_t events() const {
    return uint64_t{sending && !started} << kStoreDmaWait | uint64_t{sending && started} << kStoreActive |
           uint64_t{pooling} << kStorePooling | uint64_t{block_waits_} << kStoreScratchpadWait |
           uint64_t{writing} << kWriteDmaActive | uint64_t{port_refused_} << kWriteDmaPortWait;
  }

  const StoreState& state() const { return *this; }
  void restore(const StoreState& state) { static_cast<StoreState&>(*this) = state; }
  void describe(Words& words, const Station::Names& names) const;

 private:
  static constexpr size_t kQueue = 2;
  static constexpr size_t kDispatchQueue = 4;
  static constexpr size_t kIssueQueue = 5;            // read requests whose data the writer waits for
  static constexpr uint64_t kScratchpadDispatch = 1;  // controller to bank
  static constexpr uint64_t kAccumulatorDispatch = 3;
  static constexpr uint64_t kScratchpadRead = 5;   // bank to writer
  static constexpr uint64_t kAccumulatorRead = 8;  // through the full-width scaler
  static constexpr uint64_t kCompleteDelay = 1;    // last block at the writer to the station
  static constexpr uint64_t kDrainDelay = 2;       // last acknowledgement to idle

  void control();
  void send_block();
  void fill_block(const Op& op, Block& block) const;
  void dispatch();
  void take_row();
  void finish_block(uint32_t index);
  void put();
  void acknowledge();

  const Context context_;
  Clock& clock_;
  ExecuteEngine& execute_;
  bool port_refused_ = false;
  bool block_waits_ = false;
};

}  // namespace zomboss::gemmini::timing
