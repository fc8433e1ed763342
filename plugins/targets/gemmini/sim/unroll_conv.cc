#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini {
namespace {

// One loop_conv_ws run. All sizes are 64-bit: the fields are at most 16 bits wide and at most three are
// multiplied before check() has bounded them.
class ConvExpansion {
 public:
  ConvExpansion(const LoopConv& loop, const Machine& machine, ConvPlace place, const CommandSink& sink)
      : l_(loop), machine_(machine), place_(place), sink_(sink), dim_(machine.dim) {
    const int64_t dilated_rows = l_.krows + (l_.kernel_dilation - 1) * (l_.krows - 1);
    const int64_t dilated_cols = l_.kcols + (l_.kernel_dilation - 1) * (l_.kcols - 1);
    irows_ = int64_t{l_.orows} * l_.stride + dilated_rows - 1;
    icols_ = int64_t{l_.ocols} * l_.stride + dilated_cols - 1;
    unpadded_rows_ = irows_ - l_.upad - l_.dpad;
    unpadded_cols_ = icols_ - l_.lpad - l_.rpad;
    if (l_.input_dilated) {
      unpadded_rows_ = (unpadded_rows_ + 1) / 2;
      unpadded_cols_ = (unpadded_cols_ + 1) / 2;
      irows_ = unpadded_rows_ + undilated(l_.upad) + undilated(l_.dpad);
      icols_ = unpadded_cols_ + undilated(l_.lpad) + undilated(l_.rpad);
    }
    image_ = down(irows_) * down(icols_);
    out_image_ = int64_t{l_.orows} * l_.ocols;
  }

  Status run() {
    ZB_TRY(check());
    ZB_TRY(bias_part());
    ZB_TRY(input_part());
    ZB_TRY(weights_part());
    ZB_TRY(compute_all());
    return store_part();
  }

  // `target` is where the sink puts its commands.
  Status split(ConvParts& parts, std::vector<Command>*& target) {
    ZB_TRY(check());
    target = &parts.bias;
    ZB_TRY(bias_part());
    target = &parts.input;
    ZB_TRY(input_part());
    target = &parts.weights;
    ZB_TRY(weights_part());
    target = &parts.execute;
    ZB_TRY(compute_all());
    target = &parts.store;
    return store_part();
  }

 private:
  Status bias_part() const { return l_.bias != 0 ? load_bias() : Status(); }
  Status input_part() const { return l_.input != 0 ? load_input() : Status(); }
  Status weights_part() const { return l_.weights != 0 ? load_weights() : Status(); }
  Status store_part() const {
    if (l_.output == 0) return {};
    return l_.no_pool ? store() : store_pooled();
  }

  int64_t undilated(int64_t value) const { return l_.input_dilated ? (value + 1) >> 1 : value; }
  int64_t down(int64_t value) const { return value >> (l_.downsample ? 1 : 0); }
  int64_t blocks(int64_t count) const { return (count + dim_ - 1) / dim_; }
  int64_t max_columns() const { return machine_.max_block_columns(); }

