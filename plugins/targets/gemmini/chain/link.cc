#include "plugins/targets/gemmini/chain/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini::chain {
namespace {

// An operand or a result as blocks in DRAM: block rows of `rows`, block columns of `cols`.
struct Blocks {
  const Form& form;
  Tensor tensor;
  const Axis& rows;
  const Axis& cols;

  int64_t offset(int64_t row, int64_t col) const {
    return form.batches.front()[tensor] + rows.offset(tensor, row) + cols.offset(tensor, col);
  }
  uint64_t stride_bytes() const { return static_cast<uint64_t>(rows.stride[tensor]); }
};

Blocks blocks_of(const Form& form, Tensor tensor) {
  if (tensor == kA)
    return {form, kA, form.a_transposed ? form.k : form.m, form.a_transposed ? form.m : form.k};
  if (tensor == kB)
    return {form, kB, form.b_transposed ? form.n : form.k, form.b_transposed ? form.k : form.n};
  return {form, tensor, form.m, form.n};
}

// Both cut the tensor into the same blocks.
bool same_blocks(const Blocks& x, const Blocks& y) {
  const auto listed = [](const Blocks& blocks) {
    std::set<std::tuple<int64_t, uint32_t, uint32_t>> result;
    for (int64_t r = 0; r < blocks.rows.blocks(); ++r)
      for (int64_t c = 0; c < blocks.cols.blocks(); ++c)
        result.emplace(blocks.offset(r, c), blocks.rows.extent(r), blocks.cols.extent(c));
    return result;
  };
  // Inside a block, rows follow each other at the stride; a single row has none.
  const bool single = x.rows.elements() == 1 && y.rows.elements() == 1;
  return (single || x.stride_bytes() == y.stride_bytes()) && listed(x) == listed(y);
}

std::optional<uint32_t> shift_of(float scale) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5f || exponent > 1 || exponent < -30) return std::nullopt;
  return static_cast<uint32_t>(1 - exponent);
}

bool sums_fit(const Form& form) {
  constexpr int64_t kLargestProduct = 128 * 128, kSumLimit = int64_t{1} << 19;
  return form.k.elements() * kLargestProduct < kSumLimit;
}

bool fits_chip(const Form& form, const Machine& machine) {
  return operand_rows(form) + form.m.blocks() * form.n.blocks() * machine.dim <= machine.scratchpad_rows;
}

}  // namespace

int64_t operand_rows(const Form& form) {
  return form.k.blocks() * (form.m.blocks() + form.n.blocks()) * form.m.dim;
}

std::optional<Link> find_link(const gemmini::Problem& stage, const gemmini::Problem& next, uint32_t result,
                              const Machine& machine) {
  const auto shift = shift_of(stage.epilogue.scale);
  if (stage.epilogue.full_width || !shift || !stage.before.empty() || !stage.after.empty() ||
      !next.before.empty())
    return std::nullopt;
  for (uint32_t f = 0; f < stage.forms.size(); ++f) {
    const Form& form = stage.forms[f];
    if (form.has_bias || !allows_output_stationary(form) || form.batches.size() != 1 ||
        !form.before.empty() || !form.after.empty() || form.buffer[kC] != result || !sums_fit(form) ||
        !fits_chip(form, machine))
      continue;
    for (uint32_t g = 0; g < next.forms.size(); ++g) {
      const Form& reads = next.forms[g];
      const bool as_a = reads.buffer[kA] == result, as_b = reads.buffer[kB] == result;
      if (as_a == as_b || reads.batches.size() != 1 || !reads.before.empty()) continue;
      const Tensor operand = as_a ? kA : kB;
      if (same_blocks(blocks_of(form, kC), blocks_of(reads, operand))) return Link{f, g, operand, *shift};
    }
  }
  return std::nullopt;
}

Rows keep_operand(Schedule& schedule, Tensor operand) {
  Rows rows;
  const uint8_t stream = operand == kA ? kStreamA : kStreamB;
  std::erase_if(schedule.operations, [&](const Operation& load) {
    if (load.kind != Operation::Kind::kLoad || load.stream != stream) return false;
    for (uint32_t c = 0; c < load.cols; c += schedule.dim) rows[load.dram + c] = load.row + c;
    return true;
  });
  return rows;
}

namespace {

class OnChipGenerator {
 public:
  OnChipGenerator(const gemmini::Problem& stage, const Mapping& mapping, const Link& link, const Rows& result,
                  const Machine& machine)
      : stage_(stage),
        form_(stage.forms[link.form]),
        mapping_(mapping),
        link_(link),
        result_(result),
        dim_(machine.dim),
        addresses_(buffer_addresses(stage, form_)) {}

  Result<std::vector<Command>> run(FreeRows& free, std::optional<Tensor> kept, Rows& kept_rows) {
    for (const Tensor tensor : {kA, kB}) {
      ZB_ASSIGN(first_row_[tensor], take(free, tensor));
      const Blocks blocks = blocks_of(form_, tensor);
      loaded_[tensor].assign(static_cast<size_t>(blocks.rows.blocks() * blocks.cols.blocks()),
                             tensor == kept);
      if (tensor == kept) list_rows(blocks, kept_rows);
    }
    configure();
    const bool rows_outside = mapping_.inner_order != InnerOrder::kNmk;
    const int64_t m = form_.m.blocks(), n = form_.n.blocks();
    for (int64_t x = 0; x < (rows_outside ? m : n); ++x)
      for (int64_t y = 0; y < (rows_outside ? n : m); ++y)
        ZB_TRY(add_block(rows_outside ? x : y, rows_outside ? y : x));
    return std::move(commands_);
  }

