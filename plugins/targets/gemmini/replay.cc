#include "plugins/targets/gemmini/replay.h"

#include <algorithm>
#include <cmath>

namespace zomboss::gemmini {
namespace {

// Fixed costs and rates, read off measurements of the hardware.
constexpr double kFront = 5;          // command offered to its station entry
constexpr double kRequestDelay = 12;  // load issued to data, beyond the memory latency
constexpr double kWindowDelay = 7;    // a request holds its place in the window for so much more
constexpr double kHandOver = 4;       // last row moved to the start of what waited for it
constexpr double kArrayFill = 5;      // last operand row to last result row, beyond 2 * dim
constexpr double kStoreStart = 10;    // store issued to its first row
constexpr double kStoreRow = 1.62;    // of one block from the accumulator
constexpr double kStoreBlock = 1.79;  // of each further block of a row
constexpr double kStoreDelay = 7;     // last row on its way to acknowledgement, beyond the memory latency
constexpr double kScaledBlock = 6.4;  // row block of a load whose scale is not 1

// A row of `bytes` from `address` goes in aligned requests of 1, 2 or 4 beats, each the one that covers most.
uint32_t requests_of(uint64_t address, uint64_t bytes, uint64_t beat) {
  uint32_t requests = 0;
  for (const uint64_t end = address + bytes; address < end; ++requests) {
    uint64_t covered = 0;
    for (const uint64_t size : {4 * beat, 2 * beat, beat})
      covered = std::max(covered, std::min(address / size * size + size, end) - address);
    address += covered;
  }
  return requests;
}

}  // namespace

Replay::Entries::Entries(uint32_t count) : free_at_(std::max(count, 2u)) {}

void Replay::Entries::take(double until) {
  size_t at = 0;
  for (; at + 1 < free_at_.size() && free_at_[at + 1] < until; ++at) free_at_[at] = free_at_[at + 1];
  free_at_[at] = until;
}

Replay::Window::Window(uint32_t places) : returns_(std::max(places, 1u)) {}

double Replay::Window::send(double when, double round_trip) {
  const double sent = std::max(when, returns_[next_]);
  returns_[next_] = sent + round_trip;
  next_ = (next_ + 1) % returns_.size();
  return sent;
}

Replay::Replay(const Machine& machine, const MemorySystem& memory, uint32_t latency, uint32_t command_gap)
    : machine_(machine),
      bus_(memory.bus_bytes),
      latency_(latency),
      gap_(command_gap),
      load_entries_(machine.load_entries),
      execute_entries_(machine.execute_entries),
      store_entries_(machine.store_entries),
      reads_(memory.in_flight),
      writes_back_(memory.in_flight),
      scratchpad_(machine.scratchpad_rows / machine.dim + 1),
      accumulator_(machine.accumulator_rows / machine.dim + 1) {}

void Replay::add(const Command& command) {
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kConfig:
      return configure(command);
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
      return add_load(command);
    case Funct::kMvout:
      return add_store(command);
    case Funct::kPreload:
      preload_ = command;
      return;
    case Funct::kComputeFlip:
    case Funct::kComputeStay:
      return add_step(command);
    case Funct::kFence:
      while (!pending_.empty()) place_store();
      front_ = std::max(front_, end_) + 2;
      return;
    default:
      return issue(0, 1);
  }
}

ReplayTimes Replay::finish() {
  while (!pending_.empty()) place_store();
  times_.cycles = std::max(end_, front_);
  return times_;
}

template <typename Visit>
void Replay::for_blocks(std::vector<Block>& memory, uint32_t row, uint32_t rows, Visit visit) const {
  const size_t last = std::min<size_t>((row + std::max(rows, 1u) - 1) / machine_.dim, memory.size() - 1);
  for (size_t block = row / machine_.dim; block <= last; ++block) visit(memory[block]);
}

uint32_t Replay::banks_of(uint32_t row, uint32_t rows) const {
  const uint32_t bank_rows = machine_.scratchpad_bank_rows();
  return 1u << (row / bank_rows & 31) | 1u << ((row + std::max(rows, 1u) - 1) / bank_rows & 31);
}

uint32_t Replay::accumulator_bank(uint32_t row) const {
  return 1u << (row / machine_.accumulator_bank_rows() & 31);
}

void Replay::issue(double available, double commands) {
  front_ = std::max(front_, available) + commands * (1 + gap_);
}