  Status check() {
    const int64_t needed[] = {l_.batches, l_.pochs, l_.krows,  l_.kcols,           l_.kchs,
                              l_.orows,   l_.ocols, l_.stride, l_.kernel_dilation, l_.max_pixels_per_row};
    const char* const names[] = {"batches", "pochs", "krows",  "kcols",           "kchs",
                                 "orows",   "ocols", "stride", "kernel dilation", "pixels per row"};
    for (size_t index = 0; index < std::size(needed); ++index) {
      if (needed[index] == 0) return invalid_argument(fmt::format("loop_conv_ws with {} = 0", names[index]));
    }
    if (down(irows_) <= 0 || down(icols_) <= 0) {
      return invalid_argument(fmt::format("loop_conv_ws over an input of {}x{} pixels", irows_, icols_));
    }
    const int64_t a_rows = l_.trans_input_3120
                               ? saturating({blocks(l_.batches), l_.kchs, down(irows_), down(icols_)})
                               : saturating({blocks(l_.kchs), l_.batches, down(irows_), down(icols_)});
    const int64_t b_rows = l_.trans_weight_0132 ? saturating({blocks(l_.kchs), l_.kcols, l_.krows, l_.pochs})
                                                : saturating({blocks(l_.pochs), l_.kcols, l_.krows, l_.kchs});
    const int64_t c_rows = saturating({blocks(l_.pochs), l_.batches, l_.orows, l_.ocols});
    ZB_TRY(check_rows("input", a_rows, machine_.loop_scratchpad_rows()));
    ZB_TRY(check_rows("weight", b_rows, machine_.loop_scratchpad_rows()));
    ZB_TRY(check_rows("result", c_rows, machine_.loop_accumulator_rows()));
    const int64_t half = machine_.loop_scratchpad_rows();
    const auto upper = [this](uint8_t id) { return id == 2 || (id == 0 && place_.upper_half); };
    a0_ = upper(l_.a_scratchpad_id) ? half : 0;
    b0_ = (upper(l_.b_scratchpad_id) ? 2 * half : half) - b_rows;
    return {};
  }
  static int64_t saturating(std::initializer_list<int64_t> factors) {
    constexpr int64_t kMany = int64_t{1} << 32;
    int64_t product = 1;
    for (const int64_t factor : factors)
      product = std::min(product * std::min(factor, kMany >> 2), kMany >> 2);
    return product;
  }
  static Status check_rows(const char* what, int64_t rows, int64_t capacity) {
    if (rows <= capacity) return {};
    return invalid_argument(fmt::format("loop_conv_ws needs at least {} {} rows, half of the memory has {}",
                                        rows, what, capacity));
  }

  static Operand tile(int64_t row, int64_t rows, int64_t cols) {
    return {static_cast<uint32_t>(row), static_cast<uint16_t>(rows), static_cast<uint16_t>(cols)};
  }
  static Operand garbage(int64_t rows, int64_t cols) { return tile(kGarbage, rows, cols); }
  int64_t c_row(int64_t start, int64_t och, int64_t b, int64_t orow, int64_t ocol) const {
    return start + och / dim_ * l_.batches * out_image_ + b * out_image_ + orow * l_.ocols + ocol;
  }
  Status configure_load(uint8_t state, uint64_t stride, int64_t block_stride, uint8_t repeats) const {
    return sink_(config_ld({.state = state,
                            .dram_stride_bytes = stride,
                            .block_stride = static_cast<uint16_t>(block_stride),
                            .pixel_repeats = repeats}));
  }

  Status load_bias() const {
    ZB_TRY(configure_load(2, 0, l_.batches * out_image_, 1));
    const int64_t step = std::min<int64_t>(l_.pochs, dim_);
    for (int64_t b = 0; b < l_.batches; ++b) {
      for (int64_t orow = 0; orow < l_.orows; ++orow) {
        for (int64_t ocol = 0; ocol < l_.ocols; ocol += dim_) {
          for (int64_t och = 0; och < l_.pochs; och += step) {
            const uint64_t dram = l_.no_bias ? 0 : l_.bias + static_cast<uint64_t>(4 * och);
            Operand local = tile(c_row(place_.d_row, och, b, orow, ocol),
                                 std::min<int64_t>(dim_, l_.ocols - ocol), std::min(step, l_.pochs - och));
            local.address |= kAccumulatorBit;
            ZB_TRY(sink_(mvin3(dram, local)));
          }
        }
      }
    }
    return {};
  }

  // Pixels that one move takes from column `icol` on: never across the border of the image.
  int64_t run_length(int64_t icol) const {
    if (icol < 0) return std::min(dim_, -icol);
    if (icol < unpadded_cols_) return std::min(dim_ << (l_.downsample ? 1 : 0), unpadded_cols_ - icol);
    return std::min(dim_, unpadded_cols_ + undilated(l_.rpad) - icol);
  }

