#include "plugins/targets/gemmini/conv/replay.h"

#include <algorithm>
#include <vector>

#include "plugins/targets/gemmini/conv/schedule.h"

namespace zomboss::gemmini::conv {
namespace {

constexpr double kStoreRow = 1.65;   // accumulator reads share one buffer
constexpr double kStepFloor = 8.25;  // two commands
constexpr double kResult = 37;       // last operand row to its result in the accumulator

// Completion times of the last commands of one class: a new one waits for an entry.
class Entries {
 public:
  explicit Entries(uint32_t count) : done_(count, 0) {}
  double next_free() const { return done_[at_]; }
  void add(double done) {
    done_[at_] = done;
    at_ = (at_ + 1) % done_.size();
  }

 private:
  std::vector<double> done_;
  size_t at_ = 0;
};

class Replay {
 public:
  Replay(const Schedule& schedule, const MachineModel& model)
      : schedule_(schedule),
        model_(model),
        dim_(model.machine.dim),
        loads_(model.machine.load_entries),
        executes_(model.machine.execute_entries),
        stores_(model.machine.store_entries),
        written_(model.machine.scratchpad_rows / dim_ + 1),
        read_(written_.size()),
        summed_(model.machine.accumulator_rows / dim_ + 1),
        stored_(summed_.size()),
        bank_(model.machine.scratchpad_banks) {}

  // Time at the end of each macro tile.
  std::vector<double> run() {
    std::vector<double> ends(schedule_.steps.size(), 0);
    for (const Operation& operation : schedule_.operations) {
      switch (operation.kind) {
        case Operation::Kind::kLoad:
          load(operation);
          break;
        case Operation::Kind::kStore:
          store(operation);
          break;
        case Operation::Kind::kStep:
          step(operation);
          break;
        case Operation::Kind::kFence:
          break;
      }
      ends[operation.place.tile] = end_;
    }
    return ends;
  }

 private:
  double row_cycles(uint64_t bytes) const {
    const auto beats = static_cast<double>((bytes + model_.memory.bus_bytes - 1) / model_.memory.bus_bytes);
    return std::max(beats, (model_.memory.latency + 7.0) / model_.memory.in_flight);
  }
  size_t block(uint64_t row) const { return static_cast<size_t>(row / dim_); }

  template <typename Visit>
  void each_block(uint64_t row, uint64_t rows, Visit visit) const {
    for (size_t b = block(row); b <= block(row + rows - 1); ++b) visit(b);
  }

  void load(const Operation& operation) {
    const Operand local = decode_operand(operation.first.rs2);
    const ConfigLd config = decode_config_ld(schedule_.streams[operation.stream].config);
    const bool accumulator = is_accumulator(local.address);
    const uint64_t row = target_row(local.address), blocks = (local.cols + dim_ - 1) / dim_;
    front_ = std::max(front_ + 1, loads_.next_free());
    double start = std::max(front_, load_free_);
    for (uint64_t b = 0; b < blocks; ++b)
      each_block(row + b * config.block_stride, local.rows, [&](size_t at) {
        start = std::max(start, accumulator ? std::max(stored_[at], summed_[at]) : read_[at]);
      });
    const double writes = static_cast<double>(local.rows * blocks);
    const uint64_t bytes = uint64_t{local.cols} * (accumulator ? 4 : 1);
    const bool zeros = operation.first.rs1 == 0;
    const double cost = zeros                           ? writes
                        : config.dram_stride_bytes == 0 ? local.rows + 2.0
                                                        : std::max(writes, local.rows * row_cycles(bytes));
    load_free_ = start + cost;
    const double done = load_free_ + (zeros ? 4 : model_.memory.latency + 10);
    loads_.add(done);
    for (uint64_t b = 0; b < blocks; ++b)
      each_block(row + b * config.block_stride, local.rows, [&](size_t at) {
        (accumulator ? summed_ : written_)[at] = done;
        if (accumulator) stored_[at] = done;
      });
    if (!accumulator) {
      Bank& bank = bank_[std::min<size_t>(row / model_.machine.scratchpad_bank_rows(), bank_.size() - 1)];
      bank = {done - cost, done, writes / std::max(cost, 1.0)};
    }
    end_ = std::max(end_, done);
  }

