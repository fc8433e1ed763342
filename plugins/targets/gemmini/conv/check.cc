#include "plugins/targets/gemmini/conv/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/conv/check_dram.h"
#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini::conv {
namespace {

// Columns of a scratchpad row and the DRAM bytes they came from; 0 = zeros.
struct Piece {
  uint32_t col = 0, cols = 0;
  uint64_t dram = 0;
};
using Row = std::vector<Piece>;  // by column, without overlap

// `count` elements of a kernel column against so many input channels; input 0 = padding.
struct Part {
  uint64_t weights = 0, input = 0;
  uint64_t count = 0;
  auto operator<=>(const Part&) const = default;
};

// An accumulator row.
struct Sum {
  enum class Holds : uint8_t { kNothing, kLoaded, kSum } holds = Holds::kNothing;
  bool stored = false;
  bool has_base = false;  // began on what was loaded
  uint64_t base = 0;      // DRAM of that; 0 = zeros
  uint32_t cols = 0;
  std::vector<Part> parts;
};

// Neighbouring rows of the weights in the array, weight_channel apart in DRAM.
struct WeightRun {
  uint32_t first = 0, count = 0;
  uint64_t dram = 0;
};

class Checker {
 public:
  Checker(const Problem& problem, const Form& form, const Machine& machine)
      : problem_(problem),
        form_(form),
        machine_(machine),
        dram_(problem, form),
        scratchpad_(machine.scratchpad_rows),
        accumulator_(machine.accumulator_rows) {
    const auto bytes = static_cast<uint64_t>(form.weight_channel);
    channel_bytes_ = bytes;
    // Else parts of one tap do not follow each other by address.
    by_element_ = form.weight_row < form.weight_col || form.weight_col < form.weight_channel;
    for (int64_t b = 0; b < problem.batch; ++b)
      for (int64_t y = 0; y < problem.rows.out; ++y)
        for (int64_t x = 0; x < problem.cols.out; ++x)
          pixels_.push_back(
              {dram_.address(problem.output) +
                   static_cast<uint64_t>((b * problem.output_strides.batch + y * problem.output_strides.row +
                                          x * problem.output_strides.col) *
                                         problem.output_bytes()),
               b, y, x});
    std::sort(pixels_.begin(), pixels_.end(),
              [](const Pixel& p, const Pixel& q) { return p.address < q.address; });
  }

  Status run(std::span<const Command> commands) {
    Unroller unroller(machine_);
    const CommandSink sink = [&](const Command& command) { return check(command); };
    for (number_ = 0; number_ < commands.size(); ++number_) ZB_TRY(unroller.feed(commands[number_], sink));
    for (size_t row = 0; row < accumulator_.size(); ++row) ZB_TRY(may_overwrite(row));
    return dram_.check_complete();
  }

 private:
  struct Pixel {
    uint64_t address = 0;
    int64_t batch = 0, y = 0, x = 0;
  };

  template <typename... Args>
  Status wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return internal_error(fmt::format("gemmini: kernel check failed at command {}: {}", number_,
                                      fmt::format(text, std::forward<Args>(args)...)));
  }

  Status check(const Command& command) {
    switch (static_cast<Funct>(command.funct)) {
      case Funct::kConfig:
        return configure(command);
      case Funct::kMvin:
      case Funct::kMvin2:
      case Funct::kMvin3:
        return load(command);
      case Funct::kMvout:
        return store(command);
      case Funct::kPreload:
        stationary_ = decode_operand(command.rs1);
        result_ = decode_operand(command.rs2);
        return {};
      case Funct::kComputeFlip:
      case Funct::kComputeStay:
        return step(decode_operand(command.rs1), command.funct == static_cast<uint32_t>(Funct::kComputeFlip));
      case Funct::kFence:
        dram_.fence();
        return {};
      default:
        return wrong("unexpected funct {}", command.funct);
    }
  }

