#include "plugins/targets/gemmini/sim/timing_load.h"

#include <bit>

namespace zomboss::gemmini::timing {

LoadEngine::LoadEngine(const Context& context) : context_(context), clock_(context.clock) {
  moves.resize(context.parameters.requests_in_flight / context.machine.dim + 1);
  scaler_free.resize(std::max(context.parameters.scale_entries, 1u));
}

void LoadEngine::tick() {
  if (!wide.empty()) write(wide);
  if (!narrow.empty()) write(narrow);
  if (zero_active) write_zeros();
  if (merging) merge_out();
  merge_beat();
  read();
  control();
}

// One command at a time sends one row request a cycle.
void LoadEngine::control() {
  row_waits_ = false;
  if (sending) {
    send_row();
    return;
  }
  if (queue.empty()) return;
  const Issued& head = queue.front();
  const uint64_t earliest = std::max(head.visible, controller_free);
  if (earliest > clock_.now) {
    clock_.wake(earliest);
    return;
  }
  if (head.config) {
    queue.pop_front();
    clock_.wake(clock_.now + 1);
    return;
  }
  const Op& op = context_.station.op(Engine::kLoad, head.slot);
  if (op.rows == 0 || op.cols == 0) {
    context_.station.complete_at(Engine::kLoad, head.slot, clock_.now);
    queue.pop_front();
    return;
  }
  size_t free = 0;
  while (free < moves.size() && (moves[free].active || moves[free].free >= clock_.now)) {
    if (!moves[free].active) clock_.wake(moves[free].free + 1);
    ++free;
  }
  if (free == moves.size()) return;
  moves[free] = {true, head.slot, op.command, uint64_t{op.rows} * op.row_bytes, clock_.now, 0};
  ++in_flight;
  sending = true;
  started = false;
  sending_move = static_cast<uint32_t>(free);
  next_row = 0;
  send_row();
}

void LoadEngine::send_row() {
  const Op& op = context_.station.op(Engine::kLoad, queue.front().slot);
  const bool repeated = op.dram_stride == 0 && !op.zeros;
  const uint32_t requests = repeated ? 1 : op.rows;
  row_waits_ = op.zeros ? zero_active : read_queue.size() >= kReadQueue;
  if (row_waits_) return;  // they wake us by moving on
  RowRequest& request = op.zeros ? zero : read_queue.push();
  request.dram = op.dram + next_row * op.dram_stride;
  request.bytes = op.row_bytes;
  request.done = 0;
  request.row = op.local + next_row;
  request.rows = repeated ? op.rows : 1;
  request.copies = repeated ? op.rows : op.repeats;
  request.move = sending_move;
  request.block_stride = op.block_stride;
  request.accumulator = op.accumulator;
  request.wide = op.wide;
  request.scaled = op.scaled;
  request.ready = clock_.now + (op.zeros ? 1 : kReadDelay);
  if (op.zeros) {
    zero_active = true;
    zero_block = 0;
  }
  started = true;
  clock_.wake(clock_.now + 1);
  if (++next_row < requests) return;
  sending = false;
  controller_free = clock_.now + (requests == 1 ? 2 : 1);
  queue.pop_front();
}

// Splits rows into requests.
void LoadEngine::read() {
  port_refused_ = false;
  if (read_queue.empty()) return;
  RowRequest& row = read_queue.front();
  if (row.ready > clock_.now) {
    clock_.wake(row.ready);
    return;
  }
  const uint64_t address = row.dram + row.done;
  const Request request = best_request(context_.parameters, address, row.bytes - row.done);
  const uint32_t beats = request.bytes / context_.parameters.beat_bytes;
  if (!context_.port.request_read(beats)) {
    port_refused_ = true;
    return;
  }
  gets.push() = {row.bytes,
                 row.row,
                 row.copies,
                 row.rows,
                 row.move,
                 row.block_stride,
                 row.accumulator,
                 row.wide,
                 row.scaled,
                 row.done,
                 static_cast<uint32_t>(address & (request.bytes - 1)),
                 request.useful,
                 beats};
  ++context_.counters.gets;
  context_.counters.read_bytes += request.bytes;
  row.done += request.useful;
  if (row.done == row.bytes) read_queue.pop_front();
  clock_.wake(clock_.now + 1);
}

// Takes one response beat.
void LoadEngine::merge_beat() {
  if (merging && merged_beats == merge.beats) return;
  if (!context_.port.read_beat_ready()) return;
  if (!merging) {
    merging = true;
    merge = gets.front();
    gets.pop_front();
    merged_beats = 0;
    merge_sent = 0;
  }
  ++merged_beats;
  // The hardware's counter adds the whole request at every beat of its response.
  context_.counters.external[kReadBytes] += uint64_t{merge.beats} * context_.parameters.beat_bytes;
  context_.port.take_beat();
}

// Sends one local row on, when all its bytes are there.
void LoadEngine::merge_out() {
  if (merge_sent == merge.useful) {  // only padding was still to come
    if (merged_beats == merge.beats) merging = false;
    return;
  }
  const uint32_t local_bytes = row_bytes(merge.wide);
  const uint32_t arrived = merged_beats * context_.parameters.beat_bytes;
  const uint32_t useful = std::min(merge.useful, arrived > merge.shift ? arrived - merge.shift : 0);
  const uint32_t position = merge.position + merge_sent;
  const uint32_t next = std::min(merge.useful, merge_sent + local_bytes - (position & (local_bytes - 1)));
  if (useful <= merge_sent || useful < next) return;
  Ring<Piece>& pieces = merge.wide ? wide : narrow;
  if (pieces.size() >= kWriteQueue) return;
  Piece& piece = pieces.push();
  piece.ready = clock_.now + (merge.wide ? kWideDelay : kNarrowDelay);
  if (merge.scaled) {
    uint64_t& entry = scaler_free[scaler_next];
    scaler_next = (scaler_next + 1) % scaler_free.size();
    // Rows of several blocks wait for one another on their way to the scratchpad; to the accumulator they do
    // not (seen in one program only, a residual addition).
    piece.ready = entry =
        std::max(piece.ready, entry + scaler_occupied(merge.row_bytes > local_bytes && !merge.accumulator));
  }
  piece.move = merge.move;
  piece.bytes = (next - merge_sent) * merge.rows;
  piece.row = merge.row + (position >> std::countr_zero(local_bytes)) * merge.block_stride;
  piece.copies = merge.copies;
  piece.accumulator = merge.accumulator;
  merge_sent = next;
  if (merge_sent == merge.useful && merged_beats == merge.beats) merging = false;
  clock_.wake(clock_.now + 1);
}

void LoadEngine::write(Ring<Piece>& pieces) {
  Piece& piece = pieces.front();
  if (piece.ready > clock_.now) {
    clock_.wake(piece.ready);
    return;
  }
  clock_.wake(clock_.now + 1);
  if (!piece.accumulator && !context_.banks.write_scratchpad(piece.row)) return;
  if (--piece.copies != 0) return;
  finish(piece.move, piece.bytes);
  pieces.pop_front();
}

void LoadEngine::write_zeros() {
  if (zero.ready > clock_.now) {
    clock_.wake(zero.ready);
    return;
  }
  clock_.wake(clock_.now + 1);
  const uint32_t local_bytes = row_bytes(zero.wide);
  if (!zero.accumulator && !context_.banks.write_scratchpad(zero.row + zero_block * zero.block_stride))
    return;
  const uint32_t start = zero_block * local_bytes;
  ++zero_block;
  const uint32_t end = std::min(zero.bytes, zero_block * local_bytes);
  finish(zero.move, end - start);
  zero_active = end != zero.bytes;
}

void LoadEngine::finish(uint32_t index, uint64_t bytes) {
  Move& move = moves[index];
  move.bytes_left -= bytes;
  if (move.bytes_left != 0) return;
  move.active = false;
  move.free = clock_.now + kCompleteDelay;
  --in_flight;
  context_.station.complete_at(Engine::kLoad, move.slot, move.free);
  context_.recorder.add(Engine::kLoad, move.command, move.start, move.free);
}

void LoadEngine::describe(Words& words, const Station::Names& names) const {
  const auto slot_name = [&](int slot) -> uint64_t { return names[0][static_cast<size_t>(slot)]; };
  const auto flags = [](const auto& row) {
    return uint64_t{row.move} << 32 | uint64_t{row.accumulator} << 2 | uint64_t{row.wide} << 1 |
           uint64_t{row.scaled};
  };
  const auto row_request = [&](const RowRequest& row) {
    words.dram(row.dram);
    words.add(uint64_t{row.bytes} << 32 | row.done);
    words.add(uint64_t{row.row} << 32 | row.copies);
    words.add(uint64_t{row.rows} << 32 | row.block_stride);
    words.add(flags(row));
    words.time(row.ready);
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
      words.add(move.bytes_left);
      words.origin(move.command);
      words.start(move.start);
    } else {
      words.time(move.free);
    }
  }
  words.add(uint64_t{sending} << 1 | uint64_t{started});
  if (sending) words.add(uint64_t{sending_move} << 32 | next_row);
  words.time(controller_free);
  words.add(read_queue.size());
  for (size_t n = 0; n < read_queue.size(); ++n) row_request(read_queue[n]);
  const auto get = [&](const Get& each) {
    words.add(uint64_t{each.row_bytes} << 32 | each.row);
    words.add(uint64_t{each.copies} << 32 | each.rows);
    words.add(uint64_t{each.block_stride} << 32 | each.position);
    words.add(flags(each));
    words.add(uint64_t{each.shift} << 32 | each.useful);
    words.add(each.beats);
  };
  words.add(gets.size());
  for (size_t n = 0; n < gets.size(); ++n) get(gets[n]);
  words.add(merging);
  if (merging) {
    get(merge);
    words.add(uint64_t{merged_beats} << 32 | merge_sent);
  }
  for (const Ring<Piece>* pieces : {&narrow, &wide}) {
    words.add(pieces->size());
    for (size_t n = 0; n < pieces->size(); ++n) {
      const Piece& piece = (*pieces)[n];
      words.time(piece.ready);
      words.add(uint64_t{piece.move} << 32 | piece.bytes);
      words.add(uint64_t{piece.row} << 32 | piece.copies);
      words.add(piece.accumulator);
    }
  }
  // An entry of the scaler matters as long as it can delay the next block.
  const uint64_t occupied = scaler_occupied(true);
  for (size_t n = 0; n < scaler_free.size(); ++n) {
    const uint64_t until = scaler_free[(scaler_next + n) % scaler_free.size()];
    words.add(until + occupied > words.now() ? until + occupied - words.now() : 0);
  }
  words.add(zero_active);
  if (zero_active) {
    row_request(zero);
    words.add(zero_block);
  }
}

}  // namespace zomboss::gemmini::timing
