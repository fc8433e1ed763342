#include "plugins/targets/gemmini/conv/estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "plugins/targets/gemmini/conv/loop.h"
#include "plugins/targets/gemmini/conv/loop_order.h"
#include "plugins/targets/gemmini/conv/schedule.h"

namespace zomboss::gemmini::conv {
namespace {

// Fixed costs and shares, read off measurements of the hardware.
constexpr double kStartCycles = 20;  // commands on their way, configuration
constexpr double kArrayFill = 40;    // first operand row to first result row
constexpr double kStoreRow = 1.65;   // accumulator reads share one buffer
constexpr double kStepFloor = 8.25;  // two commands
constexpr double kConflict = 0.5;    // of overlapped loads, the part that stops the array
constexpr double kMoveDelay = 14;    // of a load beyond latency and data
constexpr int64_t kReplayedSteps = 4096;
constexpr size_t kReplayedTiles = 3;

// Memory requests of a row of `bytes` from `address`: aligned, of 1, 2 or 4 beats, each the one that covers
// most.
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

// Rows of `bytes`, `pitch` bytes apart, in moves of `rows` rows: on average, per row. Two moves are under way
// at most, so that short ones wait for the memory.
double moved_row(int64_t rows, int64_t bytes, int64_t pitch, const MachineModel& model) {
  uint32_t requests = 0;
  for (uint64_t r = 0; r < 4; ++r)
    requests +=
        requests_of(r * static_cast<uint64_t>(pitch), static_cast<uint64_t>(bytes), model.memory.bus_bytes);
  const auto beats = static_cast<double>(ceil_div(bytes, model.memory.bus_bytes));
  const double row = std::max(beats, requests / 4.0 * (model.memory.latency + 7.0) / model.memory.in_flight);
  const auto count = static_cast<double>(rows);
  return std::max(row, (model.memory.latency + kMoveDelay + row * count) / 2 / count);
}

double row_cycles(int64_t bytes, const MachineModel& model) {
  const auto beats = static_cast<double>(ceil_div(bytes, model.memory.bus_bytes));
  return std::max(beats, (model.memory.latency + 7.0) / model.memory.in_flight);
}

// The macro tiles that begin at `begins` are the first of `all`; the others take as long as their later half.
double replay(const std::vector<Command>& commands, const std::vector<size_t>& begins, size_t all,
              const MachineModel& model, uint32_t latency, uint32_t command_gap) {
  Replay replay(model.machine, model.memory, latency, command_gap);
  const size_t half = begins.size() / 2;
  double middle = 0;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (i == begins[half]) middle = replay.array_time();
    replay.add(commands[i]);
  }
  const double last = replay.array_time(), cycles = replay.finish().cycles;
  if (begins.size() == all) return cycles;
  return cycles + (last - middle) * static_cast<double>(all - begins.size()) /
                      static_cast<double>(begins.size() - half);
}

double copy_cycles(const Copy& copy, const MachineModel& model) {
  double moves = 1;
  int64_t unit = 1;
  for (const CopyLoop& loop : copy.loops) {
    moves *= static_cast<double>(loop.extent);
    if (loop.source_stride == 1 && loop.target_stride == 1) unit = std::max(unit, loop.extent);
  }
  const int64_t width = std::min<int64_t>(
      unit, copy.element_bytes == 1 ? model.machine.max_block_columns() : model.machine.dim);
  return moves / static_cast<double>(width) * 1.6 * row_cycles(width * copy.element_bytes, model);
}

// Of rearranging tensors in DRAM, before and after.
double copies(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  double cycles = 0;
  for (const auto* list : {&problem.before, &problem.after})
    for (const Copy& copy : *list) cycles += copy_cycles(copy, model);
  for (const OffsetCopy& copy : problem.forms[mapping.form].before) cycles += copy_cycles(copy, model);
  return cycles;
}

class Rough {
 public:
  Rough(const Problem& problem, const Mapping& mapping, const MachineModel& model)
      : problem_(problem),
        form_(problem.forms[mapping.form]),
        m_(mapping),
        model_(model),
        dim_(model.machine.dim),
        loop_(mapping.interface == Interface::kLoop),
        needs_(footprint(problem, mapping, model.machine)) {
    widest_ = model.machine.max_block_columns() / dim_;
    in_ = std::min(m_.tile_k, form_.most_in_channels());
    out_ = std::min(m_.tile_n, form_.most_out_channels());
  }

