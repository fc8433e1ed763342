#include <gtest/gtest.h>

#include <sstream>

#include "core/taidl/lexer.h"
#include "core/taidl/printer.h"
#include "core/taidl/test_support.h"
#include "core/taidl/wire.h"

namespace zomboss::taidl {
namespace {

TEST(Parser, ReadsBackWhatThePrinterWrote) {
  for (const char* path : {kToy, kGemmini, "core/taidl/testdata/all_constructs.taidl"}) {
    const Source source = read_spec(path);
    Diagnostics diagnostics(source);
    const auto spec = parse_spec(source, diagnostics);
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    const std::string text = print_spec(*spec);
    const Source printed("printed", text);
    Diagnostics again(printed);
    const auto spec2 = parse_spec(printed, again);
    ASSERT_TRUE(spec2.ok()) << spec2.status().message();
    EXPECT_TRUE(*spec == *spec2) << path;
    EXPECT_EQ(print_spec(*spec2), text);
  }
}

TEST(Parser, SeesEveryDifference) {
  const Source source = read_spec("core/taidl/testdata/all_constructs.taidl");
  Diagnostics diagnostics(source);
  const auto spec = parse_spec(source, diagnostics);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  // Each line of the canonical text carries meaning: without it the spec is another one or no spec.
  std::vector<std::string> lines;
  std::istringstream stream(print_spec(*spec));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  ASSERT_GT(lines.size(), 60u);
  for (size_t skip = 0; skip < lines.size(); ++skip) {
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i)
      if (i != skip) text += lines[i] + "\n";
    const Source changed("changed", text);
    Diagnostics messages(changed);
    const auto other = parse_spec(changed, messages);
    EXPECT_FALSE(other.ok() && *other == *spec) << "line without effect: " << lines[skip];
  }
}

TEST(Model, TakesTheToyWithItsNumbers) {
  const Model model = load_clean(kToy);
  EXPECT_EQ(model.target, "toy");
  EXPECT_EQ(model.title, "Toy matrix machine");
  ASSERT_EQ(model.memories.size(), 3u);
  EXPECT_EQ(model.find_memory("hbm")->rows, 0);
  EXPECT_TRUE(model.find_memory("hbm")->offchip);
  EXPECT_EQ(model.find_memory("hbm")->align, 8);
  EXPECT_EQ(model.find_memory("spad")->rows, 256);
  EXPECT_EQ(model.find_memory("spad")->unit_bytes, 8);
  EXPECT_EQ(model.find_memory("acc")->unit_bytes, 32);
  const Instr& load_w = *model.find_instr("load_w");
  EXPECT_EQ(load_w.operands[0].align, 8);
  EXPECT_EQ(load_w.operands[0].domain.last(), 248);
  EXPECT_EQ(model.find_state("wreg")->shape->text(), "s8[8,8]");
  ASSERT_EQ(model.rules.size(), 2u);
  EXPECT_EQ(print_expr(model.rules[1].condition), "live_rows(spad) <= 256");
  EXPECT_EQ(model.rules[1].message, "the program keeps {live_rows(spad)} rows in the scratchpad, it has 256");
}

TEST(Model, FollowsAnOverrideThroughDependentNumbers) {
  const Model model = load_clean(kToy, {{"DIM", 16}, {"ROWS", 128}});
  EXPECT_EQ(model.find_memory("spad")->rows, 128);
  EXPECT_EQ(model.find_memory("spad")->unit_bytes, 16);
  EXPECT_EQ(model.find_instr("mac")->operands[0].domain.high, 16);
  EXPECT_EQ(model.find_state("wreg")->shape->text(), "s8[16,16]");
  EXPECT_TRUE(model.find_param("DIM")->overridden);
  EXPECT_FALSE(model.find_param("AROWS")->overridden);
}

TEST(Model, HashesTheTextWithTheOverridesAndNotTheLayout) {
  const std::string plain = load_clean(kToy).hash;
  EXPECT_EQ(plain.size(), 32u);
  EXPECT_EQ(load_clean(kToy, {{"DIM", 8}}).hash, plain);
  EXPECT_NE(load_clean(kToy, {{"DIM", 16}}).hash, plain);
  std::string text(read_spec(kToy).text());
  text.insert(0, "# a comment\n\n");
  const Source source("other", text);
  Diagnostics diagnostics(source);
  const auto model = load_model(source, {}, diagnostics);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->hash, plain);
}

