#include "plugins/targets/plena/sim/profile.h"

#include "plugins/targets/plena/sim/tests/machine.h"

namespace zomboss::plena {
namespace {

using testing::Machine;
using testing::small_settings;

uint64_t of(const std::array<uint64_t, kEngineCount>& values, Engine engine) {
  return values[static_cast<size_t>(engine)];
}
uint64_t of(const std::array<uint64_t, kOpcodeCount>& values, Opcode opcode) {
  return values[static_cast<size_t>(opcode)];
}

// A loop of three trips between two other parts.
constexpr const char* kProgram =
    "S_ADDI_INT gp1, gp0, 8\n"            // 0
    "C_LOOP_START gp2, 3\n"               // 1
    "V_ADD_VV gp1, gp1, gp0\n"            // 2
    "S_ADDI_INT gp1, gp1, 8\n"            // 3
    "C_LOOP_END gp2\n"                    // 4
    "S_ADDI_INT gp3, gp0, 128\n"          // 5
    "H_PREFETCH_M gp3, gp0, a0, 0, 0\n";  // 6

TEST(PlenaProfile, CountsInstructionsTimeAndMemoryMarks) {
  Settings settings = small_settings();
  settings.latencies.vector_add = 5;
  Machine machine(settings);
  machine.must_run(kProgram);
  const Profile profile = machine.simulator().profile();
  EXPECT_EQ(profile.instructions, 2u + 9 + 2);
  EXPECT_EQ(of(profile.count_by_opcode, Opcode::kVAddVv), 3u);
  EXPECT_EQ(of(profile.count_by_opcode, Opcode::kSAddiInt), 5u);
  EXPECT_EQ(of(profile.nanoseconds_by_opcode, Opcode::kVAddVv), 15u);
  EXPECT_EQ(of(profile.nanoseconds_by_engine, Engine::kVector), 15u);
  EXPECT_EQ(of(profile.nanoseconds_by_engine, Engine::kControl), 4u);
  EXPECT_EQ(profile.vector_rows_used, 4u) << "rows 1 to 3 were written";
  EXPECT_EQ(profile.matrix_tiles_used, 3u) << "tile 2 was written";
  EXPECT_EQ(of(profile.nanoseconds_by_engine, Engine::kMemory),
            profile.nanoseconds - 15 - 4 - of(profile.nanoseconds_by_engine, Engine::kScalar));
}

TEST(PlenaProfile, RegionsAddUpToTheWholeProgram) {
  Settings settings = small_settings();
  settings.latencies.vector_add = 5;
  Machine machine(settings);
  machine.must_run(kProgram);
  const Profile profile = machine.simulator().profile();
  const RegionTotal loop = region_total(profile, 1, 5);
  EXPECT_EQ(loop.instructions, 10u);
  EXPECT_EQ(loop.nanoseconds, 1u + 3 * 7);
  EXPECT_EQ(of(loop.nanoseconds_by_engine, Engine::kVector), 15u);
  EXPECT_EQ(of(loop.nanoseconds_by_engine, Engine::kScalar), 3u);
  const RegionTotal rest = region_total(profile, 5, 1000);
  EXPECT_EQ(region_total(profile, 0, 1).nanoseconds + loop.nanoseconds + rest.nanoseconds,
            profile.nanoseconds);
}

TEST(PlenaProfile, AbortedProgramCountsWhatHasEnded) {
  Machine machine;
  EXPECT_FALSE(machine.run("S_ADDI_INT gp1, gp0, 3\nV_ADD_VV gp1, gp1, gp1\n").ok());
  EXPECT_EQ(machine.simulator().pc(), 1u);
  EXPECT_EQ(machine.simulator().profile().instructions, 1u);
  EXPECT_EQ(machine.simulator().profile().nanoseconds, 1u);
}

TEST(PlenaProfile, ProgramRefusedAtDecodeCountsNothing) {
  Machine machine;
  EXPECT_FALSE(machine.run("S_ADDI_INT gp1, gp0, 3\nM_BMM 1, gp0, gp0\nC_BREAK\n").ok());
  const Profile profile = machine.simulator().profile();
  EXPECT_EQ(profile.instructions, 0u);
  EXPECT_EQ(region_total(profile, 0, 3).nanoseconds, 0u);
}

}  // namespace
}  // namespace zomboss::plena
