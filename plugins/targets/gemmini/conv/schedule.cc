#include "plugins/targets/gemmini/conv/schedule.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "plugins/targets/gemmini/conv/copies.h"
#include "plugins/targets/gemmini/conv/tiles.h"

namespace zomboss::gemmini::conv {
namespace {

// Steps by which a load is issued ahead of its first use. The station holds 16 execute entries, two a step.
constexpr uint32_t kLeadSteps = 8;
constexpr double kNarrowRow = 1.7;    // cycles of a row of one request, by the window of the memory
constexpr int64_t kShortestStep = 4;  // cycles
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

// Neighbouring local rows that one strided walk over DRAM fills or empties.
struct Run {
  int64_t row = 0;    // local, from where the caller counts
  int64_t dram = -1;  // element; -1 = zeros
  int64_t count = 0;
};

// Appends, continuing the last run where rows and DRAM both do.
void append(std::vector<Run>& runs, Run next, int64_t step) {
  if (!runs.empty()) {
    Run& last = runs.back();
    const bool same =
        next.dram < 0 ? last.dram < 0 : last.dram >= 0 && next.dram == last.dram + last.count * step;
    if (same && next.row == last.row + last.count) {
      last.count += next.count;
      return;
    }
  }
  runs.push_back(next);
}

// Output pixels of a macro tile, numbered line by line, that share dim accumulator rows.
struct PixelBlock {
  int64_t first = 0, count = 0;
};

// Pixels of one block that one step takes, and the local row of A for the first tap.
struct Segment {
  int64_t block = 0, offset = 0, rows = 0;
  int64_t a_row = 0;
};

// The copies of one operand's tiles, and what each holds now.
class Slots {
 public:
  explicit Slots(int64_t count) : holds_(static_cast<size_t>(count)) {}

  // The slot of a tile, and whether it must be loaded. Among many, the one used longest ago gives way.
  std::pair<int64_t, bool> acquire(int64_t group, int64_t tile) {
    ++now_;
    size_t oldest = 0;
    for (size_t i = 0; i < holds_.size(); ++i) {
      if (holds_[i].group == group && holds_[i].tile == tile) {
        holds_[i].used = now_;
        return {static_cast<int64_t>(i), false};
      }
      if (holds_[i].used < holds_[oldest].used) oldest = i;
    }
    holds_[oldest] = {group, tile, now_};
    return {static_cast<int64_t>(oldest), true};
  }

 private:
  struct Entry {
    int64_t group = -1, tile = -1;
    uint64_t used = 0;
  };
  std::vector<Entry> holds_;
  uint64_t now_ = 0;
};

class Builder {
 public:
  Builder(const Problem& problem, const Mapping& mapping, const Machine& machine)
      : problem_(problem),
        form_(problem.forms[mapping.form]),
        mapping_(mapping),
        machine_(machine),
        dim_(machine.dim),
        needs_(footprint(problem, mapping, machine)),
        a_slots_(needs_.a_slots),
        b_slots_(needs_.b_slots) {
    for (const PlacedBuffer& placed : placed_buffers(problem, form_)) addresses_.push_back(placed.address);
    direct_ = mapping.interface == Interface::kDirect;
    schedule_.a_stride = static_cast<uint16_t>(direct_ ? problem.cols.output_step() : 1);
    input_step_ = problem.input_strides.col * (direct_ ? problem.cols.patch_step() : problem.cols.stride);
  }

  Schedule run(int64_t most_steps, size_t least_tiles) {
    const bool whole = most_steps == 0;
    for (const Copy& copy : problem_.before)
      if (whole) add_copy({copy, 0, 0}, true);
    for (const OffsetCopy& copy : form_.before)
      if (whole) add_copy(copy, true);
    add_streams();
    int64_t steps = 0;
    for_each_tile(problem_, mapping_, [&](const Tile& tile) {
      add_tile(tile);
      steps += schedule_.steps.back();
      return whole || steps < most_steps || schedule_.steps.size() < least_tiles;
    });
    for (const Copy& copy : problem_.after)
      if (whole) add_copy({copy, 0, 0}, false);
    std::stable_sort(schedule_.operations.begin(), schedule_.operations.end(),
                     [](const Operation& x, const Operation& y) { return x.place < y.place; });
    return std::move(schedule_);
  }

