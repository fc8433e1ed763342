#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "plugins/targets/gemmini/sim/arithmetic.h"
#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/mesh.h"

namespace zomboss::gemmini {

// `count` rows from an operand's address on, `stride` apart, must exist; operands are read from the
// scratchpad.
Status FunctionalSimulator::check_rows(const char* name, uint32_t address, uint64_t count,
                                       uint64_t stride) const {
  const bool is_result = name[0] == 'C';
  if (!is_result && is_accumulator(address)) {
    return unimplemented(
        fmt::format("operand {} lies in the accumulator, only the scratchpad is modelled", name));
  }
  const uint64_t rows = is_accumulator(address) ? machine_.accumulator_rows : machine_.scratchpad_rows;
  const uint64_t last = target_row(address) + (count == 0 ? 0 : (count - 1) * stride);
  if (count == 0 || last < rows) return {};
  return invalid_argument(fmt::format("operand {} reaches {} row {}, the last one is {}", name,
                                      is_accumulator(address) ? "accumulator" : "scratchpad", last,
                                      rows - 1));
}

// tile[i][k] (dim x dim): local row `address + stride * i`, column k; transposed the other way round. 0
// outside of rows x cols, and everywhere for garbage.
Status FunctionalSimulator::load_tile_operand(const char* name, Operand operand, uint32_t stride,
                                              bool transposed, int8_t* tile) const {
  std::memset(tile, 0, size_t{dim()} * dim());
  if (operand.address == kGarbage) return {};
  const uint32_t rows = std::min<uint32_t>(operand.rows, dim()),
                 cols = std::min<uint32_t>(operand.cols, dim());
  if (rows == 0 || cols == 0) return {};
  ZB_TRY(check_rows(name, operand.address, transposed ? cols : rows, stride));
  const int8_t* memory = scratchpad_.data() + size_t{target_row(operand.address)} * dim();
  const size_t step = size_t{stride} * dim();
  if (!transposed) {
    for (uint32_t i = 0; i < rows; ++i) std::memcpy(tile + size_t{i} * dim(), memory + i * step, cols);
  } else {
    for (uint32_t i = 0; i < rows; ++i) {
      for (uint32_t k = 0; k < cols; ++k) tile[i * dim() + k] = memory[k * step + i];
    }
  }
  return {};
}

// A as dense rows; a full untransposed tile is used in place.
Result<const int8_t*> FunctionalSimulator::a_operand(Operand a, size_t* row_stride) {
  const bool whole = a.address != kGarbage && a.rows >= dim() && a.cols >= dim() && !ex_.transpose_a;
  if (whole) {
    ZB_TRY(check_rows("A", a.address, dim(), ex_.a_stride));
    *row_stride = size_t{ex_.a_stride} * dim();
    return scratchpad_.data() + size_t{target_row(a.address)} * dim();
  }
  ZB_TRY(load_tile_operand("A", a, ex_.a_stride, ex_.transpose_a, tile_.data()));
  *row_stride = dim();
  return tile_.data();
}

Status FunctionalSimulator::compute_step(const Command& command, bool flip) {
  const Operand a = decode_operand(command.rs1), streamed = decode_operand(command.rs2);
  if (a.address != kGarbage) {
    const auto clip = [this](uint32_t value) { return uint64_t{std::min(value, dim())}; };
    counts_.macs += clip(a.rows) * clip(a.cols) * clip(result_.cols);
  }
  if (ex_.dataflow == Dataflow::kWeightStationary) return compute_weight_stationary(a, streamed, flip);
  return compute_output_stationary(a, streamed, flip);
}

// The stationary operand of the last preload enters the array.
Status FunctionalSimulator::load_weights() {
  const Operand& b = stationary_;
  holds_sums_ = false;
  if (b.address != kGarbage && b.rows >= dim() && b.cols >= dim() && !ex_.transpose_b) {
    ZB_TRY(check_rows("B", b.address, dim(), 1));
    std::memcpy(weights_.data(), scratchpad_.data() + size_t{target_row(b.address)} * dim(), weights_.size());
  } else {
    ZB_TRY(load_tile_operand("B", b, 1, ex_.transpose_b, weights_.data()));
  }
  packed_.assign(weights_.data());
  return {};
}

Status FunctionalSimulator::compute_weight_stationary(Operand a, Operand d, bool flip) {
  if (flip) ZB_TRY(load_weights());
  if (result_.address == kGarbage) return {};
  const uint32_t rows = std::min<uint32_t>(result_.rows, dim());
  size_t a_stride = 0;
  ZB_ASSIGN(const int8_t* a_rows, a_operand(a, &a_stride));
  const bool whole_rows = is_accumulator(result_.address) && result_.cols >= dim() && rows != 0;
  if (whole_rows && !holds_sums_ && d.address == kGarbage) {
    ZB_TRY(check_rows("C", result_.address, rows, ex_.c_stride));
    int32_t* target = accumulator_.data() + size_t{target_row(result_.address)} * dim();
    const bool add = (result_.address & kAccumulateBit) != 0;
    mesh_multiply(a_rows, a_stride, packed_, {target, size_t{ex_.c_stride} * dim(), add}, rows);
    return {};
  }
  if (holds_sums_) {
    multiply_by_sums(a_rows, a_stride, rows);
  } else {
    mesh_multiply(a_rows, a_stride, packed_, {results_.data(), dim()}, rows);
  }
  if (d.address != kGarbage) {
    ZB_TRY(load_tile_operand("D", d, 1, false, tile_.data()));
    for (size_t n = 0; n < size_t{rows} * dim(); ++n) results_[n] = wrap_add(results_[n], tile_[n]);
  }
  return write_result(results_.data());
}

// Weights that are left-over sums: any int32, so no float arithmetic.
void FunctionalSimulator::multiply_by_sums(const int8_t* a, size_t a_stride, uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) {
    for (uint32_t j = 0; j < dim(); ++j) {
      int32_t sum = 0;
      for (uint32_t k = 0; k < dim(); ++k) {
        sum = wrap_add(sum, wrap_mul(a[i * a_stride + k], partial_sums_[size_t{k} * dim() + j]));
      }
      results_[size_t{i} * dim() + j] = sum;
    }
  }
}