  Status configure(const Command& command) {
    switch (config_kind(command)) {
      case ConfigKind::kExecute: {
        const ConfigEx config = decode_config_ex(command);
        if (config.dataflow != Dataflow::kWeightStationary || config.transpose_a || config.transpose_b ||
            config.c_stride != 1)
          return wrong("another dataflow than weights staying as they are");
        a_stride_ = config.a_stride;
        array_configured_ = true;
        return {};
      }
      case ConfigKind::kLoad: {
        const ConfigLd config = decode_config_ld(command);
        if (config.state > 2 || config.shrink || config.scale != 1.0f)
          return wrong("a load that changes values");
        loads_[config.state] = config;
        load_configured_[config.state] = true;
        return {};
      }
      case ConfigKind::kStore:
        store_ = decode_config_st(command);
        if (store_.pooling.stride != 0) return wrong("a store that pools");
        store_configured_ = true;
        return {};
      case ConfigKind::kNorm:
        break;
    }
    return wrong("a normalisation");
  }

  Status may_overwrite(size_t row) const {
    const Sum& sum = accumulator_[row];
    if (sum.holds == Sum::Holds::kSum && !sum.stored)
      return wrong("the sum in accumulator row {} is gone before it was stored", row);
    return {};
  }

  Status load(const Command& command) {
    const auto state = static_cast<size_t>(load_state_of(command.funct));
    if (!load_configured_[state]) return wrong("load state {} is not configured", state);
    const ConfigLd& config = loads_[state];
    const Operand local = decode_operand(command.rs2);
    const uint32_t dim = machine_.dim;
    const bool accumulator = is_accumulator(local.address);
    const uint32_t bytes = accumulator ? 4 : 1, row0 = target_row(local.address);
    if (local.rows == 0 || local.rows > dim || local.cols == 0 ||
        local.cols * bytes > machine_.max_move_bytes)
      return wrong("a load of {}x{} elements", local.rows, local.cols);
    if (accumulator && (local.address & kAccumulateBit) != 0) return wrong("a load that accumulates");
    for (uint32_t r = 0; r < local.rows; ++r) {
      const uint64_t dram = command.rs1 == 0 ? 0 : command.rs1 + r * config.dram_stride_bytes;
      if (dram != 0) {
        if (const char* why = dram_.read(dram, uint64_t{local.cols} * bytes))
          return wrong("reads {:#x}: {}", dram, why);
      }
      for (uint32_t c = 0; c < local.cols; c += dim) {
        const uint64_t row = uint64_t{row0} + r + c / dim * uint64_t{config.block_stride};
        const uint32_t cols = std::min(dim, local.cols - c);
        const uint64_t from = dram == 0 ? 0 : dram + uint64_t{c} * bytes;
        if (row >= (accumulator ? accumulator_.size() : scratchpad_.size()))
          return wrong("loads to local row {}, out of range", row);
        if (accumulator) {
          ZB_TRY(may_overwrite(row));
          Sum& sum = accumulator_[row];
          sum.holds = Sum::Holds::kLoaded;
          sum.base = from;
          sum.cols = cols;
          sum.parts.clear();
        } else {
          ZB_TRY(place(row, cols, from, config.pixel_repeats));
        }
      }
    }
    return {};
  }

  // Writes a row, and again, shifted, to the rows before it.
  Status place(uint64_t row, uint32_t cols, uint64_t dram, uint32_t repeats) {
    for (uint32_t q = 0; q < std::max(repeats, 1u) && q <= row; ++q) {
      if ((q + 1) * cols > machine_.dim) return wrong("{} repeated pixels of {} channels", repeats, cols);
      Row& pieces = scratchpad_[row - q];
      const uint32_t first = q * cols, end = first + cols;
      Row kept;
      for (const Piece& piece : pieces) {
        if (piece.col < first)
          kept.push_back({piece.col, std::min(piece.cols, first - piece.col), piece.dram});
        const uint32_t piece_end = piece.col + piece.cols;
        if (piece_end > end) {
          const uint32_t cut = end > piece.col ? end - piece.col : 0;
          kept.push_back({piece.col + cut, piece.cols - cut, piece.dram == 0 ? 0 : piece.dram + cut});
        }
      }
      kept.push_back({first, cols, dram});
      std::sort(kept.begin(), kept.end(), [](const Piece& x, const Piece& y) { return x.col < y.col; });
      pieces.swap(kept);
    }
    return {};
  }

