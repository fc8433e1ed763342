#include "plugins/targets/gemmini/sim/timing_execute.h"

namespace zomboss::gemmini::timing {

void ExecuteEngine::tick() {
  if (running && ahead) run_ahead(clock_.now);
  ahead = false;
  if (!running) start_step();
  stepping_ = running;
  flushing_ = running && compute_slot < 0 && preload_slot < 0;
  if (!running) return;
  run_row(clock_.now);
  const bool halfway = streams[0].done || streams[1].done || streams[2].done;  // through a row
  ahead = running && independent && !halfway && !context_.banks.expects_scratchpad_results();
  row_cycle = clock_.now + 1;
  clock_.wake(clock_.now + (ahead ? rows + lead - counter : 1));
}

void ExecuteEngine::settle() {
  if (ahead) run_ahead(clock_.now);
}

void ExecuteEngine::catch_up() {
  if (!ahead || row_cycle > clock_.now) return;
  run_ahead(clock_.now);
  run_row(clock_.now);
  row_cycle = clock_.now + 1;
}

bool ExecuteEngine::waits_for_compute() const {
  return (next_results.present && next_results.slot >= 0) ||
         (queue.size() == 1 && op(queue.front().slot).kind == Kind::kPreload);
}

bool ExecuteEngine::hazard(const Op& reader) const {
  for (size_t n = 0; n < unwritten.size(); ++n) {
    const Pending& pending = unwritten[n];
    if (pending.written <= clock_.now) continue;
    const bool reads = reader.a.address == pending.address ||
                       (reader.kind == Kind::kCompute && reader.b.address == pending.address);
    if (reads) {
      clock_.wake(pending.written);
      return true;
    }
  }
  return false;
}

// A config waits until the array is empty; output-stationary sums are flushed out of it first.
void ExecuteEngine::start_config() {
  if (sums_held) {
    begin_flush();
    return;
  }
  if (mesh_empty_at() > clock_.now) {
    clock_.wake(mesh_empty_at());
    return;
  }
  abandon_preload();
  const int slot = queue.front().slot;
  weight_stationary = op(slot).weight_stationary;
  context_.station.complete_at(Engine::kExecute, slot, clock_.now);
  queue.pop_front();
  clock_.wake(clock_.now + 1);
}

void ExecuteEngine::start_step() {
  preload_hazard_ = overlap_hazard_ = false;
  for (size_t n = 0; n < queue.size(); ++n) {
    if (queue[n].visible > clock_.now) {
      clock_.wake(queue[n].visible);
      break;
    }
  }
  while (!unwritten.empty() && unwritten.front().written <= clock_.now) unwritten.pop_front();
  while (!matmuls.empty() && matmuls.front() <= clock_.now) matmuls.pop_front();
  if (!visible(0)) {
    if (sums_held) begin_flush();
    return;
  }
  const Op& head = op(queue[0].slot);
  if (head.kind == Kind::kConfig) {
    start_config();
    return;
  }
  if (matmuls.size() >= context_.parameters.matmuls_in_flight) {
    clock_.wake(matmuls.front());
    return;
  }
  if (head.kind == Kind::kPreload) {
    // Its computation must be there, and nothing that the two read on its way.
    preload_hazard_ = visible(1) && (hazard(head) || hazard(op(queue[1].slot)));
    if (visible(1) && !preload_hazard_) {
      begin(false, true);
    } else if (sums_held) {
      begin_flush();
    }
    return;
  }
  // A preload overlaps with the computation before it when its own computation is there too, and neither of
  // the two reads what is still on its way.
  const bool pair = visible(2) && op(queue[1].slot).kind == Kind::kPreload;
  overlap_hazard_ = pair && (hazard(op(queue[1].slot)) || hazard(op(queue[2].slot)));
  begin(true, pair && !overlap_hazard_);
}

ExecuteEngine::Stream ExecuteEngine::stream_of(Operand operand, uint32_t stride, bool transposed,
                                               bool reversed) const {
  Stream stream;
  stream.active = true;
  if (operand.address == kGarbage) return stream;
  stream.start = target_row(operand.address);
  stream.stride = stride;
  stream.accumulator = is_accumulator(operand.address);
  stream.reversed = reversed;
  stream.end = std::min<uint32_t>(transposed ? operand.cols : operand.rows, context_.machine.dim);
  return stream;
}

// A step that keeps the weights is as short as its operands; all others fill the array.
uint32_t ExecuteEngine::step_rows(const Op* preload, const Op* compute) const {
  const uint32_t dim = context_.machine.dim;
  const bool keeps_weights = compute != nullptr && (preload == nullptr || preload->a.address == kGarbage) &&
                             compute->weight_stationary && !compute->transpose_a && !compute->transpose_b;
  if (!keeps_weights) return dim;
  const auto operand_rows = [](const Operand& operand) {
    return operand.address == kGarbage ? 1u : uint32_t{operand.rows};
  };
  return std::min(std::max({operand_rows(compute->a), operand_rows(compute->b), kMinRows}), dim);
}

void ExecuteEngine::begin(bool computes, bool preloads) {
  const auto take = [this](bool wanted) {
    if (!wanted) return -1;
    const int slot = queue.front().slot;
    queue.pop_front();
    return slot;
  };
  compute_slot = take(computes);
  preload_slot = take(preloads);
  const Op* compute = computes ? &op(compute_slot) : nullptr;
  const Op* preload = preloads ? &op(preload_slot) : nullptr;
  weight_stationary = (computes ? compute : preload)->weight_stationary;
  lead = 0;
  streams = {};
  if (computes) {
    streams[0] = stream_of(compute->a, compute->a_stride, compute->transpose_a, false);
    streams[1] = stream_of(compute->b, 1, !compute->weight_stationary && compute->transpose_b, false);
  }
  if (preloads) {
    const bool transposed = preload->weight_stationary && preload->transpose_b;
    streams[2] = stream_of(preload->a, 1, transposed, true);
    if (transposed && preload->a.address != kGarbage) lead = context_.machine.dim;
  }
  current_results.present = false;
  if (!weight_stationary) {
    current_results = held_results;
    held_results.present = false;
  } else if (computes) {
    current_results = next_results;
  }
  if (computes) matmuls.push_back(clock_.now + uint64_t{2} * context_.machine.dim + kMatmulDelay);
  begin_rows(step_rows(preload, compute));
}

void ExecuteEngine::begin_flush() {
  compute_slot = preload_slot = -1;
  streams = {};
  current_results = held_results;
  held_results.present = false;
  sums_held = false;
  lead = 0;
  begin_rows(context_.machine.dim);
}

void ExecuteEngine::begin_rows(uint32_t count) {
  rows = count;
  running = true;
  counter = 0;
  step_start = clock_.now;
  plan_banks();
}

// Each operand lies in one bank and no two of them in the same: then only others can hold a row up.
void ExecuteEngine::plan_banks() {
  step_banks = 0;
  independent = true;
  for (const Stream& stream : streams) {
    if (!stream.active || stream.accumulator || stream.end == 0) continue;
    const uint32_t last = stream.start + (context_.machine.dim - 1) * stream.stride;
    const uint64_t bank = context_.banks.scratchpad_bit(stream.start);
    independent &= (step_banks & bank) == 0 && context_.banks.scratchpad_bit(last) == bank;
    step_banks |= bank;
  }
}

// All operands advance together: a row is done when each of them has been read.
bool ExecuteEngine::fire_streams() {
  bool all = true;
  uint64_t claimed = 0;
  const bool leading = counter < lead;
  for (size_t index = 0; index < streams.size(); ++index) {
    Stream& stream = streams[index];
    if (!stream.active || stream.done) continue;
    const bool stationary = index == 2;
    // The lead reads the stationary operand alone; afterwards it comes out of the transposer.
    const bool idle = lead != 0 && stationary != leading;
    uint32_t n = stationary ? counter : counter - (leading ? 0 : lead);
    if (stream.reversed && n < context_.machine.dim) n = context_.machine.dim - 1 - n;
    if (!idle && !stream.accumulator && stream.end != 0) {
      // Two operands in one bank take turns, even where a row is padding; only real rows wait for writes.
      const uint32_t row = stream.start + n * stream.stride;
      const uint64_t bank = context_.banks.scratchpad_bit(row);
      const bool waits = (claimed & bank) != 0 || (n < stream.end && !context_.banks.read_scratchpad(row));
      claimed |= bank;
      if (waits) {
        all = false;
        // A, B, D: the streamed operand is D or B, the stationary one the other.
        const size_t operand = index == 0 ? 0 : (index == 2) == weight_stationary ? 1 : 2;
        ++context_.counters.events[kScratchpadWaitA + operand];
        continue;
      }
    }
    stream.done = true;
  }
  return all;
}

void ExecuteEngine::run_row(uint64_t cycle) {
  if (!fire_streams()) {
    ++context_.counters.array_stalls;
    return;
  }
  for (Stream& stream : streams) stream.done = false;
  ++context_.counters.array_rows;
  if (counter >= lead) emit_results(counter - lead, 1, cycle);
  if (++counter == rows + lead) end_step(cycle);
}

// The rows before `end`, none of which was held up.
void ExecuteEngine::run_ahead(uint64_t end) {
  if (row_cycle >= end) return;
  const auto count = static_cast<uint32_t>(end - row_cycle);
  context_.counters.array_rows += count;
  const uint32_t leading = std::min(count, lead - std::min(lead, counter));
  if (count > leading) emit_results(counter + leading - lead, count - leading, row_cycle + leading);
  counter += count;
  row_cycle = end;
}

void ExecuteEngine::emit_results(uint32_t row, uint32_t count, uint64_t cycle) {
  const ResultRows& results = current_results;
  if (!results.present || row >= results.c.rows || results.c.address == kGarbage) return;
  const uint32_t address = results.c.address;
  context_.banks.schedule_results({is_accumulator(address), (address & kAccumulateBit) != 0,
                                   target_row(address) + row * results.stride, results.stride},
                                  std::min<uint32_t>(count, results.c.rows - row),
                                  cycle + result_delay() - 2);
}

// A preload that another preload or a config overtakes does not hold the station any longer.
void ExecuteEngine::abandon_preload() {
  if (!next_results.present || next_results.slot < 0) return;
  context_.station.complete_at(Engine::kExecute, next_results.slot, clock_.now + 1);
  next_results.slot = -1;
}

void ExecuteEngine::complete_results(const ResultRows& results) {
  const uint64_t written = clock_.now + result_delay();
  if (results.slot >= 0) context_.station.complete_at(Engine::kExecute, results.slot, written);
  unwritten.push_back({results.c.address, written});
  context_.recorder.add(Engine::kExecute, results.command, results.start, written);
}

void ExecuteEngine::end_step(uint64_t cycle) {
  running = false;
  if (current_results.present) complete_results(current_results);
  current_results.present = false;
  if (compute_slot >= 0) {
    context_.station.complete_at(Engine::kExecute, compute_slot, cycle + 1);
    context_.recorder.add(Engine::kExecute, op(compute_slot).command, step_start, cycle + 1);
    last_fire = cycle;
    if (!weight_stationary) {
      held_results = next_results;
      sums_held = true;
    }
    next_results.present = false;
  } else if (preload_slot < 0) {
    last_fire = cycle;  // a flush
  }
  if (preload_slot < 0) return;
  abandon_preload();
  const Op& preload = op(preload_slot);
  if (preload.b.address == kGarbage) {
    context_.station.complete_at(Engine::kExecute, preload_slot, cycle + 1);
    next_results.present = false;
  } else {
    next_results = {true, preload.b, preload.c_stride, preload_slot, preload.command, step_start};
  }
}

void ExecuteEngine::describe(Words& words, const Station::Names& names) const {
  const auto slot_name = [&](int slot) -> uint64_t {
    return slot < 0 ? kNever : names[1][static_cast<size_t>(slot)];
  };
  words.add(queue.size());
  for (size_t n = 0; n < queue.size(); ++n) {
    words.add(slot_name(queue[n].slot));
    words.time(queue[n].visible);
  }
  words.add(uint64_t{running} << 2 | uint64_t{weight_stationary} << 1 | uint64_t{sums_held});
  if (running) {
    words.add(counter);
    words.add(uint64_t{rows} << 32 | lead);
    for (const Stream& stream : streams) {
      words.add(uint64_t{stream.active} << 3 | uint64_t{stream.done} << 2 | uint64_t{stream.reversed} << 1 |
                uint64_t{stream.accumulator});
      words.add(uint64_t{stream.start} << 32 | stream.stride);
      words.add(stream.end);
    }
    words.add(slot_name(compute_slot));
    words.add(slot_name(preload_slot));
    words.start(step_start);
  }
  for (const ResultRows* results : {&next_results, &current_results, &held_results}) {
    words.add(results->present);
    if (!results->present) continue;
    words.add(encode_operand(results->c));
    words.add(results->stride);
    words.add(slot_name(results->slot));
    words.origin(results->command);
    words.start(results->start);
  }
  for (size_t n = 0; n < matmuls.size(); ++n) {
    if (matmuls[n] > words.now()) words.time(matmuls[n]);
  }
  words.add(kNever);
  for (size_t n = 0; n < unwritten.size(); ++n) {
    if (unwritten[n].written <= words.now()) continue;
    words.add(unwritten[n].address);
    words.time(unwritten[n].written);
  }
  words.add(kNever);
  words.time(mesh_empty_at());
}

}  // namespace zomboss::gemmini::timing
