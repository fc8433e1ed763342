#include "plugins/targets/gemmini/matmul/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "plugins/targets/gemmini/matmul/transform.h"

namespace zomboss::gemmini {
namespace {

using Kind = Operation::Kind;

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
constexpr double kLoopCommands = 6;   // of one loop_ws

// When the entries of one class of the station become free again, the earliest first.
class Entries {
 public:
  explicit Entries(uint32_t count) : free_at_(std::max(count, 2u)) {}
  double available(size_t entries) const { return free_at_[entries - 1]; }
  void take(double until) {
    size_t at = 0;
    for (; at + 1 < free_at_.size() && free_at_[at + 1] < until; ++at) free_at_[at] = free_at_[at + 1];
    free_at_[at] = until;
  }

 private:
  std::vector<double> free_at_;
};

// Memory requests under way: the next one waits until the one that was sent `places` before has returned.
class Window {
 public:
  explicit Window(uint32_t places) : returns_(std::max(places, 1u)) {}
  double send(double when, double round_trip) {
    const double sent = std::max(when, returns_[next_]);
    returns_[next_] = sent + round_trip;
    next_ = (next_ + 1) % returns_.size();
    return sent;
  }

 private:
  std::vector<double> returns_;
  size_t next_ = 0;
};

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

// A time in which an engine uses a bank, for `share` of the cycles.
struct Use {
  double start = 0, end = 0;
  uint32_t banks = 0;  // a bit each
  double share = 1;
};
double overlap(const Use& use, double start, double end) {
  return std::max(0.0, std::min(use.end, end) - std::max(use.start, start));
}

class Replay {
 public:
  Replay(const Schedule& schedule, const MachineModel& model, uint32_t latency)
      : schedule_(schedule),
        machine_(model.machine),
        bus_(model.memory.bus_bytes),
        reads_(model.memory.in_flight),
        writes_back_(model.memory.in_flight),
        latency_(latency),
        load_entries_(machine_.load_entries),
        execute_entries_(machine_.execute_entries),
        store_entries_(machine_.store_entries),
        scratchpad_(machine_.scratchpad_rows / machine_.dim + 1),
        accumulator_(machine_.accumulator_rows / machine_.dim + 1) {}

  // The time when half of the tiles had begun goes to `middle`.
  Estimate run(double* middle) {
    const size_t half = schedule_.tiles.size() / 2;
    for (const Operation& operation : schedule_.operations) {
      if (operation.place.tile >= half && *middle == 0) *middle = std::max(computed_, 1.0);
      switch (operation.kind) {
        case Kind::kFence:
          settle_all();
          front_ = std::max(front_, end_) + 2;
          break;
        case Kind::kLoad:
          add_load(operation);
          break;
        case Kind::kStep:
          add_step(operation);
          break;
        case Kind::kStore:
          add_store(operation);
          break;
      }
    }
    settle_all();
    result_.cycles = std::max(end_, front_);
    return result_;
  }

 private:
  struct Block {
    double loaded = 0;     // the last load of it is done
    double written = 0;    // the last result in it is there
    double used = 0;       // what last read it is done with it
    uint32_t pending = 0;  // stores of it that are not placed yet
  };

  bool is_loop() const { return schedule_.interface == Interface::kLoopWs; }
  uint32_t bank_of(uint32_t row) const { return row / machine_.scratchpad_bank_rows(); }
  // Loops cost commands only at their start.
  void issue(const Operation& operation, double available, double commands) {
    if (is_loop()) {
      if (operation.place.tile != loop_tile_) {
        loop_tile_ = operation.place.tile;
        front_ += kLoopCommands;
      }
    }
    front_ = std::max(front_, available) + commands;
  }