  ReplayTimes run() {
    const auto groups = static_cast<double>(form_.groups.size());
    const double pixel_tiles = static_cast<double>(needs_.pixel_tiles),
                 n_tiles = static_cast<double>(needs_.n_tiles), k_tiles = static_cast<double>(needs_.k_tiles),
                 tiles = pixel_tiles * n_tiles * k_tiles;
    // Ragged last tiles have less to do.
    const double pixels = share(problem_.batch, m_.tile_batch) * share(problem_.rows.out, m_.tile_rows) *
                          share(problem_.cols.out, m_.tile_cols);
    const double outs = share(form_.most_out_channels(), m_.tile_n);
    const double ins = share(form_.most_in_channels(), m_.tile_k) *
                       share(problem_.rows.kernel, m_.tile_kernel_rows) *
                       share(problem_.cols.kernel, m_.tile_kernel_cols);
    const bool rows_outside = m_.loop_order == LoopOrder::kRowsOutside;
    const bool keeps_a =
        loop_ ? needs_.pixel_tiles * needs_.k_tiles <= 2
              : (rows_outside ? needs_.k_tiles : needs_.pixel_tiles * needs_.k_tiles) <= needs_.a_slots;
    const bool keeps_b =
        loop_ ? needs_.n_tiles * needs_.k_tiles <= 2
              : (rows_outside ? needs_.n_tiles * needs_.k_tiles : needs_.k_tiles) <= needs_.b_slots;
    const double a = pixels * ins * input_cycles(), b = outs * ins * weight_cycles();
    const double a_loads = pixel_tiles * k_tiles * (keeps_a ? 1 : n_tiles);
    const double b_loads = n_tiles * k_tiles * (keeps_b ? 1 : pixel_tiles);
    const double d = pixels * outs * bias_cycles() * pixel_tiles * n_tiles;
    const double c = pixels * outs * store_cycles();
    const double x = pixels * outs * ins * step_cycles();
    ReplayTimes result;
    result.load = groups * (a * a_loads + b * b_loads + d);
    result.execute = groups * x * tiles;
    result.store = groups * c * pixel_tiles * n_tiles;
    const bool overlaps =
        loop_ || (m_.buffering_a != Buffering::kSingle && m_.buffering_b != Buffering::kSingle);
    const double busiest = std::max({result.load, result.execute, result.store});
    const double conflict = m_.placement == BankPlacement::kCopies ? 0.15 : kConflict;
    // A loop computes when its loads have left and stores when it has computed; meanwhile the next one loads.
    const double runs = tiles * groups;
    const double pipeline = (result.load + result.execute + result.store + (runs - 1) * busiest) / runs;
    result.cycles = loop_      ? pipeline
                    : overlaps ? busiest + conflict * std::min(result.load, result.execute)
                               : std::max(result.load + result.execute, result.store);
    if (m_.acc_buffers == 1 && !loop_) result.cycles += std::min(result.store, result.execute) * 0.5;
    result.cycles += kStartCycles + kArrayFill + 2.0 * model_.memory.latency + (a + b) / 2 + c / 2;
    result.cycles += copies(problem_, m_, model_);
    return result;
  }

 private:
  // Average part of a tile that has something in it.
  static double share(int64_t extent, int64_t tile) {
    return static_cast<double>(extent) / static_cast<double>(ceil_div(extent, tile) * std::min(tile, extent));
  }

  double taps() const { return static_cast<double>(m_.tile_kernel_rows * m_.tile_kernel_cols); }
  double pixels() const { return static_cast<double>(m_.tile_batch * m_.tile_rows * m_.tile_cols); }

