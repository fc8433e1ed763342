// The instruction set of PLENA: opcodes, mnemonics, the fields of an instruction word, and how the official
// assembler lays operands out in them. Constant data and pure functions, usable from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace zomboss::plena {

enum class Opcode : uint8_t {
  kInvalid = 0x00,
  kMMm = 0x01,
  kMTmm = 0x02,
  kMBmm = 0x03,
  kMBtmm = 0x04,
  kMBmmWo = 0x05,
  kMMmWo = 0x06,
  kMMv = 0x07,
  kMTmv = 0x08,
  kMBmv = 0x09,
  kMBtmv = 0x0A,
  kMMvWo = 0x0B,
  kMBmvWo = 0x0C,
  kVAddVv = 0x0D,
  kVAddVf = 0x0E,
  kVSubVv = 0x0F,
  kVSubVf = 0x10,
  kVMulVv = 0x11,
  kVMulVf = 0x12,
  kVExpV = 0x13,
  kVReciV = 0x14,
  kVRedSum = 0x15,
  kVRedMax = 0x16,
  kSAddFp = 0x17,
  kSSubFp = 0x18,
  kSMaxFp = 0x19,
  kSMulFp = 0x1A,
  kSExpFp = 0x1B,
  kSReciFp = 0x1C,
  kSSqrtFp = 0x1D,
  kSLdFp = 0x1E,
  kSStFp = 0x1F,
  kSMapVFp = 0x20,
  kSAddInt = 0x21,
  kSAddiInt = 0x22,
  kSSubInt = 0x23,
  kSMulInt = 0x24,
  kSLuiInt = 0x25,
  kSLdInt = 0x26,
  kSStInt = 0x27,
  kHPrefetchM = 0x28,
  kHPrefetchV = 0x29,
  kHStoreV = 0x2A,
  kCSetAddrReg = 0x2B,
  kCSetScaleReg = 0x2C,
  kCSetStrideReg = 0x2D,
  kCSetVMaskReg = 0x2E,
  kCLoopStart = 0x2F,
  kCLoopEnd = 0x30,
  kVShftV = 0x32,
  kCBreak = 0x34,
  kVMaxVf = 0x35,
  kVMinVf = 0x36,
  kVTopk = 0x37,
};

inline constexpr size_t kOpcodeCount = 64;

// Which engine an instruction keeps busy, for profiles.
enum class Engine : uint8_t { kMatrix, kVector, kScalar, kMemory, kControl };
inline constexpr size_t kEngineCount = 5;

// The fields of an instruction word; which of them mean something depends on the opcode.
//   opcode[5:0] rd[9:6] rs1[13:10] rs2[17:14] rs3[21:18] function[25:22], imm18 = [31:14], imm22 = [31:10]
struct Fields {
  uint8_t opcode = 0;
  uint8_t rd = 0;
  uint8_t rs1 = 0;
  uint8_t rs2 = 0;
  uint8_t rs3 = 0;       // mask, stride selection or top-k policy
  uint8_t function = 0;  // precision or order
  uint32_t imm18 = 0;
  uint32_t imm22 = 0;
};
Fields split_fields(uint32_t word);

// Where the assembler puts the operands after the first one, which is always rd.
enum class Layout : uint8_t {
  kFields,  // rs1, rs2, rs3, function
  kImm18,   // rs1, then an immediate at bit 14
  kImm22,   // an immediate at bit 10
};

// One line of the instruction table.
struct InstructionInfo {
  Opcode opcode = Opcode::kInvalid;
  std::string_view mnemonic;  // empty: no such instruction
  // One letter per operand: g, f, a are registers, i an immediate, 0 an integer that lands in rd, n an
  // integer field (mask, stride selection, precision, order, policy).
  std::string_view operands;
  uint8_t required = 0;  // operands that must be written; the rest default to 0
  Layout layout = Layout::kFields;
  Engine engine = Engine::kControl;
};

// The entry of an opcode (0..63); an unassigned one has an empty mnemonic.
const InstructionInfo& instruction_info(uint32_t opcode);
// Nothing (nullptr) when there is no such mnemonic. Case matters, as in the official assembler.
const InstructionInfo* find_mnemonic(std::string_view mnemonic);
std::string_view engine_name(Engine engine);

}  // namespace zomboss::plena