  void add_load(const Operation& load) {
    const Stream& stream = schedule_.streams[load.stream];
    issue(load, load_entries_.available(1), 1);
    const uint32_t dim = machine_.dim;
    const uint32_t blocks = (load.cols + dim - 1) / dim;
    std::vector<Block>& memory = stream.accumulator ? accumulator_ : scratchpad_;
    double free = front_ + kFront;
    for (uint32_t b = 0; b < blocks; ++b) {
      const Block& block = memory[load.row / dim + b];
      settle(block);
      free = std::max({free, block.used, block.written});
    }
    // Two moves are under way at most; requests leave in order, data come in order.
    const double request = std::max({free, request_free_, loaded_before_last_ + 1});
    const bool repeats = stream.stride_bytes == 0 && load.rows > 1;
    const uint64_t bytes = uint64_t{load.cols} * stream.element_bytes();
    const auto beats = static_cast<double>((bytes + bus_ - 1) / bus_);
    double sent = request, first = 0;
    for (uint32_t r = 0; r < load.rows; ++r) {
      if (r == 0 || !repeats) {
        const uint32_t requests = requests_of(load.dram + r * stream.stride_bytes, bytes, bus_);
        for (uint32_t n = 0; n < requests; ++n)
          sent = reads_.send(r + n == 0 ? sent : sent + 1, latency_ + kWindowDelay);
      }
      data_free_ = std::max(sent + latency_ + kRequestDelay, data_free_) + (repeats ? 1 : beats);
      if (r == 0) first = data_free_;
    }
    request_free_ = sent + 1;
    const double last = data_free_;
    loaded_before_last_ = loaded_last_;
    loaded_last_ = last;
    load_entries_.take(last);
    for (uint32_t b = 0; b < blocks; ++b) memory[load.row / dim + b].loaded = last + kHandOver;
    if (!stream.accumulator) {
      const Use use{first, last, 1u << (bank_of(load.row) & 31),
                    std::min(1.0, load.rows * blocks / (last - first + 1))};
      push_back_steps(use);
      writes_[next_write_++ % writes_.size()] = use;
    }
    end_ = std::max(end_, last);
    result_.load += last - first;
  }

  // Writes win over reads: steps that were already placed in the time of a move move back.
  void push_back_steps(const Use& write) {
    double work = 0, begin = write.end;
    for (const Use& step : steps_) {
      if ((step.banks & write.banks) == 0) continue;
      const double shared = overlap(step, write.start, write.end);
      if (shared == 0) continue;
      work += shared;
      begin = std::min(begin, std::max(step.start, write.start));
    }
    const double most = (write.end - begin) * write.share;
    const double stall = write.share < 1 ? std::min(most, work * write.share / (1 - write.share)) : most;
    if (stall <= 0) return;
    computed_ += stall;
    if (compute_start_ > begin) compute_start_ += stall;
  }