 private:
  // --- Copies and configurations

  void add_copy(const OffsetCopy& copy, bool fence_behind) {
    const uint32_t tile = new_tile(0);
    const auto add = [&](Operation::Kind kind, uint16_t stream, const Command& command) {
      schedule_.operations.push_back({kind, stream, {tile, 0, 0}, command, {}});
    };
    if (!fence_behind) add(Operation::Kind::kFence, 0, {});
    uint16_t stream = 0;
    for (const CopyMove& move : copy_moves(copy, addresses_, machine_)) {
      if (stream == 0) {
        stream = new_stream(0, move.load_config);
        new_stream(kStoreState, move.store_config);
      }
      add(Operation::Kind::kLoad, stream, move.load);
      add(Operation::Kind::kStore, static_cast<uint16_t>(stream + 1), move.store);
    }
    if (fence_behind) add(Operation::Kind::kFence, 0, {});
  }

  uint32_t new_tile(uint32_t steps) {
    schedule_.steps.push_back(steps);
    return static_cast<uint32_t>(schedule_.steps.size() - 1);
  }

  // Numbers from 1: 0 means none yet.
  uint16_t new_stream(uint8_t state, const Command& config) {
    if (schedule_.streams.empty()) schedule_.streams.emplace_back();
    schedule_.streams.push_back({state, config});
    return static_cast<uint16_t>(schedule_.streams.size() - 1);
  }

  void add_streams() {
    const auto load = [&](uint32_t wanted, int64_t stride_bytes, int64_t block_rows, uint32_t repeats) {
      const auto state = static_cast<uint8_t>(std::min(wanted, machine_.load_states - 1));
      return new_stream(state, config_ld({.state = state,
                                          .dram_stride_bytes = static_cast<uint64_t>(stride_bytes),
                                          .block_stride = static_cast<uint16_t>(block_rows),
                                          .pixel_repeats = static_cast<uint8_t>(repeats)}));
    };
    // A single block of channels needs no block stride, but the hardware wants one no less than a move's
    // rows.
    const int64_t block_rows = mapping_.tile_k > dim_ ? needs_.a_block_rows : dim_;
    a_stream_ = load(0, input_step_, block_rows, 1);
    a_repeated_ = load(0, input_step_, block_rows, mapping_.taps_per_step);
    b_stream_ = load(1, form_.weight_channel, dim_, 1);
    d_stream_ = load(2, 4 * problem_.bias_strides.col, dim_, 1);
    ConfigSt store;
    store.dram_stride_bytes = static_cast<uint32_t>(problem_.output_strides.col * problem_.output_bytes());
    store.activation = problem_.relu ? Activation::kRelu : Activation::kNone;
    store.acc_scale = problem_.scale;
    c_stream_ = new_stream(kStoreState, config_st(store));
  }

  // --- One macro tile

