#include "plugins/targets/gemmini/sim/unroll.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::gemmini {
namespace {

// One loop_ws run: tile geometry and the command order.
class WsExpansion {
 public:
  WsExpansion(const LoopWs& loop, const Machine& machine, const CommandSink& sink)
      : loop_(loop), machine_(machine), sink_(sink), dim_(machine.dim) {}

  Status run() {
    ZB_TRY(check_capacity());
    place_operands();
    return loop_.residual_add ? residual_add() : product();
  }

 private:
  Status check_capacity() const {
    const uint64_t i = loop_.i, j = loop_.j, k = loop_.k;
    const uint64_t scratchpad = (i * k + k * j) * dim_, accumulator = i * j * dim_;
    if (!loop_.residual_add && scratchpad > machine_.loop_scratchpad_rows()) {
      return invalid_argument(
          fmt::format("loop_ws of {}x{}x{} tiles needs {} scratchpad rows, half of the scratchpad has {}", i,
                      j, k, scratchpad, machine_.loop_scratchpad_rows()));
    }
    if (accumulator > machine_.loop_accumulator_rows()) {
      return invalid_argument(fmt::format(
          "loop_ws of {}x{} result tiles needs {} accumulator rows, half of the accumulator has {}", i, j,
          accumulator, machine_.loop_accumulator_rows()));
    }
    return {};
  }

  void place_operands() {
    const uint32_t half = machine_.loop_scratchpad_rows();
    a_row_ = loop_.a_scratchpad_id == 2 ? half : 0;
    b_row_ = (loop_.b_scratchpad_id == 2 ? 2 * half : half) - uint32_t{loop_.k} * loop_.j * dim_;
  }

  // Elements of block `index` of a dimension; a pad larger than the block leaves nothing.
  uint16_t extent(uint32_t index, uint32_t blocks, uint32_t pad) const {
    return static_cast<uint16_t>(index + 1 == blocks ? dim_ - std::min(pad, dim_) : dim_);
  }
  uint16_t rows_i(uint32_t i) const { return extent(i, loop_.i, loop_.pad_i); }
  uint16_t cols_j(uint32_t j) const { return extent(j, loop_.j, loop_.pad_j); }
  uint16_t depth_k(uint32_t k) const { return extent(k, loop_.k, loop_.pad_k); }

  uint32_t a_tile(uint32_t i, uint32_t k) const {
    return a_row_ + (loop_.transpose_a ? k * loop_.i + i : i * loop_.k + k) * dim_;
  }
  uint32_t b_tile(uint32_t k, uint32_t j) const {
    return b_row_ + (loop_.transpose_b ? j * loop_.k + k : k * loop_.j + j) * dim_;
  }
  uint32_t c_tile(uint32_t i, uint32_t j) const { return (i * loop_.j + j) * dim_; }
  uint64_t dram_tile(uint64_t base, uint64_t stride, uint32_t row, uint32_t col,
                     uint64_t element_bytes) const {
    return base + (row * stride + col) * dim_ * element_bytes;
  }

  Status load_a(uint32_t i, uint32_t k) const {
    const uint32_t row = loop_.transpose_a ? k : i, col = loop_.transpose_a ? i : k;
    const uint16_t rows = loop_.transpose_a ? depth_k(k) : rows_i(i);
    const uint16_t cols = loop_.transpose_a ? rows_i(i) : depth_k(k);
    return sink_(mvin(dram_tile(loop_.a, loop_.a_stride, row, col, 1), {a_tile(i, k), rows, cols}));
  }
  Status load_b(uint32_t k, uint32_t j) const {
    const uint32_t row = loop_.transpose_b ? j : k, col = loop_.transpose_b ? k : j;
    const uint16_t rows = loop_.transpose_b ? cols_j(j) : depth_k(k);
    const uint16_t cols = loop_.transpose_b ? depth_k(k) : cols_j(j);
    return sink_(mvin2(dram_tile(loop_.b, loop_.b_stride, row, col, 1), {b_tile(k, j), rows, cols}));
  }
  Status load_d() const {
    for (uint32_t i = 0; i < loop_.i; ++i) {
      for (uint32_t j = 0; j < loop_.j; ++j) {
        ZB_TRY(sink_(mvin3(dram_tile(loop_.d, loop_.d_stride, i, j, loop_.low_d ? 1 : 4),
                           {accumulator_address(c_tile(i, j)), rows_i(i), cols_j(j)})));
      }
    }
    return {};
  }

  Status product() {
    if (loop_.d != 0) ZB_TRY(load_d());
    for (uint32_t k = 0; k < loop_.k; ++k) {
      for (uint32_t j = 0; j < loop_.j; ++j) {
        for (uint32_t i = 0; i < loop_.i; ++i) ZB_TRY(step(k, j, i));
      }
    }
    return {};
  }