  // --- Array steps

  Status take_weights() {
    const uint32_t row0 = target_row(stationary_.address);
    weights_.clear();
    weight_rows_ = stationary_.rows;
    weight_cols_ = stationary_.cols;
    if (stationary_.rows == 0 || stationary_.rows > machine_.dim || stationary_.cols == 0 ||
        stationary_.cols > machine_.dim || is_accumulator(stationary_.address))
      return wrong("a block of {}x{} weights", stationary_.rows, stationary_.cols);
    if (uint64_t{row0} + stationary_.rows > scratchpad_.size())
      return wrong("weights at row {}, out of range", row0);
    for (uint32_t k = 0; k < stationary_.rows; ++k) {
      const Row& row = scratchpad_[row0 + k];
      if (row.empty() || row[0].col != 0 || row[0].cols < stationary_.cols || row[0].dram == 0)
        return wrong("scratchpad row {} holds no weights", row0 + k);
      if (!weights_.empty() && row[0].dram == weights_.back().dram + weights_.back().count * channel_bytes_)
        ++weights_.back().count;
      else
        weights_.push_back({k, 1, row[0].dram});
    }
    return {};
  }

  Status step(const Operand& a, bool flip) {
    if (!array_configured_) return wrong("the array is not configured");
    if (flip) {
      if (stationary_.address == kGarbage) return wrong("no weights to take into the array");
      ZB_TRY(take_weights());
    } else if (weights_.empty() || stationary_.address != kGarbage) {
      return wrong("the array holds no weights to stay");
    }
    if (a.rows == 0 || a.rows > machine_.dim || a.cols != weight_rows_ || is_accumulator(a.address))
      return wrong("{}x{} pixels meet {} rows of weights", a.rows, a.cols, weight_rows_);
    if (!is_accumulator(result_.address) || result_.rows != a.rows || result_.cols != weight_cols_)
      return wrong("a result of {}x{} where {}x{} is computed", result_.rows, result_.cols, a.rows,
                   weight_cols_);
    const uint32_t c0 = target_row(result_.address), a0 = target_row(a.address);
    if (uint64_t{c0} + a.rows > accumulator_.size() ||
        a0 + uint64_t{a.rows - 1u} * a_stride_ >= scratchpad_.size())
      return wrong("operands out of range");
    const bool accumulate = (result_.address & kAccumulateBit) != 0;
    for (uint32_t r = 0; r < a.rows; ++r) {
      ZB_TRY(open_sum(c0 + r, accumulate));
      ZB_TRY(add_products(accumulator_[c0 + r], a0 + r * a_stride_, a.cols));
    }
    return {};
  }

  Status open_sum(uint32_t row, bool accumulate) {
    Sum& sum = accumulator_[row];
    if (!accumulate) {
      ZB_TRY(may_overwrite(row));
      sum.holds = Sum::Holds::kSum;
      sum.stored = sum.has_base = false;
      sum.cols = weight_cols_;
      sum.parts.clear();
      return {};
    }
    if (sum.holds == Sum::Holds::kNothing || (sum.holds == Sum::Holds::kSum && sum.stored))
      return wrong("adds to accumulator row {}, which holds nothing to add to", row);
    if (sum.holds == Sum::Holds::kLoaded ? sum.cols < weight_cols_ : sum.cols != weight_cols_)
      return wrong("adds {} columns to accumulator row {} of {}", weight_cols_, row, sum.cols);
    if (sum.holds == Sum::Holds::kLoaded) {
      sum.holds = Sum::Holds::kSum;
      sum.stored = false;
      sum.has_base = true;
      sum.cols = weight_cols_;
    }
    return {};
  }

