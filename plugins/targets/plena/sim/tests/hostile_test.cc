// Programs and settings that nobody meant: they end in an error or run, and never crash or hang.
#include <gtest/gtest.h>

#include <random>

#include "plugins/targets/plena/sim/tests/machine.h"

namespace zomboss::plena {
namespace {

using testing::small_settings;

// Mostly what a program may hold: registers 0 to 3, aligned constants, and seldom what usually aborts.
uint32_t random_word(std::mt19937& generator) {
  const auto any = static_cast<uint32_t>(generator());
  const bool wild = generator() % 64 == 0;
  if (wild) return any;
  auto opcode = static_cast<Opcode>(1 + generator() % 0x37);
  switch (opcode) {
    case Opcode::kMBmv:
    case Opcode::kSLuiInt:
    case Opcode::kCLoopEnd:
    case Opcode::kCBreak:
    case Opcode::kVTopk:
      if (generator() % 8 != 0) opcode = Opcode::kSAddiInt;
      break;
    default:
      if (instruction_info(static_cast<uint32_t>(opcode)).mnemonic.empty()) opcode = Opcode::kSAddiInt;
      break;
  }
  const auto code = static_cast<uint32_t>(opcode);
  if (opcode == Opcode::kSAddiInt) return code | (any & 0xC0u) | static_cast<uint32_t>(generator() % 5) << 20;
  const bool writes_nothing = opcode == Opcode::kMBmm || opcode == Opcode::kMBtmm;
  const bool has_immediate = instruction_info(code).operands.find('i') != std::string_view::npos;
  return code | (any & (writes_nothing ? 0x000CCC00u : has_immediate ? 0xCC0u : 0x000CCCC0u));
}

void run_random(uint32_t seed, const Settings& settings, size_t& completed, size_t& executed) {
  SCOPED_TRACE(seed);
  std::mt19937 generator(seed);
  auto simulator = Simulator::create(settings);
  ASSERT_TRUE(simulator.ok()) << simulator.status().message();
  simulator->limit_instructions(5000);
  std::vector<uint8_t> image(4096);
  for (uint8_t& byte : image) byte = static_cast<uint8_t>(generator());
  ASSERT_TRUE(simulator->load_hbm(image).ok());
  simulator->load_vector_sram(image);
  std::vector<uint32_t> words(40);
  for (uint32_t& word : words) word = random_word(generator);
  const Status status = simulator->run(words);
  if (!status.ok()) {
    EXPECT_TRUE(status.message().starts_with("pc ")) << status.message();
  }
  completed += status.ok() ? 1 : 0;
  executed += simulator->profile().instructions;
}

TEST(PlenaHostile, RandomProgramsEndOnMachinesOfAllShapes) {
  std::vector<Settings> machines(4, small_settings());
  machines[1].mlen = machines[1].vlen = machines[1].blen = machines[1].hlen = machines[1].broadcast = 1;
  machines[1].weight_type.block = machines[1].matrix_kv_type.block = 1;
  machines[1].activation_type.block = machines[1].vector_kv_type.block = 1;
  machines[2].vector_sram_type = kit::kFloat32;
  machines[2].activation_type = {{true, 5, 10}, 4};
  machines[2].vector_kv_type = {kit::kE2M1, 2};
  machines[2].weight_type = {kit::kFloat32, 0};
  machines[3].vector_sram_rows = machines[3].matrix_sram_rows = 0;
  machines[3].vector_sram_type = kit::kE4M3;
  size_t completed = 0;
  size_t executed = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) run_random(seed, machines[seed % 4], completed, executed);
  EXPECT_GT(executed, 20000u) << "programs abort too early to try anything";
  EXPECT_GT(completed, 40u);
}

TEST(PlenaHostile, AddressesWrapAroundTheirRegistersWithoutHarm) {
  testing::Machine machine;
  // The address register is 2^64 - 8, so that rows of the transfers wrap to address 0.
  machine.must_run(
      "S_SUB_INT gp1, gp0, gp1\nS_ADDI_INT gp2, gp0, 1\nS_SUB_INT gp1, gp0, gp2\nS_ADDI_INT gp3, gp0, 8\n"
      "S_SUB_INT gp3, gp0, gp3\nC_SET_ADDR_REG a1, gp1, gp3\nH_PREFETCH_V gp0, gp0, a1, 0, 0\n"
      "H_PREFETCH_M gp0, gp3, a1, 0, 0\n");
  const Status status = testing::Machine().run(
      "S_ADDI_INT gp2, gp0, 1\nS_SUB_INT gp1, gp0, gp2\nC_SET_ADDR_REG a1, gp1, gp1\n"
      "H_STORE_V gp0, gp0, a1, 0, 0\n");
  EXPECT_NE(status.message().find("past the HBM capacity"), std::string::npos) << status.message();
}

TEST(PlenaHostile, SettingsBeyondTheMachineAreRefusedByName) {
  const auto message = [](void (*change)(Settings&)) {
    Settings settings = small_settings();
    change(settings);
    return Simulator::create(settings).status().message();
  };
  EXPECT_EQ(message([](Settings& s) { s.mlen = s.vlen = 0; }), "MLEN is 0, outside 1..4096");
  EXPECT_NE(message([](Settings& s) { s.vector_sram_rows = ~0u; }).find("VECTOR_SRAM_SIZE is 4294967295"),
            std::string::npos);
  EXPECT_NE(message([](Settings& s) { s.hbm_bytes = ~uint64_t{0}; }).find("HBM_SIZE is"), std::string::npos);
  EXPECT_NE(message([](Settings& s) { s.weight_type.block = 3; }).find("block 3 does not divide"),
            std::string::npos);
  EXPECT_NE(message([](Settings& s) { s.vector_sram_type.exponent_bits = 11; }).find("VECTOR_SRAM_TYPE"),
            std::string::npos);
}

}  // namespace
}  // namespace zomboss::plena
