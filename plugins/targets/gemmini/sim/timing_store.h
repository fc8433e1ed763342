// Internal to the cycle model: the store controller and everything between the local banks and memory.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_load.h"

namespace zomboss::gemmini::timing {

class StoreEngine {
 public:
  StoreEngine(const Machine& machine, const TimingParameters& parameters, Clock& clock, MemoryPort& port,
              Banks& banks, Station& station, TimingResult& result, bool record);

  bool can_accept() const { return queue_.size() < kQueue; }
  void accept(const Op& op, int slot) { queue_.push_back({op, slot, clock_.now + 1}); }
  void tick();
  bool busy() const { return in_flight_ != 0 || !drained(); }
  // A command is complete when its data have left the local memory; the unit is idle when memory has them.
  bool drained() const { return !writing_ && unacknowledged_ == 0 && clock_.now >= drained_at_; }

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

  struct Move {
    bool active = false;
    int slot = 0;
    uint32_t command = 0;
    uint64_t blocks_left = 0;  // to reach the writer
    uint64_t start = 0;
    uint64_t free = 0;
  };
  struct Request {  // one block of one row
    uint32_t row = 0;
    bool accumulator = false;
    bool last = false;  // of its DRAM row: the row is written then
    uint64_t dram = 0;
    uint32_t bytes = 0;
    size_t move = 0;
    uint64_t ready = 0;
  };

  void control();
  void send_block();
  Request block_request(const Op& op) const;
  void dispatch();
  void take_row();
  void finish_block(size_t index);
  void put();
  void acknowledge();

  const Machine& machine_;
  const TimingParameters& parameters_;
  Clock& clock_;
  MemoryPort& port_;
  Banks& banks_;
  Station& station_;
  TimingResult& result_;
  const bool record_;

  std::deque<Issued> queue_;
  std::vector<Move> moves_;
  size_t in_flight_ = 0;
  bool sending_ = false;
  size_t sending_move_ = 0;
  uint64_t next_ = 0;   // block counter of the command
  uint64_t total_ = 0;  // blocks of the command
  std::deque<Request> dispatch_, issue_;
  bool writing_ = false;
  Request writing_row_;
  uint32_t written_ = 0;
  uint64_t writer_free_ = 0;
  uint64_t unacknowledged_ = 0;
  uint64_t drained_at_ = 0;
};

}  // namespace zomboss::gemmini::timing