  void add_tile(const Tile& tile) {
    const auto [a_slot, loads_a] = a_slots_.acquire(tile.group, tile.a_tile);
    const auto [b_slot, loads_b] = b_slots_.acquire(tile.group, tile.b_tile);
    if (tile.first_k) ++c_turn_;
    const int64_t c_slot = c_turn_ % mapping_.acc_buffers;
    tile_ = &tile;
    group_ = &form_.groups[static_cast<size_t>(tile.group)];
    k_blocks_ = ceil_div(tile.in.count, dim_);
    n_blocks_ = ceil_div(tile.out.count, dim_);
    patch_rows_ = problem_.rows.patch(tile.rows.count, tile.kernel_rows.count);
    patch_cols_ = problem_.cols.patch(tile.cols.count, tile.kernel_cols.count);
    // Taps together where their channels fit; repeated pixels need rows before the patch.
    per_step_ = tile.in.count * mapping_.taps_per_step <= dim_ ? mapping_.taps_per_step : 1;
    a_base_ = slot_row(a_slot, needs_.a_rows, false) + mapping_.taps_per_step - 1;
    b_base_ = slot_row(b_slot, needs_.b_rows, true);
    c_base_ = c_slot * static_cast<int64_t>(machine_.loop_accumulator_rows());
    number_ = new_tile(0);
    work_ = 0;
    cut_pixels();
    first_use_a_.assign(static_cast<size_t>(needs_.a_rows + mapping_.taps_per_step), kNever);
    first_use_b_.assign(static_cast<size_t>(needs_.b_rows), kNever);
    first_use_c_.assign(static_cast<size_t>(needs_.c_rows), kNever);
    last_use_c_.assign(blocks_.size() * static_cast<size_t>(n_blocks_), 0);
    add_steps();
    place_deferred();
    loads_.clear();
    if (loads_a) direct_ ? load_patch() : load_columns();
    if (loads_b) load_weights();
    if (tile.first_k && problem_.has_bias) load_bias();
    place_loads(a_slot != last_a_slot_, b_slot != last_b_slot_, c_slot != last_c_slot_);
    if (tile.last_k) add_stores();
    last_a_slot_ = a_slot;
    last_b_slot_ = b_slot;
    last_c_slot_ = c_slot;
  }

  // First local row of a copy. Ends: copies of A one after the other from row 0, those of B up to the end.
  int64_t slot_row(int64_t slot, int64_t rows, bool is_b) const {
    if (mapping_.placement == BankPlacement::kCopies) {
      const int64_t quarter = machine_.scratchpad_rows / 4;
      return (is_b ? 2 : 0) * quarter + slot % 2 * quarter + slot / 2 * rows;
    }
    return is_b ? machine_.scratchpad_rows - (needs_.b_slots - slot) * rows : slot * rows;
  }

  void cut_pixels() {
    blocks_.clear();
    segments_.clear();
    const int64_t cols = tile_->cols.count, lines = tile_->lines();
    if (crosses_lines(problem_, mapping_.interface)) {
      for (int64_t p = 0; p < tile_->pixels(); p += dim_)
        blocks_.push_back({p, std::min(dim_, tile_->pixels() - p)});
    } else if (2 * cols > dim_) {
      for (int64_t line = 0; line < lines; ++line)
        for (int64_t x = 0; x < cols; x += dim_)
          blocks_.push_back({line * cols + x, std::min(dim_, cols - x)});
    } else {
      const int64_t each = dim_ / cols;
      for (int64_t line = 0; line < lines; line += each)
        blocks_.push_back({line * cols, std::min(each, lines - line) * cols});
    }
    for (size_t b = 0; b < blocks_.size(); ++b) cut_block(static_cast<int64_t>(b));
  }

  void cut_block(int64_t block) {
    const PixelBlock& pixels = blocks_[static_cast<size_t>(block)];
    if (!direct_) {
      segments_.push_back({block, 0, pixels.count, block * tile_->taps() * k_blocks_ * dim_});
      return;
    }
    const int64_t cols = tile_->cols.count, end = pixels.first + pixels.count;
    for (int64_t p = pixels.first; p < end;) {
      const int64_t line = p / cols, x = p % cols;
      const int64_t count =
          crosses_lines(problem_, mapping_.interface) ? end - p : std::min(end - p, cols - x);
      const int64_t image = line / tile_->rows.count, y = line % tile_->rows.count;
      segments_.push_back({block, p - pixels.first, count,
                           (image * patch_rows_ + y * problem_.rows.output_step()) * patch_cols_ +
                               x * problem_.cols.output_step()});
      p += count;
    }
  }

  // --- Steps

