#include "plugins/targets/gemmini/sim/timing_presets.h"

#include <gtest/gtest.h>

#include "plugins/targets/gemmini/sim/test_support.h"

namespace zomboss::gemmini {
namespace {

std::string error_of(std::string_view text, std::string_view preset = "x") {
  const auto result = read_timing(text, "my.toml", preset, {});
  EXPECT_FALSE(result.ok()) << text;
  return result.ok() ? "" : result.status().message();
}

TEST(GemminiTimingPresets, BuiltInOnes) {
  const auto read = [](std::string_view name) {
    auto result = read_timing(timing_presets_text(), "presets.toml", name, {});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *result : TimingParameters{};
  };
  EXPECT_EQ(read("rtl-L20").memory_latency, 20u);
  EXPECT_EQ(read("rtl-L20").command_gap, 0u);
  EXPECT_EQ(read("rtl-L40").memory_latency, 40u);
  EXPECT_EQ(read("firesim").memory_latency, 60u);
  EXPECT_EQ(read("firesim").command_gap, 4u);
  EXPECT_EQ(error_of(timing_presets_text(), "rtl"),
            "my.toml has no preset 'rtl'; there are firesim, rtl-L20, rtl-L40");
}

TEST(GemminiTimingPresets, EveryKeyIsReadAndTheRestKept) {
  constexpr std::string_view kText =
      "[preset.x]\nmemory_latency = 7\ncommand_gap = 2\nbeat_bytes = 32\nmax_request_bytes = 128\n"
      "requests_in_flight = 8\nfront_latency = 5\nfront_capacity = 9\nload_entries = 4\nexecute_entries = 6\n"
      "store_entries = 2\narray_latency = 8\nmatmuls_in_flight = 3\nscale_entries = 1\nscale_units = 16\n"
      "scale_burst_delay = 0\n";
  const auto all = read_timing(kText, "my.toml", "", {});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->memory_latency + all->command_gap + all->beat_bytes + all->max_request_bytes,
            7u + 2 + 32 + 128);
  EXPECT_EQ(all->requests_in_flight + all->front_latency + all->front_capacity, 8u + 5 + 9);
  EXPECT_EQ(all->load_entries * 100 + all->execute_entries * 10 + all->store_entries, 462u);
  EXPECT_EQ(all->array_latency + all->matmuls_in_flight, 8u + 3);
  EXPECT_EQ(all->scale_entries + all->scale_units + all->scale_burst_delay, 1u + 16);
  TimingParameters base;
  base.requests_in_flight = 99;
  EXPECT_EQ(read_timing("[preset.x]\n[preset.y]\ncommand_gap=1", "f", "x", base)->requests_in_flight, 99u);
}

TEST(GemminiTimingPresets, ErrorsNameThePlace) {
  EXPECT_EQ(error_of("[preset.x]\nlatency = 3\n").substr(0, 44),
            "my.toml:2:1: unknown key 'latency'; there ar");
  EXPECT_EQ(error_of("[preset.x]\nmemory_latency = \"3\"\n"),
            "my.toml:2:18: memory_latency must be a whole number in 0..10000");
  EXPECT_EQ(error_of("[preset.x]\nmemory_latency = 10001\n"),
            "my.toml:2:18: memory_latency must be a whole number in 0..10000");
  EXPECT_EQ(error_of("[preset.x]\nmemory_latency = 2.5\n"),
            "my.toml:2:18: memory_latency must be a whole number in 0..10000");
  EXPECT_EQ(error_of("[preset.x]\nbeat_bytes = 24\n"),
            "my.toml:2:14: beat_bytes must be a power of two in 1..256");
  EXPECT_EQ(error_of("[preset.y]\nbeat_bytes = 128\n").substr(0, 12), "my.toml:1:1:")
      << "more than a request";
  EXPECT_EQ(error_of("speed = 1\n"), "my.toml:1:1: 'speed' is no section [preset.NAME]");
  EXPECT_EQ(error_of("[preset]\nx = 1\n"), "my.toml:2:1: 'x' is no section [preset.NAME]");
  EXPECT_EQ(error_of(""), "my.toml: no section [preset.NAME]");
  EXPECT_EQ(error_of("[preset.a]\n[preset.b]\n", ""), "my.toml has several presets, name one of a, b");
  EXPECT_EQ(error_of("[preset.x\n").substr(0, 10), "my.toml:1:");
}

TEST(GemminiTimingPresets, StationEntriesArePartOfTheTiming) {
  std::vector<Command> program = {config_ld({.dram_stride_bytes = 16, .block_stride = 16})};
  for (uint32_t n = 0; n < 32; ++n) {
    program.push_back(mvin(0x100000 + n * 256, {n * 16, 16, 16}));
    program.push_back(preload({4096, 16, 16}, {accumulator_address(0), 16, 16}));
    program.push_back(compute(true, {8192, 16, 16}, {kGarbage, 16, 16}));
  }
  TimingParameters few;
  few.load_entries = 1;
  const auto usual = simulate_timing(program, testing::default_machine());
  const auto starved = simulate_timing(program, testing::default_machine(), few);
  ASSERT_TRUE(usual.ok() && starved.ok());
  EXPECT_GT(starved->cycles, usual->cycles);
  EXPECT_GT(starved->counters.events[kStationFull], usual->counters.events[kStationFull]);
  few.load_entries = 65;
  EXPECT_FALSE(simulate_timing(program, testing::default_machine(), few).ok());
}

}  // namespace
}  // namespace zomboss::gemmini
