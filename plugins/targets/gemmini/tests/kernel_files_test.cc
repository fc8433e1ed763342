// Exported files: the trace comes back as the same program, damaged traces are refused by line, and the C
// file, compiled against a stand-in for the vendor's header that records instruction words, issues exactly
// the program's commands.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "plugins/targets/gemmini/export.h"
#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/trace.h"
#include "zomboss/sdk/message.h"

namespace zomboss::gemmini {
namespace {

struct Kernel {
  Machine machine = default_machine();
  wire::WorkloadT workload;
  Problem problem;
  std::vector<Command> commands;
  wire::ProgramT program;
  wire::TensorsT inputs, expected;
};

Kernel make_kernel(int64_t m, int64_t k, int64_t n) {
  GraphBuilder graph;
  const uint32_t a = graph.parameter({m, k}), b = graph.parameter({k, n});
  const uint32_t c = graph.bias(graph.matmul(a, b, {1}, {0}), graph.parameter({n}, wire::DType::S32), {1});
  graph.quantize(graph.relu(c), 0.01);
  Kernel kernel;
  kernel.workload = graph.finish();
  kernel.problem = *recognise(kernel.workload, kernel.machine);
  Mapping mapping;
  kernel.commands = *lower_mapping(kernel.problem, mapping, kernel.machine);
  kernel.program = make_program({kernel.workload.hash, "spec0"},
                                placed_buffers(kernel.problem, kernel.problem.forms[0]), kernel.commands);
  kernel.inputs = random_inputs(kernel.workload, 5);
  auto output = std::make_unique<wire::TensorT>();
  output->name = "output";
  output->data = reference_output(kernel.workload, kernel.inputs);
  kernel.expected.tensors.push_back(std::move(output));
  return kernel;
}

std::string trace_of(const Kernel& kernel) {
  return write_trace(kernel.program, kernel.commands, kernel.workload.name, kernel.machine);
}

Result<wire::ProgramT> read(const Kernel& kernel, const std::string& text) {
  return read_trace(make_program({kernel.workload.hash, "spec0"},
                                 placed_buffers(kernel.problem, kernel.problem.forms[0]), {}),
                    kernel.machine, "kernel.trace", text);
}

TEST(Trace, ComesBackAsTheSameProgram) {
  const Kernel kernel = make_kernel(40, 33, 50);
  const auto back = read(kernel, trace_of(kernel));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(encode(*back), encode(kernel.program));
}

TEST(Trace, MayLackTheHeader) {
  const Kernel kernel = make_kernel(20, 20, 20);
  std::string bare;
  std::istringstream lines(trace_of(kernel));
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("#")) bare += line + "\r\n";
  const auto back = read(kernel, bare);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->code, kernel.program.code);
}

void expect_refused(const Kernel& kernel, const std::string& text, const std::string& message) {
  const auto back = read(kernel, text);
  ASSERT_FALSE(back.ok()) << text;
  EXPECT_EQ(back.status().message(), message);
}