Status FunctionalSimulator::compute_output_stationary(Operand a, Operand b, bool flip) {
  const size_t elements = size_t{dim()} * dim();
  if (flip) {
    ZB_TRY(load_tile_operand("D", stationary_, 1, false, tile_.data()));
    std::copy_n(tile_.begin(), elements, partial_sums_.begin());
  } else if (!holds_sums_) {
    for (size_t n = 0; n < elements; ++n) partial_sums_[n] = weights_[n];
  }
  holds_sums_ = true;
  ZB_TRY(load_tile_operand("B", b, 1, ex_.transpose_b, tile_.data()));
  packed_moving_.assign(tile_.data());
  size_t a_stride = 0;
  ZB_ASSIGN(const int8_t* a_rows, a_operand(a, &a_stride));
  mesh_multiply(a_rows, a_stride, packed_moving_, {results_.data(), dim()}, dim());
  for (size_t n = 0; n < elements; ++n) partial_sums_[n] = wrap_add(partial_sums_[n], results_[n]);
  if (options_.strict) ZB_TRY(check_partial_sums());
  if (result_.address == kGarbage) return {};
  if (is_accumulator(result_.address)) return write_result(partial_sums_.data());
  for (size_t n = 0; n < elements; ++n) results_[n] = rounding_shift(partial_sums_[n], ex_.in_shift);
  return write_result(results_.data());
}

// Rows of dim int32 to C: saturated (and activated) into the scratchpad, as they are into the accumulator.
Status FunctionalSimulator::write_result(const int32_t* results) {
  const uint32_t rows = std::min<uint32_t>(result_.rows, dim()),
                 cols = std::min<uint32_t>(result_.cols, dim());
  if (rows == 0 || cols == 0) return {};
  ZB_TRY(check_rows("C", result_.address, rows, ex_.c_stride));
  const bool relu = ex_.activation == Activation::kRelu;
  for (uint32_t i = 0; i < rows; ++i) {
    const size_t offset = (size_t{target_row(result_.address)} + size_t{ex_.c_stride} * i) * dim();
    const int32_t* row = results + size_t{i} * dim();
    if (!is_accumulator(result_.address)) {
      int8_t* target = scratchpad_.data() + offset;
      for (uint32_t j = 0; j < cols; ++j) {
        const int8_t value = saturate8(row[j]);
        target[j] = relu && value < 0 ? int8_t{0} : value;
      }
    } else if ((result_.address & kAccumulateBit) == 0) {
      std::memcpy(accumulator_.data() + offset, row, size_t{cols} * 4);
    } else {
      int32_t* target = accumulator_.data() + offset;
      for (uint32_t j = 0; j < cols; ++j) target[j] = wrap_add(target[j], row[j]);
    }
  }
  return {};
}

// The array keeps output-stationary sums in 20 bits.
Status FunctionalSimulator::check_partial_sums() const {
  constexpr int32_t kLimit = 1 << 19;
  for (size_t n = 0; n < partial_sums_.size(); ++n) {
    if (partial_sums_[n] < -kLimit || partial_sums_[n] >= kLimit) {
      return failed_precondition(fmt::format(
          "strict: output-stationary sum {} at row {}, column {} does not fit the array's 20 bits",
          partial_sums_[n], n / dim(), n % dim()));
    }
  }
  return {};
}

}  // namespace zomboss::gemmini
