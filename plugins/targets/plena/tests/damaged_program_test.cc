// Program messages from anywhere: whatever is wrong with one is an error, never a crash, a hang or a huge
// allocation.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <functional>
#include <limits>

#include "plugins/targets/plena/tests/plena_case.h"
#include "zomboss/sdk/message.h"

namespace zomboss::plena {
namespace {

std::unique_ptr<PlenaCase> workload_of(const char* name) {
  CaseOptions options;
  options.instruction_limit = 20000;
  return PlenaCase::of_file(name, options);
}

int64_t peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

wire::BufferT& buffer_of(wire::ProgramT& program, wire::BufferRole role, const std::string& memory = "") {
  for (auto& each : program.buffers)
    if (each->role == role && (memory.empty() || each->memory == memory)) return *each;
  ADD_FAILURE() << "no such buffer";
  return *program.buffers.at(0);
}

struct Damage {
  const char* name;
  std::function<void(wire::ProgramT&)> apply;
};

std::vector<Damage> damages() {
  using Role = wire::BufferRole;
  const auto layout = [](Role role, size_t attribute, std::vector<int64_t> ints) {
    return [=](wire::ProgramT& program) { buffer_of(program, role).layout.at(attribute)->ints = ints; };
  };
  constexpr int64_t kHuge = int64_t{1} << 31;
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return {
      {"no_layout", [](wire::ProgramT& p) { buffer_of(p, Role::Input).layout.clear(); }},
      {"short_layout", layout(Role::Input, 0, {1, 4, 64})},
      {"empty_layout", layout(Role::Input, 0, {})},
      {"no_output_layout", [](wire::ProgramT& p) { buffer_of(p, Role::Output).layout.clear(); }},
      {"short_panel", layout(Role::Output, 0, {4, 1})},
      {"no_output_type", [](wire::ProgramT& p) { buffer_of(p, Role::Output).type.reset(); }},
      {"negative_size", layout(Role::Input, 0, {1, -4, 64, 4, 64, 8})},
      {"zero_batch", layout(Role::Input, 0, {0, 4, 64, 4, 64, 8})},
      {"zero_block", layout(Role::Input, 0, {1, 4, 64, 4, 64, 0})},
      {"other_block", layout(Role::Input, 0, {1, 4, 64, 4, 64, 16})},
      {"odd_columns", layout(Role::Input, 0, {1, 4, 64, 4, 65, 8})},
      {"more_rows_than_padded", layout(Role::Input, 0, {1, 5, 64, 4, 64, 8})},
      {"more_elements", layout(Role::Input, 0, {1, 5, 64, 5, 64, 8})},
      {"product_overflows", layout(Role::Input, 0, {kHuge, 4, 64, kHuge, kHuge, 8})},
      {"largest_numbers", layout(Role::Input, 0, {kMost, kMost, kMost, kMost, kMost, 8})},
      {"outside_of_the_hbm", [](wire::ProgramT& p) { buffer_of(p, Role::Input).address = ~uint64_t{0}; }},
      {"over_the_end_of_the_hbm",
       [](wire::ProgramT& p) { buffer_of(p, Role::Input).address = (uint64_t{1} << 34) - 64; }},
      {"input_that_is_not", [](wire::ProgramT& p) { buffer_of(p, Role::Input).index = 17; }},
      {"input_far_away", [](wire::ProgramT& p) { buffer_of(p, Role::Input).index = ~0u; }},
      {"overlapping", [](wire::ProgramT& p) { p.buffers.at(1)->address = p.buffers.at(0)->address + 64; }},
      {"panel_outside", [](wire::ProgramT& p) { buffer_of(p, Role::Output).address = uint64_t{1} << 40; }},
      {"panel_at_the_end", [](wire::ProgramT& p) { buffer_of(p, Role::Output).address = ~uint64_t{63}; }},
      {"panel_between_rows", [](wire::ProgramT& p) { buffer_of(p, Role::Output).address += 1; }},
      {"huge_panel", layout(Role::Output, 0, {4, kHuge, kHuge})},
      {"panel_of_no_rows", layout(Role::Output, 0, {0, 1, 4})},
      {"panel_of_other_rows", layout(Role::Output, 0, {3, 1, 4})},
      {"rows_beyond_the_pitch", layout(Role::Output, 0, {8, 1, 4})},
      {"huge_dims", layout(Role::Output, 1, {kHuge, kHuge, kHuge})},
      {"negative_dims", layout(Role::Output, 1, {-4, -64})},
      {"other_dims", layout(Role::Output, 1, {4, 63})},
      {"no_dims", layout(Role::Output, 1, {})},
      {"order_twice", layout(Role::Output, 2, {0, 0})},
      {"order_outside", layout(Role::Output, 2, {0, 2})},
      {"order_negative", layout(Role::Output, 2, {-1, 0})},
      {"second_output", [](wire::ProgramT& p) { buffer_of(p, Role::Output).index = 1; }},
      {"output_type_of_another_size",
       [](wire::ProgramT& p) {
         buffer_of(p, Role::Output).type->dims = {4, 65};
       }},
      {"large_fp_sram",
       [](wire::ProgramT& p) { buffer_of(p, Role::Constant, "fpsram").data.assign(1 << 20, 0); }},
      {"half_a_word", [](wire::ProgramT& p) { p.code.push_back(0); }},
      {"unknown_instruction", [](wire::ProgramT& p) { p.code.assign(4, 0xFF); }},
      {"other_format", [](wire::ProgramT& p) { p.format = "plena/2"; }},
      {"other_machine", [](wire::ProgramT& p) { p.spec_hash = "0123"; }},
  };
}

TEST(DamagedProgram, EachDamageIsAnErrorThatSaysSomething) {
  const auto workload = workload_of("gemm_c1");
  ASSERT_NE(workload, nullptr);
  const auto program = workload->lower("");
  ASSERT_TRUE(program.ok());
  ASSERT_TRUE(workload->simulate(*program).ok());
  const int64_t before = peak_megabytes();
  for (const Damage& damage : damages()) {
    SCOPED_TRACE(damage.name);
    wire::ProgramT damaged(*program);
    damage.apply(damaged);
    const auto simulation = workload->simulate(damaged);
    EXPECT_FALSE(simulation.ok());
    if (!simulation.ok()) {
      EXPECT_NE(simulation.status().message(), "");
    }
  }
  EXPECT_LT(peak_megabytes() - before, 256);
}

TEST(DamagedProgram, PaddingOfGigabytesIsRefusedBeforeItCostsMemory) {
  const auto workload = workload_of("gemm_c1");
  ASSERT_NE(workload, nullptr);
  auto program = workload->lower("");
  ASSERT_TRUE(program.ok());
  const int64_t before = peak_megabytes();
  // 2 GiB of padding around 4 rows, in the HBM of 16 GiB.
  buffer_of(*program, wire::BufferRole::Output).address = 0;
  auto& input = buffer_of(*program, wire::BufferRole::Input);
  input.layout.at(0)->ints = {1, 4, 64, int64_t{1} << 25, 64, 8};
  input.address = uint64_t{1} << 32;
  EXPECT_FALSE(workload->simulate(*program).ok());
  EXPECT_LT(peak_megabytes() - before, 512);
}

// Bytes of the encoded message changed at random.
class FlippedBytes : public testing::TestWithParam<const char*> {};

TEST_P(FlippedBytes, NeverDoMoreThanFail) {
  const auto workload = workload_of(GetParam());
  ASSERT_NE(workload, nullptr);
  const auto program = workload->lower("");
  ASSERT_TRUE(program.ok());
  const std::string encoded = encode(*program);
  uint64_t state = 7;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  const int64_t before = peak_megabytes();
  int failed = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = encoded;
    for (uint64_t n = 1 + next() % 4; n-- > 0;)
      damaged[next() % damaged.size()] = static_cast<char>(next() % 256);
    if (i % 8 == 0) damaged.resize(next() % damaged.size());
    const auto simulation = workload->target().simulate(damaged, workload->reference().encoded_inputs);
    if (simulation.ok()) continue;
    ++failed;
    EXPECT_NE(simulation.status().message(), "");
  }
  EXPECT_GT(failed, 40);
  EXPECT_LT(peak_megabytes() - before, 1024);
}

TEST_P(FlippedBytes, OfTheInstructionsNeverDoMoreThanFail) {
  const auto workload = workload_of(GetParam());
  ASSERT_NE(workload, nullptr);
  const auto program = workload->lower("");
  ASSERT_TRUE(program.ok());
  uint64_t state = 11;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  const int64_t before = peak_megabytes();
  int finished = 0;
  for (int i = 0; i < 400; ++i) {
    wire::ProgramT damaged(*program);
    for (uint64_t n = 1 + next() % 2; n-- > 0;)
      damaged.code[next() % damaged.code.size()] ^= static_cast<uint8_t>(1u << next() % 8);
    const auto simulation = workload->simulate(damaged);
    finished += simulation.ok() ? 1 : 0;
    if (simulation.ok()) continue;
    EXPECT_NE(simulation.status().message().find("pc "), std::string::npos) << simulation.status().message();
  }
  EXPECT_GT(finished, 20);
  EXPECT_LT(finished, 380);
  EXPECT_LT(peak_megabytes() - before, 1024);
}

INSTANTIATE_TEST_SUITE_P(Plena, FlippedBytes, testing::Values("gemm_c1", "softmax_odd"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace zomboss::plena
