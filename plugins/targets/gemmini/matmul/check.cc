#include "plugins/targets/gemmini/matmul/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "plugins/targets/gemmini/matmul/check_dram.h"

namespace zomboss::gemmini {
namespace {

using Kind = Operation::Kind;

// What a local row holds: `cols` elements of the DRAM row at `dram`, or row `index` of a sum.
struct Row {
  enum class Holds : uint8_t { kNothing, kLoaded, kSum };
  Holds holds = Holds::kNothing;
  bool used = false;
  uint16_t cols = 0;
  uint16_t index = 0;
  uint32_t sum = 0;
  uint64_t dram = 0;
};

// An output block in the making: the DRAM addresses of the A and B blocks that met in it.
struct Sum {
  uint32_t row = 0;
  uint16_t rows = 0, cols = 0;
  std::optional<uint64_t> bias;
  bool stored = false;
  std::vector<std::pair<uint64_t, uint64_t>> parts;
};

// B as the array holds it.
struct Weights {
  bool valid = false;
  uint64_t dram = 0;
  uint16_t rows = 0, cols = 0;
};

class Checker {
 public:
  Checker(const Problem& problem, const Form& form, const Machine& machine, const Schedule& schedule)
      : form_(form),
        machine_(machine),
        schedule_(schedule),
        addresses_(buffer_addresses(problem, form)),
        dram_(problem, form, addresses_),
        scratchpad_(machine.scratchpad_rows),
        accumulator_(machine.accumulator_rows) {
    list_outputs();
  }

  Status run() {
    for (number_ = 0; number_ < schedule_.operations.size(); ++number_) {
      const Operation& operation = schedule_.operations[number_];
      Status status = check(operation);
      if (!status.ok()) return status;
    }
    for (const auto* rows : {&scratchpad_, &accumulator_})
      for (const Row& row : *rows) ZB_TRY(may_overwrite(row));
    return dram_.check_complete();
  }

 private:
  template <typename... Args>
  Status wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return internal_error(fmt::format("gemmini: schedule check failed at operation {} of {}: {}", number_,
                                      schedule_.operations.size(),
                                      fmt::format(text, std::forward<Args>(args)...)));
  }

  struct Output {
    uint64_t address = 0;
    uint32_t batch = 0, m = 0, n = 0;
  };

  void list_outputs() {
    for (uint32_t batch = 0; batch < form_.batches.size(); ++batch)
      for (uint32_t m = 0; m < form_.m.blocks(); ++m)
        for (uint32_t n = 0; n < form_.n.blocks(); ++n)
          outputs_.push_back(
              {address(kC, batch, form_.m.offset(kC, m) + form_.n.offset(kC, n)), batch, m, n});
    std::sort(outputs_.begin(), outputs_.end(),
              [](const Output& x, const Output& y) { return x.address < y.address; });
  }

  uint64_t address(Tensor tensor, uint32_t batch, int64_t offset) const {
    return addresses_[form_.buffer[tensor]] + static_cast<uint64_t>(form_.batches[batch][tensor] + offset);
  }

  Status check(const Operation& operation) {
    switch (operation.kind) {
      case Kind::kFence:
        dram_.fence();
        return {};
      case Kind::kLoad:
        return check_load(operation);
      case Kind::kStore:
        return check_store(operation);
      case Kind::kStep:
        return check_step(operation);
    }
    return wrong("unknown kind");
  }

  // A row may be overwritten when what it holds has served its purpose.
  Status may_overwrite(const Row& row) const {
    if (row.holds == Row::Holds::kLoaded && !row.used)
      return wrong("what was loaded from {:#x} is gone before anything used it", row.dram);
    if (row.holds == Row::Holds::kSum && !sums_[row.sum].stored)
      return wrong("sums in accumulator row {} are gone before they were stored", sums_[row.sum].row);
    return {};
  }

  std::vector<Row>& memory(const Stream& stream) { return stream.accumulator ? accumulator_ : scratchpad_; }

  Status check_move(const Operation& move, const Stream& stream) {
    const uint32_t dim = machine_.dim, bytes = stream.element_bytes();
    if (move.rows == 0 || move.rows > dim || move.cols == 0)
      return wrong("a move of {}x{} elements", move.rows, move.cols);
    if (move.cols * bytes > std::max(machine_.max_move_bytes, 4 * dim) || (bytes == 4 && move.cols > dim))
      return wrong("a move of {} columns of {} bytes", move.cols, bytes);
    const uint64_t blocks = (move.cols + dim - 1) / dim;
    if (move.row + (blocks - 1) * dim + move.rows > memory(stream).size())
      return wrong("local row {} is outside of the {} rows", move.row, memory(stream).size());
    return {};
  }

