#include "plugins/targets/gemmini/chain/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/matmul/schedule.h"

namespace zomboss::gemmini::chain {
namespace {

class Checker {
 public:
  Checker(const gemmini::Problem& stage, const Link& link, const Machine& machine)
      : stage_(stage),
        form_(stage.forms[link.form]),
        link_(link),
        dim_(machine.dim),
        addresses_(buffer_addresses(stage, form_)),
        rows_(machine.scratchpad_rows) {}

  // The blocks of an operand that is there from the start.
  void keep(Tensor operand, const Rows& rows) {
    const Axis& along = operand == kA && !form_.a_transposed ? form_.m : form_.k;
    const Axis& across = operand == kB ? form_.n : form_.a_transposed ? form_.m : form_.k;
    for (int64_t r = 0; r < along.blocks(); ++r) {
      for (int64_t c = 0; c < across.blocks(); ++c) {
        const uint64_t dram = address(operand, along.offset(operand, r) + across.offset(operand, c));
        const auto found = rows.find(dram);
        for (uint32_t i = 0; found != rows.end() && i < along.extent(r); ++i)
          rows_[found->second + i] = {Row::Holds::kLoaded, across.extent(c),
                                      dram + i * static_cast<uint64_t>(along.stride[operand]), 0};
      }
    }
  }

  Status run(std::span<const Command> commands, const Rows& result) {
    for (number_ = 0; number_ < commands.size(); ++number_) ZB_TRY(check(commands[number_]));
    for (int64_t i = 0; i < form_.m.blocks(); ++i)
      for (int64_t j = 0; j < form_.n.blocks(); ++j) ZB_TRY(check_block(i, j, result));
    return {};
  }

 private:
  // What a scratchpad row holds: `cols` elements from `dram` on, or row `dram` of sums number `sums`.
  struct Row {
    enum class Holds : uint8_t { kNothing, kLoaded, kSums };
    Holds holds = Holds::kNothing;
    uint32_t cols = 0;
    uint64_t dram = 0;
    size_t sums = 0;
  };
  using Parts = std::vector<std::pair<uint64_t, uint64_t>>;  // blocks of A and B that met

  template <typename... Args>
  Status wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return internal_error(fmt::format("gemmini: on-chip check failed at command {}: {}", number_,
                                      fmt::format(text, std::forward<Args>(args)...)));
  }

  uint64_t address(Tensor tensor, int64_t offset) const {
    return addresses_[form_.buffer[tensor]] + static_cast<uint64_t>(form_.batches.front()[tensor] + offset);
  }

  Status check(const Command& command) {
    switch (static_cast<Funct>(command.funct)) {
      case Funct::kConfig:
        return configure(command);
      case Funct::kMvin:
      case Funct::kMvin2:
        return load(command);
      case Funct::kPreload:
        target_ = decode_operand(command.rs2);
        if (decode_operand(command.rs1).address != kGarbage) return wrong("sums begin with something");
        preloaded_ = true;
        return {};
      case Funct::kComputeFlip:
      case Funct::kComputeStay:
        return step(command, command.funct == static_cast<uint32_t>(Funct::kComputeFlip));
      default:
        return wrong("{} has no place here", disassemble(command));
    }
  }

  Status configure(const Command& command) {
    if (config_kind(command) == ConfigKind::kLoad) {
      const ConfigLd config = decode_config_ld(command);
      if (config.state > 1 || config.scale != 1.0f || config.shrink) return wrong("an odd load state");
      load_[config.state] = config;
      return {};
    }
    const ConfigEx config = decode_config_ex(command);
    const bool relu = config.activation == Activation::kRelu;
    if (config_kind(command) != ConfigKind::kExecute || config.dataflow != Dataflow::kOutputStationary ||
        config.in_shift != link_.shift || relu != stage_.epilogue.relu ||
        config.transpose_a != form_.a_transposed || config.transpose_b || form_.b_transposed)
      return wrong("{} is not that of the stage", disassemble(command));
    configured_ = true;
    return {};
  }

  Status load(const Command& command) {
    const ConfigLd& config = load_[static_cast<size_t>(load_state_of(command.funct))];
    const Operand local = decode_operand(command.rs2);
    if (is_accumulator(local.address)) return wrong("operands belong in the scratchpad");
    for (uint32_t c = 0; c < local.cols; c += dim_) {
      for (uint32_t r = 0; r < local.rows; ++r) {
        if (local.address + c + r >= rows_.size()) return wrong("row {} is not there", local.address + c + r);
        rows_[local.address + c + r] = {Row::Holds::kLoaded, std::min<uint32_t>(dim_, local.cols - c),
                                        command.rs1 + r * config.dram_stride_bytes + c, 0};
      }
    }
    return {};
  }

