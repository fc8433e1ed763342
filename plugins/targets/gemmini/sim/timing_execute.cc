#include "plugins/targets/gemmini/sim/timing_execute.h"

namespace zomboss::gemmini::timing {

void ExecuteEngine::tick() {
  if (!running_) start_step();
  if (running_) run_row();
}

bool ExecuteEngine::hazard(const Op& op) const {
  for (const Pending& pending : unwritten_) {
    if (pending.written <= clock_.now) continue;
    const bool reads =
        op.a.address == pending.address || (op.kind == Kind::kCompute && op.b.address == pending.address);
    if (reads) {
      clock_.wake(pending.written);
      return true;
    }
  }
  return false;
}

// A config waits until the array is empty; output-stationary sums are flushed out of it first.
bool ExecuteEngine::start_config() {
  if (sums_held_) {
    begin_flush();
    return true;
  }
  if (mesh_empty_at() > clock_.now) {
    clock_.wake(mesh_empty_at());
    return false;
  }
  abandon_preload();
  weight_stationary_ = queue_.front().op.weight_stationary;
  station_.complete_at(Engine::kExecute, queue_.front().slot, clock_.now);
  queue_.pop_front();
  clock_.wake(clock_.now + 1);
  return false;
}

void ExecuteEngine::start_step() {
  for (const Issued& issued : queue_) {
    if (issued.visible > clock_.now) {
      clock_.wake(issued.visible);
      break;
    }
  }
  while (!unwritten_.empty() && unwritten_.front().written <= clock_.now) unwritten_.pop_front();
  while (!matmuls_.empty() && matmuls_.front() <= clock_.now) matmuls_.pop_front();
  if (!visible(0)) {
    if (sums_held_) begin_flush();
    return;
  }
  const Op& head = queue_[0].op;
  if (head.kind == Kind::kConfig) {
    start_config();
    return;
  }
  if (matmuls_.size() >= parameters_.matmuls_in_flight) {
    clock_.wake(matmuls_.front());
    return;
  }
  if (head.kind == Kind::kPreload) {
    if (!visible(1) || hazard(head)) return;  // its computation must be there
    begin(0, 1);
    return;
  }
  if (hazard(head)) return;
  const bool overlap = visible(1) && queue_[1].op.kind == Kind::kPreload;
  if (overlap && hazard(queue_[1].op)) return;
  begin(1, overlap ? 1 : 0);
}

void ExecuteEngine::stream_operand(size_t index, Operand operand, uint32_t stride, bool transposed,
                                   bool reversed) {
  Stream& stream = streams_[index];
  stream = {};
  stream.active = true;
  if (operand.address == kGarbage) return;
  const uint32_t rows = std::min<uint32_t>(transposed ? operand.cols : operand.rows, machine_.dim);
  stream.start = target_row(operand.address);
  stream.stride = stride;
  stream.accumulator = is_accumulator(operand.address);
  stream.reversed = reversed;
  stream.end = rows;
}

// A step that keeps the weights is as short as its operands; all others fill the array.
uint32_t ExecuteEngine::step_rows(const Op* preload, const Op* compute) const {
  const bool keeps_weights = compute != nullptr && (preload == nullptr || preload->a.address == kGarbage) &&
                             compute->weight_stationary && !compute->transpose_a && !compute->transpose_b;
  if (!keeps_weights) return machine_.dim;
  const auto rows = [](const Operand& operand) {
    return operand.address == kGarbage ? 1u : uint32_t{operand.rows};
  };
  return std::min(std::max({rows(compute->a), rows(compute->b), kMinRows}), machine_.dim);
}

void ExecuteEngine::begin(size_t computes, size_t preloads) {
  step_compute_.reset();
  step_preload_.reset();
  for (Stream& stream : streams_) stream = {};
  if (computes != 0) {
    step_compute_ = queue_.front();
    queue_.pop_front();
  }
  if (preloads != 0) {
    step_preload_ = queue_.front();
    queue_.pop_front();
  }
  const Op* compute = step_compute_ ? &step_compute_->op : nullptr;
  const Op* preload = step_preload_ ? &step_preload_->op : nullptr;
  weight_stationary_ = (compute != nullptr ? compute : preload)->weight_stationary;
  rows_ = step_rows(preload, compute);
  lead_ = 0;
  if (compute != nullptr) {
    stream_operand(0, compute->a, compute->a_stride, compute->transpose_a, false);
    stream_operand(1, compute->b, 1, !compute->weight_stationary && compute->transpose_b, false);
  }
  if (preload != nullptr) {
    const bool transposed = preload->weight_stationary && preload->transpose_b;
    stream_operand(2, preload->a, 1, transposed, true);
    if (transposed && preload->a.address != kGarbage) lead_ = machine_.dim;
  }
  current_results_.reset();
  if (!weight_stationary_) {
    current_results_ = held_results_;
    held_results_.reset();
  } else if (compute != nullptr) {
    current_results_ = next_results_;
  }
  running_ = true;
  counter_ = 0;
  step_start_ = clock_.now;
  if (compute != nullptr) matmuls_.push_back(clock_.now + uint64_t{2} * machine_.dim + kMatmulDelay);
}

void ExecuteEngine::begin_flush() {
  step_compute_.reset();
  step_preload_.reset();
  for (Stream& stream : streams_) stream = {};
  current_results_ = held_results_;
  held_results_.reset();
  sums_held_ = false;
  rows_ = machine_.dim;
  lead_ = 0;
  running_ = true;
  counter_ = 0;
  step_start_ = clock_.now;
}

// All operands advance together: a row is done when each of them has been read.
bool ExecuteEngine::fire_streams() {
  bool all = true;
  uint64_t claimed = 0;
  const bool leading = counter_ < lead_;
  for (size_t index = 0; index < 3; ++index) {
    Stream& stream = streams_[index];
    if (!stream.active || stream.done) continue;
    const bool stationary = index == 2;
    // The lead reads the stationary operand alone; afterwards it comes out of the transposer.
    const bool idle = lead_ != 0 && stationary != leading;
    uint32_t n = stationary ? counter_ : counter_ - (leading ? 0 : lead_);
    if (stream.reversed && n < machine_.dim) n = machine_.dim - 1 - n;
    if (!idle && !stream.accumulator && stream.end != 0) {
      // Two operands in one bank take turns, even where a row is padding; only real rows wait for writes.
      const uint32_t row = stream.start + n * stream.stride;
      const uint64_t bank = banks_.scratchpad_bit(row);
      const bool waits = (claimed & bank) != 0 || (n < stream.end && !banks_.read_scratchpad(row));
      claimed |= bank;
      if (waits) {
        all = false;
        continue;
      }
    }
    stream.done = true;
  }
  return all;
}

void ExecuteEngine::run_row() {
  clock_.wake(clock_.now + 1);
  if (!fire_streams()) {
    ++result_.counters.array_stalls;
    return;
  }
  for (Stream& stream : streams_) stream.done = false;
  ++result_.counters.array_rows;
  if (counter_ >= lead_) emit_results(counter_ - lead_);
  if (++counter_ == rows_ + lead_) end_step();
}

void ExecuteEngine::emit_results(uint32_t counter) {
  if (!current_results_ || counter >= current_results_->c.rows) return;
  const uint32_t address = current_results_->c.address;
  if (address == kGarbage) return;
  banks_.schedule_result(is_accumulator(address), (address & kAccumulateBit) != 0,
                         target_row(address) + counter * current_results_->stride, result_delay() - 2);
}

// A preload that another preload or a config overtakes does not hold the station any longer.
void ExecuteEngine::abandon_preload() {
  if (!next_results_ || next_results_->slot < 0) return;
  station_.complete_at(Engine::kExecute, next_results_->slot, clock_.now + 1);
  next_results_->slot = -1;
}

void ExecuteEngine::complete_results(const ResultRows& rows) {
  const uint64_t written = clock_.now + result_delay();
  if (rows.slot >= 0) station_.complete_at(Engine::kExecute, rows.slot, written);
  unwritten_.push_back({rows.c.address, written});
  if (record_) result_.timeline.push_back({Engine::kExecute, rows.command, rows.start, written});
}

void ExecuteEngine::end_step() {
  running_ = false;
  if (current_results_) complete_results(*current_results_);
  current_results_.reset();
  if (step_compute_) {
    station_.complete_at(Engine::kExecute, step_compute_->slot, clock_.now + 1);
    if (record_) {
      result_.timeline.push_back({Engine::kExecute, step_compute_->op.command, step_start_, clock_.now + 1});
    }
    last_fire_ = clock_.now;
    if (!weight_stationary_) {
      held_results_ = next_results_;
      sums_held_ = true;
    }
    next_results_.reset();
  } else if (!step_preload_) {
    last_fire_ = clock_.now;  // a flush
  }
  if (!step_preload_) return;
  abandon_preload();
  const Op& preload = step_preload_->op;
  if (preload.b.address == kGarbage) {
    station_.complete_at(Engine::kExecute, step_preload_->slot, clock_.now + 1);
    next_results_.reset();
  } else {
    next_results_ = {preload.b, preload.c_stride, step_preload_->slot, preload.command, step_start_};
  }
}

}  // namespace zomboss::gemmini::timing
