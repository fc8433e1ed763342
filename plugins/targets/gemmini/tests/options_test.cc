// The target's options, and what they change in a simulation: latencies, scenarios, presets, counters.
#include "plugins/targets/gemmini/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>

#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

MachineModel default_model() {
  MachineModel model;
  model.machine = {.dim = 16,
                   .scratchpad_banks = 4,
                   .scratchpad_rows = 16384,
                   .accumulator_banks = 2,
                   .accumulator_rows = 1024,
                   .max_move_bytes = 64,
                   .load_states = 3,
                   .load_entries = 8,
                   .execute_entries = 16,
                   .store_entries = 4};
  model.memory = {16, 16, 20, {20}};
  return model;
}

using Texts = std::map<std::string, std::string>;

wire::OptionsT options_of(const Texts& texts) {
  wire::OptionsT options;
  for (const auto& [key, text] : texts) {
    auto option = std::make_unique<wire::AttributeT>();
    option->key = key;
    option->text = text;
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
      option->ints = {std::stol(text)};
    options.values.push_back(std::move(option));
  }
  return options;
}

std::string error_of(const Texts& texts) {
  MachineModel model = default_model();
  const auto options = read_options(options_of(texts));
  if (!options.ok()) return options.status().message();
  const auto in_force = choose_timing(*options, model);
  EXPECT_FALSE(in_force.ok());
  return in_force.ok() ? "" : in_force.status().message();
}

// Loads 8 blocks, multiplies, stores one.
std::vector<Command> small_kernel() {
  std::vector<Command> commands = {config_ex({}), config_ld({.dram_stride_bytes = 64, .block_stride = 16}),
                                   config_st({.dram_stride_bytes = 16})};
  for (uint32_t n = 0; n < 2; ++n) commands.push_back(mvin(0x100000 + n * 1024, {n * 64, 16, 64}));
  commands.push_back(preload({0, 16, 16}, {accumulator_address(0), 16, 16}));
  commands.push_back(compute(true, {64, 16, 16}, {kGarbage, 16, 16}));
  commands.push_back(mvout(0x100000, {accumulator_address(0), 16, 16}));
  return commands;
}

wire::SimulationT simulate(const Texts& texts) {
  MachineModel model = default_model();
  const auto options = read_options(options_of(texts));
  EXPECT_TRUE(options.ok()) << options.status().message();
  const auto in_force = choose_timing(*options, model);
  EXPECT_TRUE(in_force.ok()) << in_force.status().message();
  wire::ProgramT program;
  program.format = kProgramFormat;
  program.code = pack(small_kernel());
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = "scratch";
  buffer->role = wire::BufferRole::Scratch;
  buffer->address = 0x100000;
  buffer->bytes = 2048;
  program.buffers.push_back(std::move(buffer));
  auto simulation = simulate_program(program, {}, model, *in_force);
  EXPECT_TRUE(simulation.ok()) << simulation.status().message();
  return simulation.ok() ? *std::move(simulation) : wire::SimulationT();
}

uint64_t cycles_at(uint32_t latency, uint32_t gap = 0) {
  TimingParameters parameters;
  parameters.memory_latency = latency;
  parameters.command_gap = gap;
  return simulate_timing(small_kernel(), default_model().machine, parameters)->cycles;
}

double counter(const wire::SimulationT& simulation, const std::string& name) {
  for (const auto& each : simulation.counters)
    if (each->name == name) return each->value;
  ADD_FAILURE() << "no counter " << name;
  return -1;
}

TEST(GemminiOptions, SeveralLatenciesGiveTheGeometricMean) {
  EXPECT_EQ(simulate({}).latency, cycles_at(20));
  EXPECT_EQ(simulate({{"latency", "60"}}).latency, cycles_at(60));
  const wire::SimulationT both = simulate({{"latency", "20,60"}});
  const double product = static_cast<double>(cycles_at(20)) * static_cast<double>(cycles_at(60));
  EXPECT_EQ(both.latency, static_cast<uint64_t>(std::llround(std::sqrt(product))));
  EXPECT_EQ(both.simulator,
            "gemmini cycle model, 16 x 16 array, memory latency 20 and 60 (geometric mean of the cycles; "
            "counters and "
            "timeline: 20), command gap 0");
  EXPECT_EQ(counter(both, "ld_busy"), counter(simulate({}), "ld_busy"));
  EXPECT_EQ(simulate({{"latency", "60,20"}}).latency, both.latency);
}

