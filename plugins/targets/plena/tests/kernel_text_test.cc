// Programs as text: printed and read back they are the same, a hand-written one is verified, and each mistake
// has its place and its hint.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "plugins/targets/plena/tests/plena_case.h"
#include "zomboss/sdk/message.h"

namespace zomboss::plena {
namespace {

const wire::FileT* file_of(const wire::FilesT& files, const std::string& path) {
  for (const auto& each : files.files)
    if (each->path == path) return each.get();
  return nullptr;
}

std::string kernel_text(PlenaCase& workload, const wire::ProgramT& program) {
  const auto& reference = workload.reference();
  const auto files = workload.target().export_kernel(workload.workload().encoded, encode(program),
                                                     reference.encoded_inputs, reference.encoded_outputs);
  EXPECT_TRUE(files.ok()) << files.status().message();
  if (!files.ok()) return "";
  const wire::FileT* file = file_of(*files, "kernel.asm");
  EXPECT_NE(file, nullptr);
  return file == nullptr ? "" : std::string(file->content.begin(), file->content.end());
}

Result<wire::ProgramT> parse(PlenaCase& workload, const std::string& text) {
  return workload.target().import_kernel(workload.workload().encoded, "kernel.asm", text);
}

// All that a buffer says, names with blanks as the text writes them.
std::string described(const wire::BufferT& buffer) {
  std::string name = buffer.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::string result = fmt::format("{} {} {} at {} of {} in {}", name, static_cast<int>(buffer.role),
                                   buffer.index, buffer.address, buffer.bytes, buffer.memory);
  for (const auto& each : buffer.layout)
    result += fmt::format(" {}={}", each->key, fmt::join(each->ints, ","));
  return result + fmt::format(" {:02x}", fmt::join(buffer.data, ""));
}

struct TextCase {
  const char* workload;
  const char* intent;
};

class RoundTrip : public testing::TestWithParam<TextCase> {};

TEST_P(RoundTrip, PrintedProgramsAreReadBackAsTheyWere) {
  const auto workload = PlenaCase::of_file(GetParam().workload);
  ASSERT_NE(workload, nullptr);
  const auto program = workload->lower(workload->known_part(GetParam().intent));
  ASSERT_TRUE(program.ok()) << program.status().message();
  const std::string text = kernel_text(*workload, *program);
  const auto back = parse(*workload, text);
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(back->code, program->code);
  EXPECT_EQ(back->format, program->format);
  EXPECT_EQ(back->spec_hash, program->spec_hash);
  ASSERT_EQ(back->buffers.size(), program->buffers.size());
  for (size_t i = 0; i < program->buffers.size(); ++i) {
    auto got = *back->buffers[i], expected = *program->buffers[i];
    if (expected.role == wire::BufferRole::Output) expected.bytes = got.bytes = 0;
    EXPECT_EQ(described(got), described(expected));
  }
  EXPECT_EQ(kernel_text(*workload, *back), text);
  const auto first = workload->simulate(*program);
  const auto second = workload->simulate(*back);
  ASSERT_TRUE(first.ok() && second.ok()) << second.status().message();
  EXPECT_EQ(first->latency, second->latency);
  for (size_t i = 0; i < first->outputs.size(); ++i)
    EXPECT_EQ(first->outputs[i]->data, second->outputs[i]->data);
}

INSTANTIATE_TEST_SUITE_P(
    Plena, RoundTrip,
    testing::Values(TextCase{"gemm_c1", ""}, TextCase{"gemm_odd", "matmul_form~spread unroll_product~16"},
                    TextCase{"linear_c1", "matmul_form~row_pack"}, TextCase{"softmax_odd", ""},
                    TextCase{"mha_causal", "scores_form~spread weighted_form~spread row_sum~ones_column"},
                    TextCase{"gqa_c1", "kv_layout~per_head"}, TextCase{"rope_interleaved", ""},
                    TextCase{"t5_c1", ""}),
    [](const auto& info) { return std::string(info.param.workload); });

// x[4,64] lies at 0 with its scales behind 256 bytes, w[64,64] at 320.
constexpr const char* kGemm = R"(; x times w, 16 parts of 4 columns
;@ output 0 vram=256 panel=4,1,4
S_ADDI_INT gp1, gp0, 256
C_SET_SCALE_REG gp1
H_PREFETCH_V gp0, gp0, a0, 0, 0
S_ADDI_INT gp2, gp0, 4096
C_SET_SCALE_REG gp2
S_ADDI_INT gp3, gp0, 320
C_SET_ADDR_REG a1, gp0, gp3
H_PREFETCH_M gp0, gp0, a1, 0, 0
S_ADDI_INT gp4, gp0, 256
S_ADDI_INT gp5, gp0, 0
C_LOOP_START gp6, 16
M_MM 0, gp5, gp0
M_MM_WO gp4, gp0, 0
S_ADDI_INT gp5, gp5, 256
S_ADDI_INT gp4, gp4, 4
C_LOOP_END gp6
)";

evaluate::Evaluation check(PlenaCase& workload, const std::string& text) {
  const auto program = parse(workload, text);
  EXPECT_TRUE(program.ok()) << program.status().message();
  if (!program.ok()) return {};
  return evaluate::make_evaluator(workload.target(), workload.workload(), workload.reference())
      ->evaluate_program(encode(*program));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(HandWritten, AKernelThatOnlySaysWhereItsOutputIsVerifies) {
  const auto workload = PlenaCase::of_file("gemm_c1");
  ASSERT_NE(workload, nullptr);
  const auto evaluation = check(*workload, kGemm);
  EXPECT_EQ(evaluation.outcome, wire::Outcome::Valid) << evaluation.reason;
  EXPECT_GT(evaluation.latency, 16 * 64u);
}

TEST(HandWritten, WindowsLineEndsAndBlanksChangeNothing) {
  const auto workload = PlenaCase::of_file("gemm_c1");
  ASSERT_NE(workload, nullptr);
  std::string text;
  for (const char* at = kGemm; *at != '\0'; ++at) text += *at == '\n' ? "  \r\n\t" : std::string(1, *at);
  const auto evaluation = check(*workload, text);
  EXPECT_EQ(evaluation.outcome, wire::Outcome::Valid) << evaluation.reason;
}

TEST(HandWritten, AWrongKernelIsFoundOut) {
  const auto workload = PlenaCase::of_file("gemm_c1");
  ASSERT_NE(workload, nullptr);
  for (const auto& [from, to] : {std::pair("C_LOOP_START gp6, 16", "C_LOOP_START gp6, 15"),
                                 std::pair("gp0, 320", "gp0, 384"), std::pair("gp5, 256", "gp5, 0"),
                                 std::pair("vram=256", "vram=0"), std::pair("gp4, gp4, 4", "gp4, gp4, 0")}) {
    const auto evaluation = check(*workload, replaced(kGemm, from, to));
    EXPECT_EQ(evaluation.outcome, wire::Outcome::Wrong) << to;
    EXPECT_NE(evaluation.reason, "");
  }
  const auto aborted = check(*workload, replaced(kGemm, "gp5, gp5, 256", "gp5, gp5, 1"));
  EXPECT_EQ(aborted.outcome, wire::Outcome::SimulationFailed);
  EXPECT_NE(aborted.reason.find("M_MM"), std::string::npos) << aborted.reason;
}

struct BadText {
  const char* from;  // of kGemm
  const char* to;
  const char* where;  // line and column
  const char* says;
};

void PrintTo(const BadText& each, std::ostream* out) {
  *out << each.to;
}

class BadTexts : public testing::TestWithParam<BadText> {};

TEST_P(BadTexts, AreRefusedWithTheirPlace) {
  const auto workload = PlenaCase::of_file("gemm_c1");
  ASSERT_NE(workload, nullptr);
  const auto program = parse(*workload, replaced(kGemm, GetParam().from, GetParam().to));
  ASSERT_FALSE(program.ok());
  const std::string message(program.status().message());
  EXPECT_TRUE(message.find(fmt::format(" kernel.asm:{}: error: ", GetParam().where)) != std::string::npos)
      << message;
  EXPECT_NE(message.find(GetParam().says), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Plena, BadTexts,
    testing::Values(
        BadText{";@ output 0 vram=256 panel=4,1,4", ";@", "2:1", "an empty directive"},
        BadText{";@ output 0", ";@ outptu 0", "2:4", "no directive 'outptu'"},
        BadText{";@ output 0", ";@ output 1", "2:11", "the workload has outputs 0..0"},
        BadText{";@ output 0", ";@ output x", "2:11", "the workload has outputs 0..0"},
        BadText{";@ output 0", ";@ output -1", "2:11", "the workload has outputs 0..0"},
        BadText{";@ output 0 vram=256 panel=4,1,4", ";@ output", "2:4", "'output' needs a number"},
        BadText{"vram=256", "vram", "2:13", "'vram' is not KEY=NUMBERS"},
        BadText{"vram=256", "vram=x", "2:13", "'x' is not a list of whole numbers"},
        BadText{"vram=256", "vram=1,2", "2:13", "vram is one address"},
        BadText{"vram=256", "vram=-64", "2:13", "vram is one address"},
        BadText{"vram=256", "hbm=256", "2:13", "no 'hbm' for output"},
        BadText{"panel=4,1,4", "panel=4,,4", "2:22", "not a list of whole numbers"},
        BadText{"panel=4,1,4", "panel=99999999999999999999,1,4", "2:22", "not a list of whole numbers"},
        BadText{"; x times w", ";@ input 2 hbm=0 mxfp8=1,4,64,4,64,8", "1:10",
                "the workload has inputs 0..1"},
        BadText{"; x times w", ";@ input 0 hbm=0\n", "1:4", "mxfp8=BATCH,ROWS,COLS"},
        BadText{"; x times w", ";@ input 0 hbm=0 mxfp8=1,4,64,4,64\n", "1:4", "mxfp8=BATCH,ROWS,COLS"},
        BadText{"; x times w", ";@ scratch s hbm=0 mxfp8=1,4,64,0,64,8\n", "1:4", "a size is out of range"},
        BadText{"; x times w", ";@ scratch s hbm=0 mxfp8=9999999,4,64,9999999,64,8\n", "1:4", "out of range"},
        BadText{"; x times w", ";@ scratch s hbm=0 mxfp8=1,4,64,4,64,0\n", "1:4", "a size is out of range"},
        BadText{"; x times w", ";@ scratch\n", "1:4", "'scratch' needs a name"},
        BadText{"; x times w", ";@ data 0 00\n", "1:4", "data belongs below a constant"},
        BadText{"; x times w", ";@ constant c hbm=8192 mxfp8=1,1,64,1,64,8\n;@ data 72 00\n", "2:9",
                "the bytes do not fit the 72"},
        BadText{"; x times w", ";@ constant c hbm=8192 mxfp8=1,1,64,1,64,8\n;@ data 0 0g\n", "2:11",
                "not a hexadecimal byte"},
        BadText{"; x times w", ";@ constant c hbm=8192 mxfp8=1,1,64,1,64,8\n;@ data 0\n", "2:4",
                "data OFFSET HEX"},
        BadText{"; x times w", ";@ fp 1 one\n", "1:9", "'one' is not a number"},
        BadText{"M_MM 0", "M_MN 0", "14:1", "M_MN"}, BadText{"M_MM 0, gp5", "M_MM 0, gp16", "14:9", "gp16"},
        BadText{"gp0, 320", "gp0, 262144", "8:22", "262144"},
        BadText{"C_LOOP_END gp6", "C_LOOP_END", "18:11", "C_LOOP_END"}));

// These are about the text as a whole.
TEST(BadText, WithoutAnOutputIsToldWhatToAdd) {
  const auto workload = PlenaCase::of_file("gemm_c1");
  ASSERT_NE(workload, nullptr);
  const auto program = parse(*workload, "S_ADDI_INT gp1, gp0, 256\n");
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find(
                " kernel.asm:1:1: error: the program does not say where its outputs are"),
            std::string::npos)
      << program.status().message();
  EXPECT_NE(program.status().message().find("';@ output 0 vram=0 panel=4,1,4'"), std::string::npos);
}

TEST(BadText, WithImpossiblePlacesNamesTheBuffer) {
  const auto workload = PlenaCase::of_file("gemm_c1");
  ASSERT_NE(workload, nullptr);
  const std::pair<const char*, const char*> cases[] = {
      {"panel=4,1,4", "panel=4,1,3"},
      {"panel=4,1,4", "panel=4,2147483648,4"},
      {"panel=4,1,4", "panel=3,1,4"},
      {"panel=4,1,4", "panel=0,1,4"},
      {"vram=256", "vram=255"},
      {"vram=256", "vram=9223372036854775744"},
      {"panel=4,1,4", "panel=4,1,4 dims=4,63"},
      {"panel=4,1,4", "panel=4,1,4 dims=4,64 order=0,0"},
      {"panel=4,1,4", "panel=4,1,4 dims=4,64 order=0,7"},
      {"panel=4,1,4", "panel=4,1,4 dims=4294967296,4294967296"},
      {"; x times w", ";@ input 0 hbm=17179869184 mxfp8=1,4,64,4,64,8\n;"},
      {"; x times w", ";@ input 0 hbm=0 mxfp8=1,4,64,4,64,16\n;"},
      {"; x times w", ";@ input 0 hbm=0 mxfp8=1,5,64,4,64,8\n;"},
  };
  for (const auto& [from, to] : cases) {
    const auto program = parse(*workload, replaced(kGemm, from, to));
    ASSERT_FALSE(program.ok()) << to;
    EXPECT_NE(program.status().message().find("buffer '"), std::string::npos) << program.status().message();
  }
}

TEST(BadText, RandomDamageNeverDoesMoreThanFail) {
  CaseOptions options;
  options.instruction_limit = 4096;
  const auto workload = PlenaCase::of_file("gemm_c1", options);
  ASSERT_NE(workload, nullptr);
  uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  int read = 0;
  for (int i = 0; i < 300; ++i) {
    std::string text = kGemm;
    for (uint64_t n = 1 + next() % 3; n-- > 0;) {
      const size_t at = next() % text.size();
      switch (next() % 8) {
        case 0:
          text[at] = static_cast<char>(next() % 256);
          break;
        case 1:
          text.erase(at, 1 + next() % 20);
          break;
        case 2:
          text.insert(at, text.substr(next() % text.size(), next() % 30));
          break;
        default:
          if (const size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos)
            text[digit] = static_cast<char>('0' + next() % 10);
      }
    }
    const auto program = parse(*workload, text);
    if (!program.ok()) {
      EXPECT_NE(program.status().message(), "");
      continue;
    }
    ++read;
    const auto simulation = workload->simulate(*program);
    if (!simulation.ok()) {
      EXPECT_NE(simulation.status().message(), "");
    }
  }
  EXPECT_GT(read, 10);
}

}  // namespace
}  // namespace zomboss::plena
