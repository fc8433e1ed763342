// plena.taidl against the language and against the simulator's instruction table, assembler and clock.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/taidl/message.h"
#include "core/taidl/model.h"
#include "core/taidl/parser.h"
#include "core/taidl/printer.h"
#include "core/taidl/wire.h"
#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/sim/assembler.h"
#include "plugins/targets/plena/sim/simulator.h"

namespace zomboss::plena {
namespace {

std::string text_of(std::string_view profile) {
  auto text = taidl_text(profile);
  EXPECT_TRUE(text.ok());
  return text.ok() ? *std::move(text) : "";
}

taidl::Spec spec_of(const std::string& text) {
  const Source source("plena.taidl", text);
  Diagnostics diagnostics(source);
  auto spec = taidl::parse_spec(source, diagnostics);
  EXPECT_EQ(diagnostics.render_all(), "");
  return spec.ok() ? *std::move(spec) : taidl::Spec{};
}

// All messages of loading a text.
std::string messages_of(const std::string& text, const taidl::Overrides& overrides = {}) {
  const Source source("plena.taidl", text);
  Diagnostics diagnostics(source);
  const auto model = taidl::load_model(source, overrides, diagnostics);
  EXPECT_EQ(model.ok(), diagnostics.ok());
  return diagnostics.render_all();
}

taidl::Model model_of(std::string_view profile, const taidl::Overrides& overrides = {}) {
  const Source source("plena.taidl", text_of(profile));
  Diagnostics diagnostics(source);
  auto model = taidl::load_model(source, overrides, diagnostics);
  EXPECT_EQ(diagnostics.render_all(), "");
  return model.ok() ? *std::move(model) : taidl::Model{};
}

const taidl::InstrDecl* find_instr(const taidl::Spec& spec, std::string_view name) {
  for (const taidl::InstrDecl& instr : spec.instrs)
    if (instr.name.text == name) return &instr;
  return nullptr;
}

template <typename Instr>
const taidl::Clause* find_clause(const Instr& instr, taidl::ClauseKind kind, std::string_view name = {}) {
  for (const taidl::Clause& clause : instr.clauses)
    if (clause.kind == kind && clause.name.text == name) return &clause;
  return nullptr;
}

TEST(PlenaTaidl, PassesWithoutMessagesInEveryProfileAndSize) {
  for (const std::string_view profile : kProfiles) EXPECT_EQ(messages_of(text_of(profile)), "") << profile;
  const taidl::Overrides sizes[] = {
      {{"MLEN", 32}, {"BLEN", 8}, {"HLEN", 8}, {"BROADCAST", 4}},
      {{"MLEN", 32}, {"BLEN", 8}, {"HLEN", 8}, {"BROADCAST", 2}},
      {{"MLEN", 16}, {"HLEN", 4}, {"VRAM_ROWS", 16}},
      {{"MLEN", 128}, {"HLEN", 32}, {"BLEN", 16}},
      {{"MLEN", 256}, {"HLEN", 64}, {"M_PREFETCH", 300}, {"MRAM_TILES", 2}},
      {{"V_PREFETCH", 16}, {"V_WRITEBACK", 2}, {"HBM_BYTES", 1 << 20}},
  };
  for (const taidl::Overrides& size : sizes) EXPECT_EQ(messages_of(text_of("upstream"), size), "");
}

TEST(PlenaTaidl, ReadsBackWhatThePrinterWrote) {
  const taidl::Spec spec = spec_of(text_of("kernelcraft"));
  const std::string printed = print_spec(spec);
  EXPECT_TRUE(spec_of(printed) == spec);
  EXPECT_EQ(print_spec(spec_of(printed)), printed);
}

TEST(PlenaTaidl, HasTheProfilesThatThePluginOffers) {
  const taidl::Spec spec = spec_of(text_of("kernelcraft"));
  ASSERT_EQ(spec.profiles.size(), kProfiles.size());
  for (size_t i = 0; i < kProfiles.size(); ++i) EXPECT_EQ(spec.profiles[i].name.text, kProfiles[i]);
  EXPECT_EQ(spec.profile->text, "kernelcraft");
  // The first profile is the one of the file, and changes nothing.
  const Source file = *read_source(std::string(ZB_SOURCE_DIR) + "/plugins/targets/plena/plena.taidl");
  EXPECT_TRUE(file.text() == text_of(kProfiles[0])) << "the text that is built in is not the file";
  std::string plain = text_of(kProfiles[0]);
  plain.erase(plain.find("  default profile"),
              plain.find('\n', plain.find("  default profile")) - plain.find("  default profile"));
  const Source source("plain", plain);
  Diagnostics diagnostics(source);
  EXPECT_EQ(taidl::load_model(source, {}, diagnostics)->hash, model_of(kProfiles[0]).hash);
}

TEST(PlenaTaidl, HasTheParametersThatThePluginReads) {
  const taidl::Model model = model_of("upstream");
  const std::pair<const char*, int64_t> params[] = {{"MLEN", 64},
                                                    {"VLEN", 64},
                                                    {"BLEN", 4},
                                                    {"HLEN", 16},
                                                    {"BROADCAST", 4},
                                                    {"MRAM_TILES", 64},
                                                    {"VRAM_ROWS", 4194304},
                                                    {"HBM_BYTES", 17179869184},
                                                    {"M_PREFETCH", 64},
                                                    {"V_PREFETCH", 4},
                                                    {"V_WRITEBACK", 4},
                                                    {"MAX_LOOP", 100000},
                                                    {"FP_SLOTS", 1024},
                                                    {"INT_SLOTS", 1024},
                                                    {"MX_BLOCK", 8},
                                                    {"SYSTOLIC_OVERHEAD", 0},
                                                    {"VECTOR_ADD", 1},
                                                    {"VECTOR_MUL", 1},
                                                    {"VECTOR_EXP", 1},
                                                    {"VECTOR_RECI", 2},
                                                    {"VECTOR_MAX", 4},
                                                    {"VECTOR_SUM", 8},
                                                    {"SCALAR_FP", 1},
                                                    {"SCALAR_EXP", 1},
                                                    {"SCALAR_SQRT", 1},
                                                    {"SCALAR_RECI", 1},
                                                    {"SCALAR_INT", 1}};
  for (const auto& [name, value] : params) {
    const taidl::Param* param = model.find_param(name);
    ASSERT_NE(param, nullptr) << name;
    EXPECT_EQ(param->value, value) << name;
  }
  EXPECT_EQ(model.storage, "mxfp8");
  ASSERT_EQ(model.hwloops.size(), 1u);
  EXPECT_EQ(model.hwloops[0].counter, "gp");
  EXPECT_EQ(model.hwloops[0].body, 100000);
  EXPECT_EQ(model.hwloops[0].count.high, (1 << 22) - 1);
}

// ---- against the simulator's instruction table

bool operand_matches(char letter, const taidl::OperandDecl& operand) {
  using taidl::OperandKind;
  switch (letter) {
    case 'g':
      return operand.kind == OperandKind::kRegister && operand.base.text == "gp";
    case 'f':
      return operand.kind == OperandKind::kRegister && operand.base.text == "fp";
    case 'a':
      return operand.kind == OperandKind::kRegister && operand.base.text == "addr";
    case 'i':  // an immediate, or the values of it that mean something
      return operand.kind == OperandKind::kImmediate || operand.kind == OperandKind::kInteger;
    default:
      return operand.kind == OperandKind::kInteger;
  }
}

TEST(PlenaTaidl, HasEveryInstructionOfTheMachineWithItsOperands) {
  const taidl::Spec spec = spec_of(text_of("upstream"));
  size_t count = 0;
  for (uint32_t opcode = 0; opcode < kOpcodeCount; ++opcode) {
    const InstructionInfo& info = instruction_info(opcode);
    if (info.mnemonic.empty()) continue;
    ++count;
    const taidl::InstrDecl* instr = find_instr(spec, info.mnemonic);
    ASSERT_NE(instr, nullptr) << info.mnemonic;
    EXPECT_EQ(instr->engine->text, engine_name(info.engine)) << info.mnemonic;
    std::string letters(info.operands);
    std::erase(letters, '0');
    ASSERT_EQ(instr->operands.size(), letters.size()) << info.mnemonic;
    for (size_t i = 0; i < letters.size(); ++i)
      EXPECT_TRUE(operand_matches(letters[i], instr->operands[i])) << info.mnemonic << " operand " << i;
  }
  EXPECT_EQ(spec.instrs.size(), count);
  // In the model: all but the one that the machine cannot run, or the forms that its sizes exclude.
  EXPECT_EQ(model_of("upstream").instrs.size(), count - 1);
  EXPECT_EQ(model_of("kernelcraft").instrs.size(), count - 4);
  EXPECT_EQ(model_of("upstream", {{"HLEN", 8}}).instrs.size(), count - 6);
}

// An operand value with many bits set, different for each operand.
int64_t sample(const taidl::Operand& operand, size_t index) {
  const taidl::Domain& domain = operand.domain;
  if (operand.kind == taidl::OperandKind::kImmediate) return domain.high - 16 * static_cast<int64_t>(index);
  return index % 2 == 0 ? domain.last() : domain.at(domain.size() / 2);
}

std::string line_of(const taidl::Instr& instr, const taidl::Env& env) {
  const taidl::Clause* emit = find_clause(instr, taidl::ClauseKind::kEmit);
  std::vector<taidl::MessagePart> parts;
  EXPECT_TRUE(taidl::split_message(emit->text, parts));
  std::string line;
  for (const taidl::MessagePart& part : parts)
    line += part.placeholder ? std::to_string(env.at(part.text)) : part.text;
  return line;
}

uint32_t word_of(const taidl::Instr& instr, const taidl::Env& env) {
  uint64_t word = 0;
  for (const taidl::Field& field : find_clause(instr, taidl::ClauseKind::kEncode)->fields)
    word |= static_cast<uint64_t>(evaluate(field.value, env).number) << evaluate(field.low, {}).number;
  return static_cast<uint32_t>(word);
}

// Also M_BMV, which no machine has.
std::string with_bmv() {
  std::string text = text_of("upstream");
  const std::string off = "param HAS_BMV      = 0 in {0};";
  return text.replace(text.find(off), off.size(), "param HAS_BMV      = 1 in {1};");
}

TEST(PlenaTaidl, EncodesAsTheAssemblerDoes) {
  const Source source("plena.taidl", with_bmv());
  Diagnostics diagnostics(source);
  const auto model = taidl::load_model(source, {}, diagnostics);
  ASSERT_EQ(diagnostics.render_all(), "");  // so the semantics of M_BMV fit their types too
  EXPECT_NE(model->find_instr("M_BMV"), nullptr);
  for (const taidl::Instr& instr : model->instrs) {
    taidl::Env env;
    for (size_t i = 0; i < instr.operands.size(); ++i)
      env[instr.operands[i].name] = sample(instr.operands[i], i);
    const std::string line = line_of(instr, env);
    const auto words = assemble(line, "line");
    ASSERT_TRUE(words.ok()) << words.status().message();
    ASSERT_EQ(words->size(), 1u);
    EXPECT_EQ(word_of(instr, env), (*words)[0]) << line;
  }
}

// ---- against the simulator's clock

// A program whose registers are all 0 (f and gp operands are register 1), and the time of one instruction.
TEST(PlenaTaidl, CostsAreTheNanosecondsOfTheSimulator) {
  taidl::Overrides overrides = {{"MRAM_TILES", 2}, {"VRAM_ROWS", 512}, {"HBM_BYTES", 1 << 20}};
  for (const char* name :
       {"SYSTOLIC_OVERHEAD", "VECTOR_ADD", "VECTOR_MUL", "VECTOR_EXP", "VECTOR_RECI", "VECTOR_MAX",
        "VECTOR_SUM", "SCALAR_FP", "SCALAR_EXP", "SCALAR_SQRT", "SCALAR_RECI", "SCALAR_INT"})
    overrides.emplace_back(name, 3 + 2 * static_cast<int64_t>(overrides.size()));
  const taidl::Model model = model_of("upstream", overrides);
  const auto machine = read_machine(to_wire(model));
  ASSERT_TRUE(machine.ok());
  for (const taidl::Instr& instr : model.instrs) {
    const taidl::Clause* cost = find_clause(instr, taidl::ClauseKind::kCost, "ns");
    const taidl::Clause* bytes = find_clause(instr, taidl::ClauseKind::kCost, "bytes");
    ASSERT_TRUE((cost == nullptr) != (bytes == nullptr)) << instr.name;
    taidl::Env env;
    for (const taidl::Operand& operand : instr.operands)
      env[operand.name] = operand.kind == taidl::OperandKind::kRegister ? 1 : operand.domain.low;
    if (instr.name == "C_LOOP_START") env["count"] = 1;
    const std::string line = line_of(instr, env);
    const std::string before =
        instr.name == "C_LOOP_END" || instr.name == "C_BREAK" ? "C_LOOP_START gp1, 1\n" : "";
    const auto words = assemble(before + line, "line");
    ASSERT_TRUE(words.ok()) << words.status().message();
    auto simulator = Simulator::create(to_settings(*machine));
    ASSERT_TRUE(simulator.ok());
    const Status status = simulator->run(*words);
    ASSERT_TRUE(status.ok()) << status.message();
    if (cost != nullptr) {
      const int64_t expected = evaluate(*cost->expr, env).number + (before.empty() ? 0 : 1);
      EXPECT_EQ(simulator->nanoseconds(), static_cast<uint64_t>(expected)) << line;
    } else {
      const Profile profile = simulator->profile();
      EXPECT_EQ(static_cast<uint64_t>(evaluate(*bytes->expr, env).number),
                profile.hbm_read_bytes + profile.hbm_written_bytes)
          << line;
    }
  }
}

// f0 takes no results, which costs no time.
TEST(PlenaTaidl, CostsNothingWhereTheResultIsDropped) {
  const taidl::Model model = model_of("upstream");
  for (const char* name : {"V_RED_SUM", "V_RED_MAX", "S_ADD_FP", "S_SUB_FP", "S_MAX_FP", "S_MUL_FP",
                           "S_EXP_FP", "S_RECI_FP", "S_SQRT_FP"}) {
    const taidl::Clause* cost = find_clause(*model.find_instr(name), taidl::ClauseKind::kCost, "ns");
    EXPECT_EQ(evaluate(*cost->expr, {{"rd", 0}}).number, 0) << name;
    EXPECT_GT(evaluate(*cost->expr, {{"rd", 7}}).number, 0) << name;
  }
}

// ---- messages

TEST(PlenaTaidl, ExplainsOverridesThatNoMachineHas) {
  const std::pair<taidl::Overrides, const char*> cases[] = {
      {{{"VLEN", 32}}, "VLEN is 32 and MLEN 64: a vector row feeds a tile, so they are equal"},
      {{{"MLEN", 48}}, "parameter MLEN is 48 by override, outside of its domain {16, 32, 64, 128, 256}"},
      {{{"MLEN", 16}, {"BLEN", 32}}, "BLEN 32 does not divide MLEN 16"},
      {{{"MLEN", 32}, {"HLEN", 64}}, "HLEN 64 does not divide VLEN 32"},
      {{{"BLEN", 3}}, "parameter BLEN is 3 by override, outside of its domain {1, 2, 4, 8, 16, 32, 64}"},
      {{{"VRAM_ROWS", 3}},
       "VRAM_ROWS 3 is less than one instruction takes: BLEN 4, V_PREFETCH 4, V_WRITEBACK 4"},
      {{{"MRAM_TILES", 1}, {"M_PREFETCH", 128}}, "M_PREFETCH 128 rows are 2 tiles, MRAM_TILES is 1"},
      {{{"MLEN", 256}, {"MRAM_TILES", 4097}},
       "MRAM_TILES 4097 of 65536 elements are more than 268435456, the most that is simulated"},
      {{{"VRAM_ROWS", 67108864}, {"MLEN", 128}},
       "VRAM_ROWS 67108864 of VLEN 128 elements are more than a 32-bit address reaches"},
      {{{"HBM_BYTES", 1000}},
       "parameter HBM_BYTES is 1000 by override, outside of its domain 64..1099511627776 step 64"},
      {{{"FP_SLOTS", 2048}}, "parameter FP_SLOTS is 2048 by override, outside of its domain {1024}"},
      {{{"MRAM_TILE", 4}}, "no parameter 'MRAM_TILE' in target plena\n  hint: did you mean 'MRAM_TILES'?"},
  };
  for (const auto& [overrides, expected] : cases) {
    const std::string messages = messages_of(text_of("upstream"), overrides);
    EXPECT_NE(messages.find(expected), std::string::npos) << expected << "\nfound:\n" << messages;
  }
}

// One edit, and the first message that it must give: its line is that of the marked text.
struct Edit {
  const char *from, *to;
  const char *line, *message;  // a part of the line it must name, the message
};

TEST(PlenaTaidl, SaysWhereABadEditIsWrong) {
  const Edit edits[] = {
      {"param BLEN         = 4", "param BLEN         = 5", "param BLEN", "parameter BLEN is 5, outside"},
      {"engine matrix, vector,", "engine matrix,", "engine vector {", "no engine 'vector'"},
      {"state M  : f32[BLEN][BLEN]", "state M  : f32[BLEN][MLEN]", "update M += product;",
       "M takes f32[4,64] here, 'product' is f32[4,4]"},
      {"memory intsram : u32", "memory intsram : u31", "memory intsram", "unknown number format 'u31'"},
      {"read x = vram[gp[rs2] / VLEN +: BLEN];", "read x = vram[gp[rs2] / VLEN +: MLEN];",
       "wide = f32[BLEN,MLEN] convert(x)", "convert: gives f32[4,64], but the operand is bf16[64,64]"},
      {"requires ceildiv(32 + 96 * policy, VLEN) <= VRAM_ROWS",
       "requires ceildiv(32 + 96 * policy, VLEN) > VRAM_ROWS", "requires ceildiv(32 + 96 * policy, VLEN) >",
       "the requirement 'ceildiv(32 + 96 * policy, 64) > 4194304' never holds"},
      {"word[5:0] = 0x01;", "word[9:0] = 0x01; word[9:6] = 3;", "word[9:0] = 0x01;",
       "bits [9:6] of word overlap an earlier field"},
      {"sets SCALE = gp[rd];", "sets SCALES = gp[rd];", "sets SCALES", "no state 'SCALES'"},
      {"gp{rd}, {count}\";\n  }", "gp{rb}, {count}\";\n  }", "gp{rb}",
       "the placeholder '{rb}' names no operand"},
      {"instr C_LOOP_END(rd: reg gp)", "instr C_LOOP_END(rd: reg pg)", "instr C_LOOP_END",
       "no register file 'pg'"},
      {"default profile upstream", "default profile upstreem", "default profile", "no profile 'upstreem'"},
      {"profile kernelcraft { MRAM_TILES", "profile kernelcraft { MRAM_TILE", "profile kernelcraft",
       "no parameter 'MRAM_TILE'"},
      {"when HAS_BMV == 1", "when HAS_BVM == 1", "instr M_BMV(", "unknown name 'HAS_BVM'"},
      {"counter=gp", "counter=pg", "hwloop", "no register file 'pg'"},
      {"requires VLEN == MLEN :", "requires VLEN = MLEN :", "requires VLEN = MLEN", "expected ':'"},
      {"update V += product;", "sets V = gp[rs1] + 1;", "sets V = gp[rs1] + 1;",
       "the value of tensor state V must be the name of a value or a number"},
      {"rule gp_fits : live(gp)", "rule gp_fits : live(vram)", "rule gp_fits",
       "live takes the name of a register file"},
  };
  for (const Edit& edit : edits) {
    std::string text = text_of("upstream");
    const size_t at = text.find(edit.from);
    ASSERT_NE(at, std::string::npos) << edit.from;
    text.replace(at, std::string_view(edit.from).size(), edit.to);
    const std::string messages = messages_of(text);
    const auto line_at = text.find(edit.line);
    ASSERT_NE(line_at, std::string::npos) << edit.line;
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(line_at), '\n');
    EXPECT_TRUE(messages.starts_with(fmt::format("plena.taidl:{}:", line)))
        << edit.to << "\nexpected line " << line << ", found:\n"
        << messages;
    const std::string first = messages.substr(0, messages.find('\n'));
    EXPECT_NE(first.find(edit.message), std::string::npos) << edit.to << "\nfound:\n" << messages;
  }
}

}  // namespace
}  // namespace zomboss::plena
