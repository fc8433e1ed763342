#include "plugins/targets/gemmini/conv/loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/gemmini/conv/copies.h"
#include "plugins/targets/gemmini/conv/tiles.h"

namespace zomboss::gemmini::conv {
namespace {

constexpr int64_t kWord = (1 << 16) - 1, kByte = (1 << 8) - 1;

// The input rows or columns of a macro tile as the loop sees them.
struct Span {
  int64_t first = 0;  // in the image, padding clipped
  int64_t low = 0, high = 0;
  int64_t all = 0;
};

Span input_span(const Axis& axis, const Range& outputs, const Range& taps) {
  const int64_t first = axis.input_at(outputs.first, taps.first);
  Span span;
  span.all = outputs.count * axis.stride + (taps.count - 1) * axis.dilation;
  span.low = std::max<int64_t>(0, -first);
  span.high = std::max<int64_t>(0, first + span.all - axis.in);
  span.first = std::max<int64_t>(0, first);
  return span;
}

int64_t row_pitch(const Problem& problem) {  // pixels
  return problem.input_strides.col == 0 || problem.rows.in == 1
             ? problem.cols.in
             : problem.input_strides.row / problem.input_strides.col;
}

class LoopBuilder {
 public:
  LoopBuilder(const Problem& problem, const Mapping& mapping, const Machine& machine)
      : problem_(problem), form_(problem.forms[mapping.form]), mapping_(mapping), machine_(machine) {
    for (const PlacedBuffer& placed : placed_buffers(problem, form_)) addresses_.push_back(placed.address);
    const Footprint needs = footprint(problem, mapping, machine);
    // Operands of at most two tiles stay, each in a half of its own. Repeated pixels could reach from one
    // half into the other.
    const int64_t channels = std::min(mapping.tile_k, form_.most_in_channels());
    const bool repeats = loop_pixels_per_row(problem, mapping.tile_kernel_cols, channels, machine) > 1;
    const bool one_group = form_.groups.size() == 1;
    keeps_a_ = one_group && !repeats && needs.pixel_tiles * needs.k_tiles <= 2;
    keeps_b_ = one_group && needs.n_tiles * needs.k_tiles <= 2;
  }

  std::vector<Command> run() {
    ConfigEx ex;
    ex.a_stride = static_cast<uint16_t>(loop_downsamples(problem_) ? 1 : problem_.cols.stride);
    commands_.push_back(config_ex(ex));
    for (const Copy& copy : problem_.before) add_copy({copy, 0, 0}, true);
    for (const OffsetCopy& copy : form_.before) add_copy(copy, true);
    ConfigSt store;
    store.dram_stride_bytes = static_cast<uint32_t>(problem_.output_strides.col);
    store.activation = problem_.relu ? Activation::kRelu : Activation::kNone;
    store.acc_scale = problem_.scale;
    commands_.push_back(config_st(store));
    for_each_tile(problem_, mapping_, [&](const Tile& tile) {
      add_tile(tile);
      return true;
    });
    for (const Copy& copy : problem_.after) add_copy({copy, 0, 0}, false);
    return std::move(commands_);
  }

 private:
  void add_copy(const OffsetCopy& copy, bool fence_behind) {
    if (!fence_behind) commands_.push_back(fence());
    bool configured = false;
    for (const CopyMove& move : copy_moves(copy, addresses_, machine_)) {
      if (!configured) commands_.insert(commands_.end(), {move.load_config, move.store_config});
      configured = true;
      commands_.insert(commands_.end(), {move.load, move.store});
    }
    if (fence_behind) commands_.push_back(fence());
  }

  uint64_t element(uint32_t buffer, int64_t offset, int64_t bytes = 1) const {
    return addresses_[buffer] + static_cast<uint64_t>(offset * bytes);
  }

