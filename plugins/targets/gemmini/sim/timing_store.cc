#include "plugins/targets/gemmini/sim/timing_store.h"

namespace zomboss::gemmini::timing {

StoreEngine::StoreEngine(const Machine& machine, const TimingParameters& parameters, Clock& clock,
                         MemoryPort& port, Banks& banks, Station& station, TimingResult& result, bool record)
    : machine_(machine),
      parameters_(parameters),
      clock_(clock),
      port_(port),
      banks_(banks),
      station_(station),
      result_(result),
      record_(record),
      moves_(parameters.requests_in_flight / machine.dim + 1) {}

void StoreEngine::tick() {
  acknowledge();
  put();
  take_row();
  dispatch();
  control();
}

void StoreEngine::control() {
  if (sending_) {
    send_block();
    return;
  }
  if (queue_.empty()) return;
  const Issued& head = queue_.front();
  if (head.visible > clock_.now) {
    clock_.wake(head.visible);
    return;
  }
  if (head.op.kind == Kind::kConfig) {
    queue_.pop_front();
    clock_.wake(clock_.now + 1);
    return;
  }
  const Op& op = head.op;
  const Pooling& pool = op.pooling;
  const uint64_t blocks = (op.cols + machine_.dim - 1) / machine_.dim;
  const uint64_t pixels = uint64_t{pool.pooled_rows} * pool.pooled_cols;
  total_ = pool.stride == 0 ? op.rows * blocks : pixels * pool.size * pool.size * (op.cols == 0 ? 0 : 1);
  if (total_ == 0) {
    station_.complete_at(Engine::kStore, head.slot, clock_.now);
    queue_.pop_front();
    return;
  }
  size_t free = 0;
  while (free < moves_.size() && (moves_[free].active || moves_[free].free >= clock_.now)) {
    if (!moves_[free].active) clock_.wake(moves_[free].free + 1);
    ++free;
  }
  if (free == moves_.size()) return;
  moves_[free] = {true, head.slot, op.command, total_, clock_.now, 0};
  ++in_flight_;
  sending_ = true;
  sending_move_ = free;
  next_ = 0;
  send_block();
}

StoreEngine::Request StoreEngine::block_request(const Op& op) const {
  Request request;
  const Pooling& pool = op.pooling;
  if (pool.stride == 0) {
    const uint32_t blocks = (op.cols + machine_.dim - 1) / machine_.dim;
    const auto row = static_cast<uint32_t>(next_ / blocks), block = static_cast<uint32_t>(next_ % blocks);
    request.row = op.local + row + block * machine_.dim;
    request.last = block + 1 == blocks;
    request.dram = op.dram + row * op.dram_stride;
  } else {
    const uint32_t window = uint32_t{pool.size} * pool.size;
    const auto pixel = static_cast<uint32_t>(next_ / window), element = static_cast<uint32_t>(next_ % window);
    const uint32_t prow = pixel / pool.pooled_cols, pcol = pixel % pool.pooled_cols;
    const uint32_t row = prow * pool.stride + element / pool.size,
                   col = pcol * pool.stride + element % pool.size;
    request.row = op.local + row * pool.cols + col;
    request.last = element + 1 == window;
    request.dram = op.dram + (uint64_t{prow} * pool.out_dim + pcol) * op.dram_stride;
  }
  request.bytes = op.row_bytes;
  request.accumulator = op.accumulator;
  request.move = sending_move_;
  request.ready = clock_.now + (op.accumulator ? kAccumulatorDispatch : kScratchpadDispatch);
  return request;
}

// One row block a cycle.
void StoreEngine::send_block() {
  if (dispatch_.size() >= kDispatchQueue) return;
  dispatch_.push_back(block_request(queue_.front().op));
  clock_.wake(clock_.now + 1);
  if (++next_ < total_) return;
  sending_ = false;
  queue_.pop_front();
}

// Reads the local bank; the data reach the writer later, in order.
void StoreEngine::dispatch() {
  if (dispatch_.empty() || issue_.size() >= kIssueQueue) return;
  Request request = dispatch_.front();
  if (request.ready > clock_.now) {
    clock_.wake(request.ready);
    return;
  }
  clock_.wake(clock_.now + 1);
  const bool granted =
      request.accumulator ? banks_.read_accumulator(request.row) : banks_.read_scratchpad(request.row);
  if (!granted) return;
  dispatch_.pop_front();
  request.ready = clock_.now + (request.accumulator ? kAccumulatorRead : kScratchpadRead);
  issue_.push_back(request);
}

// The writer collects the blocks of a DRAM row; it takes nothing while it sends one.
void StoreEngine::take_row() {
  if (issue_.empty() || writing_) return;
  const uint64_t earliest = std::max(issue_.front().ready, writer_free_);
  if (earliest > clock_.now) {
    clock_.wake(earliest);
    return;
  }
  clock_.wake(clock_.now + 1);
  if (issue_.front().last) {
    writing_ = true;
    writing_row_ = issue_.front();
    writing_row_.ready = clock_.now + 1;
    written_ = 0;
  }
  finish_block(issue_.front().move);
  issue_.pop_front();
}

void StoreEngine::finish_block(size_t index) {
  Move& move = moves_[index];
  if (--move.blocks_left != 0) return;
  move.active = false;
  move.free = clock_.now + kCompleteDelay;
  --in_flight_;
  station_.complete_at(Engine::kStore, move.slot, move.free);
  if (record_) result_.timeline.push_back({Engine::kStore, move.command, move.start, move.free});
}

void StoreEngine::put() {
  if (!writing_) return;
  if (writing_row_.ready > clock_.now) {
    clock_.wake(writing_row_.ready);
    return;
  }
  const uint64_t address = writing_row_.dram + written_;
  const uint32_t left = writing_row_.bytes - written_;
  uint32_t size = parameters_.beat_bytes, useful = 0;
  for (uint32_t s = parameters_.beat_bytes; s <= parameters_.max_request_bytes; s *= 2) {
    const uint32_t covered = std::min(left, s - static_cast<uint32_t>(address % s));
    if (covered > useful) {
      useful = covered;
      size = s;
    }
  }
  const uint32_t beats = size / parameters_.beat_bytes;
  if (!port_.request_write(beats)) return;
  ++result_.counters.puts;
  result_.counters.written_bytes += size;
  ++unacknowledged_;
  written_ += useful;
  writing_row_.ready = clock_.now + beats;
  writer_free_ = clock_.now + beats - 1;  // the next row's first block enters with the last beat
  writing_ = written_ != writing_row_.bytes;
  clock_.wake(clock_.now + 1);
}

void StoreEngine::acknowledge() {
  if (drained_at_ > clock_.now) clock_.wake(drained_at_);
  if (!port_.write_ack_ready()) return;
  port_.take_beat();
  --unacknowledged_;
  drained_at_ = clock_.now + kDrainDelay;
  clock_.wake(drained_at_);
}

}  // namespace zomboss::gemmini::timing