  // The DRAM address of the block in these rows.
  Result<uint64_t> block(uint32_t first, uint32_t rows, uint32_t cols, int64_t stride) const {
    if (rows == 0 || cols == 0 || first + rows > rows_.size())
      return wrong("an operand of {}x{}", rows, cols);
    for (uint32_t r = 0; r < rows; ++r) {
      const Row& row = rows_[first + r];
      if (row.holds != Row::Holds::kLoaded || row.cols < cols ||
          row.dram != rows_[first].dram + r * static_cast<uint64_t>(stride))
        return wrong("scratchpad row {} is not what the step needs", first + r);
    }
    return rows_[first].dram;
  }

  Status step(const Command& command, bool flip) {
    const Operand a = decode_operand(command.rs1), b = decode_operand(command.rs2);
    if (!configured_ || !preloaded_) return wrong("a step without configuration or preload");
    preloaded_ = false;
    if (flip) parts_.clear();
    if (!flip && written_) return wrong("sums go on after they were written");
    if (a.cols != b.rows || target_.rows != a.rows || target_.cols != b.cols)
      return wrong("a step of {}x{} times {}x{} to {}x{}", a.rows, a.cols, b.rows, b.cols, target_.rows,
                   target_.cols);
    ZB_ASSIGN(const uint64_t a_from, form_.a_transposed
                                         ? block(a.address, a.cols, a.rows, form_.k.stride[kA])
                                         : block(a.address, a.rows, a.cols, form_.m.stride[kA]));
    ZB_ASSIGN(const uint64_t b_from, block(b.address, b.rows, b.cols, form_.k.stride[kB]));
    parts_.emplace_back(a_from, b_from);
    written_ = target_.address != kGarbage;
    if (!written_) return {};
    if (is_accumulator(target_.address) || target_.address + target_.rows > rows_.size())
      return wrong("sums go to {:#x}", target_.address);
    for (uint32_t r = 0; r < target_.rows; ++r)
      rows_[target_.address + r] = {Row::Holds::kSums, target_.cols, r, sums_.size()};
    sums_.push_back(parts_);
    return {};
  }

  // The next stage finds block (i, j) where it looks.
  Status check_block(int64_t i, int64_t j, const Rows& result) {
    const uint64_t dram = address(kC, form_.m.offset(kC, i) + form_.n.offset(kC, j));
    const auto found = result.find(dram);
    if (found == result.end()) return wrong("the next stage reads no block at {:#x}", dram);
    const Row& first = rows_[found->second];
    for (uint32_t r = 0; r < form_.m.extent(i); ++r) {
      const Row& row = rows_[found->second + r];
      if (row.holds != Row::Holds::kSums || row.dram != r || row.sums != first.sums ||
          row.cols != form_.n.extent(j))
        return wrong("scratchpad row {} holds no sums for the next stage", found->second + r);
    }
    Parts expected, met = sums_[first.sums];
    for (int64_t k = 0; k < form_.k.blocks(); ++k)
      expected.emplace_back(address(kA, form_.m.offset(kA, i) + form_.k.offset(kA, k)),
                            address(kB, form_.k.offset(kB, k) + form_.n.offset(kB, j)));
    std::sort(expected.begin(), expected.end());
    std::sort(met.begin(), met.end());
    if (met != expected)
      return wrong("the sums for {:#x} have {} contributions that differ from the {} that belong there", dram,
                   met.size(), expected.size());
    return {};
  }

  const gemmini::Problem& stage_;
  const Form& form_;
  const Link& link_;
  uint32_t dim_;
  std::vector<uint64_t> addresses_;
  std::vector<Row> rows_;
  std::array<ConfigLd, 2> load_;
  bool configured_ = false, preloaded_ = false, written_ = false;
  Operand target_;
  Parts parts_;
  std::vector<Parts> sums_;
  size_t number_ = 0;
};

}  // namespace

Status check_on_chip(const gemmini::Problem& stage, const Link& link, std::span<const Command> commands,
                     const Rows& result, std::optional<Tensor> kept, const Rows& kept_rows,
                     const Machine& machine) {
  Checker checker(stage, link, machine);
  if (kept) checker.keep(*kept, kept_rows);
  return checker.run(commands, result);
}

}  // namespace zomboss::gemmini::chain