  void add_steps() {
    const int64_t per_step = per_step_;
    const int64_t groups = ceil_div(tile_->kernel_cols.count, per_step);
    const auto taps_and_channels = [&](auto visit) {
      for (int64_t ky = 0; ky < tile_->kernel_rows.count; ++ky)
        for (int64_t g = 0; g < groups; ++g)
          for (int64_t k = 0; k < k_blocks_; ++k) visit(ky, g, k);
    };
    if (mapping_.inner_order == InnerOrder::kTapsOutside) {
      taps_and_channels([&](int64_t ky, int64_t g, int64_t k) {
        for (int64_t n = 0; n < n_blocks_; ++n) add_weight_steps(ky, g, k, n);
      });
    } else {
      for (int64_t n = 0; n < n_blocks_; ++n)
        taps_and_channels([&](int64_t ky, int64_t g, int64_t k) { add_weight_steps(ky, g, k, n); });
    }
  }

  int64_t b_row(int64_t ky, int64_t group, int64_t k, int64_t n) const {
    const int64_t groups = ceil_div(tile_->kernel_cols.count, per_step_);
    return (((ky * groups + group) * k_blocks_ + k) * n_blocks_ + n) * dim_;
  }

  // All pixels of the tile stream against one block of weights.
  void add_weight_steps(int64_t ky, int64_t group, int64_t k, int64_t n) {
    const int64_t per_step = per_step_, kx = group * per_step;
    const int64_t taps = std::min(per_step, tile_->kernel_cols.count - kx);
    const int64_t channels = std::min(dim_, tile_->in.count - k * dim_);
    const auto depth = static_cast<uint16_t>(per_step > 1 ? taps * channels : channels);
    const auto cols = static_cast<uint16_t>(std::min(dim_, tile_->out.count - n * dim_));
    const auto dim = static_cast<uint16_t>(dim_);
    const bool first = ky == 0 && group == 0 && k == 0 && tile_->first_k;
    const bool accumulate = !first || problem_.has_bias;
    const int64_t tap_row = direct_ ? k * needs_.a_block_rows + ky * problem_.rows.tap_step() * patch_cols_ +
                                          kx * problem_.cols.tap_step()
                                    : ((ky * tile_->kernel_cols.count + kx) * k_blocks_ + k) * dim_;
    const int64_t b = b_row(ky, group, k, n);
    bool flip = true;
    for (const Segment& segment : segments_) {
      const uint32_t step = schedule_.steps[number_]++;
      const int64_t a = segment.a_row + tap_row;
      const int64_t c = (segment.block * n_blocks_ + n) * dim_ + segment.offset;
      const auto rows = static_cast<uint16_t>(segment.rows);
      const Operand weights =
          flip ? Operand{scratchpad_address(static_cast<uint32_t>(b_base_ + b)), depth, cols}
               : Operand{kGarbage, dim, dim};
      schedule_.operations.push_back(
          {Operation::Kind::kStep,
           0,
           {number_, step, 1},
           preload(weights,
                   {accumulator_address(static_cast<uint32_t>(c_base_ + c), accumulate), rows, cols}),
           compute(flip, {scratchpad_address(static_cast<uint32_t>(a_base_ + a)), rows, depth},
                   {kGarbage, dim, dim})});
      for (int64_t r = 0; r < segment.rows; ++r)
        for (int64_t q = 0; q < taps; ++q) note_use(first_use_a_, a + r * schedule_.a_stride + q, step);
      if (flip) note_use(first_use_b_, b, step);
      note_use(first_use_c_, c, step);
      last_use_c_[static_cast<size_t>(segment.block * n_blocks_ + n)] = step;
      work_ += static_cast<double>(flip ? dim_ : std::max<int64_t>(segment.rows, kShortestStep));
      flip = false;
    }
  }

  static void note_use(std::vector<uint32_t>& first_use, int64_t row, uint32_t step) {
    uint32_t& first = first_use[static_cast<size_t>(row)];
    first = std::min(first, step);
  }

  // --- Loads

  struct Load {
    char operand = 'a';
    uint16_t stream = 0;
    uint32_t first_use = 0;
    double cycles = 1;  // about
    Command command;
  };

