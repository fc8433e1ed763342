// The vendor's reference programs, byte for byte: all of them from ZB_GOLDEN_DIR when it is there, and always
// the small set in tests/golden/gemmini.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>

#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/test_support.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

using testing::Vector;

const std::string kGolden = std::string(ZB_GOLDEN_DIR) + "/gemmini";
const std::string kAlternatives = std::string(ZB_GOLDEN_DIR) + "/gemmini-alternatives";
const std::string kSubset = std::string(ZB_SOURCE_DIR) + "/tests/golden/gemmini";

// "" or where the bytes first differ.
std::string first_difference(const void* got, size_t got_size, const std::vector<uint8_t>& expected) {
  if (got_size != expected.size()) {
    return "size " + std::to_string(got_size) + ", expected " + std::to_string(expected.size());
  }
  const auto* bytes = static_cast<const uint8_t*>(got);
  for (size_t n = 0; n < expected.size(); ++n) {
    if (bytes[n] != expected[n]) {
      return "byte " + std::to_string(n) + " is " + std::to_string(bytes[n]) + ", expected " +
             std::to_string(expected[n]);
    }
  }
  return "";
}

void check_vector(const Vector& vector) {
  SCOPED_TRACE(vector.name);
  ASSERT_FALSE(vector.commands.empty());
  Dram dram;
  ASSERT_TRUE(dram.add(vector.dram_base, vector.dram_init).ok());
  auto simulator = FunctionalSimulator::create(testing::default_machine(), dram);
  ASSERT_TRUE(simulator.ok()) << simulator.status().message();
  const Status status = simulator->run(vector.commands);
  ASSERT_TRUE(status.ok()) << status.message();
  const auto& bytes = dram.segments()[0].bytes;
  EXPECT_EQ(first_difference(bytes.data(), bytes.size(), vector.dram_final), "") << "in DRAM";
  const auto scratchpad = simulator->scratchpad();
  EXPECT_EQ(first_difference(scratchpad.data(), scratchpad.size(), vector.scratchpad_final), "")
      << "in scratchpad";
  const auto accumulator = simulator->accumulator();
  EXPECT_EQ(first_difference(accumulator.data(), accumulator.size_bytes(), vector.accumulator_final), "")
      << "in accumulator";
}

// Every program that the functional model runs has cycles too, the same each time and however they are
// computed. Returns them at the memory latency of 20 cycles.
TimingResult check_cycles(const Vector& vector) {
  SCOPED_TRACE(vector.name);
  TimingParameters parameters;
  TimingResult result;
  for (const uint32_t latency : {20u, 60u}) {
    parameters.memory_latency = latency;
    parameters.skip_repetitions = true;
    const auto first = simulate_timing(vector.commands, testing::default_machine(), parameters);
    const auto second = simulate_timing(vector.commands, testing::default_machine(), parameters, true);
    parameters.skip_repetitions = false;
    const auto all = simulate_timing(vector.commands, testing::default_machine(), parameters);
    EXPECT_TRUE(first.ok()) << first.status().message();
    if (!first.ok() || !second.ok() || !all.ok()) return result;
    EXPECT_GT(first->cycles, vector.commands.size());
    EXPECT_EQ(first->cycles, second->cycles);
    EXPECT_EQ(first->cycles, all->cycles);
    EXPECT_EQ(first->counters.events, all->counters.events);
    EXPECT_EQ(first->counters.external, all->counters.external);
    if (latency == 20) result = *first;
  }
  return result;
}

// Requests cover what is written, and each is acknowledged. What is read may be less (a row that is repeated
// is read once) or more (the hardware does not cut the rows of loop_ws' B).
void check_bytes(const Vector& vector, const TimingResult& timing) {
  SCOPED_TRACE(vector.name);
  Dram dram;
  ASSERT_TRUE(dram.add(vector.dram_base, vector.dram_init).ok());
  auto simulator = FunctionalSimulator::create(testing::default_machine(), dram);
  ASSERT_TRUE(simulator.ok() && simulator->run(vector.commands).ok());
  EXPECT_GE(timing.counters.written_bytes, simulator->counts().dram_written_bytes);
  EXPECT_EQ(timing.counters.external[kWrittenBytes], timing.counters.written_bytes);
  EXPECT_GE(timing.counters.external[kReadBytes], timing.counters.read_bytes);
}

void check_expansion(const Vector& vector) {
  SCOPED_TRACE(vector.name);
  const auto expanded = expand(vector.commands, testing::default_machine());
  ASSERT_TRUE(expanded.ok()) << expanded.status().message();
  const size_t common = std::min(expanded->size(), vector.expanded.size());
  for (size_t n = 0; n < common; ++n) {
    ASSERT_EQ((*expanded)[n], vector.expanded[n]) << "command " << n << ": " << disassemble((*expanded)[n])
                                                  << ", expected " << disassemble(vector.expanded[n]);
  }
  EXPECT_EQ(expanded->size(), vector.expanded.size());
}

Status run_strict(const Vector& vector) {
  Dram dram;
  ZB_TRY(dram.add(vector.dram_base, vector.dram_init));
  ZB_ASSIGN(auto simulator, FunctionalSimulator::create(testing::default_machine(), dram, {.strict = true}));
  return simulator.run(vector.commands);
}

TEST(GemminiGolden, SubsetMatchesInAClone) {
  const auto names = testing::list_folder(kSubset);
  ASSERT_GE(names.size(), 12u) << kSubset;
  for (const auto& name : names) {
    const Vector vector = testing::read_vector(kSubset, name);
    check_vector(vector);
    check_expansion(vector);
    check_cycles(vector);
  }
}

