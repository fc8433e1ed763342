// Internal to the cycle model: the execute controller and the array.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "plugins/targets/gemmini/sim/timing_load.h"

namespace zomboss::gemmini::timing {

class ExecuteEngine {
 public:
  ExecuteEngine(const Machine& machine, const TimingParameters& parameters, Clock& clock, Banks& banks,
                Station& station, TimingResult& result, bool record)
      : machine_(machine),
        parameters_(parameters),
        clock_(clock),
        banks_(banks),
        station_(station),
        result_(result),
        record_(record) {}

  bool can_accept() const { return queue_.size() < kQueue; }
  void accept(const Op& op, int slot) { queue_.push_back({op, slot, clock_.now + kQueueDelay}); }
  void tick();
  // A preload is here, its computation has not come.
  bool waits_for_compute() const {
    return (next_results_ && next_results_->slot >= 0) ||
           (queue_.size() == 1 && queue_[0].op.kind == Kind::kPreload);
  }
  bool busy() const { return running_ || mesh_empty_at() > clock_.now; }

 private:
  static constexpr size_t kQueue = 10;
  static constexpr uint64_t kQueueDelay = 2;
  static constexpr uint64_t kMatmulDelay =
      9;                                   // start to leaving the window of matmuls in flight, beyond 2 * dim
  static constexpr uint32_t kMinRows = 4;  // of a step: the accumulator's read-modify-write takes that long

  // Rows that one step reads for one operand: counter n reads local row `start + n * stride` while n < end.
  struct Stream {
    bool active = false;
    bool done = false;  // for the current counter
    uint32_t start = 0;
    uint32_t stride = 1;
    uint32_t end = 0;
    bool reversed = false;
    bool accumulator = false;
  };
  // Where the array's results go.
  struct ResultRows {
    Operand c;
    uint32_t stride = 1;
    int slot = 0;  // of the preload; -1 when the station has been told already
    uint32_t command = 0;
    uint64_t start = 0;
  };

  bool visible(size_t index) const { return index < queue_.size() && queue_[index].visible <= clock_.now; }
  void start_step();
  bool start_config();
  bool hazard(const Op& op) const;
  void begin(size_t computes, size_t preloads);
  void begin_flush();
  void stream_operand(size_t index, Operand operand, uint32_t stride, bool transposed, bool reversed);
  uint32_t step_rows(const Op* preload, const Op* compute) const;
  void run_row();
  bool fire_streams();
  void emit_results(uint32_t counter);
  void end_step();
  void abandon_preload();
  void complete_results(const ResultRows& rows);
  uint64_t result_delay() const { return uint64_t{2} * machine_.dim + parameters_.array_latency; }
  uint64_t mesh_empty_at() const { return last_fire_ == kNever ? 0 : last_fire_ + result_delay() + 4; }

  const Machine& machine_;
  const TimingParameters& parameters_;
  Clock& clock_;
  Banks& banks_;
  Station& station_;
  TimingResult& result_;
  const bool record_;

  std::deque<Issued> queue_;
  bool running_ = false;
  bool weight_stationary_ = true;
  uint32_t counter_ = 0;
  uint32_t rows_ = 0;
  uint32_t lead_ = 0;  // rows at the start of a step that only fill the transposer
  Stream streams_[3];  // A, streamed (D or B), stationary of the next
  std::optional<Issued> step_compute_, step_preload_;
  uint64_t step_start_ = 0;

  std::optional<ResultRows> next_results_;     // of the preload whose computation has not started
  std::optional<ResultRows> current_results_;  // leave the array in this step
  std::optional<ResultRows> held_results_;     // output stationary: leave with the next step
  bool sums_held_ = false;        // output stationary: a flush is due before anything else but matmuls
  std::deque<uint64_t> matmuls_;  // when each one in flight leaves the array
  struct Pending {
    uint32_t address;
    uint64_t written;
  };
  std::deque<Pending> unwritten_;  // result addresses on their way
  uint64_t last_fire_ = kNever;    // of a computation
};

}  // namespace zomboss::gemmini::timing