TEST(Trace, IsRefusedByLineAndReason) {
  const Kernel kernel = make_kernel(16, 16, 16);
  const std::string ld = "0 3f80000000100101 0000000000000010\n";
  expect_refused(kernel, "", "kernel.trace:0: the trace has no commands");
  expect_refused(kernel, "1 2\n", "kernel.trace:1: expected 'funct rs1 rs2', found 2 words");
  expect_refused(kernel, "128 0 0\n", "kernel.trace:1: '128' is no funct in 0..127");
  expect_refused(kernel, "0 0 xyz\n", "kernel.trace:1: 'xyz' is no 64-bit hexadecimal number");
  expect_refused(kernel, "0 1 10000000000000000\n",
                 "kernel.trace:1: '10000000000000000' is no 64-bit hexadecimal number");
  expect_refused(
      kernel, "# spec other\n",
      "kernel.trace:1: the kernel was made for target description other, this one is spec0; use the same "
      "parameters");
  expect_refused(kernel, "# buffer input 9 0x100000 256\n", "kernel.trace:1: the workload has no input 9");
  expect_refused(kernel, "# buffer input 0 0x100000 255\n",
                 "kernel.trace:1: input 0 has 256 bytes in the workload, 255 here");
  expect_refused(kernel, "# buffer scratch 0 0x100000 64\n# buffer scratch 1 0x100020 64\n",
                 "kernel.trace:2: the buffer overlaps 'buffer_1'");
  expect_refused(kernel, "# buffer input 0 0x100000 256\n" + ld,
                 "kernel.trace:2: no buffer line places input 1");
  const auto message = [&](const std::string& text) {
    const auto back = read(kernel, text);
    return back.ok() ? "" : back.status().message();
  };
  EXPECT_NE(message("2 100000 0010001000000000\n").find("load state 0 is not configured"), std::string::npos);
  EXPECT_NE(message(ld + "2 100001 0010001000000000\n").find("behind the end of buffer"), std::string::npos);
  EXPECT_NE(message(ld + "2 90000 0010001000000000\n").find("is in no buffer"), std::string::npos);
  EXPECT_NE(message(ld + "2 100000 0010001000003ff8\n").find("reaches local row 16391"), std::string::npos);
  EXPECT_NE(message(ld + "2 100000 0011001000000000\n").find("moves 17 x 16"), std::string::npos);
  EXPECT_NE(message("3 100000 0010001000000000\n").find("needs a config_st"), std::string::npos);
  EXPECT_NE(message("6 ffffffff ffffffff\n").find("needs a config_ex"), std::string::npos);
  EXPECT_NE(message("99 0 0\n").find("is no command"), std::string::npos);
  EXPECT_NE(message(ld + "0 2 10\n3 100000 0010001000000000\n").find("an input or constant"),
            std::string::npos);
}

TEST(Trace, SurvivesDamage) {
  const Kernel kernel = make_kernel(16, 16, 16);
  const std::string text = trace_of(kernel);
  uint64_t state = 1;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 3; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      damaged[(state >> 33) % damaged.size()] = static_cast<char>(state >> 20);
    }
    (void)read(kernel, damaged);
  }
}

// The vendor's macros with the words they stand for, printed instead of issued. DRAM addresses are told apart
// from other words by the buffers' order in memory.
constexpr const char* kStandIn = R"(
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define DIM 16
#define XCUSTOM_ACC 3
#define WEIGHT_STATIONARY 1
#define OUTPUT_STATIONARY 0
static void word(int funct, uint64_t rs1, uint64_t rs2) {
  fprintf(stderr, "%d %016llx %016llx\n", funct, (unsigned long long)rs1, (unsigned long long)rs2);
}
static inline uint64_t bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
#define ROCC_INSTRUCTION_RS1_RS2(x, rs1, rs2, funct) word(funct, (uint64_t)(rs1), (uint64_t)(rs2))
#define LOCAL(a, c, r) (((uint64_t)(r) << 48) | ((uint64_t)(c) << 32) | (uint32_t)(a))
#define gemmini_extended_mvin(p, a, c, r) word(2, (uint64_t)(uintptr_t)(p), LOCAL(a, c, r))
#define gemmini_extended_mvin2(p, a, c, r) word(1, (uint64_t)(uintptr_t)(p), LOCAL(a, c, r))
#define gemmini_extended_mvin3(p, a, c, r) word(14, (uint64_t)(uintptr_t)(p), LOCAL(a, c, r))
#define gemmini_extended_mvout(p, a, c, r) word(3, (uint64_t)(uintptr_t)(p), LOCAL(a, c, r))
#define gemmini_extended_preload(bd, c, bdc, bdr, cc, cr) word(6, LOCAL(bd, bdc, bdr), LOCAL(c, cc, cr))
#define gemmini_extended_compute_preloaded(a, bd, ac, ar, bdc, bdr) word(4, LOCAL(a, ac, ar), LOCAL(bd, bdc, bdr))
#define gemmini_extended_compute_accumulated(a, bd, ac, ar, bdc, bdr) word(5, LOCAL(a, ac, ar), LOCAL(bd, bdc, bdr))
#define gemmini_extended3_config_ex(df, act, shift, scale, cs, as, at, bt, so) \
  word(0, bits(scale) << 32 | (uint64_t)(as) << 16 | (uint64_t)(bt) << 9 | (uint64_t)(at) << 8 | \
          (uint64_t)(so) << 7 | (uint64_t)(act) << 3 | (uint64_t)(df) << 2, (uint64_t)(cs) << 48 | (uint32_t)(shift))