// all_constructs.taidl with another profile in force, or none.
Model with_profile(const std::string& line, const Overrides& overrides = {}) {
  std::string text(read_spec("core/taidl/testdata/all_constructs.taidl").text());
  const std::string_view written = "default profile slow;";
  text.replace(text.find(written), written.size(), line);
  const Source source("profiles", text);
  Diagnostics diagnostics(source);
  auto model = load_model(source, overrides, diagnostics);
  EXPECT_EQ(diagnostics.render_all(), "");
  return model.ok() ? *std::move(model) : Model{};
}

TEST(Model, TakesTheValuesOfTheProfileInForce) {
  const Model plain = with_profile(""), small = with_profile("default profile small;");
  EXPECT_EQ(plain.profile, "");
  EXPECT_EQ(small.profile, "small");
  EXPECT_EQ(plain.find_param("N")->value, 16);
  EXPECT_EQ(small.find_param("N")->value, 8);
  EXPECT_EQ(small.find_param("M")->value, 4);  // follows N
  EXPECT_EQ(small.find_param("BIG")->value, 5);
  EXPECT_EQ(small.find_memory("tile")->rows, 8);
  EXPECT_FALSE(small.find_param("N")->overridden);
  EXPECT_EQ(with_profile("default profile small;", {{"N", 32}}).find_param("N")->value, 32);
}

TEST(Model, HashesTheValuesAndNotTheNameOfTheProfile) {
  const std::string plain = with_profile("").hash, small = with_profile("default profile small;").hash;
  EXPECT_NE(plain, small);
  EXPECT_EQ(with_profile("", {{"SLOW", 1}}).hash, with_profile("default profile slow;").hash);
  // An override with the value that the parameter has without the profile.
  EXPECT_NE(with_profile("default profile small;", {{"N", 16}}).hash, small);
}

TEST(Model, LacksInstructionsAndStatesWhoseConditionDoesNotHold) {
  const Model plain = with_profile(""), slow = with_profile("default profile slow;");
  EXPECT_NE(plain.find_instr("use_spare"), nullptr);
  EXPECT_NE(plain.find_state("spare"), nullptr);
  EXPECT_EQ(slow.find_instr("use_spare"), nullptr);
  EXPECT_EQ(slow.find_state("spare"), nullptr);
  EXPECT_EQ(with_profile("", {{"SLOW", 1}}).find_instr("use_spare"), nullptr);
}

TEST(Model, KnowsTheCounterAndTheLimitOfALoop) {
  const Model model = load_clean("core/taidl/testdata/all_constructs.taidl");
  ASSERT_EQ(model.hwloops.size(), 2u);
  EXPECT_EQ(model.hwloops[0].counter, "");
  EXPECT_EQ(model.hwloops[0].body, 0);
  EXPECT_EQ(model.hwloops[1].counter, "gp");
  EXPECT_EQ(model.hwloops[1].body, 1600);
}

std::string override_error(const Overrides& overrides) {
  const Source source("toy.taidl", std::string(read_spec(kToy).text()));
  Diagnostics diagnostics(source);
  const auto spec = parse_spec(source, diagnostics);
  EXPECT_TRUE(spec.ok());
  EXPECT_FALSE(instantiate(*spec, overrides, diagnostics).ok());
  return diagnostics.all().empty() ? "" : diagnostics.render(diagnostics.all()[0]);
}

