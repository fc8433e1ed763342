#include "plugins/targets/plena/sim/assembler.h"

#include <gtest/gtest.h>

#include "plugins/targets/plena/sim/isa.h"

namespace zomboss::plena {
namespace {

uint32_t word_of(const std::string& line) {
  const auto words = assemble(line, "test.asm");
  EXPECT_TRUE(words.ok()) << words.status().message();
  return words.ok() && words->size() == 1 ? (*words)[0] : 0;
}

std::string error_of(const std::string& text) {
  const auto words = assemble(text, "test.asm");
  return words.ok() ? "no error" : words.status().message();
}

TEST(Assembler, PutsOperandsIntoTheirFields) {
  EXPECT_EQ(word_of("S_ADDI_INT gp15, gp0, 65536"), 0x400003E2u);
  EXPECT_EQ(word_of("V_SUB_VF gp7, gp6, f4, 1, 1"),
            0x10u | 7u << 6 | 6u << 10 | 4u << 14 | 1u << 18 | 1u << 22);
  EXPECT_EQ(word_of("H_PREFETCH_M gp2, gp3, a1, 1, 0"), 0x28u | 2u << 6 | 3u << 10 | 1u << 14 | 1u << 18);
  EXPECT_EQ(word_of("C_BREAK"), 0x34u);
}

TEST(Assembler, FollowsTheOfficialEncodingsThatSurprise) {
  EXPECT_EQ(word_of("V_EXP_V gp2, gp1, 1"), 0x13u | 2u << 6 | 1u << 10 | 1u << 14);
  EXPECT_EQ(word_of("V_EXP_V gp2, gp1, 16"), 0x13u | 2u << 6 | 1u << 10 | 1u << 18);
  EXPECT_EQ(word_of("M_MV_WO gp6, 2048"), 0x0Bu | 6u << 6 | 2048u << 10);
  EXPECT_EQ(word_of("M_MM_WO gp6, gp0, 4"), 0x06u | 6u << 6 | 4u << 14);
}

TEST(Assembler, MaskDefaultsToZeroWhereItMayBeLeftOut) {
  EXPECT_EQ(word_of("V_ADD_VV gp1, gp2, gp3"), word_of("V_ADD_VV gp1, gp2, gp3, 0"));
}

TEST(Assembler, SkipsCommentsAndEmptyLines) {
  const auto words = assemble("; a comment\n\n  C_BREAK // another\r\n\tC_LOOP_END gp3;x\n", "test.asm");
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(words->size(), 2u);
}

TEST(Assembler, ErrorsNameLineColumnAndRemedy) {
  EXPECT_EQ(error_of("C_BREAK\n  v_add_vv gp1"),
            "test.asm:2:3: error: unknown instruction 'v_add_vv'; mnemonics are upper case, as in V_ADD_VV");
  EXPECT_EQ(error_of("S_ADD_INT gp1, gp16, gp2"),
            "test.asm:1:16: error: there is no register gp16; numbers go from 0 to 15");
  EXPECT_EQ(
      error_of("S_ADDI_INT gp1, gp0, 262144"),
      "test.asm:1:22: error: 262144 does not fit operand 3 of S_ADDI_INT, which has 18 bits; load the upper "
      "part with S_LUI_INT first");
  EXPECT_EQ(error_of("H_STORE_V gp1, gp2, a0, 1"), "test.asm:1:11: error: H_STORE_V takes 5 operands, not 4");
  EXPECT_EQ(error_of("C_LOOP_START gp1, gp2"),
            "test.asm:1:19: error: operand 2 of C_LOOP_START must be a decimal number");
  EXPECT_NE(error_of("S_ADDI_INT gp1, gp0, -1").find("'-1' is not an operand"), std::string::npos);
  EXPECT_NE(error_of(".word 0x123456789").find("at most 32 bits"), std::string::npos);
}

TEST(Disassembler, EveryWordAssemblesToItself) {
  uint32_t word = 1;
  for (int n = 0; n < 20000; ++n) {
    word = word * 1664525u + 1013904223u;
    const uint32_t tried = n % 2 == 0 ? word : (word & ~0x3Fu & 0x003FFFFFu) | (word >> 26);
    ASSERT_EQ(word_of(disassemble(tried)), tried) << disassemble(tried);
  }
}

TEST(Disassembler, PrintsInstructionsWhereThereIsOne) {
  EXPECT_EQ(disassemble(word_of("M_BTMV gp8, gp0, gp4")), "M_BTMV gp8, gp0, gp4");
  EXPECT_EQ(disassemble(word_of("M_MM 0, gp5, gp2")), "M_MM 0, gp5, gp2");
  EXPECT_EQ(disassemble(0x31u), ".word 0x00000031");
  // A set mask cannot be written for V_RED_SUM.
  EXPECT_EQ(disassemble(0x00040455u), ".word 0x00040455");
}

TEST(MemFile, ReadsWordsWithAndWithoutPrefix) {
  const auto words = parse_mem("0x0000000D 22\n\n0XffFFffFF", "p.mem");
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words, (std::vector<uint32_t>{0xD, 0x22, 0xFFFFFFFFu}));
  EXPECT_EQ(print_mem(*words), "0x0000000D\n0x00000022\n0xFFFFFFFF\n");
  EXPECT_EQ(parse_mem("1\n 0xG", "p.mem").status().message(),
            "p.mem:2:2: error: '0xG' is not a hexadecimal word of at most 32 bits");
}

}  // namespace
}  // namespace zomboss::plena