  void add_tile(const Tile& tile) {
    const auto word = [](int64_t value) { return static_cast<uint16_t>(value); };
    const auto byte = [](int64_t value) { return static_cast<uint8_t>(value); };
    const Group& group = form_.groups[static_cast<size_t>(tile.group)];
    const Axis &rows = problem_.rows, &cols = problem_.cols;
    const Span y = input_span(rows, tile.rows, tile.kernel_rows),
               x = input_span(cols, tile.cols, tile.kernel_cols);
    LoopConv loop;
    loop.batch_size = word(problem_.batch);
    loop.in_col_dim = word(row_pitch(problem_));
    loop.in_row_dim = word(problem_.batch == 1 ? rows.in
                                               : problem_.input_strides.batch /
                                                     std::max<int64_t>(1, problem_.input_strides.row));
    loop.in_channels =
        word(form_.weight_col == 0 ? group.in_channels : form_.weight_col / form_.weight_channel);
    loop.out_channels = word(group.out_channels);
    loop.out_row_dim = loop.pool_out_row_dim = word(rows.out);
    loop.out_col_dim = loop.pool_out_col_dim = word(cols.out);
    loop.stride = byte(cols.stride);
    loop.padding = byte(std::min(cols.pad, kByte));
    loop.kernel_dim = word(form_.weight_row == 0 ? cols.kernel : form_.weight_row / form_.weight_col);
    loop.kernel_dilation = byte(cols.dilation);
    loop.pool_size = 1;
    loop.pool_stride = 1;
    loop.in_stride = word(std::max<int64_t>(1, problem_.input_strides.col));
    loop.weight_stride = word(form_.weight_channel == 0 ? 1 : form_.weight_channel);
    loop.out_stride = word(problem_.output_strides.col);
    loop.batches = word(tile.batch.count);
    loop.orows = loop.porows = word(tile.rows.count);
    loop.ocols = loop.pocols = word(tile.cols.count);
    loop.pochs = word(tile.out.count);
    loop.krows = word(tile.kernel_rows.count);
    loop.kcols = word(tile.kernel_cols.count);
    loop.kchs = word(tile.in.count);
    loop.upad = word(y.low);
    loop.dpad = byte(y.high);
    loop.lpad = word(x.low);
    loop.rpad = word(x.high);
    loop.no_pool = true;
    loop.downsample = loop_downsamples(problem_);
    loop.no_bias = !problem_.has_bias;
    loop.activation = problem_.relu ? Activation::kRelu : Activation::kNone;
    loop.max_pixels_per_row =
        byte(loop_pixels_per_row(problem_, tile.kernel_cols.count, tile.in.count, machine_));

    const Strides &in = problem_.input_strides, &out = problem_.output_strides;
    loop.input = element(problem_.input, group.input + tile.batch.first * in.batch + y.first * in.row +
                                             x.first * in.col + tile.in.first);
    loop.weights = element(form_.weights, group.weights + tile.kernel_rows.first * form_.weight_row +
                                              tile.kernel_cols.first * form_.weight_col +
                                              tile.in.first * form_.weight_channel + tile.out.first);
    if (tile.first_k)  // without a bias: any address but 0
      loop.bias = problem_.has_bias ? element(problem_.bias, group.bias + tile.out.first, 4) : 1;
    if (tile.last_k)
      loop.output =
          element(problem_.output, group.output + tile.batch.first * out.batch + tile.rows.first * out.row +
                                       tile.cols.first * out.col + tile.out.first);
    if (keeps_a_) {
      loop.a_scratchpad_id = byte(tile.a_tile + 1);
      if (loaded_a_[tile.a_tile]) loop.input = 0;
      loaded_a_[tile.a_tile] = true;
    }
    if (keeps_b_) {
      loop.b_scratchpad_id = byte(tile.b_tile + 1);
      if (loaded_b_[tile.b_tile]) loop.weights = 0;
      loaded_b_[tile.b_tile] = true;
    }
    for (const Command& command : loop_conv(loop)) commands_.push_back(command);
  }