  Status step(uint32_t k, uint32_t j, uint32_t i) const {
    if (j == 0 && loop_.a != 0) ZB_TRY(load_a(i, k));
    if (i == 0 && loop_.b != 0) ZB_TRY(load_b(k, j));
    const uint32_t c = accumulator_address(c_tile(i, j), k != 0 || loop_.accumulate, loop_.full_c);
    ZB_TRY(
        sink_(preload({i == 0 ? b_tile(k, j) : kGarbage, depth_k(k), cols_j(j)}, {c, rows_i(i), cols_j(j)})));
    const auto dim = static_cast<uint16_t>(dim_);
    ZB_TRY(sink_(compute(i == 0, {a_tile(i, k), rows_i(i), depth_k(k)}, {kGarbage, dim, dim})));
    if (k + 1 != loop_.k || loop_.c == 0) return {};
    const bool normalised =
        loop_.activation == Activation::kLayernorm || loop_.activation == Activation::kSoftmax;
    if (!normalised) return store(i, j, c, 0, rows_i(i));
    return j + 1 == loop_.j ? store_normalised(i, c & ~target_row(c)) : Status();
  }

  Status store(uint32_t i, uint32_t j, uint32_t c, uint32_t row, uint16_t rows) const {
    const uint64_t element_bytes = loop_.full_c ? 4 : 1;
    const uint64_t dram =
        dram_tile(loop_.c, loop_.c_stride, i, j, element_bytes) + row * loop_.c_stride * element_bytes;
    return sink_(mvout(dram, {c + row, rows, cols_j(j)}));
  }

  // Three passes over each group of rows: two gather the statistics of each row, the last one stores it.
  Status store_normalised(uint32_t i, uint32_t flags) const {
    constexpr uint32_t kGroupRows = 4;  // statistic ids
    using enum NormCommand;
    const bool layernorm = loop_.activation == Activation::kLayernorm;
    const NormCommand inner[] = {layernorm ? kSum : kMax, layernorm ? kVariance : kSumExp, kReset};
    const NormCommand last[] = {layernorm ? kMean : kMax, layernorm ? kInvStddev : kInvSumExp, kReset};
    const uint32_t rows = rows_i(i);
    for (uint32_t group = 0; group < rows; group += kGroupRows) {
      for (int pass = 0; pass < 3; ++pass) {
        for (uint32_t row = group; row < std::min(rows, group + kGroupRows); ++row) {
          const auto statistic = static_cast<uint8_t>(row - group);
          ZB_TRY(sink_(config_norm({.statistic = statistic, .statistic_only = true})));
          for (uint32_t j = 0; j < loop_.j; ++j) {
            const NormCommand norm = j + 1 == loop_.j ? last[pass] : inner[pass];
            const uint32_t c = flags | static_cast<uint32_t>(norm) << 26 | c_tile(i, j);
            ZB_TRY(store(i, j, c, row, 1));
          }
        }
      }
    }
    return {};
  }

  Status residual_add() const {
    for (uint32_t i = 0; i < loop_.i; ++i) {
      for (uint32_t j = 0; j < loop_.j; ++j) {
        const uint32_t c = c_tile(i, j);
        const uint64_t a = dram_tile(loop_.a, loop_.a_stride, i, j, 1),
                       b = dram_tile(loop_.b, loop_.b_stride, i, j, 1);
        ZB_TRY(sink_(mvin(a, {accumulator_address(c), rows_i(i), cols_j(j)})));
        ZB_TRY(sink_(mvin2(b, {accumulator_address(c, true), rows_i(i), cols_j(j)})));
        ZB_TRY(store(i, j, accumulator_address(c, true, loop_.full_c), 0, rows_i(i)));
      }
    }
    return {};
  }

  const LoopWs& loop_;
  const Machine& machine_;
  const CommandSink& sink_;
  const uint32_t dim_;
  uint32_t a_row_ = 0;
  uint32_t b_row_ = 0;
};

}  // namespace

Status unroll_loop_ws(const LoopWs& loop, const Machine& machine, const CommandSink& sink) {
  return WsExpansion(loop, machine, sink).run();
}

Status Unroller::feed(const Command& command, const CommandSink& sink) {
  if (latch(ws_, command)) {
    if (command.funct == static_cast<uint32_t>(Funct::kLoopWs)) return unroll_loop_ws(ws_, machine_, sink);
    return {};
  }
  if (latch(conv_, command)) {
    if (command.funct != static_cast<uint32_t>(Funct::kLoopConv)) return {};
    ZB_TRY(unroll_loop_conv(conv_, machine_, place_, sink));
    const uint32_t half = machine_.loop_accumulator_rows();
    if (conv_.bias != 0) place_.d_row = half - place_.d_row;
    if (conv_.output != 0) place_.c_row = half - place_.c_row;
    return {};
  }
  if (command.funct == static_cast<uint32_t>(Funct::kConfig) && config_kind(command) == ConfigKind::kStore) {
    place_.acc_scale = decode_config_st(command).acc_scale;
  }
  return sink(command);
}

Result<std::vector<Command>> expand(std::span<const Command> commands, const Machine& machine) {
  ZB_TRY(check_machine(machine));
  std::vector<Command> expanded;
  const CommandSink sink = [&](const Command& command) {
    if (command.funct != static_cast<uint32_t>(Funct::kFlush)) expanded.push_back(command);
    return Status();
  };
  Unroller unroller(machine);
  for (size_t index = 0; index < commands.size(); ++index) {
    Status status = unroller.feed(commands[index], sink);
    if (!status.ok()) return std::move(status).with_prefix(fmt::format("command {}", index));
  }
  return expanded;
}

}  // namespace zomboss::gemmini