  Status load_input() const {
    const int64_t channel_image = (l_.trans_input_3120 ? l_.kchs : l_.batches) * image_;
    const uint64_t stride = uint64_t{l_.trans_input_3120 ? l_.batch_size : l_.in_stride}
                            << (l_.downsample ? 1 : 0);
    ZB_TRY(configure_load(0, stride, channel_image, l_.max_pixels_per_row));
    const int64_t b_step = l_.trans_input_3120 ? std::min<int64_t>(l_.batches, max_columns()) : 1;
    const int64_t row_step = l_.downsample ? 2 : 1;
    for (int64_t b = 0; b < l_.batches; b += b_step) {
      for (int64_t irow = -undilated(l_.upad); irow < unpadded_rows_ + undilated(l_.dpad); irow += row_step) {
        const int64_t end = unpadded_cols_ + undilated(l_.rpad);
        for (int64_t icol = -undilated(l_.lpad); icol < end;) {
          const int64_t pixels = run_length(icol);
          ZB_TRY(load_run(b, b_step, irow, icol, pixels, channel_image));
          icol += pixels;
        }
      }
    }
    return {};
  }

  Status load_run(int64_t b, int64_t b_step, int64_t irow, int64_t icol, int64_t pixels,
                  int64_t channel_image) const {
    const bool zeros = irow < 0 || irow >= unpadded_rows_ || icol < 0 || icol >= unpadded_cols_;
    const int64_t ich_step = l_.trans_input_3120 ? 1 : std::min<int64_t>(l_.kchs, max_columns());
    const int64_t pixel_row =
        down(irow + undilated(l_.upad)) * down(icols_) + down(icol + undilated(l_.lpad));
    const int64_t dram_image = int64_t{l_.in_row_dim} * l_.in_col_dim;
    const int64_t dram_pixel = irow * l_.in_col_dim + icol;
    for (int64_t ich = 0; ich < l_.kchs; ich += ich_step) {
      const int64_t offset = l_.trans_input_3120 ? (ich * dram_image + dram_pixel) * l_.batch_size + b
                                                 : (b * dram_image + dram_pixel) * l_.in_stride + ich;
      const int64_t row = l_.trans_input_3120 ? a0_ + b / dim_ * channel_image + ich * image_ + pixel_row
                                              : a0_ + ich / dim_ * channel_image + b * image_ + pixel_row;
      const int64_t cols =
          l_.trans_input_3120 ? std::min(b_step, l_.batches - b) : std::min<int64_t>(ich_step, l_.kchs - ich);
      ZB_TRY(
          sink_(mvin(zeros ? 0 : l_.input + static_cast<uint64_t>(offset), tile(row, down(pixels), cols))));
    }
    return {};
  }

  Status load_weights() const {
    const bool t0132 = l_.trans_weight_0132;
    const int64_t kernel_area = int64_t{l_.kernel_dim} * l_.kernel_dim;
    uint64_t stride = l_.weight_stride;
    if (l_.depthwise) {
      stride = 1;
    } else if (l_.trans_weight_1203) {
      stride = static_cast<uint64_t>(kernel_area * l_.out_channels);
    } else if (t0132) {
      stride = l_.in_channels;
    }
    ZB_TRY(configure_load(1, stride, int64_t{l_.krows} * l_.kcols * (t0132 ? l_.pochs : l_.kchs), 1));
    const int64_t och_step = t0132 ? dim_ : std::min<int64_t>(l_.pochs, max_columns());
    const int64_t kch_step = t0132 ? std::min<int64_t>(l_.kchs, max_columns()) : dim_;
    for (int64_t och = 0; och < l_.pochs; och += och_step) {
      for (int64_t krow = 0; krow < l_.krows; ++krow) {
        for (int64_t kcol = 0; kcol < l_.kcols; ++kcol) {
          for (int64_t kch = 0; kch < l_.kchs; kch += kch_step) {
            const int64_t k = std::min(kch_step, l_.kchs - kch), j = std::min(och_step, l_.pochs - och);
            const uint64_t dram = l_.weights + static_cast<uint64_t>(weight_offset(krow, kcol, kch, och));
            ZB_TRY(sink_(mvin2(dram, tile(b_row(krow, kcol, kch, och), t0132 ? j : k, t0132 ? k : j))));
          }
        }
      }
    }
    return {};
  }

