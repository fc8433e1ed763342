// Internal to the cycle model: the memory port and the local memories' ports.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "plugins/targets/gemmini/sim/timing_op.h"

namespace zomboss::gemmini::timing {

// A fixed-latency memory behind one port: one request beat and one response beat a cycle, responses in the
// order of the requests. Readers and writers have their own limits of requests in flight.
class MemoryPort {
 public:
  // From a request's last beat to its first response beat, and from a response's last beat to the reuse of
  // its place, both beyond the memory latency.
  static constexpr uint64_t kResponseDelay = 5;
  static constexpr uint64_t kReuseDelay = 2;

  MemoryPort(const TimingParameters& parameters, Clock& clock)
      : clock_(clock),
        latency_(std::max<uint64_t>(parameters.memory_latency, 1)),
        limit_(parameters.requests_in_flight) {}

  // Requests of `beats` request beats; false when the port or all places are taken in this cycle.
  bool request_read(uint32_t response_beats);
  bool request_write(uint32_t beats);

  // The next response beat, when it is there and was not taken in this cycle.
  bool read_beat_ready();
  bool write_ack_ready();
  // Consumes it; true when it was the response's last one.
  bool take_beat();

 private:
  struct Response {
    bool read;
    uint32_t beats;
    uint64_t ready;
  };
  enum Direction { kWrite = 0, kRead = 1 };
  bool head_ready(bool read);
  bool has_place(Direction direction, size_t limit);

  Clock& clock_;
  uint64_t latency_;
  size_t limit_;
  uint64_t port_free_ = 0;  // request beats
  bool writer_waits_ = false;
  bool last_was_read_ = false;
  uint64_t taken_at_ = kNever;
  std::deque<Response> responses_;
  size_t outstanding_[2] = {0, 0};  // places taken
  std::deque<uint64_t> releases_[2];
};

// Which local banks are in use in the current cycle, and the results on their way out of the array.
class Banks {
 public:
  Banks(const Machine& machine, Clock& clock) : machine_(machine), clock_(clock) {}

  void begin_cycle();
  // A result row that the array delivers `delay` cycles from now.
  void schedule_result(bool accumulator, bool adds, uint32_t row, uint64_t delay);

  uint64_t scratchpad_bit(uint32_t row) const {
    return uint64_t{1} << (row / machine_.scratchpad_bank_rows() & 63);
  }
  uint64_t accumulator_bit(uint32_t row) const {
    return uint64_t{1} << (row / machine_.accumulator_bank_rows() & 63);
  }

  // A write of a move: false when a result takes the bank in this cycle.
  bool write_scratchpad(uint32_t row);
  // A read: writes win, and each bank serves one read a cycle.
  bool read_scratchpad(uint32_t row);
  // A read of a move out: false while a result is added in the same bank.
  bool read_accumulator(uint32_t row) const { return (accumulator_adds_ & accumulator_bit(row)) == 0; }

 private:
  static constexpr size_t kHorizon = 1024;  // more than the longest array latency
  struct Result {
    uint64_t cycle = kNever;
    uint64_t scratchpad = 0;
    uint64_t accumulator_adds = 0;
  };

  const Machine& machine_;
  Clock& clock_;
  std::array<Result, kHorizon> results_{};
  uint64_t scratchpad_results_ = 0;
  uint64_t scratchpad_written_ = 0;
  uint64_t scratchpad_read_ = 0;
  uint64_t accumulator_adds_ = 0;
};

}  // namespace zomboss::gemmini::timing
