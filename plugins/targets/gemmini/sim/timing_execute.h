// Internal to the cycle model: the execute controller and the array.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/targets/gemmini/sim/timing_context.h"

namespace zomboss::gemmini::timing {

struct ExecuteState {
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
    bool present = false;
    Operand c;
    uint32_t stride = 1;
    int slot = -1;  // of the preload; -1 when the station has been told already
    uint32_t command = 0;
    uint64_t start = 0;
  };
  struct Pending {
    uint32_t address = 0;
    uint64_t written = 0;
  };

  Ring<Issued> queue;
  bool running = false;
  bool weight_stationary = true;
  uint32_t counter = 0;
  uint32_t rows = 0;
  uint32_t lead = 0;              // rows at the start of a step that only fill the transposer
  std::array<Stream, 3> streams;  // A, streamed (D or B), stationary of the next
  int compute_slot = -1, preload_slot = -1;
  uint64_t step_start = 0;
  uint64_t step_banks = 0;   // scratchpad banks that the step may read
  bool independent = false;  // its operands never meet in a bank
  bool ahead = false;        // rows from `row_cycle` on fire one a cycle until a tick says otherwise
  uint64_t row_cycle = 0;

  ResultRows next_results;      // of the preload whose computation has not started
  ResultRows current_results;   // leave the array in this step
  ResultRows held_results;      // output stationary: leave with the next step
  bool sums_held = false;       // output stationary: a flush is due before anything else but matmuls
  Ring<uint64_t> matmuls;       // when each one in flight leaves the array
  Ring<Pending> unwritten;      // result addresses on their way
  uint64_t last_fire = kNever;  // of a computation
};

class ExecuteEngine : private ExecuteState {
 public:
  explicit ExecuteEngine(const Context& context) : context_(context), clock_(context.clock) {}

  bool can_accept() const { return queue.size() < kQueue; }
  // Whether a command that comes now is looked at soon: not before the present step ends.
  bool sees_commands() const { return !running; }
  void accept(const Op&, int slot) { queue.push_back({slot, false, clock_.now + kQueueDelay}); }
  void tick();
  // Between ticks, a step whose operands nobody disturbs is not followed row by row. This does the rows up to
  // the current cycle, so that others see which banks it reads in it.
  void catch_up();
  // Banks whose use by others in a cycle needs a tick in it.
  uint64_t sensitive_banks() const { return ahead ? step_banks : 0; }
  // A preload is here, its computation has not come.
  bool waits_for_compute() const;
  bool has_commands() const { return running || !queue.empty(); }
  bool running_step() const { return running; }
  uint64_t mesh_empty_at() const { return last_fire == kNever ? 0 : last_fire + result_delay() + 4; }
  // Bits of the events that hold from the last tick to the next one.
  uint64_t events() const {
    return uint64_t{stepping_ && !flushing_} << kExecuteActive | uint64_t{flushing_} << kExecuteFlush |
           uint64_t{preload_hazard_} << kPreloadHazard | uint64_t{overlap_hazard_} << kOverlapHazard;
  }

  const ExecuteState& state() const { return *this; }
  // To be called before `state` and `describe`.
  void settle();
  void restore(const ExecuteState& state) { static_cast<ExecuteState&>(*this) = state; }
  void describe(Words& words, const Station::Names& names) const;

 private:
  static constexpr size_t kQueue = 10;
  static constexpr uint64_t kQueueDelay = 2;
  // Start to leaving the window of matmuls in flight, beyond 2 * dim.
  static constexpr uint64_t kMatmulDelay = 9;
  static constexpr uint32_t kMinRows = 4;  // of a step: the accumulator's read-modify-write takes that long

  const Op& op(int slot) const { return context_.station.op(Engine::kExecute, slot); }
  bool visible(size_t index) const { return index < queue.size() && queue[index].visible <= clock_.now; }
  void start_step();
  void start_config();
  bool hazard(const Op& op) const;
  void begin(bool computes, bool preloads);
  void begin_flush();
  void begin_rows(uint32_t count);
  void plan_banks();
  Stream stream_of(Operand operand, uint32_t stride, bool transposed, bool reversed) const;
  uint32_t step_rows(const Op* preload, const Op* compute) const;
  uint32_t row_of(const Stream& stream, bool stationary) const;
  void run_row(uint64_t cycle);
  void run_ahead(uint64_t end);
  bool fire_streams();
  void emit_results(uint32_t row, uint32_t count, uint64_t cycle);
  void end_step(uint64_t cycle);
  void abandon_preload();
  void complete_results(const ResultRows& results);
  uint64_t result_delay() const {
    return uint64_t{2} * context_.machine.dim + context_.parameters.array_latency;
  }

  const Context context_;
  Clock& clock_;
  bool stepping_ = false, flushing_ = false;  // in the cycle of the last tick
  bool preload_hazard_ = false, overlap_hazard_ = false;
};

}  // namespace zomboss::gemmini::timing