  Status check_load(const Operation& load) {
    const Stream& stream = schedule_.streams[load.stream];
    ZB_TRY(check_move(load, stream));
    const uint32_t dim = machine_.dim, bytes = stream.element_bytes();
    for (uint32_t r = 0; r < load.rows; ++r) {
      const uint64_t dram = load.dram + r * stream.stride_bytes;
      if (const char* why = dram_.read(dram, load.cols * bytes)) return wrong("reads {:#x}: {}", dram, why);
      for (uint32_t c = 0; c < load.cols; c += dim) {
        Row& row = memory(stream)[load.row + c + r];
        ZB_TRY(may_overwrite(row));
        row = {.holds = Row::Holds::kLoaded,
               .cols = static_cast<uint16_t>(std::min<uint32_t>(dim, load.cols - c)),
               .dram = dram + uint64_t{c} * bytes};
      }
    }
    return {};
  }

  Status check_store(const Operation& store) {
    const Stream& stream = schedule_.streams[store.stream];
    ZB_TRY(check_move(store, stream));
    const uint32_t dim = machine_.dim, bytes = stream.element_bytes();
    for (uint32_t r = 0; r < store.rows; ++r) {
      const uint64_t dram = store.dram + r * stream.stride_bytes;
      if (const char* why = dram_.write(dram, store.cols * bytes))
        return wrong("writes {:#x}: {}", dram, why);
      for (uint32_t c = 0; c < store.cols; c += dim) {
        Row& row = memory(stream)[store.row + c + r];
        const auto cols = static_cast<uint16_t>(std::min<uint32_t>(dim, store.cols - c));
        if (row.holds == Row::Holds::kNothing)
          return wrong("stores local row {}, which holds nothing", store.row + c + r);
        if (row.holds == Row::Holds::kLoaded) {
          if (row.cols < cols) return wrong("stores more columns than were loaded");
          row.used = true;
          dram_.copied(dram + uint64_t{c} * bytes, row.dram, cols, bytes);
        } else if (r == 0) {
          ZB_TRY(check_output(store.row + c, store.rows, cols, dram + uint64_t{c} * bytes));
        }
      }
    }
    return {};
  }

  // The sum at local row `row` is complete and belongs at `dram`.
  Status check_output(uint32_t row, uint16_t rows, uint16_t cols, uint64_t dram) {
    ZB_TRY(same_sum(row, rows));
    Sum& sum = sums_[accumulator_[row].sum];
    const auto found =
        std::lower_bound(outputs_.begin(), outputs_.end(), dram,
                         [](const Output& output, uint64_t at) { return output.address < at; });
    if (found == outputs_.end() || found->address != dram)
      return wrong("stores to {:#x}, where no output block begins", dram);
    const uint32_t m_extent = form_.m.extent(found->m), n_extent = form_.n.extent(found->n);
    if (rows != m_extent || sum.rows != rows || cols != n_extent || sum.cols != cols)
      return wrong("stores {}x{} of a {}x{} sum as a {}x{} block", rows, cols, sum.rows, sum.cols, m_extent,
                   n_extent);
    std::vector<std::pair<uint64_t, uint64_t>> expected;
    for (int64_t k = 0; k < form_.k.blocks(); ++k)
      expected.emplace_back(address(kA, found->batch, form_.m.offset(kA, found->m) + form_.k.offset(kA, k)),
                            address(kB, found->batch, form_.k.offset(kB, k) + form_.n.offset(kB, found->n)));
    std::sort(expected.begin(), expected.end());
    std::sort(sum.parts.begin(), sum.parts.end());
    if (expected != sum.parts)
      return wrong("the sum stored to {:#x} has {} contributions that differ from the {} that belong there",
                   dram, sum.parts.size(), expected.size());
    std::optional<uint64_t> bias;
    if (form_.has_bias)
      bias = address(kD, found->batch, form_.m.offset(kD, found->m) + form_.n.offset(kD, found->n));
    if (bias != sum.bias) return wrong("the sum stored to {:#x} has another bias than it should", dram);
    sum.stored = true;
    sum.parts.clear();
    sum.parts.shrink_to_fit();
    return {};
  }

  // Rows row.. are the `rows` rows of one sum that is not stored yet.
  Status same_sum(uint32_t row, uint16_t rows) const {
    const Row& first = accumulator_[row];
    for (uint32_t r = 0; r < rows; ++r) {
      const Row& each = accumulator_[row + r];
      if (each.holds != Row::Holds::kSum || each.sum != first.sum || each.index != r)
        return wrong("accumulator row {} is not row {} of the same sum", row + r, r);
    }
    if (sums_[first.sum].stored) return wrong("accumulator row {} holds a sum that was stored already", row);
    return {};
  }