  int64_t weight_offset(int64_t krow, int64_t kcol, int64_t kch, int64_t och) const {
    const int64_t kdim = l_.kernel_dim, ochs = l_.out_channels, ichs = l_.in_channels;
    if (l_.depthwise) return krow * kdim + kcol;
    if (l_.trans_weight_1203) return (kch * kdim * kdim + krow * kdim + kcol) * ochs + och;
    if (l_.trans_weight_0132) return (krow * kdim * ochs + kcol * ochs + och) * ichs + kch;
    return (krow * kdim * ichs + kcol * ichs + kch) * l_.weight_stride + och;
  }
  int64_t b_row(int64_t krow, int64_t kcol, int64_t kch, int64_t och) const {
    const int64_t position = krow * l_.kcols + kcol;
    if (l_.trans_weight_0132) {
      return b0_ + kch / dim_ * l_.krows * l_.kcols * l_.pochs + position * l_.pochs + och;
    }
    return b0_ + och / dim_ * l_.krows * l_.kcols * l_.kchs + position * l_.kchs + kch;
  }

  Status compute_all() {
    if (l_.trans_input_3120) {
      // The strides alone; they stay changed after the run.
      ZB_TRY(sink_(config_ex({.dataflow = Dataflow::kOutputStationary,
                              .strides_only = true,
                              .a_stride = static_cast<uint16_t>(irows_ * icols_),
                              .c_stride = static_cast<uint16_t>(out_image_),
                              .acc_scale = 0.0f})));
    }
    for (int64_t och = 0; och < l_.pochs; och += dim_) {
      for (int64_t krow = 0; krow < l_.krows; ++krow) {
        for (int64_t kcol = 0; kcol < l_.kcols; kcol += l_.max_pixels_per_row) {
          for (int64_t kch = 0; kch < l_.kchs; kch += dim_) ZB_TRY(compute_weights(och, krow, kcol, kch));
        }
      }
    }
    return {};
  }

  static bool odd(int64_t value) { return value % 2 != 0; }

  // All output pixels of one weight tile; the first step loads it.
  Status compute_weights(int64_t och, int64_t krow, int64_t kcol, int64_t kch) {
    const int64_t b_step = l_.trans_input_3120 ? dim_ : 1;
    const int64_t ocol_step = l_.trans_input_3120 ? 1 : dim_ << (l_.input_dilated ? 1 : 0);
    bool new_weights = true;
    for (int64_t b = 0; b < l_.batches; b += b_step) {
      for (int64_t orow = 0; orow < l_.orows; ++orow) {
        if (l_.input_dilated && odd(krow * l_.kernel_dilation + orow - l_.upad)) continue;
        for (int64_t ocol = 0; ocol < l_.ocols;) {
          if (l_.input_dilated && odd(kcol * l_.kernel_dilation + ocol - l_.lpad)) {
            ++ocol;
            continue;
          }
          const int64_t i = l_.trans_input_3120 ? std::min(dim_, l_.batches - b)
                                                : undilated(std::min<int64_t>(ocol_step, l_.ocols - ocol));
          ZB_TRY(compute_step(och, krow, kcol, kch, b, orow, ocol, i, new_weights));
          new_weights = false;
          ocol += ocol_step;
        }
      }
    }
    return {};
  }

  Status compute_step(int64_t och, int64_t krow, int64_t kcol, int64_t kch, int64_t b, int64_t orow,
                      int64_t ocol, int64_t i, bool new_weights) const {
    const int64_t irow = undilated(orow * l_.stride + krow * l_.kernel_dilation);
    const int64_t icol = undilated(ocol * l_.stride + kcol * l_.kernel_dilation);
    const int64_t pixels = std::min<int64_t>(l_.max_pixels_per_row, l_.kcols - kcol);
    const int64_t k = pixels * std::min<int64_t>(dim_, l_.kchs - kch),
                  j = std::min<int64_t>(dim_, l_.pochs - och);
    const int64_t pixel = down(irow) * down(icols_) + down(icol);
    const int64_t a_row = l_.trans_input_3120 ? a0_ + b / dim_ * l_.kchs * image_ + kch * image_ + pixel
                                              : a0_ + kch / dim_ * l_.batches * image_ + b * image_ + pixel;
    const int64_t wrow = l_.rotate_weights ? l_.krows - 1 - krow : krow;
    const int64_t wcol = l_.rotate_weights ? l_.kcols - 1 - kcol : kcol;
    Operand c = tile(c_row(place_.c_row, och, b, orow, ocol), i, j);
    c.address |= kAccumulatorBit | kAccumulateBit;
    ZB_TRY(sink_(preload(new_weights ? tile(b_row(wrow, wcol, kch, och), k, j) : garbage(k, j), c)));
    return sink_(compute(new_weights, tile(a_row, i, k), garbage(i, j)));
  }

