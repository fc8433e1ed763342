// Internal to the cycle model: the memory port and the local memories' ports.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "plugins/targets/gemmini/sim/timing_op.h"
#include "plugins/targets/gemmini/sim/timing_ring.h"

namespace zomboss::gemmini::timing {

struct PortState {
  struct Response {
    bool read = false;
    uint32_t beats = 0;
    uint64_t ready = 0;
  };
  uint64_t free = 0;  // for request beats
  bool writer_waits = false;
  bool last_was_read = false;
  uint64_t taken_at = kNever;
  Ring<Response> responses;
  std::array<uint32_t, 2> places{};        // taken
  std::array<uint32_t, 2> in_flight{};     // requests without their last response beat
  std::array<Ring<uint64_t>, 2> releases;  // of places
  std::array<bool, 2> head_is_new = {};    // a response of that direction came to the head
};

// A fixed-latency memory behind one port: one request beat and one response beat a cycle, responses in the
// order of the requests. Readers and writers have their own limits of requests in flight.
class MemoryPort : private PortState {
 public:
  // From a request's last beat to its first response beat, and from a response's last beat to the reuse of
  // its place, both beyond the memory latency.
  static constexpr uint64_t kResponseDelay = 5;
  static constexpr uint64_t kReuseDelay = 2;
  enum Direction { kWrite = 0, kRead = 1 };

  MemoryPort(const TimingParameters& parameters, Clock& clock)
      : clock_(clock),
        latency_(std::max<uint64_t>(parameters.memory_latency, 1)),
        limit_(parameters.requests_in_flight) {}

  // Requests of `beats` request beats; false when the port or all places are taken in this cycle.
  bool request_read(uint32_t response_beats);
  bool request_write(uint32_t beats);

  // The next response beat, when it is there and was not taken in this cycle.
  bool read_beat_ready() { return head_ready(true); }
  bool write_ack_ready() { return head_ready(false); }
  // Consumes it; true when it was the response's last one.
  bool take_beat();
  // Whether a response of the direction came to the head since the last call.
  bool take_news(Direction direction) { return std::exchange(head_is_new[direction], false); }
  uint32_t requests_in_flight(Direction direction) const { return in_flight[direction]; }

  const PortState& state() const { return *this; }
  void restore(const PortState& state) { static_cast<PortState&>(*this) = state; }
  void describe(Words& words) const;

 private:
  bool head_ready(bool read);
  bool has_place(Direction direction, size_t limit);

  Clock& clock_;
  uint64_t latency_;
  size_t limit_;
};

struct BanksState {
  struct Results {  // rows on their way from the array, one a cycle in [start, end)
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t scratchpad = 0;
    uint64_t accumulator_adds = 0;
  };
  Ring<Results> results;            // in order
  uint64_t scratchpad_results = 0;  // these four are of the current cycle
  uint64_t scratchpad_written = 0;
  uint64_t scratchpad_read = 0;
  uint64_t accumulator_adds = 0;
};

// Which local banks are in use in the current cycle, and the results on their way out of the array.
class Banks : private BanksState {
 public:
  Banks(const Machine& machine, Clock& clock);

  void begin_cycle() {
    while (!results.empty() && results.front().end <= clock_.now) results.pop_front();
    const bool now = !results.empty() && results.front().start <= clock_.now;
    scratchpad_results = scratchpad_written = now ? results.front().scratchpad : 0;
    accumulator_adds = now ? results.front().accumulator_adds : 0;
    scratchpad_read = 0;
  }
  // Result rows `row`, `row + stride`, ... that the array delivers one a cycle from `cycle` on, later than
  // all before.
  struct ResultTarget {
    bool accumulator = false;
    bool adds = false;
    uint32_t row = 0;
    uint32_t stride = 1;
  };
  void schedule_results(const ResultTarget& target, uint32_t count, uint64_t cycle);
  bool expects_scratchpad_results() const;

  uint64_t scratchpad_bit(uint32_t row) const { return scratchpad_.bit(row); }
  uint64_t accumulator_bit(uint32_t row) const { return accumulator_.bit(row); }

  // A write of a move: false when a result takes the bank in this cycle.
  bool write_scratchpad(uint32_t row);
  // A read: writes win, and each bank serves one read a cycle.
  bool read_scratchpad(uint32_t row);
  // A read of a move out: false while a result is added in the same bank.
  bool read_accumulator(uint32_t row) const { return (accumulator_adds & accumulator_bit(row)) == 0; }
  // Scratchpad banks that are written in this cycle.
  uint64_t written() const { return scratchpad_written; }

  const BanksState& state() const { return *this; }
  void restore(const BanksState& state) { static_cast<BanksState&>(*this) = state; }
  void describe(Words& words) const;

 private:
  void schedule(uint64_t scratchpad, uint64_t added, uint32_t count, uint64_t cycle);
  struct Geometry {
    uint32_t rows = 1;  // of a bank
    int shift = -1;     // log2 of it, when it is a power of two
    uint64_t bit(uint32_t row) const {
      return uint64_t{1} << ((shift >= 0 ? row >> shift : row / rows) & 63);
    }
  };
  static Geometry geometry(uint32_t rows);

  Geometry scratchpad_, accumulator_;
  Clock& clock_;
};

}  // namespace zomboss::gemmini::timing