  void add_load(char operand, uint64_t dram, uint32_t local, int64_t rows, int64_t cols, uint32_t first_use) {
    const uint16_t a_stream = per_step_ > 1 ? a_repeated_ : a_stream_;
    const uint16_t stream = operand == 'a' ? a_stream : operand == 'b' ? b_stream_ : d_stream_;
    const Operand target{local, static_cast<uint16_t>(rows), static_cast<uint16_t>(cols)};
    // A row at a time: a beat each block, the requests of narrow rows, repeated pixels.
    const auto blocks = static_cast<double>(ceil_div(cols, dim_));
    const double row = std::max({blocks, kNarrowRow, operand == 'a' ? static_cast<double>(per_step_) : 1.0});
    loads_.push_back({operand, stream, first_use == kNever ? 0 : first_use, static_cast<double>(rows) * row,
                      mvin(dram, target, schedule_.streams[stream].state)});
  }

  // Moves of the runs of A, dim rows and load_width_a blocks of channels at a time. `block_rows` local rows
  // between blocks of channels.
  void load_input(const std::vector<Run>& runs, int64_t block_rows) {
    for (const Run& run : runs) {
      for (int64_t done = 0; done < run.count; done += dim_) {
        const int64_t rows = std::min(dim_, run.count - done);
        for (int64_t k = 0; k < k_blocks_; k += mapping_.load_width_a) {
          const int64_t blocks = std::min<int64_t>(mapping_.load_width_a, k_blocks_ - k);
          const int64_t cols = std::min(blocks * dim_, tile_->in.count - k * dim_);
          const int64_t row = run.row + done + k * block_rows;
          uint32_t use = kNever;
          for (int64_t b = 0; b < blocks; ++b)
            for (int64_t r = 0; r < rows; ++r)
              use = std::min(use, first_use_a_[static_cast<size_t>(row + b * block_rows + r)]);
          const uint64_t dram = run.dram < 0
                                    ? 0
                                    : addresses_[problem_.input] +
                                          static_cast<uint64_t>(run.dram + done * input_step_ +
                                                                group_->input + tile_->in.first + k * dim_);
          add_load('a', dram, scratchpad_address(static_cast<uint32_t>(a_base_ + row)), rows, cols, use);
        }
      }
    }
  }

  // Element of input pixel (image, y, x), channel 0.
  int64_t input_at(int64_t image, int64_t y, int64_t x) const {
    return image * problem_.input_strides.batch + y * problem_.input_strides.row +
           x * problem_.input_strides.col;
  }

  // Direct: the patch, line by line, zeros where it reaches out of the image.
  void load_patch() {
    const Axis &rows = problem_.rows, &cols = problem_.cols;
    const int64_t y0 = rows.input_at(tile_->rows.first, tile_->kernel_rows.first);
    const int64_t x0 = cols.input_at(tile_->cols.first, tile_->kernel_cols.first);
    const int64_t step = cols.patch_step();
    // Columns [left, right) of the patch are inside of the image.
    const int64_t left = std::clamp<int64_t>(x0 < 0 ? ceil_div(-x0, step) : 0, 0, patch_cols_);
    const int64_t right =
        std::clamp<int64_t>(x0 < cols.in ? ceil_div(cols.in - x0, step) : 0, left, patch_cols_);
    std::vector<Run> runs;
    for (int64_t b = 0; b < tile_->batch.count; ++b) {
      for (int64_t line = 0; line < patch_rows_; ++line) {
        const int64_t y = y0 + line * rows.patch_step(), row = (b * patch_rows_ + line) * patch_cols_;
        if (y < 0 || y >= rows.in) {
          append(runs, {row, -1, patch_cols_}, input_step_);
          continue;
        }
        if (left > 0) append(runs, {row, -1, left}, input_step_);
        if (right > left)
          append(runs, {row + left, input_at(tile_->batch.first + b, y, x0 + left * step), right - left},
                 input_step_);
        if (right < patch_cols_) append(runs, {row + right, -1, patch_cols_ - right}, input_step_);
      }
    }
    load_input(runs, needs_.a_block_rows);
  }

