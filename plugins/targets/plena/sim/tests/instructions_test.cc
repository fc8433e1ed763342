// Each instruction group on a small machine, with results worked out by hand.
#include <cmath>

#include "plugins/targets/plena/sim/tests/machine.h"

namespace zomboss::plena {
namespace {

using testing::Machine;
using testing::small_settings;
using Floats = std::vector<float>;

TEST(PlenaScalar, IntegersWrapAndRegisterZeroIsOrdinary) {
  Machine machine;
  machine.must_run(
      "S_ADDI_INT gp0, gp0, 5\n"
      "S_SUB_INT gp1, gp2, gp0\n"  // -5
      "S_MUL_INT gp3, gp1, gp0\n"  // -25
      "S_LUI_INT gp4, 4194303\n"   // the top two bits are lost
      "S_ST_INT gp0, gp2, 0\nS_ST_INT gp1, gp2, 1\nS_ST_INT gp3, gp2, 2\nS_ST_INT gp4, gp2, 3\n"
      "S_LD_INT gp5, gp2, 2\nS_ST_INT gp5, gp2, 4\n");
  EXPECT_EQ(machine.integer(0), 5u);
  EXPECT_EQ(machine.integer(1), 0xFFFFFFFBu);
  EXPECT_EQ(machine.integer(2), 0xFFFFFFE7u);
  EXPECT_EQ(machine.integer(3), 0xFFFFF000u);
  EXPECT_EQ(machine.integer(4), 0xFFFFFFE7u);
  EXPECT_EQ(machine.simulator().nanoseconds(), 10u);
}

TEST(PlenaScalar, ArithmeticNeverWritesF0ButALoadDoes) {
  Machine machine;
  machine.set_halves({0x4000, 0x3C00});  // 2, 1
  machine.must_run(
      "S_LD_FP f1, gp0, 0\nS_ADD_FP f0, f1, f1\nS_ST_FP f0, gp0, 2\n"
      "S_LD_FP f0, gp0, 1\nS_ADD_FP f2, f0, f1\nS_ST_FP f2, gp0, 3\n");
  EXPECT_EQ(machine.fp(2), 0.0f);
  EXPECT_EQ(machine.fp(3), 3.0f);
  EXPECT_EQ(machine.simulator().nanoseconds(), 5u) << "the skipped addition takes no time";
}

TEST(PlenaScalar, SpecialFunctionsRoundToBf16) {
  Machine machine;
  machine.set_halves({0x4200, 0x0000, 0xBC00});  // 3, 0, -1
  machine.must_run(
      "S_LD_FP f1, gp0, 0\nS_LD_FP f2, gp0, 1\nS_LD_FP f3, gp0, 2\n"
      "S_RECI_FP f4, f1\nS_ST_FP f4, gp0, 4\nS_RECI_FP f4, f2\nS_ST_FP f4, gp0, 5\n"
      "S_SQRT_FP f4, f3\nS_ST_FP f4, gp0, 6\nS_EXP_FP f4, f2\nS_ST_FP f4, gp0, 7\n"
      "S_MAX_FP f4, f1, f3\nS_ST_FP f4, gp0, 8\n");
  EXPECT_EQ(machine.fp(4), 0.333984375f);
  EXPECT_TRUE(std::isinf(machine.fp(5)));
  EXPECT_TRUE(std::isnan(machine.fp(6)));
  EXPECT_EQ(machine.fp(7), 1.0f);
  EXPECT_EQ(machine.fp(8), 3.0f);
}

TEST(PlenaControl, LoopRunsExactlyItsCountAndLeavesZero) {
  Machine machine;
  machine.must_run(
      "C_LOOP_START gp1, 3\nC_LOOP_START gp2, 2\nS_ADDI_INT gp3, gp3, 1\nC_LOOP_END gp2\nC_LOOP_END gp1\n"
      "S_ST_INT gp3, gp0, 0\nS_ST_INT gp1, gp0, 1\n");
  EXPECT_EQ(machine.integer(0), 6u);
  EXPECT_EQ(machine.integer(1), 0u);
  EXPECT_EQ(machine.simulator().profile().count_by_pc[2], 6u);
}

TEST(PlenaControl, BreakClosesTheLoopAndFallsThrough) {
  Machine machine;
  machine.must_run("C_LOOP_START gp1, 9\nC_BREAK\nS_ST_INT gp1, gp0, 0\n");
  EXPECT_EQ(machine.integer(0), 0u);
  EXPECT_EQ(machine.simulator().nanoseconds(), 3u);
}

TEST(PlenaControl, EachTripMayRunTheLimitButNotMore) {
  Settings settings = small_settings();
  settings.max_loop_instructions = 2;
  Machine fits(settings);
  fits.must_run("C_LOOP_START gp1, 5\nS_ADDI_INT gp2, gp2, 1\nC_LOOP_END gp1\n");
  Machine exceeds(settings);
  const Status status =
      exceeds.run("C_LOOP_START gp1, 5\nS_ADDI_INT gp2, gp2, 1\nC_SET_SCALE_REG gp2\nC_LOOP_END gp1\n");
  EXPECT_EQ(status.message(),
            "pc 3 (C_LOOP_END gp1): the loop at pc 0 runs more than MAX_LOOP_INSTRUCTIONS, 2, in one trip");
}

TEST(PlenaControl, EndlessLoopStopsAtTheInstructionLimit) {
  Machine machine;
  machine.simulator().limit_instructions(1000);
  const Status status = machine.run("C_LOOP_START gp1, 2\nS_ADDI_INT gp1, gp0, 2\nC_LOOP_END gp1\n");
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(machine.simulator().profile().instructions, 1000u);
}

TEST(PlenaVector, MaskedResultKeepsTheFirstOperandElsewhere) {
  Machine machine;
  machine.set_vectors({1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40, 50, 60, 70, 80});
  machine.must_run(
      "S_ADDI_INT gp1, gp0, 8\nS_ADDI_INT gp2, gp0, 16\nS_ADDI_INT gp3, gp0, 24\nS_ADDI_INT gp4, gp0, 2\n"
      "C_SET_V_MASK_REG gp4\nV_SUB_VV gp2, gp0, gp1, 0\nV_ADD_VV gp3, gp0, gp1, 7\n");
  EXPECT_EQ(machine.row(2), (Floats{-9, -18, -27, -36, -45, -54, -63, -72}));
  EXPECT_EQ(machine.row(3), (Floats{1, 2, 3, 4, 55, 66, 77, 88}));
}

TEST(PlenaVector, ReversedSubtractionOfEqualsIsMinusZero) {
  Machine machine;
  machine.set_vectors({2, 2, 2, 2, 3, 3, 3, 3});
  machine.set_halves({0x4000});
  machine.must_run("S_LD_FP f1, gp0, 0\nS_ADDI_INT gp1, gp0, 8\nV_SUB_VF gp1, gp0, f1, 0, 1\n");
  EXPECT_EQ(machine.row(1)[4], -1.0f);
  EXPECT_TRUE(std::signbit(machine.row(1)[0]));
}

TEST(PlenaVector, ShiftMovesTowardsHigherIndices) {
  Machine machine;
  machine.set_vectors({1, 2, 3, 4, 5, 6, 7, 8});
  machine.must_run(
      "S_ADDI_INT gp1, gp0, 8\nS_ADDI_INT gp2, gp0, 3\nV_SHFT_V gp1, gp0, gp2\n"
      "S_ADDI_INT gp3, gp0, 16\nS_SUB_INT gp4, gp5, gp2\nV_SHFT_V gp3, gp0, gp4\n");
  EXPECT_EQ(machine.row(1), (Floats{0, 0, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(machine.row(2), Floats(8, 0.0f));
}

TEST(PlenaVector, ReductionsAddToTheirRegister) {
  Machine machine;
  machine.set_vectors({1, 2, 3, 4, 5, 6, 7, 8});
  machine.set_halves({0x4900});  // 10
  machine.must_run(
      "S_LD_FP f1, gp0, 0\nV_RED_SUM f1, gp0\nS_ST_FP f1, gp0, 1\nV_RED_MAX f2, gp0, 0\nS_ST_FP f2, gp0, 2\n"
      "V_RED_SUM f0, gp0\n"
      // Masked (the assembler cannot write it): head 0 becomes its sum in all four elements, then all are
      // added.
      "S_ADDI_INT gp1, gp0, 1\nC_SET_V_MASK_REG gp1\n.word 0x000400D5\nS_ST_FP f3, gp0, 3\n");
  EXPECT_EQ(machine.fp(1), 46.0f);
  EXPECT_EQ(machine.fp(2), 8.0f);
  EXPECT_EQ(machine.fp(3), 4 * 10.0f + 26.0f);
  EXPECT_EQ(machine.simulator().nanoseconds(), 6u + 8 + 4 + 0 + 8) << "f0 as a destination costs nothing";
}

TEST(PlenaVector, MaskedExpClampsTheHeadsItSkips) {
  Machine machine;
  machine.set_vectors({0, 0, 0, 0, 96, 1, 1, -96});
  machine.must_run(
      "S_ADDI_INT gp1, gp0, 1\nC_SET_V_MASK_REG gp1\nS_ADDI_INT gp2, gp0, 8\nV_EXP_V gp2, gp0, 16\n");
  EXPECT_EQ(machine.row(1), (Floats{1, 1, 1, 1, 88, 1, 1, -88}));
}

TEST(PlenaVector, TopkPrefersTheLowerIndexOnTies) {
  Machine machine;
  std::vector<float> logits(32, -4.0f);
  logits[9] = logits[20] = 3.0f;
  logits[2] = NAN;
  machine.set_vectors(logits);
  machine.must_run("S_ADDI_INT gp1, gp0, 100\nV_TOPK gp1, gp0, gp1, 0\n");
  EXPECT_EQ(machine.integer(100), 9u);
  EXPECT_EQ(machine.integer(101), 20u);
  EXPECT_EQ(machine.integer(102), 0u);
  EXPECT_EQ(machine.integer(103), 1u);
  EXPECT_EQ(machine.fp(100), 0.5f);
  EXPECT_EQ(machine.simulator().nanoseconds(), 1u + 4 * 32);
}

TEST(PlenaErrors, NameThePcTheInstructionAndTheRule) {
  const std::pair<const char*, const char*> cases[] = {
      {"S_ADDI_INT gp1, gp0, 3\nV_ADD_VV gp1, gp0, gp0, 0",
       "pc 1 (V_ADD_VV gp1, gp0, gp0, 0): vector SRAM address 3 is not a multiple of VLEN, 8"},
      {"S_ADDI_INT gp1, gp0, 512\nV_EXP_V gp0, gp1, 0",
       "pc 1 (V_EXP_V gp0, gp1, 0): vector SRAM address 512 is row 64; there are 64 rows"},
      {"S_LD_FP f1, gp0, 1024", "pc 0 (S_LD_FP f1, gp0, 1024): FP SRAM index 1024 is outside 0..1023"},
      {"S_ADD_FP f9, f1, f1", "pc 0 (S_ADD_FP f9, f1, f1): there is no FP register f9; f0 to f7 exist"},
      {"C_LOOP_START gp1, 0", "pc 0 (C_LOOP_START gp1, 0): the trip count is 0 and must be at least 1"},
      {"C_LOOP_END gp4", "pc 0 (C_LOOP_END gp4): no open loop uses gp4; C_LOOP_START it first"},
      {"C_BREAK", "pc 0 (C_BREAK): no loop is open to break out of"},
      {".word 0x31", "pc 0 (.word 0x00000031): there is no such instruction"},
      {"C_BREAK\n.word 0x43",
       "pc 1 (M_BMM 1, gp0, gp0): rd is 1 and must be 0; refused before the program starts"},
      {"M_BMV gp0, gp0, gp0",
       "pc 0 (M_BMV gp0, gp0, gp0): the machine cannot run M_BMV: its result does not fit its accumulator"},
      {"V_TOPK gp0, gp0, gp0, 2",
       "pc 0 (V_TOPK gp0, gp0, gp0, 2): the top-k policy is 2; 0 is 4 of 32 and 1 is 8 of 128"},
      {"M_MM_WO gp0, gp0, 2", "pc 0 (M_MM_WO gp0, gp0, 2): column 2 is not a multiple of BLEN, 4"},
      {"S_ADDI_INT gp1, gp0, 256\nH_PREFETCH_M gp1, gp0, a0, 0, 0",
       "pc 1 (H_PREFETCH_M gp1, gp0, a0, 0, 0): matrix SRAM address 256 is tile 4; there are 4 tiles"},
      {"S_LUI_INT gp1, 16\nH_STORE_V gp0, gp1, a0, 0, 0",
       "pc 1 (H_STORE_V gp0, gp1, a0, 0, 0): row 0 of the store ends past the HBM capacity of 65536 bytes"},
  };
  for (const auto& [assembly, message] : cases) {
    Machine machine;
    EXPECT_EQ(machine.run(assembly).message(), message);
  }
}

}  // namespace
}  // namespace zomboss::plena