TEST(Model, RefusesOverridesThatDoNotExistOrLieOutside) {
  EXPECT_EQ(override_error({{"DMI", 8}}),
            "toy.taidl: error: no parameter 'DMI' in target toy\n  hint: did you mean 'DIM'?\n");
  EXPECT_EQ(
      override_error({{"SIZE", 8}}),
      "toy.taidl: error: no parameter 'SIZE' in target toy\n  hint: the parameters are DIM, ROWS, AROWS\n");
  EXPECT_EQ(override_error({{"ROW", 8}}),
            "toy.taidl: error: no parameter 'ROW' in target toy\n  hint: did you mean 'ROWS'?\n");
  EXPECT_EQ(override_error({{"DIM", 5}}),
            "toy.taidl:3:22: error: parameter DIM is 5 by override, outside of its domain {4, 8, 16}\n"
            "    param DIM   = 8 in {4, 8, 16};\n"
            "                       ^\n");
  EXPECT_EQ(override_error({{"ROWS", 3}}).substr(0, 71),
            "toy.taidl:9:37: error: memory spad has 3 units, not a multiple of 2 ban");
}

TEST(Model, ReadsOverridesAsTheCommandLineGivesThem) {
  EXPECT_EQ(*parse_override("DIM=32"), (std::pair<std::string, int64_t>("DIM", 32)));
  EXPECT_EQ(parse_override("DIM=-0x10")->second, -16);
  EXPECT_EQ(parse_override("DIM=9223372036854775808").status().message(),
            "parameter DIM: 9223372036854775808 does not fit in 64 bits");
  for (const char* text : {"", "DIM", "=3", "DIM=", "DIM=x", "DIM=3x", "DIM=--3", "DIM= 3", "DIM=0x"})
    EXPECT_EQ(parse_override(text).status().code(), Code::kInvalidArgument) << text;
}

TEST(Model, DescribesGemminiAsItsFactsDo) {
  const Model model = load_clean(kGemmini);
  EXPECT_EQ(model.find_memory("spad")->rows, 16384);
  EXPECT_EQ(model.find_memory("spad")->rows * model.find_memory("spad")->unit_bytes, 256 * 1024);
  EXPECT_EQ(model.find_memory("spad")->banks, 4);
  EXPECT_EQ(model.find_memory("acc")->rows, 1024);
  EXPECT_EQ(model.find_memory("acc")->rows * model.find_memory("acc")->unit_bytes, 64 * 1024);
  EXPECT_EQ(model.find_memory("acc")->banks, 2);
  EXPECT_EQ(model.find_param("MAX_BYTES")->value, 64);
  EXPECT_EQ(model.find_param("MAX_BLOCKS")->value, 4);
  EXPECT_EQ(model.find_param("MAX_ACC_BLOCKS")->value, 1);
  EXPECT_EQ(model.find_param("LOOP_SPAD_ROWS")->value, 8192);
  EXPECT_EQ(model.find_param("LOOP_ACC_ROWS")->value, 512);
  EXPECT_EQ(model.engines, (std::vector<std::string>{"ld", "ex", "st"}));
  for (const char* name : {"mvin", "mvin2", "mvin3", "mvin_acc", "mvout", "mvout_acc", "mvout_full",
                           "preload", "compute_preloaded", "compute_accumulated", "config_ex", "config_ld",
                           "config_st", "flush", "fence", "loop_ws"})
    EXPECT_NE(model.find_instr(name), nullptr) << name;
}

TEST(Model, AcceptsGemminiInOtherSizesWithoutWarnings) {
  for (const int64_t dim : {4, 8, 32}) {
    const Model model = load_clean(kGemmini, {{"DIM", dim}});
    EXPECT_EQ(model.find_memory("spad")->unit_bytes, dim);
    EXPECT_EQ(model.find_memory("acc")->unit_bytes, 4 * dim);
    EXPECT_GE(model.find_param("MAX_BLOCKS")->value, 1);
    EXPECT_GE(model.find_param("MAX_ACC_BLOCKS")->value, 1);
  }
  EXPECT_EQ(load_clean(kGemmini, {{"BANK_ROWS", 2048}, {"ACC_ROWS", 512}}).find_memory("spad")->rows, 8192);
  EXPECT_EQ(load_clean(kGemmini, {{"BANK_ROWS", 8192}, {"ACC_ROWS", 2048}}).find_memory("acc")->rows, 2048);
}

