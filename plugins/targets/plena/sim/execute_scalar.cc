// Scalar floating point, and the scalar memories.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plugins/targets/plena/sim/simulator.h"
#include "zomboss/kit/bf16.h"

namespace zomboss::plena {
namespace {

float round_scalar(float value) {
  return kit::bf16_to_float(kit::bf16_round(value));
}

float clamped_exp(float value) {
  return std::isnan(value) ? value : std::exp(std::clamp(value, -88.0f, 88.0f));
}

}  // namespace

// f0 is protected here, and only here: an instruction that would write it does nothing and takes no time.
bool Simulator::run_scalar(const Instruction& in) {
  if (in.rd == 0) return true;
  if (!fp_register(in.rd) || !fp_register(in.rs1)) return false;
  const float a = fp_[in.rs1];
  float& out = fp_[in.rd];
  switch (in.opcode) {
    case Opcode::kSExpFp:
      out = round_scalar(clamped_exp(a));
      return true;
    case Opcode::kSReciFp:
      out = round_scalar(1.0f / a);
      return true;
    case Opcode::kSSqrtFp:
      out = round_scalar(std::sqrt(a));
      return true;
    default:
      break;
  }
  if (!fp_register(in.rs2)) return false;
  const float b = fp_[in.rs2];
  switch (in.opcode) {
    case Opcode::kSAddFp:
      out = round_scalar(a + b);
      return true;
    case Opcode::kSSubFp:
      out = round_scalar(a - b);
      return true;
    case Opcode::kSMaxFp:
      out = round_scalar(b > a ? b : a);
      return true;
    default:
      out = round_scalar(a * b);
      return true;
  }
}

bool Simulator::run_scalar_memory(const Instruction& in) {
  if (in.opcode == Opcode::kSMapVFp) return map_scalars(in);
  const uint32_t index = gp_[in.rs1] + in.immediate;
  if (in.opcode == Opcode::kSLdInt || in.opcode == Opcode::kSStInt) {
    if (!scalar_index(index, "INT")) return false;
    if (in.opcode == Opcode::kSLdInt) {
      gp_[in.rd] = int_sram_[index];
    } else {
      int_sram_[index] = gp_[in.rd];
    }
    return true;
  }
  if (!scalar_index(index, "FP") || !fp_register(in.rd)) return false;
  if (in.opcode == Opcode::kSLdFp) {
    fp_[in.rd] = fp_sram_[index];
  } else {
    fp_sram_[index] = fp_[in.rd];
  }
  return true;
}

bool Simulator::map_scalars(const Instruction& in) {
  const uint32_t first = gp_[in.rs1] + in.immediate;
  if (uint64_t{first} + settings_.vlen > kScalarSramWords) {
    return fail(fmt::format("FP SRAM numbers {} to {} are outside 0..{}", first,
                            uint64_t{first} + settings_.vlen - 1, kScalarSramWords - 1));
  }
  uint32_t row = 0;
  if (!vector_row(gp_[in.rd], row)) return false;
  vectors_.write(row, fp_sram_.data() + first);
  return true;
}

}  // namespace zomboss::plena
