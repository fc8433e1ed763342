#include "plugins/targets/gemmini/matmul/estimate.h"

#include <algorithm>
#include <array>

namespace zomboss::gemmini {
namespace {

// Fixed costs and shares, read off measurements of the hardware.
constexpr double kStartCycles = 20;    // commands on their way, configuration
constexpr double kArrayFill = 40;      // first operand row to first result row
constexpr double kStoreRow = 1.65;     // accumulator reads share one buffer
constexpr double kEndsConflict = 0.8;  // of overlapped load writes that stop the array
constexpr double kRowsConflict = 0.3;
constexpr double kCopiesConflict = 0.15;
constexpr int64_t kSimulatedTiles = 48;

class Estimator {
 public:
  Estimator(const Problem& problem, const Mapping& mapping, const MachineModel& model)
      : problem_(problem),
        form_(problem.forms[mapping.orientation]),
        mapping_(mapping),
        model_(model),
        full_width_(problem.epilogue.full_width),
        needs_(footprint(mapping, form_)) {}

  Estimate run() {
    measure_tile();
    const auto batches = static_cast<int64_t>(form_.batches.size());
    const int64_t per_batch = needs_.tiles_m * needs_.tiles_n * needs_.tiles_k;
    const int64_t tiles = batches * per_batch;
    const int64_t simulated = std::min(tiles, kSimulatedTiles);
    double half_time = 0;
    for (int64_t t = 0; t < simulated; ++t) {
      if (t == simulated / 2) half_time = end_;
      add_tile(t, per_batch);
    }
    const double scale = static_cast<double>(tiles) / static_cast<double>(simulated);
    Estimate result{end_, load_ * scale, execute_ * scale, store_ * scale};
    if (tiles > simulated)
      result.cycles += (end_ - half_time) / static_cast<double>(simulated - simulated / 2) *
                       static_cast<double>(tiles - simulated);
    result.cycles += kStartCycles + model_.memory.latency;
    for (const auto* list : {&problem_.before, &form_.before, &form_.after, &problem_.after})
      for (const Copy& copy : *list) result.cycles += copy_cycles(copy);
    return result;
  }

 private:
  double row_cycles(int64_t bytes) const {
    const double beats = static_cast<double>(ceil_div(bytes, model_.memory.bus_bytes));
    return std::max(beats, (model_.memory.latency + 7.0) / model_.memory.in_flight);
  }

  // Average load cycles of a tile with these block counts.
  double operand_cycles(const Axis& rows, const Axis& cols, int64_t row_blocks, int64_t col_blocks,
                        uint32_t width) {
    const double row_count = static_cast<double>(rows.elements()) / static_cast<double>(rows.blocks());
    const double col_count = static_cast<double>(cols.elements()) / static_cast<double>(cols.blocks());
    const int64_t group = std::min<int64_t>({width, col_blocks, cols.blocks_per_run()});
    const auto moves = static_cast<double>(ceil_div(col_blocks, group));
    const auto bytes = static_cast<int64_t>(col_count * static_cast<double>(group));
    return static_cast<double>(row_blocks) * row_count * moves * row_cycles(std::max<int64_t>(bytes, 1));
  }

  static double average(const Axis& axis, int64_t tiles) {
    return static_cast<double>(axis.blocks()) / static_cast<double>(tiles);
  }

  void measure_tile() {
    const uint32_t dim = model_.machine.dim;
    const auto m = std::min(mapping_.tile_m, form_.m.blocks()),
               n = std::min(mapping_.tile_n, form_.n.blocks()),
               k = std::min(mapping_.tile_k, form_.k.blocks());
    const double fill_m = average(form_.m, needs_.tiles_m) / static_cast<double>(m);
    const double fill_n = average(form_.n, needs_.tiles_n) / static_cast<double>(n);
    const double fill_k = average(form_.k, needs_.tiles_k) / static_cast<double>(k);
    a_load_ = fill_m * fill_k *
              (form_.a_transposed ? operand_cycles(form_.k, form_.m, k, m, mapping_.load_width_a)
                                  : operand_cycles(form_.m, form_.k, m, k, mapping_.load_width_a));
    b_load_ = fill_n * fill_k *
              (form_.b_transposed ? operand_cycles(form_.n, form_.k, n, k, mapping_.load_width_b)
                                  : operand_cycles(form_.k, form_.n, k, n, mapping_.load_width_b));
    const double rows = static_cast<double>(form_.m.elements()) / static_cast<double>(form_.m.blocks());
    const double blocks = fill_m * fill_n * static_cast<double>(m * n);
    if (form_.has_bias) d_load_ = blocks * rows * (form_.m.stride[kD] == 0 ? 1.2 : row_cycles(4 * dim));
    // A new weight block takes dim cycles, twice that through the transposer or when A lies in the same bank.
    const bool same_bank = mapping_.placement == BankPlacement::kEnds && model_.machine.scratchpad_banks == 1;
    const double flip = dim * (form_.b_transposed || same_bank ? 2.0 : 1.0);
    step_ = std::max(rows, 4.0);
    compute_ =
        fill_n * fill_k * static_cast<double>(n * k) * (flip + (fill_m * static_cast<double>(m) - 1) * step_);
    const bool wide = mapping_.store_schedule != StoreSchedule::kEarly && !full_width_;
    const int64_t store_blocks =
        wide ? std::min<int64_t>({n, form_.n.blocks_per_run(), model_.machine.max_block_columns() / dim}) : 1;
    const double columns = static_cast<double>(form_.n.elements()) / static_cast<double>(form_.n.blocks());
    const double row_store =
        full_width_ ? row_cycles(4 * dim)
                    : std::max(kStoreRow * static_cast<double>(store_blocks),
                               row_cycles(static_cast<int64_t>(columns * static_cast<double>(store_blocks))));
    block_store_ = rows * row_store / static_cast<double>(store_blocks);
    store_tile_ = blocks * block_store_;
  }