 private:
  Result<uint32_t> take(FreeRows& free, Tensor tensor) const {
    const Blocks blocks = blocks_of(form_, tensor);
    const auto needed = static_cast<uint32_t>(blocks.rows.blocks() * blocks.cols.blocks()) * dim_;
    if (free.end - free.next < needed)
      return resource_exhausted(
          fmt::format("gemmini: stages that share the scratchpad need {} more bytes, {} are free",
                      uint64_t{needed} * dim_, uint64_t{free.end - free.next} * dim_));
    free.next += needed;
    return free.next - needed;
  }

  uint64_t address(const Blocks& blocks, int64_t row, int64_t col) const {
    return addresses_[form_.buffer[blocks.tensor]] + static_cast<uint64_t>(blocks.offset(row, col));
  }
  uint32_t local_row(const Blocks& blocks, int64_t row, int64_t col) const {
    return first_row_[blocks.tensor] + static_cast<uint32_t>(row * blocks.cols.blocks() + col) * dim_;
  }

  void list_rows(const Blocks& blocks, Rows& rows) const {
    for (int64_t r = 0; r < blocks.rows.blocks(); ++r)
      for (int64_t c = 0; c < blocks.cols.blocks(); ++c)
        rows[address(blocks, r, c)] = local_row(blocks, r, c);
  }

  void configure() {
    ConfigEx ex;
    ex.dataflow = Dataflow::kOutputStationary;
    ex.activation = stage_.epilogue.relu ? Activation::kRelu : Activation::kNone;
    ex.transpose_a = form_.a_transposed;
    ex.in_shift = link_.shift;
    commands_.push_back(config_ex(ex));
    for (const Tensor tensor : {kA, kB}) {
      ConfigLd load;
      load.state = state_of(tensor);
      load.dram_stride_bytes = blocks_of(form_, tensor).stride_bytes();
      load.block_stride = static_cast<uint16_t>(dim_);
      commands_.push_back(config_ld(load));
    }
  }
  static uint8_t state_of(Tensor tensor) { return tensor == kA ? 0 : 1; }

  // One block of the result: its sums stay in the array until the last step writes them.
  Status add_block(int64_t i, int64_t j) {
    const Blocks result = blocks_of(form_, kC);
    const auto found = result_.find(address(result, i, j));
    if (found == result_.end()) return internal_error("gemmini: the next stage has no place for a block");
    const auto rows = static_cast<uint16_t>(form_.m.extent(i)),
               cols = static_cast<uint16_t>(form_.n.extent(j));
    const auto dim = static_cast<uint16_t>(dim_);
    const int64_t depth = form_.k.blocks();
    for (int64_t k = 0; k < depth; ++k) {
      const uint32_t a = form_.a_transposed ? operand(kA, k, i) : operand(kA, i, k);
      const uint32_t b = operand(kB, k, j);
      const auto taken = static_cast<uint16_t>(form_.k.extent(k));
      const uint32_t target = k + 1 == depth ? scratchpad_address(found->second) : kGarbage;
      commands_.push_back(preload({kGarbage, dim, dim}, {target, rows, cols}));
      commands_.push_back(
          compute(k == 0, {scratchpad_address(a), rows, taken}, {scratchpad_address(b), taken, cols}));
    }
    return {};
  }

  // The row of an operand's block, which is loaded when it is not there, with those right of it that one move
  // takes along.
  uint32_t operand(Tensor tensor, int64_t row, int64_t col) {
    const Blocks blocks = blocks_of(form_, tensor);
    const auto at = [&](int64_t c) {
      return loaded_[tensor].begin() + static_cast<std::ptrdiff_t>(row * blocks.cols.blocks() + c);
    };
    if (!*at(col)) {
      const uint32_t width = tensor == kA ? mapping_.load_width_a : mapping_.load_width_b;
      uint32_t cols = 0;
      int64_t c = col;
      for (; c < col + width && c < blocks.cols.blocks() && !*at(c); ++c) {
        if (c > col && (cols % dim_ != 0 || !blocks.cols.continues_run(c))) break;
        cols += blocks.cols.extent(c);
        *at(c) = true;
      }
      const auto rows = static_cast<uint16_t>(blocks.rows.extent(row));
      commands_.push_back(
          mvin(address(blocks, row, col),
               {scratchpad_address(local_row(blocks, row, col)), rows, static_cast<uint16_t>(cols)},
               state_of(tensor)));
    }
    return local_row(blocks, row, col);
  }

  const gemmini::Problem& stage_;
  const Form& form_;
  const Mapping& mapping_;
  const Link& link_;
  const Rows& result_;
  uint32_t dim_;
  std::vector<uint64_t> addresses_;
  std::array<uint32_t, 2> first_row_ = {};
  std::array<std::vector<bool>, 2> loaded_;
  std::vector<Command> commands_;
};

}  // namespace

Result<std::vector<Command>> lower_on_chip(const gemmini::Problem& stage, const Mapping& mapping,
                                           const Link& link, const Rows& result, FreeRows& free,
                                           std::optional<Tensor> kept, Rows& kept_rows,
                                           const Machine& machine) {
  return OnChipGenerator(stage, mapping, link, result, machine).run(free, kept, kept_rows);
}

}  // namespace zomboss::gemmini::chain