TEST(Wire, CarriesTheModelToPlugins) {
  const Model model = load_clean(kGemmini, {{"DIM", 8}});
  const std::string buffer = encode_model(model);
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(buffer.data()), buffer.size());
  ASSERT_TRUE(wire::VerifyModelBuffer(verifier));
  const wire::Model& message = *wire::GetModel(buffer.data());
  EXPECT_EQ(message.target()->str(), "gemmini");
  EXPECT_EQ(message.spec_hash()->str(), model.hash);
  EXPECT_EQ(message.params()->size(), model.params.size());
  EXPECT_EQ(message.params()->Get(0)->name()->str(), "DIM");
  EXPECT_EQ(message.params()->Get(0)->value(), 8);
  const wire::Memory& spad = *message.memories()->Get(1);
  EXPECT_EQ(spad.dtype(), wire::DType::S8);
  EXPECT_EQ(spad.rows(), 16384);
  EXPECT_EQ(spad.unit_bytes(), 8);
  EXPECT_EQ(spad.banks(), 4);
  EXPECT_TRUE(message.memories()->Get(0)->offchip());
  const wire::State& first = *message.states()->Get(0);
  EXPECT_EQ(first.name()->str(), "ex_dataflow");
  EXPECT_EQ(first.kind(), wire::StateKind::Config);
  EXPECT_EQ(first.domain()->values()->size(), 2u);
  EXPECT_EQ(first.initial(), 1);
  const wire::Rule& rule = *message.rules()->Get(0);
  EXPECT_EQ(rule.name()->str(), "spad_fits");
  EXPECT_EQ(rule.text()->str(), "live_rows(spad) <= 16384");
}

TEST(Wire, TellsOperandKindsAndRegisterFiles) {
  const Model model = load_clean("core/taidl/testdata/all_constructs.taidl");
  const wire::ModelT message = to_wire(model);
  ASSERT_EQ(message.register_files.size(), 1u);
  EXPECT_EQ(message.register_files[0]->count, 8);
  EXPECT_EQ(message.register_files[0]->zero, 0);
  const auto& operands = message.instructions[0]->operands;
  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(operands[0]->kind, wire::OperandKind::Register);
  EXPECT_EQ(operands[0]->memory, "gp");
  EXPECT_EQ(operands[0]->domain->high, 7);
  EXPECT_EQ(operands[1]->kind, wire::OperandKind::Address);
  EXPECT_EQ(operands[1]->align, 4);
  EXPECT_EQ(operands[2]->kind, wire::OperandKind::Integer);
  EXPECT_EQ(operands[2]->domain->step, 2);
  EXPECT_EQ(operands[3]->kind, wire::OperandKind::Immediate);
  EXPECT_EQ(operands[3]->bits, 12u);
  EXPECT_EQ(operands[3]->domain->high, 4095);
  EXPECT_EQ(message.storage, "mxfp8");
  EXPECT_EQ(to_wire(load_clean(kToy)).storage, "");
  // 16 elements of 8 bits with two shared 8-bit scales.
  EXPECT_EQ(message.memories[2]->unit_bytes, 18);
  EXPECT_EQ(message.memories[2]->dtype, wire::DType::Invalid);
}

TEST(Documentation, ShowsTheToySpecAsItIsTested) {
  const Source docs = read_spec("docs/taidl.md");
  EXPECT_NE(docs.text().find(read_spec(kToy).text()), std::string_view::npos)
      << "docs/taidl.md does not contain testdata/toy.taidl";
}

}  // namespace
}  // namespace zomboss::taidl