  // The tile that the sequence has at place t: region, and whether A, B or C are new.
  void add_tile(int64_t t, int64_t per_batch) {
    const int64_t regions = mapping_.batch_regions;
    const int64_t group = t / (per_batch * regions), inside = t % (per_batch * regions);
    const int64_t region = inside % regions, step = inside / regions;
    const int64_t k = step % needs_.tiles_k, pair = step / needs_.tiles_k;
    const bool rows_outside = mapping_.loop_order == LoopOrder::kRowsOutside;
    const int64_t inner = rows_outside ? needs_.tiles_n : needs_.tiles_m;
    const int64_t x = pair / inner, y = pair % inner;
    const int64_t tm = rows_outside ? x : y, tn = rows_outside ? y : x;
    const bool resident = mapping_.buffering == Buffering::kResident;
    // A tile is still there when its place was not needed for others since.
    const int64_t a_between = rows_outside ? needs_.tiles_k : needs_.tiles_m * needs_.tiles_k;
    const int64_t b_between = rows_outside ? needs_.tiles_n * needs_.tiles_k : needs_.tiles_k;
    const bool load_a = tn == 0 || a_between > needs_.a_slots;
    const bool load_b = tm == 0 || b_between > needs_.b_slots;
    const double load = (load_a ? a_load_ : 0) + (load_b ? b_load_ : 0) + (k == 0 ? d_load_ : 0);

    const auto slot = static_cast<size_t>(region * 2 + (needs_.a_slots > 1 ? t / regions % 2 : 0)) % kPlaces;
    const bool fresh_place = resident && group == 0;
    const double place_free = fresh_place ? 0 : operand_free_[slot];
    // At most one tile ahead of the array.
    const double load_start = std::max({load_end_, place_free, previous_start_});
    const double first =
        std::min(load, a_load_ / std::max<double>(1, static_cast<double>(mapping_.tile_m)) +
                           b_load_ / std::max<double>(1, static_cast<double>(mapping_.tile_k))) +
        (load > 0 ? model_.memory.latency : 0);
    load_end_ = load_start + load;
    const double loaded = load_end_ + (load > 0 ? model_.memory.latency : 0);
    const auto c_slot = static_cast<size_t>(region * 2 + (mapping_.acc_buffers > 1 ? pair % 2 : 0)) % kPlaces;
    double start = std::max(execute_end_, load_start + first);
    if (k == 0) start = std::max(start, store_free_[c_slot]);
    const double overlap = std::max(0.0, std::min(load, compute_));
    const bool copies = mapping_.placement == BankPlacement::kCopies && needs_.a_slots * regions > 1;
    const double conflict = copies                                       ? kCopiesConflict
                            : mapping_.placement == BankPlacement::kRows ? kRowsConflict
                                                                         : kEndsConflict;
    execute_end_ =
        std::max(start + compute_ + conflict * overlap * (load_end_ > start ? 1 : 0), loaded + step_);
    previous_start_ = start;
    operand_free_[slot] = execute_end_;
    if (k + 1 == needs_.tiles_k) {
      const bool during =
          mapping_.store_schedule == StoreSchedule::kEarly || mapping_.store_schedule == StoreSchedule::kRow;
      const double ready = execute_end_ + kArrayFill;
      const double head_start =
          during && needs_.tiles_k == 1
              ? std::min(store_tile_ - block_store_, compute_ / static_cast<double>(mapping_.tile_k))
              : 0;
      store_end_ = std::max(store_end_, ready - std::max(0.0, head_start)) + store_tile_;
      store_end_ = std::max(store_end_, ready + block_store_);
      store_free_[c_slot] = store_end_;
      store_ += store_tile_;
    }
    load_ += load;
    execute_ += compute_;
    end_ = std::max({execute_end_ + kArrayFill, store_end_, end_});
  }

  double copy_cycles(const Copy& copy) const {
    double moves = 1;
    int64_t unit = 1, rows = 1;
    for (const CopyLoop& loop : copy.loops) {
      moves *= static_cast<double>(loop.extent);
      if (loop.source_stride == 1 && loop.target_stride == 1)
        unit = std::max(unit, loop.extent);
      else
        rows = std::max(rows, loop.extent);
    }
    const int64_t width = std::min<int64_t>(
        unit, copy.element_bytes == 1 ? model_.machine.max_block_columns() : model_.machine.dim);
    return moves / static_cast<double>(width) * 2 * row_cycles(width * copy.element_bytes);
  }

  static constexpr size_t kPlaces = 64;

  const Problem& problem_;
  const Form& form_;
  const Mapping& mapping_;
  const MachineModel& model_;
  bool full_width_;
  Footprint needs_;
  double a_load_ = 0, b_load_ = 0, d_load_ = 0, compute_ = 0, step_ = 0, block_store_ = 0, store_tile_ = 0;
  double load_end_ = 0, execute_end_ = 0, store_end_ = 0, previous_start_ = 0, end_ = 0;
  double load_ = 0, execute_ = 0, store_ = 0;
  std::array<double, kPlaces> operand_free_ = {};
  std::array<double, kPlaces> store_free_ = {};
};

}  // namespace

Estimate estimate(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  return Estimator(problem, mapping, model).run();
}

}  // namespace zomboss::gemmini
