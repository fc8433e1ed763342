// Internal to the cycle model: the load controller and everything between memory and the local banks.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_memory.h"
#include "plugins/targets/gemmini/sim/timing_station.h"

namespace zomboss::gemmini::timing {

// A queue of issued commands with the cycle from which the controller sees them.
struct Issued {
  Op op;
  int slot = 0;
  uint64_t visible = 0;
};

class LoadEngine {
 public:
  LoadEngine(const Machine& machine, const TimingParameters& parameters, Clock& clock, MemoryPort& port,
             Banks& banks, Station& station, TimingResult& result, bool record);

  bool can_accept() const { return queue_.size() < kQueue; }
  void accept(const Op& op, int slot) { queue_.push_back({op, slot, clock_.now + 1}); }
  void tick();
  bool busy() const { return in_flight_ != 0; }

 private:
  static constexpr size_t kQueue = 8;
  static constexpr size_t kReadQueue = 6;  // row requests before the reader
  static constexpr uint64_t kReadDelay = 2;
  static constexpr size_t kWriteQueue = 5;
  static constexpr uint64_t kNarrowDelay = 3;  // merger to bank, int8 with its scaler
  static constexpr uint64_t kWideDelay = 1;    // merger to accumulator, int32
  static constexpr uint64_t kCompleteDelay = 2;

  struct Move {  // in flight
    bool active = false;
    int slot = 0;
    uint32_t command = 0;
    uint64_t bytes_left = 0;
    uint64_t start = 0;
    uint64_t free = 0;  // usable for the next move after this cycle
  };
  struct RowRequest {
    uint64_t dram = 0;
    uint32_t bytes = 0;
    uint32_t done = 0;    // bytes requested so far
    uint32_t row = 0;     // local
    uint32_t copies = 1;  // writes of each piece: repeated rows or pixels
    uint32_t rows = 1;    // rows that the request stands for
    size_t move = 0;
    uint32_t block_stride = 0;
    bool accumulator = false, wide = false, scaled = false;
    uint64_t ready = 0;
  };
  struct Get {
    RowRequest row;
    uint32_t position = 0;  // of the first useful byte in the row
    uint32_t shift = 0;     // bytes before it in the request
    uint32_t useful = 0;
    uint32_t beats = 0;
  };
  struct Piece {  // a write of up to one local row
    uint64_t ready = 0;
    size_t move = 0;
    uint64_t bytes = 0;
    uint32_t row = 0;
    uint32_t copies = 1;
    bool accumulator = false;
  };

  void control();
  void send_row();
  void read();
  void merge();
  void merge_out();
  void write(std::deque<Piece>& queue);
  void write_zeros();
  void finish(size_t move, uint64_t bytes);
  uint32_t row_bytes(bool wide) const { return machine_.dim * (wide ? 4 : 1); }

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
  uint32_t next_row_ = 0;
  uint64_t controller_free_ = 0;

  std::deque<RowRequest> read_queue_;
  std::deque<Get> gets_;  // requested, in order
  bool merging_ = false;
  Get merge_;
  uint32_t merged_beats_ = 0;
  uint32_t merge_sent_ = 0;
  std::deque<Piece> narrow_, wide_;
  std::vector<uint64_t> scaler_free_;
  size_t scaler_next_ = 0;
  bool zero_active_ = false;
  RowRequest zero_;
  uint32_t zero_block_ = 0;
};

}  // namespace zomboss::gemmini::timing