void Replay::configure(const Command& command) {
  issue(0, 1);
  switch (config_kind(command)) {
    case ConfigKind::kExecute:
      // It waits for the array to be empty.
      ex_ = decode_config_ex(command);
      if (results_ > 0) computed_ = std::max(computed_, results_ + kHandOver);
      return;
    case ConfigKind::kLoad: {
      const ConfigLd config = decode_config_ld(command);
      if (config.state < ld_.size()) ld_[config.state] = config;
      return;
    }
    case ConfigKind::kStore:
      st_ = decode_config_st(command);
      return;
    case ConfigKind::kNorm:
      return;
  }
}

// Places stores, the oldest first, until none of these rows waits for one.
void Replay::settle(uint32_t row, uint32_t rows) {
  const auto waits = [&] {
    bool any = false;
    for_blocks(accumulator_, row, rows, [&](const Block& block) { any = any || block.pending > 0; });
    return any;
  };
  while (!pending_.empty() && waits()) place_store();
}

void Replay::add_load(const Command& load) {
  issue(load_entries_.available(1), 1);
  const ConfigLd& config = ld_[static_cast<size_t>(load_state_of(load.funct))];
  const Operand local = decode_operand(load.rs2);
  const bool accumulator = is_accumulator(local.address), zeros = load.rs1 == 0;
  const uint32_t row = target_row(local.address), blocks = (local.cols + machine_.dim - 1) / machine_.dim;
  std::vector<Block>& memory = accumulator ? accumulator_ : scratchpad_;
  double free = front_ + kFront;
  for (uint32_t b = 0; b < blocks; ++b) {
    const uint32_t first = row + b * config.block_stride;
    if (accumulator) settle(first, local.rows);
    for_blocks(memory, first, local.rows, [&](const Block& block) {
      free = std::max({free, block.used, block.written});
    });
  }
  // Two moves are under way at most; requests leave in order, data come in order.
  const double request = std::max({free, request_free_, loaded_before_last_ + 1});
  const bool repeats = config.dram_stride_bytes == 0 && local.rows > 1;
  const uint64_t bytes = uint64_t{local.cols} * (accumulator && !config.shrink ? 4 : 1);
  double row_cycles = static_cast<double>(repeats || zeros ? blocks : (bytes + bus_ - 1) / bus_);
  if (config.scale != 1.0f && !zeros && (!accumulator || config.shrink))
    row_cycles = std::max(row_cycles, kScaledBlock * blocks);
  row_cycles = std::max<double>(row_cycles, config.pixel_repeats);
  double sent = request, first = 0;
  for (uint32_t r = 0; r < local.rows; ++r) {
    if (!zeros && (r == 0 || !repeats)) {
      const uint32_t requests = requests_of(load.rs1 + r * config.dram_stride_bytes, bytes, bus_);
      for (uint32_t n = 0; n < requests; ++n)
        sent = reads_.send(r + n == 0 ? sent : sent + 1, latency_ + kWindowDelay);
    }
    data_free_ = std::max(sent + (zeros ? 0 : latency_) + kRequestDelay, data_free_) + row_cycles;
    if (r == 0) first = data_free_;
  }
  request_free_ = sent + 1;
  const double last = data_free_;
  loaded_before_last_ = loaded_last_;
  loaded_last_ = last;
  load_entries_.take(last);
  uint32_t banks = 0;
  for (uint32_t b = 0; b < blocks; ++b) {
    const uint32_t begin = row + b * config.block_stride;
    for_blocks(memory, begin, local.rows, [&](Block& block) { block.loaded = last + kHandOver; });
    banks |= banks_of(begin, local.rows);
  }
  if (!accumulator) {
    const Use use{first, last, banks, std::min(1.0, local.rows * blocks / (last - first + 1))};
    push_back_steps(use);
    writes_.add(use);
  }
  end_ = std::max(end_, last);
  times_.load += last - first;
}

// Writes win over reads: steps that were already placed in the time of a move move back.
void Replay::push_back_steps(const Use& write) {
  double work = 0, begin = write.end;
  for (const Use& step : steps_.uses) {
    if ((step.banks & write.banks) == 0) continue;
    const double shared = std::min(step.end, write.end) - std::max(step.start, write.start);
    if (shared <= 0) continue;
    work += shared;
    begin = std::min(begin, std::max(step.start, write.start));
  }
  const double most = (write.end - begin) * write.share;
  const double stall = write.share < 1 ? std::min(most, work * write.share / (1 - write.share)) : most;
  if (stall <= 0) return;
  computed_ += stall;
  if (compute_start_ > begin) compute_start_ += stall;
}