  Status store() const {
    for (int64_t b = 0; b < l_.batches; ++b) {
      for (int64_t orow = 0; orow < l_.orows; ++orow) {
        for (int64_t ocol = 0; ocol < l_.ocols; ocol += dim_) {
          for (int64_t och = 0; och < l_.pochs; och += dim_) {
            const int64_t offset =
                l_.trans_output_1203
                    ? (orow * l_.out_col_dim * l_.batch_size + ocol * l_.batch_size + b) * l_.out_channels +
                          och
                    : (b * l_.out_row_dim * l_.out_col_dim + orow * l_.out_col_dim + ocol) * l_.out_stride +
                          och;
            Operand c =
                tile(c_row(place_.c_row, och, b, orow, ocol), std::min<int64_t>(dim_, l_.ocols - ocol),
                     std::min<int64_t>(dim_, l_.pochs - och));
            c.address |= kAccumulatorBit | kAccumulateBit;
            ZB_TRY(sink_(mvout(l_.output + static_cast<uint64_t>(offset), c)));
          }
        }
      }
    }
    return {};
  }

  Status store_pooled() const {
    const auto byte = [](auto value) { return static_cast<uint8_t>(value); };
    ConfigSt config = {
        .dram_stride_bytes = l_.out_stride,
        .activation = l_.activation == Activation::kNone ? Activation::kNone : Activation::kRelu,
        .acc_scale = place_.acc_scale};
    ConfigSt pooled = config;
    pooled.pooling = {.stride = l_.pool_stride,
                      .size = byte(l_.pool_size),
                      .upper_pad = l_.pupad,
                      .left_pad = l_.plpad,
                      .out_dim = byte(l_.pool_out_col_dim),
                      .pooled_rows = byte(l_.porows),
                      .pooled_cols = byte(l_.pocols),
                      .rows = byte(l_.orows),
                      .cols = byte(l_.ocols)};
    ZB_TRY(sink_(config_st(pooled)));
    for (int64_t b = 0; b < l_.batches; ++b) {
      for (int64_t poch = 0; poch < l_.pochs; poch += dim_) {
        const int64_t offset = b * l_.pool_out_row_dim * l_.pool_out_col_dim * l_.out_stride + poch;
        Operand c = tile(c_row(place_.c_row, poch, b, 0, 0), 0, std::min<int64_t>(dim_, l_.pochs - poch));
        c.address |= kAccumulatorBit | kAccumulateBit;
        ZB_TRY(sink_(mvout(l_.output + static_cast<uint64_t>(offset), c)));
      }
    }
    return sink_(config_st(config));
  }

  const LoopConv& l_;
  const Machine& machine_;
  const ConvPlace place_;
  const CommandSink& sink_;
  const int64_t dim_;
  int64_t irows_ = 0, icols_ = 0;  // input pixels that the outputs touch, padding included
  int64_t unpadded_rows_ = 0, unpadded_cols_ = 0;
  int64_t image_ = 0;      // local rows of one input image and channel block
  int64_t out_image_ = 0;  // local rows of one output image and channel block
  int64_t a0_ = 0, b0_ = 0;
};

}  // namespace

Status unroll_loop_conv(const LoopConv& loop, const Machine& machine, ConvPlace place,
                        const CommandSink& sink) {
  return ConvExpansion(loop, machine, place, sink).run();
}

Result<ConvParts> split_loop_conv(const LoopConv& loop, const Machine& machine, ConvPlace place) {
  ConvParts parts;
  std::vector<Command>* target = nullptr;
  const CommandSink sink = [&target](const Command& command) {
    target->push_back(command);
    return Status();
  };
  ZB_TRY(ConvExpansion(loop, machine, place, sink).split(parts, target));
  return parts;
}

}  // namespace zomboss::gemmini