  double input_cycles() const {
    const int64_t k_blocks = ceil_div(in_, dim_);
    const int64_t width = loop_ ? widest_ : std::min<int64_t>(m_.load_width_a, k_blocks);
    const double rows =
        m_.interface == Interface::kIm2col
            ? pixels() * taps()
            : static_cast<double>(m_.tile_batch * problem_.rows.patch(m_.tile_rows, m_.tile_kernel_rows) *
                                  problem_.cols.patch(m_.tile_cols, m_.tile_kernel_cols));
    const auto moves = static_cast<double>(ceil_div(k_blocks, width));
    const int64_t line = m_.interface == Interface::kIm2col
                             ? m_.tile_cols
                             : problem_.cols.patch(m_.tile_cols, m_.tile_kernel_cols);
    const int64_t step =
        problem_.input_strides.col *
        (m_.interface == Interface::kIm2col ? problem_.cols.stride : problem_.cols.patch_step());
    const double row =
        moved_row(std::clamp<int64_t>(line - 1, 1, dim_), std::min(in_, width * dim_), step, model_);
    return rows * moves * std::max(row, static_cast<double>(taps_per_step()));  // pixels are repeated
  }
  int64_t taps_per_step() const {
    if (loop_) return loop_pixels_per_row(problem_, m_.tile_kernel_cols, in_, model_.machine);
    return in_ * m_.taps_per_step <= dim_ ? m_.taps_per_step : 1;
  }
  // Blocks of weights of one kernel row in an average tile: the last tile of channels may take taps together.
  double tap_groups() const {
    const int64_t last = (form_.most_in_channels() - 1) % m_.tile_k + 1, cols = m_.tile_kernel_cols;
    const int64_t together = loop_ ? loop_pixels_per_row(problem_, cols, last, model_.machine)
                             : last * m_.taps_per_step <= dim_ ? m_.taps_per_step
                                                               : 1;
    const auto tiles = static_cast<double>(ceil_div(form_.most_in_channels(), m_.tile_k));
    return (static_cast<double>(ceil_div(cols, taps_per_step())) * (tiles - 1) +
            static_cast<double>(ceil_div(cols, together))) /
           tiles;
  }
  double weight_cycles() const {
    const int64_t n_blocks = ceil_div(out_, dim_);
    const int64_t width = loop_ ? widest_ : std::min<int64_t>(m_.load_width_b, n_blocks);
    const int64_t rows = loop_ ? std::min(in_, dim_) : std::min(dim_, in_ * taps_per_step());
    return static_cast<double>(in_) * taps() * static_cast<double>(ceil_div(n_blocks, width)) *
           moved_row(rows, std::min(out_, width * dim_), form_.weight_channel, model_);
  }
  double bias_cycles() const {
    if (!problem_.has_bias && !loop_) return 0;
    const double rows = pixels() * static_cast<double>(ceil_div(out_, dim_));
    return rows * (problem_.bias_repeats() ? 1.2 : row_cycles(4 * dim_, model_));
  }
  double store_cycles() const {
    const int64_t n_blocks = ceil_div(out_, dim_);
    const int64_t width = loop_ ? 1 : std::min<int64_t>(m_.store_width, n_blocks);
    const int64_t bytes = std::min(out_, width * dim_) * problem_.output_bytes();
    const double row = std::max(kStoreRow * static_cast<double>(width), row_cycles(bytes, model_));
    return pixels() * static_cast<double>(ceil_div(n_blocks, width)) * row;
  }
  double step_cycles() const {
    const int64_t k_blocks = ceil_div(in_, dim_), n_blocks = ceil_div(out_, dim_);
    int64_t steps = 0;
    double rows = 0;
    if (crosses_lines(problem_, m_.interface)) {
      steps = ceil_div(m_.tile_batch * m_.tile_rows * m_.tile_cols, dim_);
      rows = std::min<double>(static_cast<double>(dim_), pixels());
    } else {
      steps = m_.tile_batch * m_.tile_rows * ceil_div(m_.tile_cols, dim_);
      rows = static_cast<double>(std::min(dim_, m_.tile_cols));
    }
    const double per_block =
        static_cast<double>(dim_) + std::max(pixels() - rows, static_cast<double>(steps - 1) * kStepFloor);
    return static_cast<double>(m_.tile_kernel_rows * k_blocks * n_blocks) * tap_groups() * per_block;
  }

  const Problem& problem_;
  const Form& form_;
  const Mapping& m_;
  const MachineModel& model_;
  const int64_t dim_;
  const bool loop_;
  const Footprint needs_;
  int64_t widest_ = 1, in_ = 1, out_ = 1;
};

}  // namespace

ReplayTimes rough_estimate(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  return Rough(problem, mapping, model).run();
}

Forecast forecast(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  Forecast result;
  result.estimate = rough_estimate(problem, mapping, model);
  const Footprint needs = footprint(problem, mapping, model.machine);
  const auto all = static_cast<size_t>(static_cast<int64_t>(problem.forms[mapping.form].groups.size()) *
                                       needs.pixel_tiles * needs.n_tiles * needs.k_tiles);
  const bool loops = mapping.interface == Interface::kLoop;
  std::vector<size_t> begins;
  const std::vector<Command> commands =
      loops ? unrolled_loops(problem, mapping, model.machine, kReplayedSteps, kReplayedTiles, begins)
            : generate_code(build_schedule(problem, mapping, model.machine, kReplayedSteps, kReplayedTiles),
                            &begins);
  if (begins.size() == all) result.kernel = std::max<uint64_t>(kernel_hash(commands, mapping.form), 1);
  const uint32_t gap = loops ? 0 : model.memory.command_gap;
  double product = 0;
  for (const uint32_t latency : model.memory.latencies) {
    const double cycles = replay(commands, begins, all, model, latency, gap);
    product += std::log(cycles + copies(problem, mapping, model));
  }
  result.estimate.cycles = std::exp(product / static_cast<double>(model.memory.latencies.size()));
  return result;
}

}  // namespace zomboss::gemmini::conv