// When operand rows that take `rows` cycles have streamed, begun at `start`, past the moves that write their
// banks.
double Replay::stream_rows(double start, double rows, uint32_t banks) {
  double at = start, left = rows;
  for (size_t i = 0; i < writes_.uses.size() && banks != 0; ++i) {
    const Use& write = writes_.at(i);
    if ((write.banks & banks) == 0 || write.end <= at) continue;
    const double before = std::max(0.0, write.start - at);
    if (left <= before) break;
    left -= before;
    at += before;
    const double during = (write.end - at) * (1 - write.share);
    if (left <= during) {
      at += left / (1 - write.share);
      left = 0;
      break;
    }
    left -= during;
    at = write.end;
  }
  at += left;
  steps_.add({start, at, banks, 1});
  return at;
}

// A preload passes the array while the step before is computed, if it can start no later than that; otherwise
// it takes a pass of its own.
void Replay::add_step(const Command& compute) {
  issue(execute_entries_.available(2), 2);
  const uint32_t dim = machine_.dim;
  const bool stationary = ex_.dataflow == Dataflow::kWeightStationary;
  const bool flip = compute.funct == static_cast<uint32_t>(Funct::kComputeFlip);
  const Operand stays = decode_operand(preload_.rs1), result = decode_operand(preload_.rs2);
  const Operand a = decode_operand(compute.rs1), streamed = decode_operand(compute.rs2);
  // Weight stationary, B is what the preload names; output stationary, it streams with A.
  const Operand b = stationary ? stays : streamed;
  const bool has_b = b.address != kGarbage && !is_accumulator(b.address) && (flip || !stationary);
  const bool has_c = result.address != kGarbage, sums_up = has_c && is_accumulator(result.address);
  const bool passes = stationary && has_b;
  const uint32_t a_row = target_row(a.address), b_row = target_row(b.address),
                 c_row = has_c ? target_row(result.address) : 0;
  const uint32_t a_rows = (ex_.transpose_a ? a.cols : a.rows) * std::max<uint32_t>(ex_.a_stride, 1);
  const uint32_t b_rows = ex_.transpose_b ? b.cols : b.rows;
  const uint32_t c_rows = result.rows * std::max<uint32_t>(ex_.c_stride, 1);
  const uint32_t a_banks = banks_of(a_row, a_rows), b_banks = has_b ? banks_of(b_row, b_rows) : 0;
  const double pass = passes && ex_.transpose_b ? 2.0 * dim : dim;

  double a_loaded = 0, b_loaded = 0;
  for_blocks(scratchpad_, a_row, a_rows, [&](const Block& x) {
    a_loaded = std::max({a_loaded, x.loaded, x.written});
  });
  if (has_b)
    for_blocks(scratchpad_, b_row, b_rows, [&](const Block& x) {
      b_loaded = std::max({b_loaded, x.loaded, x.written});
    });
  const double operands = stationary ? a_loaded : std::max(a_loaded, b_loaded);

  // Commands leave the station in order, one a cycle.
  double preload = std::max(front_ + kFront, compute_issued_ + 1);
  if (passes) preload = std::max(preload, b_loaded);
  if (has_c) {
    if (sums_up) settle(c_row, c_rows);
    for_blocks(sums_up ? accumulator_ : scratchpad_, c_row, c_rows, [&](const Block& x) {
      preload = std::max({preload, x.used + kHandOver, x.loaded});
    });
  }
  double preloaded = 0;
  if (preload <= compute_start_) {
    // Both in the pass of the step before: operands in one bank take turns.
    const bool turns = passes && (b_banks & compute_banks_) != 0;
    // Without new weights there is nothing to pass, and a step of few rows is short.
    preloaded =
        stationary && !passes ? computed_ : std::max(computed_, compute_start_ + pass) + (turns ? dim : 0);
    if (passes && !turns)
      preloaded = std::max(preloaded,
                           stream_rows(compute_start_, std::max(pass, computed_ - compute_start_), b_banks));
  } else {
    // Alone, it waits until its step could follow.
    preloaded = stream_rows(std::max({preload, computed_, operands}), pass, passes ? b_banks : 0);
  }
  computed_ = std::max(computed_, preloaded);

  double rows = dim;
  if (stationary && !passes) rows = std::max<double>(a.rows, 4);
  compute_issued_ = std::max(preload + 1, operands);
  uint32_t banks = a_banks;
  if (!stationary) {
    banks |= b_banks;
    if ((a_banks & b_banks) != 0) rows += dim;
  }
  compute_start_ = std::max(computed_, compute_issued_);
  compute_banks_ = banks;
  computed_ = stream_rows(compute_start_, rows, banks);
  const double written = computed_ + 2.0 * dim + kArrayFill + (stationary ? 0 : dim);
  for_blocks(scratchpad_, a_row, a_rows, [&](Block& x) { x.used = computed_; });
  if (has_b) for_blocks(scratchpad_, b_row, b_rows, [&](Block& x) { x.used = passes ? written : computed_; });
  if (has_c)
    for_blocks(sums_up ? accumulator_ : scratchpad_, c_row, c_rows, [&](Block& x) { x.written = written; });
  if (sums_up && (result.address & kAccumulateBit) != 0)
    sums_.add({written - rows, written, accumulator_bank(c_row), 1});
  execute_entries_.take(computed_);
  execute_entries_.take(has_c ? written : computed_);
  if (has_c) results_ = written;
  end_ = std::max(end_, has_c ? written : computed_);
  times_.execute += rows;
}