  // Im2col: for each block of output pixels and each tap, the pixels that meet there.
  void load_columns() {
    std::vector<Run> runs;
    for (size_t block = 0; block < blocks_.size(); ++block) {
      const PixelBlock& pixels = blocks_[block];
      for (int64_t ky = 0; ky < tile_->kernel_rows.count; ++ky) {
        for (int64_t kx = 0; kx < tile_->kernel_cols.count; ++kx) {
          const int64_t tap = ky * tile_->kernel_cols.count + kx;
          const int64_t base = (static_cast<int64_t>(block) * tile_->taps() + tap) * k_blocks_ * dim_;
          runs.clear();
          for (int64_t p = 0; p < pixels.count; ++p)
            append(runs, {base + p, tap_pixel(pixels.first + p, ky, kx), 1}, input_step_);
          load_input(runs, dim_);
        }
      }
    }
  }

  // The input pixel of output pixel p of the tile for a tap; -1 outside of the image.
  int64_t tap_pixel(int64_t p, int64_t ky, int64_t kx) const {
    const int64_t line = p / tile_->cols.count;
    const int64_t y =
        problem_.rows.input_at(tile_->rows.first + line % tile_->rows.count, tile_->kernel_rows.first + ky);
    const int64_t x =
        problem_.cols.input_at(tile_->cols.first + p % tile_->cols.count, tile_->kernel_cols.first + kx);
    if (y < 0 || y >= problem_.rows.in || x < 0 || x >= problem_.cols.in) return -1;
    return input_at(tile_->batch.first + line / tile_->rows.count, y, x);
  }

  void load_weights() {
    for (int64_t ky = 0; ky < tile_->kernel_rows.count; ++ky)
      for (int64_t kx = 0; kx < tile_->kernel_cols.count; ++kx)
        for (int64_t k = 0; k < k_blocks_; ++k) load_weight_rows(ky, kx, k);
  }

  // One tap's rows of a block of input channels; taps of one step lie one after the other.
  void load_weight_rows(int64_t ky, int64_t kx, int64_t k) {
    const int64_t channels = std::min(dim_, tile_->in.count - k * dim_);
    const int64_t taps = std::min(per_step_, tile_->kernel_cols.count - kx / per_step_ * per_step_);
    // In DRAM as well, when a tap has no other channels: one move brings all of them.
    const bool together = taps > 1 && form_.weight_col == channels * form_.weight_channel;
    if (together && kx % per_step_ != 0) return;
    const int64_t rows = together ? taps * channels : channels;
    for (int64_t n = 0; n < n_blocks_; n += mapping_.load_width_b) {
      const int64_t blocks = std::min<int64_t>(mapping_.load_width_b, n_blocks_ - n);
      const int64_t cols = std::min(blocks * dim_, tile_->out.count - n * dim_);
      const int64_t row = b_row(ky, kx / per_step_, k, n);
      uint32_t use = kNever;
      for (int64_t b = 0; b < blocks; ++b)
        use = std::min(use, first_use_b_[static_cast<size_t>(row + b * dim_)]);
      const int64_t element = group_->weights + (tile_->kernel_rows.first + ky) * form_.weight_row +
                              (tile_->kernel_cols.first + kx) * form_.weight_col +
                              (tile_->in.first + k * dim_) * form_.weight_channel + tile_->out.first +
                              n * dim_;
      add_load('b', addresses_[form_.weights] + static_cast<uint64_t>(element),
               scratchpad_address(static_cast<uint32_t>(b_base_ + row + kx % per_step_ * channels)), rows,
               cols, use);
    }
  }

  // The rows of a pixel block whose elements in `strides` lie one after the other, `strides.col` apart.
  std::vector<Run> pixel_runs(const PixelBlock& pixels, const Strides& strides) const {
    std::vector<Run> runs;
    const int64_t cols = tile_->cols.count, end = pixels.first + pixels.count;
    for (int64_t p = pixels.first; p < end;) {
      const int64_t line = p / cols, x = p % cols, count = std::min(end - p, cols - x);
      const int64_t image = tile_->batch.first + line / tile_->rows.count;
      const int64_t y = tile_->rows.first + line % tile_->rows.count;
      append(runs,
             {p - pixels.first,
              image * strides.batch + y * strides.row + (tile_->cols.first + x) * strides.col, count},
             strides.col);
      p += count;
    }
    return runs;
  }