  // The pieces of one row of pixels against the rows of weights.
  Status add_products(Sum& sum, uint32_t row, uint32_t depth) {
    uint32_t at = 0;
    size_t run = 0;
    for (const Piece& piece : scratchpad_[row]) {
      if (at >= depth) break;
      if (piece.col != at) break;
      const uint32_t end = std::min(depth, piece.col + piece.cols);
      while (at < end) {
        while (weights_[run].first + weights_[run].count <= at) ++run;
        const uint32_t count = std::min(end, weights_[run].first + weights_[run].count) - at;
        add_part(sum.parts, {weights_[run].dram + (at - weights_[run].first) * channel_bytes_,
                             piece.dram == 0 ? 0 : piece.dram + (at - piece.col), count});
        at += count;
      }
    }
    if (at < depth) return wrong("scratchpad row {} holds {} of {} columns of pixels", row, at, depth);
    return {};
  }

  // Appends, continuing the last part where both operands do.
  void add_part(std::vector<Part>& parts, Part next) const {
    if (!parts.empty()) {
      Part& last = parts.back();
      const bool zeros = last.input == 0 && next.input == 0;
      if (next.weights == last.weights + last.count * channel_bytes_ &&
          (zeros || (last.input != 0 && next.input == last.input + last.count))) {
        last.count += next.count;
        return;
      }
    }
    parts.push_back(next);
  }

  // One spelling for equal contributions.
  void normalise(std::vector<Part>& parts) {
    spread_.clear();
    if (by_element_) {
      for (const Part& part : parts)
        for (uint64_t i = 0; i < part.count; ++i)
          spread_.push_back({part.weights + i * channel_bytes_, part.input == 0 ? 0 : part.input + i, 1});
      parts.swap(spread_);
    }
    std::sort(parts.begin(), parts.end());
    if (by_element_) return;
    spread_.clear();
    for (const Part& part : parts) add_part(spread_, part);
    parts.swap(spread_);
  }

  // --- Stores

  Status store(const Command& command) {
    if (!store_configured_) return wrong("the store is not configured");
    const Operand local = decode_operand(command.rs2);
    const uint32_t dim = machine_.dim;
    const bool accumulator = is_accumulator(local.address);
    const bool full = accumulator && (local.address & kFullRowBit) != 0;
    const uint32_t bytes = full ? 4 : 1, row0 = mvout_row(local.address);
    if (local.rows == 0 || local.rows > dim || local.cols == 0 || local.cols > machine_.max_move_bytes ||
        (full && local.cols > dim))
      return wrong("a store of {}x{} elements", local.rows, local.cols);
    for (uint32_t r = 0; r < local.rows; ++r) {
      const uint64_t dram = command.rs1 + uint64_t{r} * store_.dram_stride_bytes;
      if (const char* why = dram_.write(dram, uint64_t{local.cols} * bytes))
        return wrong("writes {:#x}: {}", dram, why);
      for (uint32_t c = 0; c < local.cols; c += dim) {
        const uint64_t row = uint64_t{row0} + r + c;
        const uint32_t cols = std::min(dim, local.cols - c);
        if (row >= (accumulator ? accumulator_.size() : scratchpad_.size()))
          return wrong("stores local row {}, out of range", row);
        const uint64_t to = dram + uint64_t{c} * bytes;
        if (accumulator) {
          ZB_TRY(store_sum(accumulator_[row], cols, to, full));
        } else {
          const Row& pieces = scratchpad_[row];
          if (pieces.empty() || pieces[0].col != 0 || pieces[0].cols < cols || pieces[0].dram == 0)
            return wrong("copies {} columns of scratchpad row {}, which are not there", cols, row);
          dram_.copied(to, pieces[0].dram, cols, 1);
        }
      }
    }
    return {};
  }