// A store is placed when something needs to know: until then, more is known of the results that it yields to.
void Replay::add_store(const Command& store) {
  if (pending_.size() >= machine_.store_entries) place_store();
  issue(store_entries_.available(1), 1);
  pending_.push_back({store, st_, front_ + kFront});
  const Operand local = decode_operand(store.rs2);
  if (!is_accumulator(local.address)) return place_store();
  for (uint32_t b = 0; b * machine_.dim < local.cols; ++b)
    for_blocks(accumulator_, mvout_row(local.address) + b * machine_.dim, local.rows,
               [](Block& block) { ++block.pending; });
}

void Replay::place_store() {
  const Store store = pending_.front();
  pending_.pop_front();
  const Operand local = decode_operand(store.command.rs2);
  const bool accumulator = is_accumulator(local.address), full = (local.address & kFullRowBit) != 0;
  std::vector<Block>& memory = accumulator ? accumulator_ : scratchpad_;
  const uint32_t row = mvout_row(local.address), blocks = (local.cols + machine_.dim - 1) / machine_.dim;
  double ready = store.issued;
  for (uint32_t b = 0; b < blocks; ++b)
    for_blocks(memory, row + b * machine_.dim, local.rows, [&](const Block& block) {
      ready = std::max({ready, block.written + 2, block.loaded});
    });
  const double read = !accumulator || full ? 1.0 : kStoreRow + kStoreBlock * (blocks - 1);
  const uint64_t bytes = uint64_t{local.cols} * (accumulator && full ? 4 : 1);
  const double row_cycles = std::max(read, static_cast<double>((bytes + bus_ - 1) / bus_));
  const uint32_t bank = accumulator ? accumulator_bank(row) : 0;
  double left = std::max(ready + kStoreStart, stored_);
  const double begun = left;
  for (uint32_t r = 0; r < local.rows; ++r) {
    // Results that are added to what is there take the bank's read port.
    for (size_t i = 0; i < sums_.uses.size() && bank != 0; ++i) {
      const Use& sum = sums_.at(i);
      if ((sum.banks & bank) != 0 && sum.start <= left && left < sum.end) left = sum.end;
    }
    left += row_cycles;
    const uint32_t requests =
        requests_of(store.command.rs1 + uint64_t{r} * store.config.dram_stride_bytes, bytes, bus_);
    for (uint32_t n = 0; n < requests; ++n) left = writes_back_.send(left, latency_ + kWindowDelay);
  }
  stored_ = left;
  store_entries_.take(left);
  for (uint32_t b = 0; b < blocks; ++b)
    for_blocks(memory, row + b * machine_.dim, local.rows, [&](Block& block) {
      block.used = left;
      if (block.pending > 0) --block.pending;
    });
  end_ = std::max(end_, left + latency_ + kStoreDelay);
  times_.store += left - begun;
}

uint64_t kernel_hash(std::span<const Command> commands, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  mix(seed);
  for (const Command& command : commands) {
    mix(command.funct);
    mix(command.rs1);
    mix(command.rs2);
  }
  return hash;
}

}  // namespace zomboss::gemmini
