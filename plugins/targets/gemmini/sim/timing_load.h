// Internal to the cycle model: the load controller and everything between memory and the local banks.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_context.h"

namespace zomboss::gemmini::timing {

struct LoadState {
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
    uint32_t move = 0;
    uint32_t block_stride = 0;
    bool accumulator = false, wide = false, scaled = false;
    uint64_t ready = 0;
  };
  struct Get {  // what the request is for, without its DRAM address
    uint32_t row_bytes = 0;
    uint32_t row = 0;
    uint32_t copies = 1;
    uint32_t rows = 1;
    uint32_t move = 0;
    uint32_t block_stride = 0;
    bool accumulator = false, wide = false, scaled = false;
    uint32_t position = 0;  // of the first useful byte in the row
    uint32_t shift = 0;     // bytes before it in the request
    uint32_t useful = 0;
    uint32_t beats = 0;
  };
  struct Piece {  // a write of up to one local row
    uint64_t ready = 0;
    uint32_t move = 0;
    uint32_t bytes = 0;
    uint32_t row = 0;
    uint32_t copies = 1;
    bool accumulator = false;
  };

  Ring<Issued> queue;
  std::vector<Move> moves;
  size_t in_flight = 0;
  bool sending = false;
  bool started = false;  // the first row of the command was sent
  uint32_t sending_move = 0;
  uint32_t next_row = 0;
  uint64_t controller_free = 0;

  Ring<RowRequest> read_queue;
  Ring<Get> gets;  // requested, in order
  bool merging = false;
  Get merge;
  uint32_t merged_beats = 0;
  uint32_t merge_sent = 0;
  Ring<Piece> narrow, wide;
  std::vector<uint64_t> scaler_free;
  size_t scaler_next = 0;
  bool zero_active = false;
  RowRequest zero;
  uint32_t zero_block = 0;
};

class LoadEngine : private LoadState {
 public:
  explicit LoadEngine(const Context& context);

  bool can_accept() const { return queue.size() < kQueue; }
  bool sees_commands() const { return !sending; }
  void accept(const Op& op, int slot) {
    queue.push_back({slot, op.kind == Kind::kConfig, context_.clock.now + 1});
  }
  void tick();
  bool busy() const { return in_flight != 0; }
  bool has_commands() const { return in_flight != 0 || !queue.empty(); }
  // Bits of the events that hold from the last tick to the next one.
  uint64_t events() const {
    return uint64_t{sending && !started} << kLoadDmaWait | uint64_t{sending && started} << kLoadActive |
           uint64_t{row_waits_} << kLoadScratchpadWait | uint64_t{!read_queue.empty()} << kReadDmaActive |
           uint64_t{port_refused_} << kReadDmaPortWait;
  }

  const LoadState& state() const { return *this; }
  void restore(const LoadState& state) { static_cast<LoadState&>(*this) = state; }
  void describe(Words& words, const Station::Names& names) const;

 private:
  static constexpr size_t kQueue = 8;
  static constexpr size_t kReadQueue = 6;  // row requests before the reader
  static constexpr uint64_t kReadDelay = 2;
  static constexpr size_t kWriteQueue = 5;
  static constexpr uint64_t kNarrowDelay = 3;  // merger to bank, int8 with its scaler
  static constexpr uint64_t kWideDelay = 1;    // merger to accumulator, int32
  static constexpr uint64_t kCompleteDelay = 2;

  void control();
  void send_row();
  void read();
  void merge_beat();
  void merge_out();
  void write(Ring<Piece>& pieces);
  void write_zeros();
  void finish(uint32_t move, uint64_t bytes);
  uint32_t row_bytes(bool wide_row) const { return context_.machine.dim * (wide_row ? 4 : 1); }
  uint64_t scaler_occupied(bool burst) const {
    const TimingParameters& p = context_.parameters;
    return uint64_t{p.scale_entries} * context_.machine.dim / p.scale_units +
           (burst ? p.scale_burst_delay : 0);
  }

  const Context context_;
  Clock& clock_;
  bool port_refused_ = false;
  bool row_waits_ = false;
};

}  // namespace zomboss::gemmini::timing
