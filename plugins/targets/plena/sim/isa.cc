#include "plugins/targets/plena/sim/isa.h"

namespace zomboss::plena {
namespace {

constexpr Layout kFields = Layout::kFields;
constexpr Layout kImm18 = Layout::kImm18;
constexpr Layout kImm22 = Layout::kImm22;
constexpr Engine kMatrix = Engine::kMatrix;
constexpr Engine kVector = Engine::kVector;
constexpr Engine kScalar = Engine::kScalar;
constexpr Engine kMemory = Engine::kMemory;
constexpr Engine kControl = Engine::kControl;

// The write-out instructions M_MV_WO, M_BMM_WO and M_BMV_WO are assembled with the immediate at bit 10
// although the machine reads it at bit 14; V_EXP_V, V_RECI_V and V_RED_MAX take their last operand at bit 14,
// not in the mask field. Both are what the official assembler emits.
constexpr InstructionInfo kInstructions[] = {
    {Opcode::kMMm, "M_MM", "0gg", 3, kFields, kMatrix},
    {Opcode::kMTmm, "M_TMM", "0gg", 3, kFields, kMatrix},
    {Opcode::kMBmm, "M_BMM", "0gg", 3, kFields, kMatrix},
    {Opcode::kMBtmm, "M_BTMM", "0gg", 3, kFields, kMatrix},
    {Opcode::kMBmmWo, "M_BMM_WO", "gi", 2, kImm22, kMatrix},
    {Opcode::kMMmWo, "M_MM_WO", "ggi", 3, kImm18, kMatrix},
    {Opcode::kMMv, "M_MV", "0gg", 3, kFields, kMatrix},
    {Opcode::kMTmv, "M_TMV", "0gg", 3, kFields, kMatrix},
    {Opcode::kMBmv, "M_BMV", "ggg", 3, kFields, kMatrix},
    {Opcode::kMBtmv, "M_BTMV", "ggg", 3, kFields, kMatrix},
    {Opcode::kMMvWo, "M_MV_WO", "gi", 2, kImm22, kMatrix},
    {Opcode::kMBmvWo, "M_BMV_WO", "gi", 2, kImm22, kMatrix},
    {Opcode::kVAddVv, "V_ADD_VV", "gggn", 3, kFields, kVector},
    {Opcode::kVAddVf, "V_ADD_VF", "ggfn", 3, kFields, kVector},
    {Opcode::kVSubVv, "V_SUB_VV", "gggn", 3, kFields, kVector},
    {Opcode::kVSubVf, "V_SUB_VF", "ggfnn", 5, kFields, kVector},
    {Opcode::kVMulVv, "V_MUL_VV", "gggn", 3, kFields, kVector},
    {Opcode::kVMulVf, "V_MUL_VF", "ggfn", 3, kFields, kVector},
    {Opcode::kVExpV, "V_EXP_V", "ggi", 3, kImm18, kVector},
    {Opcode::kVReciV, "V_RECI_V", "ggi", 3, kImm18, kVector},
    {Opcode::kVRedSum, "V_RED_SUM", "fg", 2, kFields, kVector},
    {Opcode::kVRedMax, "V_RED_MAX", "fgi", 3, kImm18, kVector},
    {Opcode::kSAddFp, "S_ADD_FP", "fff", 3, kFields, kScalar},
    {Opcode::kSSubFp, "S_SUB_FP", "fff", 3, kFields, kScalar},
    {Opcode::kSMaxFp, "S_MAX_FP", "fff", 3, kFields, kScalar},
    {Opcode::kSMulFp, "S_MUL_FP", "fff", 3, kFields, kScalar},
    {Opcode::kSExpFp, "S_EXP_FP", "ff", 2, kFields, kScalar},
    {Opcode::kSReciFp, "S_RECI_FP", "ff", 2, kFields, kScalar},
    {Opcode::kSSqrtFp, "S_SQRT_FP", "ff", 2, kFields, kScalar},
    {Opcode::kSLdFp, "S_LD_FP", "fgi", 3, kImm18, kScalar},
    {Opcode::kSStFp, "S_ST_FP", "fgi", 3, kImm18, kScalar},
    {Opcode::kSMapVFp, "S_MAP_V_FP", "ggi", 3, kImm18, kScalar},
    {Opcode::kSAddInt, "S_ADD_INT", "ggg", 3, kFields, kScalar},
    {Opcode::kSAddiInt, "S_ADDI_INT", "ggi", 3, kImm18, kScalar},
    {Opcode::kSSubInt, "S_SUB_INT", "ggg", 3, kFields, kScalar},
    {Opcode::kSMulInt, "S_MUL_INT", "ggg", 3, kFields, kScalar},
    {Opcode::kSLuiInt, "S_LUI_INT", "gi", 2, kImm22, kScalar},
    {Opcode::kSLdInt, "S_LD_INT", "ggi", 3, kImm18, kScalar},
    {Opcode::kSStInt, "S_ST_INT", "ggi", 3, kImm18, kScalar},
    {Opcode::kHPrefetchM, "H_PREFETCH_M", "ggann", 5, kFields, kMemory},
    {Opcode::kHPrefetchV, "H_PREFETCH_V", "ggann", 5, kFields, kMemory},
    {Opcode::kHStoreV, "H_STORE_V", "ggann", 5, kFields, kMemory},
    {Opcode::kCSetAddrReg, "C_SET_ADDR_REG", "agg", 3, kFields, kControl},
    {Opcode::kCSetScaleReg, "C_SET_SCALE_REG", "g", 1, kFields, kControl},
    {Opcode::kCSetStrideReg, "C_SET_STRIDE_REG", "g", 1, kFields, kControl},
    {Opcode::kCSetVMaskReg, "C_SET_V_MASK_REG", "g", 1, kFields, kControl},
    {Opcode::kCLoopStart, "C_LOOP_START", "gi", 2, kImm22, kControl},
    {Opcode::kCLoopEnd, "C_LOOP_END", "g", 1, kFields, kControl},
    {Opcode::kVShftV, "V_SHFT_V", "ggg", 3, kFields, kVector},
    {Opcode::kCBreak, "C_BREAK", "", 0, kFields, kControl},
    {Opcode::kVMaxVf, "V_MAX_VF", "ggfn", 3, kFields, kVector},
    {Opcode::kVMinVf, "V_MIN_VF", "ggfn", 3, kFields, kVector},
    {Opcode::kVTopk, "V_TOPK", "gggn", 3, kFields, kVector},
};

constexpr std::array<InstructionInfo, kOpcodeCount> by_opcode() {
  std::array<InstructionInfo, kOpcodeCount> table;
  for (const InstructionInfo& info : kInstructions) table[static_cast<size_t>(info.opcode)] = info;
  return table;
}
constexpr std::array<InstructionInfo, kOpcodeCount> kByOpcode = by_opcode();

}  // namespace

Fields split_fields(uint32_t word) {
  const auto field = [word](int low) { return static_cast<uint8_t>((word >> low) & 0xFu); };
  return {static_cast<uint8_t>(word & 0x3Fu),
          field(6),
          field(10),
          field(14),
          field(18),
          field(22),
          word >> 14,
          word >> 10};
}

const InstructionInfo& instruction_info(uint32_t opcode) {
  return kByOpcode[opcode % kOpcodeCount];
}

const InstructionInfo* find_mnemonic(std::string_view mnemonic) {
  for (const InstructionInfo& info : kInstructions) {
    if (info.mnemonic == mnemonic) return &kByOpcode[static_cast<size_t>(info.opcode)];
  }
  return nullptr;
}

std::string_view engine_name(Engine engine) {
  constexpr std::string_view kNames[] = {"matrix", "vector", "scalar", "memory", "control"};
  return kNames[static_cast<size_t>(engine)];
}

}  // namespace zomboss::plena
