// The vector unit.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "plugins/targets/plena/sim/kernels.h"
#include "plugins/targets/plena/sim/simulator.h"
#include "zomboss/kit/bf16.h"

namespace zomboss::plena {
namespace {

constexpr float kExpLow = -88.0f;
constexpr float kExpHigh = 88.0f;

float clamped_exp(float value) {
  if (std::isnan(value)) return value;
  return static_cast<float>(std::exp(static_cast<double>(std::clamp(value, kExpLow, kExpHigh))));
}

// exp of every bf16, rounded to bf16, by code.
const std::vector<uint16_t>& exp_table() {
  static const std::vector<uint16_t> table = [] {
    std::vector<uint16_t> values(0x10000);
    for (uint32_t code = 0; code < values.size(); ++code) {
      values[code] = kit::bf16_round(clamped_exp(kit::bf16_to_float(static_cast<uint16_t>(code))));
    }
    return values;
  }();
  return table;
}

// Integers in the total order of IEEE 754: -0 below +0.
int32_t total_order(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits < 0 ? bits ^ 0x7FFFFFFF : bits;
}

}  // namespace

bool Simulator::run_vector(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::kVAddVv:
    case Opcode::kVSubVv:
    case Opcode::kVMulVv:
      return vector_binary(in);
    case Opcode::kVExpV:
    case Opcode::kVReciV:
      return vector_unary(in);
    case Opcode::kVRedSum:
    case Opcode::kVRedMax:
      return vector_reduce(in);
    case Opcode::kVShftV:
      return vector_shift(in);
    case Opcode::kVTopk:
      return vector_topk(in);
    default:
      return vector_with_scalar(in);
  }
}

// Heads that V_MASK does not select take `source`.
void Simulator::keep_unselected(const float* source, float* out) const {
  const uint32_t heads = settings_.vlen / settings_.hlen;
  for (uint32_t head = 0; head < heads; ++head) {
    if (head < 32 && (mask_register_ >> head & 1u) != 0) continue;
    const size_t first = size_t{head} * settings_.hlen;
    std::copy_n(source + first, settings_.hlen, out + first);
  }
}

bool Simulator::vector_binary(const Instruction& in) {
  uint32_t row_a = 0;
  uint32_t row_b = 0;
  uint32_t row_out = 0;
  if (!vector_row(gp_[in.rs1], row_a) || !vector_row(gp_[in.rs2], row_b) ||
      !vector_row(gp_[in.rd], row_out)) {
    return false;
  }
  const float* a = vectors_.read(row_a, row_a_.data());
  const float* b = vectors_.read(row_b, row_b_.data());
  float* out = row_out_.data();
  const size_t count = settings_.vlen;
  if (in.opcode == Opcode::kVAddVv) {
    kernels_->add_rows(a, b, out, count);
  } else if (in.opcode == Opcode::kVSubVv) {
    kernels_->subtract_rows(a, b, out, count);
  } else {
    kernels_->multiply_rows(a, b, out, count);
  }
  if (in.rs3 != 0) keep_unselected(a, out);
  vectors_.write(row_out, out);
  return true;
}

bool Simulator::vector_with_scalar(const Instruction& in) {
  uint32_t row_a = 0;
  uint32_t row_out = 0;
  if (!vector_row(gp_[in.rs1], row_a) || !fp_register(in.rs2) || !vector_row(gp_[in.rd], row_out))
    return false;
  const float* a = vectors_.read(row_a, row_a_.data());
  const float scalar = fp_[in.rs2];
  float* out = row_out_.data();
  const size_t count = settings_.vlen;
  switch (in.opcode) {
    case Opcode::kVAddVf:
      kernels_->add_scalar(a, scalar, out, count);
      break;
    case Opcode::kVSubVf:
      (in.function == 0 ? kernels_->subtract_scalar : kernels_->subtract_scalar_reversed)(a, scalar, out,
                                                                                          count);
      break;
    case Opcode::kVMulVf:
      kernels_->multiply_scalar(a, scalar, out, count);
      break;
    case Opcode::kVMaxVf:
      kernels_->max_scalar(a, scalar, out, count);
      break;
    default:
      kernels_->min_scalar(a, scalar, out, count);
      break;
  }
  if (in.rs3 != 0) keep_unselected(a, out);
  vectors_.write(row_out, out);
  return true;
}

void Simulator::exp_row(const float* in, float* out) const {
  if (settings_.vector_sram_type == kit::kBf16) {
    const uint16_t* table = exp_table().data();
    for (uint32_t n = 0; n < settings_.vlen; ++n) {
      out[n] = kit::bf16_to_float(table[std::bit_cast<uint32_t>(in[n]) >> 16]);
    }
    return;
  }
  for (uint32_t n = 0; n < settings_.vlen; ++n) out[n] = clamped_exp(in[n]);
}

