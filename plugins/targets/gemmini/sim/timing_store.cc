#include "plugins/targets/gemmini/sim/timing_store.h"

namespace zomboss::gemmini::timing {

StoreEngine::StoreEngine(const Context& context, ExecuteEngine& execute)
    : context_(context), clock_(context.clock), execute_(execute) {
  moves.resize(context.parameters.requests_in_flight / context.machine.dim + 1);
}

void StoreEngine::tick() {
  acknowledge();
  put();
  take_row();
  dispatch();
  control();
}

void StoreEngine::control() {
  block_waits_ = false;
  if (sending) {
    send_block();
    return;
  }
  if (queue.empty()) return;
  const Issued& head = queue.front();
  if (head.visible > clock_.now) {
    clock_.wake(head.visible);
    return;
  }
  if (head.config) {
    queue.pop_front();
    clock_.wake(clock_.now + 1);
    return;
  }
  const Op& op = context_.station.op(Engine::kStore, head.slot);
  const Pooling& pool = op.pooling;
  pooling = pool.stride != 0;
  const uint64_t blocks = (op.cols + context_.machine.dim - 1) / context_.machine.dim;
  const uint64_t pixels = uint64_t{pool.pooled_rows} * pool.pooled_cols;
  total = pooling ? pixels * pool.size * pool.size * (op.cols == 0 ? 0 : 1) : op.rows * blocks;
  if (total == 0) {
    context_.station.complete_at(Engine::kStore, head.slot, clock_.now);
    queue.pop_front();
    return;
  }
  size_t free = 0;
  while (free < moves.size() && (moves[free].active || moves[free].free >= clock_.now)) {
    if (!moves[free].active) clock_.wake(moves[free].free + 1);
    ++free;
  }
  if (free == moves.size()) return;
  moves[free] = {true, head.slot, op.command, total, clock_.now, 0};
  ++in_flight;
  sending = true;
  started = false;
  sending_move = static_cast<uint32_t>(free);
  next = 0;
  send_block();
}

void StoreEngine::fill_block(const Op& op, Block& block) const {
  const Pooling& pool = op.pooling;
  if (pool.stride == 0) {
    const uint32_t blocks = (op.cols + context_.machine.dim - 1) / context_.machine.dim;
    const auto row = static_cast<uint32_t>(next / blocks), column = static_cast<uint32_t>(next % blocks);
    block.row = op.local + row + column * context_.machine.dim;
    block.last = column + 1 == blocks;
    block.dram = op.dram + row * op.dram_stride;
  } else {
    const uint32_t window = uint32_t{pool.size} * pool.size;
    const auto pixel = static_cast<uint32_t>(next / window), element = static_cast<uint32_t>(next % window);
    const uint32_t prow = pixel / pool.pooled_cols, pcol = pixel % pool.pooled_cols;
    const uint32_t row = prow * pool.stride + element / pool.size,
                   col = pcol * pool.stride + element % pool.size;
    block.row = op.local + row * pool.cols + col;
    block.last = element + 1 == window;
    block.dram = op.dram + (uint64_t{prow} * pool.out_dim + pcol) * op.dram_stride;
  }
  block.bytes = op.row_bytes;
  block.accumulator = op.accumulator;
  block.move = sending_move;
  block.ready = clock_.now + (op.accumulator ? kAccumulatorDispatch : kScratchpadDispatch);
}

// One row block a cycle.
void StoreEngine::send_block() {
  block_waits_ = dispatched.size() >= kDispatchQueue;
  if (block_waits_) return;
  fill_block(context_.station.op(Engine::kStore, queue.front().slot), dispatched.push());
  started = true;
  clock_.wake(clock_.now + 1);
  if (++next < total) return;
  sending = false;
  queue.pop_front();
}

// Reads the local bank; the data reach the writer later, in order.
void StoreEngine::dispatch() {
  if (dispatched.empty() || reading.size() >= kIssueQueue) return;
  const Block& block = dispatched.front();
  if (block.ready > clock_.now) {
    clock_.wake(block.ready);
    return;
  }
  clock_.wake(clock_.now + 1);
  if (!block.accumulator) execute_.catch_up();
  const bool granted = block.accumulator ? context_.banks.read_accumulator(block.row)
                                         : context_.banks.read_scratchpad(block.row);
  if (!granted) return;
  Block& read = reading.push();
  read = block;
  read.ready = clock_.now + (block.accumulator ? kAccumulatorRead : kScratchpadRead);
  dispatched.pop_front();
}

// The writer collects the blocks of a DRAM row; it takes nothing while it sends one.
void StoreEngine::take_row() {
  if (reading.empty() || writing) return;
  const Block& block = reading.front();
  const uint64_t earliest = std::max(block.ready, writer_free);
  if (earliest > clock_.now) {
    clock_.wake(earliest);
    return;
  }
  clock_.wake(clock_.now + 1);
  if (block.last) {
    writing = true;
    written_row = block;
    written_row.ready = clock_.now + 1;
    written = 0;
  }
  finish_block(block.move);
  reading.pop_front();
}

void StoreEngine::finish_block(uint32_t index) {
  Move& move = moves[index];
  if (--move.blocks_left != 0) return;
  move.active = false;
  move.free = clock_.now + kCompleteDelay;
  --in_flight;
  context_.station.complete_at(Engine::kStore, move.slot, move.free);
  context_.recorder.add(Engine::kStore, move.command, move.start, move.free);
}

void StoreEngine::put() {
  port_refused_ = false;
  if (!writing) return;
  if (written_row.ready > clock_.now) {
    clock_.wake(written_row.ready);
    return;
  }
  const Request request =
      best_request(context_.parameters, written_row.dram + written, written_row.bytes - written);
  const uint32_t beats = request.bytes / context_.parameters.beat_bytes;
  if (!context_.port.request_write(beats)) {
    port_refused_ = true;
    return;
  }
  ++context_.counters.puts;
  context_.counters.written_bytes += request.bytes;
  unacknowledged.push_back(request.bytes);
  written += request.useful;
  written_row.ready = clock_.now + beats;
  writer_free = clock_.now + beats - 1;  // the next row's first block enters with the last beat
  writing = written != written_row.bytes;
  clock_.wake(clock_.now + 1);
}

void StoreEngine::acknowledge() {
  if (drained_at > clock_.now) clock_.wake(drained_at);
  if (!context_.port.write_ack_ready()) return;
  context_.port.take_beat();
  context_.counters.external[kWrittenBytes] += unacknowledged.front();
  unacknowledged.pop_front();
  drained_at = clock_.now + kDrainDelay;
  clock_.wake(drained_at);
}

void StoreEngine::describe(Words& words, const Station::Names& names) const {
  const auto slot_name = [&](int slot) -> uint64_t { return names[2][static_cast<size_t>(slot)]; };
  const auto block_words = [&](const Block& block) {
    words.add(uint64_t{block.row} << 32 | block.bytes);
    words.add(uint64_t{block.move} << 2 | uint64_t{block.accumulator} << 1 | uint64_t{block.last});
    words.dram(block.dram);
    words.time(block.ready);
  };
  words.add(queue.size());
  for (size_t n = 0; n < queue.size(); ++n) {
    words.add(queue[n].config ? kNever : slot_name(queue[n].slot));
    words.time(queue[n].visible);
  }
  for (const Move& move : moves) {
    words.add(move.active);
    if (move.active) {
      words.add(slot_name(move.slot));
      words.add(move.blocks_left);
      words.origin(move.command);
      words.start(move.start);
    } else {
      words.time(move.free);
    }
  }
  words.add(uint64_t{pooling} << 2 | uint64_t{sending} << 1 | uint64_t{started});
  if (sending) {
    words.add(sending_move);
    words.add(next);
    words.add(total);
  }
  for (const Ring<Block>* blocks : {&dispatched, &reading}) {
    words.add(blocks->size());
    for (size_t n = 0; n < blocks->size(); ++n) block_words((*blocks)[n]);
  }
  words.add(writing);
  if (writing) {
    block_words(written_row);
    words.add(written);
  }
  words.time(writer_free);
  words.add(unacknowledged.size());
  for (size_t n = 0; n < unacknowledged.size(); ++n) words.add(unacknowledged[n]);
  words.time(drained_at);
}

}  // namespace zomboss::gemmini::timing
