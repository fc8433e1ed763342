#include "plugins/targets/gemmini/residual/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini::residual {
namespace {

class Checker {
 public:
  Checker(const Problem& problem, const Machine& machine, bool fenced)
      : problem_(problem),
        shape_(problem.shapes.front()),
        machine_(machine),
        fenced_(fenced),
        rows_(machine.accumulator_rows),
        written_(static_cast<size_t>(problem.buffers[problem.buffer[kC]].bytes)) {
    const std::vector<PlacedBuffer> placed = place(problem.buffers);
    for (size_t s = 0; s < kSides; ++s) base_[s] = placed[problem.buffer[s]].address;
    for (size_t o = 0; o < shape_.outer.size(); ++o)
      for (int64_t r = 0; r < shape_.rows; ++r)
        starts_.push_back({shape_.outer[o][kC] + r * shape_.stride[kC], o, r});
    std::sort(starts_.begin(), starts_.end(), [](const Start& x, const Start& y) { return x.at < y.at; });
  }

  Status run(std::span<const Command> commands) {
    for (number_ = 0; number_ < commands.size(); ++number_) ZB_TRY(check(commands[number_]));
    for (const Row& row : rows_)
      if (row.sides != 0) return wrong("sums are left in the accumulator");
    if (stored_ != problem_.elements())
      return wrong("{} of {} elements are stored", stored_, problem_.elements());
    return {};
  }

 private:
  // An accumulator row: the elements of each operand from these addresses on.
  struct Row {
    uint32_t sides = 0;  // a bit each
    std::array<uint64_t, 2> from = {};
    uint32_t cols = 0;
    size_t epoch = 0;  // fences before it was overwritten
  };
  // A row of the result, by its place in the buffer.
  struct Start {
    int64_t at = 0;
    size_t outer = 0;
    int64_t row = 0;
  };

  template <typename... Args>
  Status wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return internal_error(fmt::format("gemmini: kernel check failed at command {}: {}", number_,
                                      fmt::format(text, std::forward<Args>(args)...)));
  }

  Status check(const Command& command) {
    switch (static_cast<Funct>(command.funct)) {
      case Funct::kFence:
        ++fences_;
        return {};
      case Funct::kConfig:
        return configure(command);
      case Funct::kMvin:
      case Funct::kMvin2:
        return load(command);
      case Funct::kMvout:
        return store(command);
      default:
        return wrong("{} has no place here", disassemble(command));
    }
  }

  Status configure(const Command& command) {
    if (config_kind(command) == ConfigKind::kLoad) {
      const ConfigLd config = decode_config_ld(command);
      if (config.state > kB || config.scale != problem_.scale[config.state] || !config.shrink)
        return wrong("load state {} is not that of an operand", config.state);
      load_[config.state] = config;
      return {};
    }
    store_ = decode_config_st(command);
    const bool relu = store_.activation == Activation::kRelu;
    if (config_kind(command) != ConfigKind::kStore || store_.acc_scale != problem_.sum_scale ||
        relu != problem_.relu)
      return wrong("{} is not that of the sum", disassemble(command));
    return {};
  }

  // Visits each local row of a move with the DRAM address and the columns that belong to it.
  template <typename Visit>
  Status each_row(const Command& move, uint64_t stride, Visit visit) {
    const Operand local = decode_operand(move.rs2);
    const uint32_t first = local.address & ~(kAccumulatorBit | kAccumulateBit);
    if (!is_accumulator(local.address) || local.rows == 0 || local.cols == 0)
      return wrong("{} moves nothing of the accumulator", disassemble(move));
    for (uint32_t c = 0; c < local.cols; c += machine_.dim) {
      for (uint32_t r = 0; r < local.rows; ++r) {
        if (first + c + r >= rows_.size()) return wrong("row {} is not there", first + c + r);
        ZB_TRY(visit(rows_[first + c + r], move.rs1 + r * stride + c,
                     std::min<uint32_t>(machine_.dim, local.cols - c)));
      }
    }
    return {};
  }

  Status load(const Command& command) {
    const auto side = static_cast<size_t>(load_state_of(command.funct));
    const bool adds = (decode_operand(command.rs2).address & kAccumulateBit) != 0;
    if (adds != (side == kB)) return wrong("A overwrites and B adds");
    return each_row(command, load_[side].dram_stride_bytes,
                    [&](Row& row, uint64_t dram, uint32_t cols) -> Status {
                      if (side == kA) {
                        if (row.sides != 0) return wrong("a sum is gone before it was stored");
                        row = {1, {dram, 0}, cols, fences_};
                        return {};
                      }
                      if (row.sides != 1 || row.cols != cols) return wrong("B is added to what is no A");
                      if (fenced_ && row.epoch == fences_)
                        return wrong("B is added without a fence behind A");
                      row.sides = 3;
                      row.from[kB] = dram;
                      return {};
                    });
  }

  Status store(const Command& command) {
    return each_row(command, store_.dram_stride_bytes, [&](Row& row, uint64_t dram, uint32_t cols) -> Status {
      if (row.sides != 3 || row.cols != cols) return wrong("a sum that is not complete is stored");
      ZB_TRY(check_place(row, dram, cols));
      row = {};
      return {};
    });
  }

  // The elements stored at `dram` are the sums of those that belong there.
  Status check_place(const Row& row, uint64_t dram, uint32_t cols) {
    const auto at = static_cast<int64_t>(dram - base_[kC]);
    for (int64_t c = 0; c < cols;) {
      const auto after = std::upper_bound(starts_.begin(), starts_.end(), at + c,
                                          [](int64_t place, const Start& start) { return place < start.at; });
      if (after == starts_.begin()) return wrong("{:#x} is not in the result", dram);
      const Start& start = *std::prev(after);
      const int64_t column = at + c - start.at, run = std::min(cols - c, shape_.columns - column);
      if (run <= 0) return wrong("{:#x} is in no row of the result", dram + static_cast<uint64_t>(c));
      for (const Side side : {kA, kB}) {
        const int64_t from = shape_.outer[start.outer][side] + start.row * shape_.stride[side] + column;
        if (row.from[side] + static_cast<uint64_t>(c) != base_[side] + static_cast<uint64_t>(from))
          return wrong("another element of operand {} is in the sum stored at {:#x}", side == kA ? 'A' : 'B',
                       dram);
      }
      for (int64_t i = at + c; i < at + c + run; ++i) {
        if (written_[static_cast<size_t>(i)]) return wrong("element {} is stored twice", i);
        written_[static_cast<size_t>(i)] = true;
      }
      stored_ += run;
      c += run;
    }
    return {};
  }

  const Problem& problem_;
  const Shape& shape_;
  const Machine& machine_;
  bool fenced_;
  std::array<uint64_t, kSides> base_ = {};
  std::vector<Start> starts_;  // by place
  std::vector<Row> rows_;
  std::vector<bool> written_;
  std::array<ConfigLd, 2> load_;
  ConfigSt store_;
  size_t number_ = 0, fences_ = 0;
  int64_t stored_ = 0;
};

}  // namespace

Status check_kernel(const Problem& problem, const Machine& machine, std::span<const Command> commands,
                    bool fenced) {
  ZB_ASSIGN(const std::vector<Command> primitive, expand(commands, machine));
  return Checker(problem, machine, fenced).run(primitive);
}

}  // namespace zomboss::gemmini::residual