  // When operand rows that take `rows` cycles have streamed, begun at `start`, past the moves that write
  // their banks.
  double stream_rows(double start, double rows, uint32_t banks) {
    double at = start, left = rows;
    for (size_t i = 0; i < writes_.size() && banks != 0; ++i) {
      const Use& write = writes_[(next_write_ + i) % writes_.size()];  // the oldest first
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
    steps_[next_step_++ % steps_.size()] = {start, at, banks, 1};
    return at;
  }

  // A preload passes the array while the step before is computed, if it can start no later than that;
  // otherwise it takes a pass of its own.
  void add_step(const Operation& step) {
    issue(step, execute_entries_.available(2), 2);
    const uint32_t dim = machine_.dim;
    const bool stationary = schedule_.dataflow == ArrayDataflow::kWeightStationary;
    Block& a = scratchpad_[step.row / dim];
    Block& b = scratchpad_[step.b_row / dim];
    Block& c = accumulator_[step.c_row / dim];
    const uint32_t a_bank = 1u << (bank_of(step.row) & 31), b_bank = 1u << (bank_of(step.b_row) & 31);
    settle(c);
    const bool passes = stationary && step.flip;
    const double pass = passes && schedule_.b_transposed ? 2.0 * dim : dim;

    // Commands leave the station in order, one a cycle.
    double preload = std::max({front_ + kFront, c.used + kHandOver, c.loaded, compute_issued_ + 1});
    if (passes) preload = std::max(preload, b.loaded);
    double preloaded = 0;
    if (preload <= compute_start_) {
      // Both in the pass of the step before: operands in one bank take turns.
      const bool turns = passes && (b_bank & compute_banks_) != 0;
      preloaded = std::max(computed_, compute_start_ + pass) + (turns ? dim : 0);
      if (passes && !turns)
        preloaded = std::max(preloaded,
                             stream_rows(compute_start_, std::max(pass, computed_ - compute_start_), b_bank));
    } else {
      // Alone, it waits until its step could follow.
      const double operands = stationary ? a.loaded : std::max(a.loaded, b.loaded);
      preloaded = stream_rows(std::max({preload, computed_, operands}), pass, passes ? b_bank : 0);
    }
    computed_ = std::max(computed_, preloaded);

    double rows = dim;
    if (stationary && !step.flip) rows = std::max<double>(step.rows, 4);
    compute_issued_ = std::max(preload + 1, stationary ? a.loaded : std::max(a.loaded, b.loaded));
    const double start = std::max(computed_, compute_issued_);
    uint32_t banks = a_bank;
    if (!stationary) {
      banks |= b_bank;
      if (a_bank == b_bank) rows += dim;
    }
    compute_start_ = start;
    compute_banks_ = banks;
    computed_ = stream_rows(start, rows, banks);
    a.used = computed_;
    c.written = computed_ + 2.0 * dim + kArrayFill + (stationary ? 0 : dim);
    if (step.accumulate)
      sums_[next_sum_++ % sums_.size()] = {c.written - rows, c.written,
                                           1u << (step.c_row / machine_.accumulator_bank_rows() & 31), 1};
    if (passes) b.used = c.written;
    if (!stationary) b.used = computed_;
    execute_entries_.take(computed_);
    execute_entries_.take(c.written);
    end_ = std::max(end_, c.written);
    result_.execute += rows;
  }

  // A store is placed when something needs to know: until then, more is known of the results that it yields
  // to.
  void add_store(const Operation& store) {
    if (pending_.size() >= machine_.store_entries) place_store();
    issue(store, store_entries_.available(1), 1);
    pending_.push_back({&store, front_ + kFront});
    for_blocks(store, [](Block& block) { ++block.pending; });
  }

  void settle(const Block& block) {
    while (block.pending > 0) place_store();
  }
  void settle_all() {
    while (!pending_.empty()) place_store();
  }

  template <typename Visit>
  void for_blocks(const Operation& move, Visit visit) {
    std::vector<Block>& memory = schedule_.streams[move.stream].accumulator ? accumulator_ : scratchpad_;
    for (uint32_t b = 0; b * machine_.dim < move.cols; ++b) visit(memory[move.row / machine_.dim + b]);
  }

  void place_store() {
    const Operation& store = *pending_.front().operation;
    double ready = pending_.front().issued;
    pending_.pop_front();
    const Stream& stream = schedule_.streams[store.stream];
    for_blocks(store, [&](const Block& block) {
      ready = std::max({ready, block.written + 2, block.loaded});
    });
    const uint32_t blocks = (store.cols + machine_.dim - 1) / machine_.dim;
    const double read =
        !stream.accumulator || stream.full_width ? 1.0 : kStoreRow + kStoreBlock * (blocks - 1);
    const uint64_t bytes = uint64_t{store.cols} * stream.element_bytes();
    const double row = std::max(read, static_cast<double>((bytes + bus_ - 1) / bus_));
    const uint32_t bank = stream.accumulator ? 1u << (store.row / machine_.accumulator_bank_rows() & 31) : 0;
    double left = std::max(ready + kStoreStart, stored_);
    const double begun = left;
    for (uint32_t r = 0; r < store.rows; ++r) {
      // Results that are added to what is there take the bank's read port.
      for (size_t i = 0; i < sums_.size() && bank != 0; ++i) {
        const Use& sum = sums_[(next_sum_ + i) % sums_.size()];
        if ((sum.banks & bank) != 0 && sum.start <= left && left < sum.end) left = sum.end;
      }
      left += row;
      const uint32_t requests = requests_of(store.dram + r * stream.stride_bytes, bytes, bus_);
      for (uint32_t n = 0; n < requests; ++n) left = writes_back_.send(left, latency_ + kWindowDelay);
    }
    stored_ = left;
    store_entries_.take(left);
    for_blocks(store, [&](Block& block) {
      block.used = left;
      --block.pending;
    });
    end_ = std::max(end_, left + latency_ + kStoreDelay);
    result_.store += left - begun;
  }

  const Schedule& schedule_;
  const Machine& machine_;
  uint64_t bus_;
  Window reads_, writes_back_;
  double latency_;
  Entries load_entries_, execute_entries_, store_entries_;
  std::vector<Block> scratchpad_, accumulator_;
  std::array<Use, 8> writes_;
  std::array<Use, 32> steps_;
  std::array<Use, 24> sums_;
  size_t next_write_ = 0, next_step_ = 0, next_sum_ = 0;
  struct Pending {
    const Operation* operation = nullptr;
    double issued = 0;
  };
  std::deque<Pending> pending_;
  double front_ = 0, end_ = 0;
  double request_free_ = 0, data_free_ = 0, loaded_last_ = 0, loaded_before_last_ = 0;
  double compute_issued_ = 0, compute_start_ = 0, computed_ = 0, stored_ = 0;
  uint32_t compute_banks_ = 0;
  uint32_t loop_tile_ = ~0u;
  Estimate result_;
};

uint64_t hash_of(const Schedule& schedule) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  mix(static_cast<uint64_t>(schedule.dataflow) << 1 | static_cast<uint64_t>(schedule.interface));
  for (const Operation& operation : schedule.operations) {
    mix(operation.dram ^ uint64_t{operation.row} << 40);
    mix(uint64_t{operation.b_row} << 32 | operation.c_row);
    mix(uint64_t{operation.rows} << 32 | uint64_t{operation.cols} << 16 | uint64_t{operation.stream} << 8 |
        static_cast<uint64_t>(operation.kind) << 2 | (operation.flip ? 2 : 0) |
        (operation.accumulate ? 1 : 0));
  }
  return hash;
}

}  // namespace

Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  const Form& form = problem.forms[mapping.orientation];
  const Footprint needs = footprint(mapping, form);
  const int64_t tiles =
      static_cast<int64_t>(form.batches.size()) * needs.tiles_m * needs.tiles_n * needs.tiles_k;
  int64_t replayed = tiles;
  if (form.steps() > kReplayedSteps)
    replayed =
        std::clamp<int64_t>(kReplayedSteps / (mapping.tile_m * mapping.tile_n * mapping.tile_k), 8, tiles);
  Schedule schedule = build_primitive(problem, form, mapping, model.machine, replayed);
  if (mapping.interface == Interface::kLoopWs)
    arrange_as_hardware(schedule, model.machine);
  else
    apply_mapping(schedule, mapping);
  Forecast result;
  result.kernel = hash_of(schedule);
  double product = 0;
  for (const uint32_t latency : model.memory.latencies) {
    double middle = 0;
    Estimate estimate = Replay(schedule, model, latency).run(&middle);
    if (replayed < tiles) {
      const auto rest = static_cast<double>(tiles - replayed);
      const auto second_half = static_cast<double>(replayed - replayed / 2);
      const double scale = static_cast<double>(tiles) / static_cast<double>(replayed);
      estimate.cycles += rest * (estimate.cycles - middle) / second_half;
      estimate.load *= scale;
      estimate.execute *= scale;
      estimate.store *= scale;
    }
    product += std::log(estimate.cycles);
    if (latency == model.memory.latencies.front()) result.estimate = estimate;
  }
  result.estimate.cycles = std::exp(product / static_cast<double>(model.memory.latencies.size()));
  return result;
}

}  // namespace zomboss::gemmini