  const Problem& problem_;
  const Form& form_;
  const Mapping& mapping_;
  const Machine& machine_;
  std::vector<uint64_t> addresses_;
  std::vector<Command> commands_;
  bool keeps_a_ = false, keeps_b_ = false;
  bool loaded_a_[2] = {}, loaded_b_[2] = {};
};

}  // namespace

bool loop_downsamples(const Problem& problem) {
  const Axis &rows = problem.rows, &cols = problem.cols;
  return rows.stride == 2 && cols.stride == 2 && rows.kernel == 1 && cols.kernel == 1 && rows.pad == 0 &&
         cols.pad == 0 && rows.in % 2 == 0 && cols.in % 2 == 0;
}

int64_t loop_pixels_per_row(const Problem& problem, int64_t kernel_cols, int64_t channels,
                            const Machine& machine) {
  if (loop_downsamples(problem) || problem.cols.dilation > 1 || channels > machine.dim) return 1;
  return std::min(kernel_cols, machine.dim / channels);
}

Status check_loop_form(const Problem& problem, const Form& form) {
  const Axis &rows = problem.rows, &cols = problem.cols;
  const auto no = [](std::string_view why) {
    return invalid_argument(fmt::format("gemmini: loop_conv_ws {}", why));
  };
  if (problem.full_width) return no("stores int8 only");
  if (rows.stride != cols.stride || rows.dilation != cols.dilation)
    return no("has one stride and one dilation");
  if (problem.has_bias && !problem.bias_repeats()) return no("adds one bias for each output channel");
  const Strides &in = problem.input_strides, &out = problem.output_strides;
  const int64_t in_col = std::max<int64_t>(1, in.col);
  if (in.row % in_col != 0 || (problem.batch > 1 && (in.row == 0 || in.batch % in.row != 0)) ||
      (rows.in > 1 && in.row == 0) || (cols.in > 1 && in.col == 0))
    return no("wants input rows that follow each other evenly");
  if ((rows.out > 1 && out.row != out.col * cols.out) ||
      (problem.batch > 1 && out.batch != out.col * cols.out * rows.out) || out.col <= 0)
    return no("wants output pixels that follow each other");
  if (form.weight_channel <= 0 || form.weight_col % form.weight_channel != 0 ||
      (rows.kernel > 1 && (form.weight_col <= 0 || form.weight_row % form.weight_col != 0)))
    return no("wants kernels whose taps and input channels nest");
  const int64_t words[] = {problem.batch,
                           rows.in,
                           row_pitch(problem),
                           rows.out,
                           cols.out,
                           in_col,
                           out.col,
                           form.weight_channel,
                           form.weight_col / form.weight_channel,
                           form.most_out_channels(),
                           cols.kernel,
                           rows.pad,
                           cols.pad};
  for (const int64_t value : words)
    if (value > kWord) return no(fmt::format("has 16 bits for a size of {}", value));
  const int64_t bytes[] = {cols.stride, cols.dilation};
  for (const int64_t value : bytes)
    if (value > kByte) return no(fmt::format("has 8 bits for a size of {}", value));
  return {};
}

LoopRows loop_rows(const Problem& problem, const Mapping& m, const Machine& machine) {
  const int64_t dim = machine.dim, down = loop_downsamples(problem) ? 1 : 0;
  const int64_t irows = m.tile_rows * problem.rows.stride + (m.tile_kernel_rows - 1) * problem.rows.dilation;
  const int64_t icols = m.tile_cols * problem.cols.stride + (m.tile_kernel_cols - 1) * problem.cols.dilation;
  const Form& form = problem.forms[m.form];
  const int64_t in = std::min(m.tile_k, form.most_in_channels()),
                out = std::min(m.tile_n, form.most_out_channels());
  const int64_t a = ceil_div(in, dim) * m.tile_batch * (irows >> down) * (icols >> down);
  const int64_t b = ceil_div(out, dim) * m.tile_kernel_rows * m.tile_kernel_cols * in;
  return {a + b, ceil_div(out, dim) * m.tile_batch * m.tile_rows * m.tile_cols};
}

Status check_loop_tiles(const Problem& problem, const Mapping& mapping, const Machine& machine) {
  const Form& form = problem.forms[mapping.form];
  ZB_TRY(check_loop_form(problem, form));
  const LoopRows rows = loop_rows(problem, mapping, machine);
  if (rows.scratchpad > machine.loop_scratchpad_rows() || rows.accumulator > machine.loop_accumulator_rows())
    return resource_exhausted(fmt::format(
        "gemmini: a loop_conv_ws tile needs {} scratchpad and {} accumulator rows, half of the "
        "memories have {} and {}",
        rows.scratchpad, rows.accumulator, machine.loop_scratchpad_rows(), machine.loop_accumulator_rows()));
  Status status;
  for_each_tile(problem, mapping, [&](const Tile& tile) {
    if (tile.group > 0) return false;
    const Span y = input_span(problem.rows, tile.rows, tile.kernel_rows),
               x = input_span(problem.cols, tile.cols, tile.kernel_cols);
    if (y.low + y.high > y.all || x.low + x.high > x.all || y.high > kByte)
      status = invalid_argument("gemmini: a loop_conv_ws tile lies in the padding, or has too much of it");
    return status.ok();
  });
  return status;
}

std::vector<Command> build_loops(const Problem& problem, const Mapping& mapping, const Machine& machine) {
  return LoopBuilder(problem, mapping, machine).run();
}

}  // namespace zomboss::gemmini::conv