TEST(GemminiGolden, All97ProgramsMatchByteForByte) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << "NO REFERENCE VECTORS at " << kGolden;
  const auto names = testing::list_folder(kGolden);
  for (const auto& name : names) check_vector(testing::read_vector(kGolden, name));
  EXPECT_EQ(names.size(), 97u);
  std::printf("%zu programs compared: DRAM, scratchpad and accumulator\n", names.size());
}

TEST(GemminiGolden, LoopsExpandToTheVendorsCommands) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << "NO REFERENCE VECTORS at " << kGolden;
  size_t commands = 0;
  for (const auto& name : testing::list_folder(kGolden)) {
    const Vector vector = testing::read_vector(kGolden, name);
    check_expansion(vector);
    commands += vector.expanded.size();
  }
  std::printf("%zu expanded commands compared\n", commands);
}

TEST(GemminiGolden, All97ProgramsHaveCycles) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << "NO REFERENCE VECTORS at " << kGolden;
  size_t requests = 0, normalising = 0;
  for (const auto& name : testing::list_folder(kGolden)) {
    const Vector vector = testing::read_vector(kGolden, name);
    const TimingResult timing = check_cycles(vector);
    // Stores that only gather statistics write nothing, which the model does not know.
    const bool normalises = name == "mm_layernorm" || name == "mm_softmax";
    normalising += normalises ? 1 : 0;
    if (!normalises) check_bytes(vector, timing);
    // The memory requests that the hardware was seen to make.
    const auto gets = testing::json_integer(vector.meta, "tl_gets", -1),
               puts = testing::json_integer(vector.meta, "tl_puts", -1);
    if (gets < 0 || name.starts_with("fuzz")) continue;
    EXPECT_EQ(timing.counters.gets, static_cast<uint64_t>(gets)) << name;
    EXPECT_EQ(timing.counters.puts, static_cast<uint64_t>(puts)) << name;
    ++requests;
  }
  EXPECT_EQ(normalising, 2u);
  EXPECT_GE(requests, 60u);
  std::printf("%zu programs with the hardware's number of memory requests\n", requests);
}

// Everything that the hardware was seen to compute differently must be refused; what it computes the same may
// be refused only where the rule is cautious (times are unknown to it).
TEST(GemminiGolden, StrictRefusesWhatTheHardwareComputesDifferently) {
  if (!std::filesystem::exists(kGolden)) GTEST_SKIP() << "NO REFERENCE VECTORS at " << kGolden;
  size_t differing = 0, matching = 0, accepted = 0;
  for (const auto& name : testing::list_folder(kGolden)) {
    const Vector vector = testing::read_vector(kGolden, name);
    const bool matches = vector.meta.find("\"status\": \"MATCH\"") != std::string::npos;
    const bool differs = vector.meta.find("\"status\": \"differs") != std::string::npos;
    const Status status = run_strict(vector);
    if (differs) {
      ++differing;
      EXPECT_FALSE(status.ok()) << name << " is accepted";
    } else if (matches) {
      ++matching;
      accepted += status.ok() ? 1 : 0;
      if (!status.ok()) std::printf("  cautious: %s: %s\n", name.c_str(), status.message().c_str());
    }
    EXPECT_TRUE(status.ok() || status.message().find("strict: ") != std::string::npos) << status.message();
  }
  std::printf("%zu differing programs refused, %zu of %zu matching ones accepted\n", differing, accepted,
              matching);
  EXPECT_EQ(differing, 14u);
  EXPECT_GE(accepted, 45u);
}

TEST(GemminiGolden, AlternativeMappingsGiveTheWorkloadsResult) {
  if (!std::filesystem::exists(kAlternatives)) GTEST_SKIP() << "NO REFERENCE VECTORS at " << kAlternatives;
  size_t programs = 0, refused = 0;
  for (const auto& workload : testing::list_folder(kAlternatives)) {
    const std::string folder = kAlternatives + "/" + workload;
    Vector vector;
    vector.dram_base = static_cast<uint64_t>(
        testing::json_integer(testing::read_text(folder + "/workload.json"), "dram_base", 0));
    vector.dram_init = testing::read_gzip(folder + "/dram_init.bin.gz");
    vector.dram_final = testing::read_gzip(folder + "/dram_final.bin.gz");
    for (const auto& file : testing::list_folder(folder)) {
      if (!file.ends_with(".trace.gz")) continue;
      SCOPED_TRACE(workload + "/" + file);
      vector.commands = testing::read_trace(folder + "/" + file);
      Dram dram;
      ASSERT_TRUE(dram.add(vector.dram_base, vector.dram_init).ok());
      auto simulator = FunctionalSimulator::create(testing::default_machine(), dram);
      ASSERT_TRUE(simulator.ok());
      const Status status = simulator->run(vector.commands);
      ASSERT_TRUE(status.ok()) << status.message();
      const auto& bytes = dram.segments()[0].bytes;
      EXPECT_EQ(first_difference(bytes.data(), bytes.size(), vector.dram_final), "");
      ++programs;
      const Status strict = run_strict(vector);
      if (!strict.ok()) {
        ++refused;
        // The one mapping whose loops force the same scratchpad half back to back.
        EXPECT_EQ(workload + "/" + file, "bmm_2x32x32x32/14.trace.gz") << strict.message();
      }
    }
  }
  EXPECT_GE(programs, 340u);
  std::printf("%zu alternative programs compared, strict refuses %zu\n", programs, refused);
}

}  // namespace
}  // namespace zomboss::gemmini