  // `rows` scratchpad rows from `row` hold a block of an operand, `stride` bytes apart, at least `cols` wide.
  // Its address.
  Result<uint64_t> operand_block(const char* name, uint32_t row, uint32_t rows, uint32_t cols,
                                 int64_t stride) {
    if (uint64_t{row} + rows > scratchpad_.size())
      return wrong("{} at row {} is outside of the scratchpad", name, row);
    const uint64_t dram = scratchpad_[row].dram;
    for (uint32_t r = 0; r < rows; ++r) {
      Row& each = scratchpad_[row + r];
      if (each.holds != Row::Holds::kLoaded || each.cols < cols ||
          each.dram != dram + r * static_cast<uint64_t>(stride))
        return wrong("{} in scratchpad row {} is not what the step needs", name, row + r);
      each.used = true;
    }
    return dram;
  }

  Status check_step(const Operation& step) {
    const uint32_t dim = machine_.dim;
    if (step.rows == 0 || step.rows > dim || step.cols == 0 || step.cols > dim || step.n_cols == 0 ||
        step.n_cols > dim)
      return wrong("a step of {}x{}x{}", step.rows, step.cols, step.n_cols);
    uint64_t a = 0;
    if (form_.a_transposed) {
      ZB_ASSIGN(a, operand_block("A", step.row, step.cols, step.rows, form_.k.stride[kA]));
    } else {
      ZB_ASSIGN(a, operand_block("A", step.row, step.rows, step.cols, form_.m.stride[kA]));
    }
    if (step.flip) {
      uint64_t b = 0;
      if (form_.b_transposed) {
        ZB_ASSIGN(b, operand_block("B", step.b_row, step.n_cols, step.cols, form_.n.stride[kB]));
      } else {
        ZB_ASSIGN(b, operand_block("B", step.b_row, step.cols, step.n_cols, form_.k.stride[kB]));
      }
      weights_ = {true, b, step.cols, step.n_cols};
    } else if (!weights_.valid || weights_.rows != step.cols || weights_.cols != step.n_cols) {
      return wrong("the array does not hold the {}x{} weights of the step", step.cols, step.n_cols);
    }
    return add_to_sum(step, a);
  }

  Status add_to_sum(const Operation& step, uint64_t a) {
    if (uint64_t{step.c_row} + step.rows > accumulator_.size())
      return wrong("accumulator row {} is outside of the {} rows", step.c_row, accumulator_.size());
    const bool onto_sum = step.accumulate && accumulator_[step.c_row].holds == Row::Holds::kSum;
    if (onto_sum) {
      ZB_TRY(same_sum(step.c_row, step.rows));
    } else {
      ZB_TRY(begin_sum(step));
    }
    Sum& sum = sums_[accumulator_[step.c_row].sum];
    if (sum.rows != step.rows || sum.cols != step.n_cols)
      return wrong("the step adds to a sum of another size");
    sum.parts.emplace_back(a, weights_.dram);
    return {};
  }

  Status begin_sum(const Operation& step) {
    Sum sum{step.c_row, step.rows, step.n_cols, std::nullopt, false, {}};
    for (uint32_t r = 0; r < step.rows; ++r) {
      Row& row = accumulator_[step.c_row + r];
      if (step.accumulate) {
        const uint64_t first = accumulator_[step.c_row].dram;
        if (!sum.bias) sum.bias = first;
        if (row.holds != Row::Holds::kLoaded || row.cols < step.n_cols ||
            row.dram != *sum.bias + r * static_cast<uint64_t>(form_.m.stride[kD]))
          return wrong("the step adds to accumulator row {}, which holds no bias for it", step.c_row + r);
        row.used = true;
      }
      ZB_TRY(may_overwrite(row));
    }
    for (uint32_t r = 0; r < step.rows; ++r) {
      Row& row = accumulator_[step.c_row + r];
      const uint64_t dram = row.dram;
      row = {.holds = Row::Holds::kSum,
             .used = true,
             .index = static_cast<uint16_t>(r),
             .sum = static_cast<uint32_t>(sums_.size()),
             .dram = dram};
    }
    sums_.push_back(std::move(sum));
    return {};
  }

  const Form& form_;
  const Machine& machine_;
  const Schedule& schedule_;
  std::vector<uint64_t> addresses_;
  CheckedDram dram_;
  std::vector<Row> scratchpad_, accumulator_;
  std::vector<Sum> sums_;
  std::vector<Output> outputs_;
  Weights weights_;
  size_t number_ = 0;
};

}  // namespace

Status check_schedule(const Problem& problem, const Form& form, const Machine& machine,
                      const Schedule& schedule) {
  return Checker(problem, form, machine, schedule).run();
}

}  // namespace zomboss::gemmini