  void load_bias() {
    for (size_t block = 0; block < blocks_.size(); ++block) {
      const std::vector<Run> runs = pixel_runs(blocks_[block], problem_.bias_strides);
      for (int64_t n = 0; n < n_blocks_; ++n) {
        const int64_t base = (static_cast<int64_t>(block) * n_blocks_ + n) * dim_;
        for (const Run& run : runs) {
          uint32_t use = kNever;
          for (int64_t r = 0; r < run.count; ++r)
            use = std::min(use, first_use_c_[static_cast<size_t>(base + run.row + r)]);
          const int64_t element = run.dram + group_->bias + tile_->out.first + n * dim_;
          add_load('d', addresses_[problem_.bias] + 4 * static_cast<uint64_t>(element),
                   accumulator_address(static_cast<uint32_t>(c_base_ + base + run.row)), run.count,
                   std::min(dim_, tile_->out.count - n * dim_), use);
        }
      }
    }
  }

  // Each load a few steps before its first use; where its place is free already during the macro tile before,
  // among the steps of that one: as fast as the array takes steps, or spread over all of them when the loads
  // take longer. Loads that come in a crowd fill the station and keep steps from being issued.
  void place_loads(bool other_a, bool other_b, bool other_c) {
    std::stable_sort(loads_.begin(), loads_.end(),
                     [](const Load& x, const Load& y) { return x.first_use < y.first_use; });
    const uint32_t before = number_ == 0 ? 0 : schedule_.steps[number_ - 1];
    const bool deferred = mapping_.store_schedule == StoreSchedule::kDeferred;
    const auto hoists = [&](const Load& load) {
      if (before == 0) return false;
      return load.operand == 'a' ? other_a : load.operand == 'b' ? other_b : other_c && !deferred;
    };
    double all = 0, loaded = 0;
    for (const Load& load : loads_) all += hoists(load) ? load.cycles : 0;
    // Steps by which a cycle of loads moves on.
    const double pace = static_cast<double>(before) / std::max({all, last_work_, 1.0});
    for (const Load& load : loads_) {
      Place place{number_, load.first_use - std::min(load.first_use, kLeadSteps), 0};
      if (hoists(load)) {
        place = {number_ - 1, std::min(before - 1, static_cast<uint32_t>(loaded * pace)), 0};
        loaded += load.cycles;
      }
      schedule_.operations.push_back({Operation::Kind::kLoad, load.stream, place, load.command, {}});
    }
    last_work_ = work_;
  }

  // --- Stores

  void add_stores() {
    struct Store {
      uint32_t ready = 0;
      Command command;
    };
    std::vector<Store> stores;
    const int64_t bytes = problem_.output_bytes();
    for (size_t block = 0; block < blocks_.size(); ++block) {
      const std::vector<Run> runs = pixel_runs(blocks_[block], problem_.output_strides);
      for (int64_t n = 0; n < n_blocks_; n += mapping_.store_width) {
        const int64_t blocks = std::min<int64_t>(mapping_.store_width, n_blocks_ - n);
        const int64_t base = (static_cast<int64_t>(block) * n_blocks_ + n) * dim_;
        uint32_t ready = 0;
        for (int64_t b = 0; b < blocks; ++b)
          ready = std::max(ready,
                           last_use_c_[block * static_cast<size_t>(n_blocks_) + static_cast<size_t>(n + b)]);
        for (const Run& run : runs) {
          const int64_t element = run.dram + group_->output + tile_->out.first + n * dim_;
          const Operand source{accumulator_address(static_cast<uint32_t>(c_base_ + base + run.row), false,
                                                   problem_.full_width),
                               static_cast<uint16_t>(run.count),
                               static_cast<uint16_t>(std::min(blocks * dim_, tile_->out.count - n * dim_))};
          stores.push_back(
              {ready, mvout(addresses_[problem_.output] + static_cast<uint64_t>(element * bytes), source)});
        }
      }
    }
    const uint32_t last = schedule_.steps[number_] - 1;
    for (size_t i = 0; i < stores.size(); ++i) {
      Place place{number_, stores[i].ready, 2};
      if (mapping_.store_schedule == StoreSchedule::kLate) place.step = last;
      // Deferred: spread over the steps of the next tile once their number is known.
      if (mapping_.store_schedule == StoreSchedule::kDeferred) {
        place.step = last;
        deferred_.push_back(schedule_.operations.size());
      }
      schedule_.operations.push_back({Operation::Kind::kStore, c_stream_, place, stores[i].command, {}});
    }
  }

