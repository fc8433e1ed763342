#include "plugins/targets/gemmini/sim/timing_load.h"

namespace zomboss::gemmini::timing {

LoadEngine::LoadEngine(const Machine& machine, const TimingParameters& parameters, Clock& clock,
                       MemoryPort& port, Banks& banks, Station& station, TimingResult& result, bool record)
    : machine_(machine),
      parameters_(parameters),
      clock_(clock),
      port_(port),
      banks_(banks),
      station_(station),
      result_(result),
      record_(record),
      moves_(parameters.requests_in_flight / machine.dim + 1),
      scaler_free_(std::max(parameters.scale_entries, 1u)) {}

void LoadEngine::tick() {
  write(wide_);
  write(narrow_);
  write_zeros();
  merge_out();
  merge();
  read();
  control();
}

// One command at a time sends one row request a cycle.
void LoadEngine::control() {
  if (sending_) {
    send_row();
    return;
  }
  if (queue_.empty()) return;
  const Issued& head = queue_.front();
  const uint64_t earliest = std::max(head.visible, controller_free_);
  if (earliest > clock_.now) {
    clock_.wake(earliest);
    return;
  }
  if (head.op.kind == Kind::kConfig) {
    queue_.pop_front();
    clock_.wake(clock_.now + 1);
    return;
  }
  if (head.op.rows == 0 || head.op.cols == 0) {
    station_.complete_at(Engine::kLoad, head.slot, clock_.now);
    queue_.pop_front();
    return;
  }
  size_t free = 0;
  while (free < moves_.size() && (moves_[free].active || moves_[free].free >= clock_.now)) {
    if (!moves_[free].active) clock_.wake(moves_[free].free + 1);
    ++free;
  }
  if (free == moves_.size()) return;
  moves_[free] = {true,       head.slot, head.op.command, uint64_t{head.op.rows} * head.op.row_bytes,
                  clock_.now, 0};
  ++in_flight_;
  sending_ = true;
  sending_move_ = free;
  next_row_ = 0;
  send_row();
}

void LoadEngine::send_row() {
  const Op& op = queue_.front().op;
  const bool repeated = op.dram_stride == 0 && !op.zeros;
  const uint32_t requests = repeated ? 1 : op.rows;
  if (op.zeros ? zero_active_ : read_queue_.size() >= kReadQueue) return;  // they wake us by moving on
  RowRequest request;
  request.dram = op.dram + next_row_ * op.dram_stride;
  request.bytes = op.row_bytes;
  request.row = op.local + next_row_;
  request.rows = repeated ? op.rows : 1;
  request.copies = repeated ? op.rows : op.repeats;
  request.move = sending_move_;
  request.block_stride = op.block_stride;
  request.accumulator = op.accumulator;
  request.wide = op.wide;
  request.scaled = op.scaled;
  request.ready = clock_.now + (op.zeros ? 1 : kReadDelay);
  if (op.zeros) {
    zero_active_ = true;
    zero_ = request;
    zero_block_ = 0;
  } else {
    read_queue_.push_back(request);
  }
  clock_.wake(clock_.now + 1);
  if (++next_row_ < requests) return;
  sending_ = false;
  controller_free_ = clock_.now + (requests == 1 ? 2 : 1);
  queue_.pop_front();
}

// Splits rows into naturally aligned power-of-two requests, each the one that covers most of what is left.
void LoadEngine::read() {
  if (read_queue_.empty()) return;
  RowRequest& row = read_queue_.front();
  if (row.ready > clock_.now) {
    clock_.wake(row.ready);
    return;
  }
  const uint64_t address = row.dram + row.done;
  const uint32_t left = row.bytes - row.done;
  uint32_t size = parameters_.beat_bytes, useful = 0;
  for (uint32_t s = parameters_.beat_bytes; s <= parameters_.max_request_bytes; s *= 2) {
    const uint32_t covered = std::min(left, s - static_cast<uint32_t>(address % s));
    if (covered > useful) {
      useful = covered;
      size = s;
    }
  }
  const uint32_t beats = size / parameters_.beat_bytes;
  if (!port_.request_read(beats)) return;
  gets_.push_back({row, row.done, static_cast<uint32_t>(address % size), useful, beats});
  ++result_.counters.gets;
  result_.counters.read_bytes += size;
  row.done += useful;
  if (row.done == row.bytes) read_queue_.pop_front();
  clock_.wake(clock_.now + 1);
}

// Takes one response beat.
void LoadEngine::merge() {
  if (merging_ && merged_beats_ == merge_.beats) return;
  if (!port_.read_beat_ready()) return;
  if (!merging_) {
    merging_ = true;
    merge_ = gets_.front();
    gets_.pop_front();
    merged_beats_ = 0;
    merge_sent_ = 0;
  }
  ++merged_beats_;
  port_.take_beat();
}

// Sends one local row on, when all its bytes are there.
void LoadEngine::merge_out() {
  if (!merging_) return;
  if (merge_sent_ == merge_.useful) {  // only padding was still to come
    if (merged_beats_ == merge_.beats) merging_ = false;
    return;
  }
  const uint32_t local_bytes = row_bytes(merge_.row.wide);
  const uint32_t arrived = merged_beats_ * parameters_.beat_bytes;
  const uint32_t useful = std::min(merge_.useful, arrived > merge_.shift ? arrived - merge_.shift : 0);
  const uint32_t position = merge_.position + merge_sent_;
  const uint32_t next = std::min(merge_.useful, merge_sent_ + local_bytes - position % local_bytes);
  if (useful <= merge_sent_ || useful < next) return;
  std::deque<Piece>& queue = merge_.row.wide ? wide_ : narrow_;
  if (queue.size() >= kWriteQueue) return;
  Piece piece;
  piece.ready = clock_.now + (merge_.row.wide ? kWideDelay : kNarrowDelay);
  if (merge_.row.scaled) {
    uint64_t& entry = scaler_free_[scaler_next_];
    scaler_next_ = (scaler_next_ + 1) % scaler_free_.size();
    const uint64_t occupied = uint64_t{parameters_.scale_entries} * machine_.dim / parameters_.scale_units +
                              (merge_.row.bytes > local_bytes ? parameters_.scale_burst_delay : 0);
    piece.ready = entry = std::max(piece.ready, entry + occupied);
  }
  piece.move = merge_.row.move;
  piece.bytes = uint64_t{next - merge_sent_} * merge_.row.rows;
  piece.row = merge_.row.row + position / local_bytes * merge_.row.block_stride;
  piece.copies = merge_.row.copies;
  piece.accumulator = merge_.row.accumulator;
  queue.push_back(piece);
  merge_sent_ = next;
  if (merge_sent_ == merge_.useful && merged_beats_ == merge_.beats) merging_ = false;
  clock_.wake(clock_.now + 1);
}

void LoadEngine::write(std::deque<Piece>& queue) {
  if (queue.empty()) return;
  Piece& piece = queue.front();
  if (piece.ready > clock_.now) {
    clock_.wake(piece.ready);
    return;
  }
  clock_.wake(clock_.now + 1);
  if (!piece.accumulator && !banks_.write_scratchpad(piece.row)) return;
  if (--piece.copies != 0) return;
  finish(piece.move, piece.bytes);
  queue.pop_front();
}

void LoadEngine::write_zeros() {
  if (!zero_active_) return;
  if (zero_.ready > clock_.now) {
    clock_.wake(zero_.ready);
    return;
  }
  clock_.wake(clock_.now + 1);
  const uint32_t local_bytes = row_bytes(zero_.wide);
  if (!zero_.accumulator && !banks_.write_scratchpad(zero_.row + zero_block_ * zero_.block_stride)) return;
  const uint32_t start = zero_block_ * local_bytes;
  ++zero_block_;
  const uint32_t end = std::min(zero_.bytes, zero_block_ * local_bytes);
  finish(zero_.move, end - start);
  zero_active_ = end != zero_.bytes;
}

void LoadEngine::finish(size_t index, uint64_t bytes) {
  Move& move = moves_[index];
  move.bytes_left -= bytes;
  if (move.bytes_left != 0) return;
  move.active = false;
  move.free = clock_.now + kCompleteDelay;
  --in_flight_;
  station_.complete_at(Engine::kLoad, move.slot, move.free);
  if (record_) result_.timeline.push_back({Engine::kLoad, move.command, move.start, move.free});
}

}  // namespace zomboss::gemmini::timing