TEST(GemminiOptions, ScenariosAreReportedBesideTheLatency) {
  const wire::SimulationT simulation = simulate({{"scenarios", "20,40,100"}, {"command_gap", "3"}});
  EXPECT_EQ(simulation.latency, cycles_at(20, 3));
  ASSERT_EQ(simulation.scenarios.size(), 3u);
  const uint32_t latencies[] = {20, 40, 100};
  for (size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(simulation.scenarios[n]->name, "L=" + std::to_string(latencies[n]));
    EXPECT_EQ(simulation.scenarios[n]->latency, cycles_at(latencies[n], 3));
  }
}

TEST(GemminiOptions, ExplicitValuesWinOverThePreset) {
  EXPECT_EQ(simulate({{"preset", "rtl-L40"}}).latency, cycles_at(40));
  EXPECT_EQ(simulate({{"preset", "firesim"}}).latency, cycles_at(60, 4));
  EXPECT_EQ(simulate({{"preset", "firesim"}, {"command_gap", "0"}}).latency, cycles_at(60));
  EXPECT_EQ(simulate({{"preset", "firesim"}, {"latency", "20"}}).latency, cycles_at(20, 4));
  MachineModel model = default_model();
  ASSERT_TRUE(choose_timing(*read_options(options_of({{"preset", "rtl-L40"}})), model).ok());
  EXPECT_EQ(model.memory.latency, 40u);
  EXPECT_EQ(model.memory.latencies, std::vector<uint32_t>{40});
}

TEST(GemminiOptions, ATimingFileIsRead) {
  const std::string path = ::testing::TempDir() + "/gemmini_timing.toml";
  std::ofstream(path) << "[preset.mine]\nmemory_latency = 33\n";
  EXPECT_EQ(simulate({{"timing_file", path}}).latency, cycles_at(33));
  EXPECT_EQ(error_of({{"timing_file", path}, {"preset", "other"}}),
            path + " has no preset 'other'; there are mine");
  std::ofstream(path) << "[preset.mine]\nmemory = 33\n";
  EXPECT_EQ(error_of({{"timing_file", path}}).substr(0, path.size() + 26),
            path + ":2:1: unknown key 'memory'");
  std::remove(path.c_str());
  EXPECT_NE(error_of({{"timing_file", path}}).find(path), std::string::npos);
}

TEST(GemminiOptions, ErrorsNameTheOption) {
  EXPECT_NE(error_of({{"scenarios", "20,40,20"}}).find("'scenarios' has 20 twice"), std::string::npos);
  EXPECT_NE(error_of({{"timing_file", "/"}}).find("no readable file"), std::string::npos);
  EXPECT_EQ(error_of({{"speed", "1"}}),
            "gemmini: no option 'speed'; there are latency, scenarios, command_gap, preset, timing_file, "
            "timeline_spans and strict");
  for (const char* list : {"20,", "x", "-1", "10001", "20 60"})
    EXPECT_NE(error_of({{"latency", list}}).find("option 'latency'"), std::string::npos) << list;
  EXPECT_EQ(error_of({{"strict", "2"}}), "gemmini: option 'strict' must be a whole number in 0..1");
  EXPECT_EQ(error_of({{"preset", "rtl-L99"}}),
            "presets.toml has no preset 'rtl-L99'; there are firesim, rtl-L20, rtl-L40");
}

// 2 x 16 requests of 64 bytes: the hardware counts each at all four beats.
TEST(GemminiOptions, CountersAreThoseOfTheHardware) {
  const wire::SimulationT simulation = simulate({});
  EXPECT_EQ(simulation.scenarios.size(), 4u) << "without being asked for";
  EXPECT_EQ(counter(simulation, "requested_read"), 2 * 16 * 64);
  EXPECT_EQ(counter(simulation, "rdma_bytes"), 4 * 2 * 16 * 64);
  EXPECT_EQ(counter(simulation, "wdma_bytes"), 256);
  EXPECT_EQ(counter(simulation, "exe_active_cycles"), 32) << "a preload and its computation";
  double busy = 0;
  for (const char* name : {"ld_only_cycles", "st_only_cycles", "ex_only_cycles", "ld_st_cycles",
                           "ld_ex_cycles", "st_ex_cycles", "ld_st_ex_cycles"})
    busy += counter(simulation, name);
  EXPECT_GT(busy, 0);
  EXPECT_LE(busy, static_cast<double>(simulation.latency));
  EXPECT_LE(counter(simulation, "station_active_cycles"), static_cast<double>(simulation.latency));
}

}  // namespace
}  // namespace zomboss::gemmini