  // Moves the deferred stores of the tile before `number_` among its steps.
  void place_deferred() {
    const uint64_t steps = schedule_.steps[number_];
    for (size_t i = 0; i < deferred_.size(); ++i)
      schedule_.operations[deferred_[i]].place = {
          number_, static_cast<uint32_t>((i + 1) * steps / (deferred_.size() + 1)), 2};
    deferred_.clear();
  }

  const Problem& problem_;
  const Form& form_;
  const Mapping& mapping_;
  const Machine& machine_;
  const int64_t dim_;
  const Footprint needs_;
  Slots a_slots_, b_slots_;
  std::vector<uint64_t> addresses_;
  Schedule schedule_;
  bool direct_ = false;
  int64_t input_step_ = 0;  // elements from one loaded pixel to the next
  uint16_t a_stream_ = 0, a_repeated_ = 0, b_stream_ = 0, c_stream_ = 0, d_stream_ = 0;
  int64_t c_turn_ = 0, last_a_slot_ = -1, last_b_slot_ = -1, last_c_slot_ = -1;
  // Of the tile at work.
  const Tile* tile_ = nullptr;
  const Group* group_ = nullptr;
  uint32_t number_ = 0;
  int64_t per_step_ = 1;             // neighbouring taps in one step
  double work_ = 0, last_work_ = 0;  // cycles of the tile's steps, and of those before
  int64_t k_blocks_ = 1, n_blocks_ = 1, patch_rows_ = 1, patch_cols_ = 1;
  int64_t a_base_ = 0, b_base_ = 0, c_base_ = 0;
  std::vector<PixelBlock> blocks_;
  std::vector<Segment> segments_;
  std::vector<uint32_t> first_use_a_, first_use_b_, first_use_c_;  // by local row: the first step
  std::vector<uint32_t> last_use_c_;                               // by pixel block and channel block
  std::vector<Load> loads_;
  std::vector<size_t> deferred_;  // operations
};

}  // namespace

Schedule build_schedule(const Problem& problem, const Mapping& mapping, const Machine& machine,
                        int64_t most_steps, size_t least_tiles) {
  return Builder(problem, mapping, machine).run(most_steps, least_tiles);
}

std::vector<Command> generate_code(const Schedule& schedule, std::vector<size_t>* begins) {
  std::vector<Command> commands;
  commands.reserve(schedule.operations.size() * 2 + 8);
  ConfigEx ex;
  ex.a_stride = schedule.a_stride;
  commands.push_back(config_ex(ex));
  std::array<std::optional<Command>, kStoreState + 1> configured;
  for (const Operation& operation : schedule.operations) {
    while (begins != nullptr && begins->size() <= operation.place.tile) begins->push_back(commands.size());
    switch (operation.kind) {
      case Operation::Kind::kFence:
        commands.push_back(fence());
        break;
      case Operation::Kind::kStep:
        commands.push_back(operation.first);
        commands.push_back(operation.second);
        break;
      case Operation::Kind::kLoad:
      case Operation::Kind::kStore: {
        const Stream& stream = schedule.streams[operation.stream];
        auto& current = configured[stream.state];
        if (current != stream.config) commands.push_back(stream.config);
        current = stream.config;
        commands.push_back(operation.first);
        break;
      }
    }
  }
  return commands;
}

}  // namespace zomboss::gemmini::conv