#define gemmini_extended5_config_ld(stride, scale, shrunk, block, repeats, id) \
  word(0, bits(scale) << 32 | (uint64_t)(block) << 16 | (uint64_t)(repeats) << 8 | (uint64_t)(id) << 3 | \
          (uint64_t)(shrunk) << 2 | 1, stride)
#define gemmini_extended_config_st(stride, act, scale) \
  word(0, (uint64_t)(act) << 2 | 2, bits(scale) << 32 | (uint32_t)(stride))
#define gemmini_fence() word(127, 0, 0)
#define gemmini_flush(x) word(7, x, 0)
)";

// Compiles and runs kernel.c with the stand-in; the words that it issues, DRAM addresses made relative.
void expect_same_words(const Kernel& kernel) {
  namespace fs = std::filesystem;
  const auto files = export_files(kernel.program, "test", kernel.machine, kernel.inputs, kernel.expected);
  ASSERT_TRUE(files.ok()) << files.status().message();
  ASSERT_EQ(files->files.size(), 2u);
  const fs::path folder =
      fs::path(testing::TempDir()) /
      ("gemmini_kernel_" + std::to_string(kernel.commands.size()) + "_" + std::to_string(getpid()));
  fs::create_directories(folder);
  const auto& c = files->files[1]->content;
  std::ofstream(folder / "kernel.c")
      .write(reinterpret_cast<const char*>(c.data()), static_cast<std::streamsize>(c.size()));
  std::ofstream(folder / "standin.h") << kStandIn;
  const std::string command =
      "cd '" + folder.string() +
      "' && " ZB_C_COMPILER
      " -std=gnu11 -Wall -Wno-unused-variable -Werror -DGEMMINI_H='\"standin.h\"' -o kernel "
      "kernel.c && (./kernel 2>words.txt >out.txt; true)";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream words(folder / "words.txt");
  std::vector<Command> issued;
  std::string funct, rs1, rs2;
  while (words >> funct >> rs1 >> rs2)
    issued.push_back({static_cast<uint32_t>(std::stoul(funct)), std::stoull(rs1, nullptr, 16),
                      std::stoull(rs2, nullptr, 16)});
  // A flush before, a fence behind.
  ASSERT_EQ(issued.size(), kernel.commands.size() + 2);
  EXPECT_EQ(issued.front(), flush());
  EXPECT_EQ(issued.back(), fence());
  std::map<uint64_t, uint64_t> shift;  // buffer address to where the C program has it
  for (size_t i = 0; i < kernel.commands.size(); ++i) {
    Command got = issued[i + 1];
    const Command& wanted = kernel.commands[i];
    if (load_state_of(wanted.funct) >= 0 || static_cast<Funct>(wanted.funct) == Funct::kMvout) {
      for (const auto& buffer : kernel.program.buffers) {
        if (wanted.rs1 < buffer->address || wanted.rs1 >= buffer->address + buffer->bytes) continue;
        const auto [at, fresh] = shift.emplace(buffer->address, got.rs1 - wanted.rs1);
        got.rs1 -= at->second;
      }
    }
    ASSERT_EQ(got, wanted) << i;
  }
  // Nothing computed: the check of the result must notice, since no kernel ran.
  std::ifstream out(folder / "out.txt");
  std::string verdict;
  out >> verdict;
  EXPECT_EQ(verdict, "FAIL:");
  fs::remove_all(folder);
}

TEST(CKernel, IssuesTheProgramAsIntrinsics) {
  expect_same_words(make_kernel(20, 33, 18));
}

TEST(CKernel, IssuesALongProgramFromATable) {
  const Kernel kernel = make_kernel(192, 192, 192);
  ASSERT_GT(kernel.commands.size(), 4096u);
  expect_same_words(kernel);
}

TEST(CKernel, RefusesDataOfAnotherSize) {
  Kernel kernel = make_kernel(16, 16, 16);
  kernel.inputs.tensors[0]->data.pop_back();
  EXPECT_FALSE(export_files(kernel.program, "test", kernel.machine, kernel.inputs, kernel.expected).ok());
}

TEST(ProgramCode, PacksAndRefusesBrokenCode) {
  const Kernel kernel = make_kernel(16, 16, 16);
  EXPECT_EQ(*unpack(pack(kernel.commands)), kernel.commands);
  std::vector<uint8_t> code = pack(kernel.commands);
  code.pop_back();
  EXPECT_FALSE(unpack(code).ok());
}

}  // namespace
}  // namespace zomboss::gemmini