  Status store_sum(Sum& sum, uint32_t cols, uint64_t dram, bool full) {
    if (sum.holds == Sum::Holds::kLoaded && full && sum.cols >= cols && sum.base != 0) {
      dram_.copied(dram, sum.base, cols, 4);
      return {};
    }
    if (sum.holds != Sum::Holds::kSum || sum.stored)
      return wrong("stores to {:#x} what is no open sum", dram);
    if (full != problem_.full_width) return wrong("stores sums in another width");
    if (!full &&
        (store_.acc_scale != problem_.scale || (store_.activation == Activation::kRelu) != problem_.relu))
      return wrong("stores with another scale or activation");
    const auto bytes = static_cast<uint64_t>(problem_.output_bytes());
    auto found = std::upper_bound(pixels_.begin(), pixels_.end(), dram,
                                  [](uint64_t at, const Pixel& pixel) { return at < pixel.address; });
    if (found == pixels_.begin()) return wrong("stores a sum to {:#x}, which is no output", dram);
    const Pixel& pixel = *--found;
    const auto channel = static_cast<int64_t>((dram - pixel.address) / bytes);
    const auto group = std::find_if(form_.groups.begin(), form_.groups.end(), [&](const Group& each) {
      return channel >= each.output && channel < each.output + each.out_channels;
    });
    if (group == form_.groups.end() || channel + cols > group->output + group->out_channels ||
        sum.cols != cols)
      return wrong("stores {} of {} columns to channel {} of a pixel", cols, sum.cols, channel);
    return check_sum(sum, pixel, *group, channel - group->output);
  }

  Status check_sum(Sum& sum, const Pixel& pixel, const Group& group, int64_t out) {
    expected_.clear();
    for (int64_t ky = 0; ky < problem_.rows.kernel; ++ky) {
      for (int64_t kx = 0; kx < problem_.cols.kernel; ++kx) {
        const int64_t y = pixel.y * problem_.rows.stride + ky * problem_.rows.dilation - problem_.rows.pad;
        const int64_t x = pixel.x * problem_.cols.stride + kx * problem_.cols.dilation - problem_.cols.pad;
        const bool inside = y >= 0 && y < problem_.rows.in && x >= 0 && x < problem_.cols.in;
        const Strides& strides = problem_.input_strides;
        const int64_t input = group.input + pixel.batch * strides.batch + y * strides.row + x * strides.col;
        const int64_t weights = group.weights + ky * form_.weight_row + kx * form_.weight_col + out;
        expected_.push_back({dram_.address(form_.weights) + static_cast<uint64_t>(weights),
                             inside ? dram_.address(problem_.input) + static_cast<uint64_t>(input) : 0,
                             static_cast<uint64_t>(group.in_channels)});
      }
    }
    normalise(expected_);
    normalise(sum.parts);
    if (expected_ != sum.parts)
      return wrong(
          "the sum for pixel ({}, {}, {}) has other contributions than belong there: {} parts, not {}",
          pixel.batch, pixel.y, pixel.x, sum.parts.size(), expected_.size());
    uint64_t bias = 0;
    if (problem_.has_bias) {
      const Strides& strides = problem_.bias_strides;
      bias = dram_.address(problem_.bias) +
             4 * static_cast<uint64_t>(pixel.batch * strides.batch + pixel.y * strides.row +
                                       pixel.x * strides.col + group.bias + out);
    }
    if ((sum.has_base ? sum.base : 0) != bias)
      return wrong("the sum for pixel ({}, {}, {}) has another bias than it should", pixel.batch, pixel.y,
                   pixel.x);
    sum.stored = true;
    return {};
  }

  const Problem& problem_;
  const Form& form_;
  const Machine& machine_;
  CheckedDram dram_;
  std::vector<Row> scratchpad_;
  std::vector<Sum> accumulator_;
  std::vector<Pixel> pixels_;  // by address
  bool array_configured_ = false, store_configured_ = false;
  std::array<bool, 3> load_configured_ = {};
  std::array<ConfigLd, 3> loads_;
  ConfigSt store_;
  uint32_t a_stride_ = 1;
  Operand stationary_, result_;
  std::vector<WeightRun> weights_;
  uint32_t weight_rows_ = 0, weight_cols_ = 0;
  uint64_t channel_bytes_ = 1;
  bool by_element_ = false;
  std::vector<Part> expected_, spread_;
  size_t number_ = 0;
};

}  // namespace

Status check_kernel(const Problem& problem, const Form& form, const Machine& machine,
                    std::span<const Command> commands) {
  return Checker(problem, form, machine).run(commands);
}

}  // namespace zomboss::gemmini::conv