  // Cycles of a step that reads this row while loads write to its bank: writes win.
  double slowed(uint64_t row, double start, double cost) const {
    const Bank& bank = bank_[std::min<size_t>(row / model_.machine.scratchpad_bank_rows(), bank_.size() - 1)];
    const double overlap = std::min(start + cost, bank.end) - std::max(start, bank.begin);
    return overlap > 0 ? overlap * bank.share : 0;
  }

  void step(const Operation& operation) {
    const Operand weights = decode_operand(operation.first.rs1), c = decode_operand(operation.first.rs2);
    const Operand a = decode_operand(operation.second.rs1);
    const bool flip = weights.address != kGarbage;
    front_ = std::max({front_ + 2, executes_.next_free()});
    double start = std::max(front_, execute_free_);
    const uint64_t a_row = target_row(a.address), c_row = target_row(c.address);
    const uint64_t a_rows = (a.rows - 1) * uint64_t{schedule_.a_stride} + 1;
    each_block(a_row, a_rows, [&](size_t at) { start = std::max(start, written_[at]); });
    if (flip) start = std::max(start, written_[block(weights.address)]);
    const bool accumulate = (c.address & kAccumulateBit) != 0;
    each_block(c_row, c.rows, [&](size_t at) {
      if (!accumulate) start = std::max(start, stored_[at]);
      if (accumulate) start = std::max(start, stored_[at]);  // the bias, loaded
    });
    double cost = flip ? std::max(static_cast<double>(dim_), static_cast<double>(a.rows))
                       : std::max(kStepFloor, static_cast<double>(a.rows));
    cost += slowed(a_row, start, cost) + (flip ? slowed(weights.address, start, cost) : 0);
    execute_free_ = start + cost;
    executes_.add(execute_free_ - kStepFloor);
    executes_.add(execute_free_);
    each_block(a_row, a_rows, [&](size_t at) { read_[at] = execute_free_; });
    if (flip) read_[block(weights.address)] = execute_free_;
    each_block(c_row, c.rows, [&](size_t at) { summed_[at] = execute_free_ + kResult; });
    end_ = std::max(end_, execute_free_ + kResult);
  }

  void store(const Operation& operation) {
    const Operand local = decode_operand(operation.first.rs2);
    const uint64_t row = mvout_row(local.address), blocks = (local.cols + dim_ - 1) / dim_;
    const bool full = (local.address & kFullRowBit) != 0;
    front_ = std::max(front_ + 1, stores_.next_free());
    double start = std::max(front_, store_free_);
    each_block(row, (blocks - 1) * dim_ + local.rows,
               [&](size_t at) { start = std::max(start, summed_[at]); });
    const double cost = local.rows * std::max(kStoreRow * static_cast<double>(blocks),
                                              row_cycles(uint64_t{local.cols} * (full ? 4 : 1)));
    store_free_ = start + cost;
    const double done = store_free_ + model_.memory.latency;
    stores_.add(done);
    each_block(row, (blocks - 1) * dim_ + local.rows,
               [&](size_t at) { stored_[at] = std::max(stored_[at], done); });
    end_ = std::max(end_, done);
  }

  struct Bank {
    double begin = 0, end = 0, share = 0;  // of the last load
  };

  const Schedule& schedule_;
  const MachineModel& model_;
  const uint64_t dim_;
  Entries loads_, executes_, stores_;
  double front_ = 0, load_free_ = 0, execute_free_ = 0, store_free_ = 0, end_ = 0;
  std::vector<double> written_, read_, summed_, stored_;  // by block of rows: when that is done
  std::vector<Bank> bank_;
};

}  // namespace

double replay(const Problem& problem, const Mapping& mapping, const MachineModel& model, int64_t most_steps) {
  const Schedule schedule = build_schedule(problem, mapping, model.machine, most_steps);
  const std::vector<double> ends = Replay(schedule, model).run();
  const Footprint needs = footprint(problem, mapping, model.machine);
  const auto tiles = static_cast<double>(static_cast<int64_t>(problem.forms[mapping.form].groups.size()) *
                                         needs.pixel_tiles * needs.n_tiles * needs.k_tiles);
  const size_t replayed = ends.size(), half = replayed / 2;
  if (static_cast<double>(replayed) >= tiles) return ends.back();
  const double rate =
      half == 0 ? ends.back() : (ends.back() - ends[half - 1]) / static_cast<double>(replayed - half);
  return ends.back() + rate * (tiles - static_cast<double>(replayed));
}

}  // namespace zomboss::gemmini::conv