bool Simulator::vector_unary(const Instruction& in) {
  uint32_t row_a = 0;
  uint32_t row_out = 0;
  if (!vector_row(gp_[in.rs1], row_a) || !vector_row(gp_[in.rd], row_out)) return false;
  const float* a = vectors_.read(row_a, row_a_.data());
  float* out = row_out_.data();
  if (in.opcode == Opcode::kVReciV) {
    kernels_->reciprocal_row(a, out, settings_.vlen);
    if (in.rs3 != 0) keep_unselected(a, out);
  } else {
    exp_row(a, out);
    if (in.rs3 != 0) {
      // The clamp comes before the selection, so that unselected heads are clamped too.
      clamp_row(a, kExpLow, kExpHigh, row_b_.data(), settings_.vlen);
      keep_unselected(row_b_.data(), out);
    }
  }
  vectors_.write(row_out, out);
  return true;
}

bool Simulator::vector_shift(const Instruction& in) {
  uint32_t row_a = 0;
  uint32_t row_out = 0;
  if (!vector_row(gp_[in.rs1], row_a) || !vector_row(gp_[in.rd], row_out)) return false;
  const float* a = vectors_.read(row_a, row_a_.data());
  const size_t shift = std::min(gp_[in.rs2], settings_.vlen);
  std::fill_n(row_out_.data(), shift, 0.0f);
  std::copy_n(a, settings_.vlen - shift, row_out_.data() + shift);
  vectors_.write(row_out, row_out_.data());
  return true;
}

// With a mask each selected head becomes its own sum (maximum) in every element, and then the whole row,
// selected or not, is reduced.
bool Simulator::vector_reduce(const Instruction& in) {
  if (in.rd == 0) return true;
  uint32_t row = 0;
  if (!fp_register(in.rd) || !vector_row(gp_[in.rs1], row)) return false;
  const float* a = vectors_.read(row, row_a_.data());
  const auto reduce = in.opcode == Opcode::kVRedSum ? kernels_->sum_row : kernels_->max_row;
  if (in.rs3 != 0) {
    float* out = row_out_.data();
    for (size_t first = 0; first < settings_.vlen; first += settings_.hlen) {
      std::fill_n(out + first, settings_.hlen, reduce(a + first, settings_.hlen));
    }
    keep_unselected(a, out);
    a = out;
  }
  const float reduced = reduce(a, settings_.vlen);
  float& out = fp_[in.rd];
  if (in.opcode == Opcode::kVRedSum) {
    out = kit::bf16_to_float(kit::bf16_round(out + reduced));
  } else {
    const bool keep = std::isnan(reduced) || out > reduced;
    out = kit::bf16_to_float(kit::bf16_round(keep ? out : reduced));
  }
  return true;
}

bool Simulator::vector_topk(const Instruction& in) {
  if (in.rs3 > 1) return fail(fmt::format("the top-k policy is {}; 0 is 4 of 32 and 1 is 8 of 128", in.rs3));
  const uint32_t experts = in.rs3 == 0 ? 32 : 128;
  const uint32_t chosen = in.rs3 == 0 ? 4 : 8;
  std::array<float, 128> logits;
  for (uint32_t done = 0; done < experts; done += settings_.vlen) {
    uint32_t row = 0;
    if (!vector_row(gp_[in.rs1] + done, row)) return false;
    std::copy_n(vectors_.read(row, row_a_.data()), std::min(settings_.vlen, experts - done),
                logits.data() + done);
  }
  std::array<uint32_t, 128> order;
  for (uint32_t n = 0; n < experts; ++n) {
    order[n] = n;
    if (std::isnan(logits[n])) logits[n] = -std::numeric_limits<float>::infinity();
  }
  std::stable_sort(order.begin(), order.begin() + experts, [&logits](uint32_t a, uint32_t b) {
    return total_order(logits[a]) > total_order(logits[b]);
  });
  std::array<float, 8> weights;
  float sum = 0.0f;
  for (uint32_t n = 0; n < chosen; ++n) {
    weights[n] = std::exp(logits[order[n]] - logits[order[0]]);
    sum += weights[n];
  }
  const bool usable = std::isfinite(sum) && sum > 0.0f;
  for (uint32_t n = 0; n < chosen; ++n) {
    const uint32_t int_index = gp_[in.rs2] + n;
    const uint32_t fp_index = gp_[in.rd] + n;
    if (!scalar_index(int_index, "INT") || !scalar_index(fp_index, "FP")) return false;
    int_sram_[int_index] = order[n];
    fp_sram_[fp_index] = usable ? kit::bf16_to_float(kit::bf16_round(weights[n] / sum)) : 0.0f;
  }
  return true;
}

}  // namespace zomboss::plena
