// Control flow, limits and refusals of the oracle; default inputs.
#include <fmt/format.h>

#include "core/oracle/inputs.h"
#include "core/oracle/test_util.h"

namespace zomboss::oracle {
namespace {

using I32 = std::vector<int32_t>;

TEST(Control, CallFusionMapAndTuples) {
  const Tensor result = run(parse(R"(HloModule m
twice { x = s32[2] parameter(0)
  ROOT y = s32[2] add(x, x) }
both { a = s32[2] parameter(0)
  b = s32[2] parameter(1)
  ROOT t = (s32[2], s32[2]) tuple(b, a) }
inc { x = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT y = s32[] add(x, one) }
ENTRY e { p = s32[2] constant({1, 2})
  c = s32[2] call(p), to_apply=twice
  f = (s32[2], s32[2]) fusion(p, c), kind=kLoop, calls=both
  g = s32[2] get-tuple-element(f), index=0
  ROOT r = s32[2] map(g), dimensions={0}, to_apply=inc }
)"));
  EXPECT_EQ(tensor_values<int32_t>(result), (I32{3, 5}));
}

const char* const kLoop = R"(HloModule m
cond { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(%)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  one = s32[] constant(@)
  j = s32[] add(i, one)
  u = s32[] add(t, j)
  ROOT r = (s32[], s32[]) tuple(j, u) }
ENTRY e { z = s32[] constant(0)
  s = (s32[], s32[]) tuple(z, z)
  w = (s32[], s32[]) while(s), condition=cond, body=body
  ROOT r = s32[] get-tuple-element(w), index=1 }
)";

std::string loop(const std::string& limit, const std::string& step) {
  std::string text = kLoop;
  text.replace(text.find('%'), 1, limit);
  text.replace(text.find('@'), 1, step);
  return text;
}

TEST(Control, WhileRunsUntilItsConditionFails) {
  EXPECT_EQ(tensor_values<int32_t>(run(parse(loop("10", "1")))), (I32{55}));
}

TEST(Control, EndlessLoopsAreRefusedAtTheWorkLimit) {
  Options options;
  options.work_limit = 1000000;
  const auto outputs = evaluate(parse(loop("10", "0")), {}, options);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().code(), Code::kResourceExhausted);
  EXPECT_NE(outputs.status().message().find("a loop may not end"), std::string::npos)
      << outputs.status().message();
}

TEST(Control, ConditionalChoosesABranch) {
  const auto choose = [](const std::string& index) {
    return tensor_values<int32_t>(
        run(parse("HloModule m\na { x = s32[] parameter(0)\nROOT y = s32[] negate(x) }\n"
                  "b { x = s32[] parameter(0)\nROOT y = s32[] add(x, x) }\nENTRY e { i = s32[] "
                  "constant(" +
                  index +
                  ")\nv = s32[] constant(7)\nROOT r = s32[] conditional(i, v, v), "
                  "branch_computations={a, b} }\n")));
  };
  EXPECT_EQ(choose("0"), (I32{-7}));
  EXPECT_EQ(choose("1"), (I32{14}));
  EXPECT_EQ(choose("-1"), (I32{14}));
  EXPECT_EQ(choose("9"), (I32{14}));
}

TEST(Refusals, AllUnknownOperationsAreListedWithTheirPlaces) {
  const std::string text =
      "HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n  b = f32[4] cosine(a)\n  c = f32[4] "
      "custom-call(b), "
      "custom_call_target=\"x\"\n  d = c64[4] fft(c), fft_type=FFT, fft_length={4}\n  ROOT r = f32[4] "
      "real(d)\n}\n";
  const Source source("net.hlo", text);
  Diagnostics diagnostics(source);
  const auto module = hlo::parse_module(source, diagnostics);
  ASSERT_TRUE(module.ok()) << diagnostics.render_all();
  const Tensor input = make_tensor(DType::F32, {4}, std::vector<float>(4));
  Options options;
  options.source_name = "net.hlo";
  const auto outputs = evaluate(*module, std::span(&input, 1), options);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().code(), Code::kUnimplemented);
  for (const char* part : {"net.hlo:5:3: the oracle does not know custom-call ('c')",
                           "net.hlo:6:3: the oracle does "
                           "not know fft ('d')",
                           "net.hlo:7:8: the oracle does not know real ('r')"}) {
    EXPECT_NE(outputs.status().message().find(part), std::string::npos) << outputs.status().message();
  }
  Diagnostics listed(source);
  check_evaluable(*module, listed);
  EXPECT_EQ(listed.errors(), 3u);
}

TEST(Refusals, ElidedConstantsThatMatterAreRefusedWithAdvice) {
  const std::string head =
      "HloModule m\nENTRY e {\n  c = f32[4] constant({...})\n  p = f32[4] parameter(0)\n";
  const Tensor input = make_tensor(DType::F32, {4}, std::vector<float>(4));
  const auto outputs = evaluate(parse(head + "  ROOT r = f32[4] add(c, p)\n}\n"), std::span(&input, 1));
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().code(), Code::kInvalidArgument);
  EXPECT_NE(outputs.status().message().find("m:3:3: the values of constant 'c' are elided"),
            std::string::npos)
      << outputs.status().message();
  EXPECT_NE(outputs.status().message().find("as_text(dialect=\"hlo\")"), std::string::npos);
  EXPECT_TRUE(evaluate(parse(head + "  ROOT r = f32[4] negate(p)\n}\n"), std::span(&input, 1)).ok());
}

TEST(Refusals, InputsThatDoNotFit) {
  const hlo::Module module = parse_entry("a = s8[2] parameter(0)\nROOT r = s8[2] negate(a)");
  const Tensor wrong_type = make_tensor(DType::U8, {2}, std::vector<uint8_t>(2));
  Tensor short_bytes = make_tensor(DType::S8, {2}, std::vector<int8_t>(1));
  const std::vector<Tensor> two(2, make_tensor(DType::S8, {2}, std::vector<int8_t>(2)));
  for (const std::vector<Tensor>& inputs :
       {std::vector<Tensor>{}, std::vector<Tensor>{wrong_type}, std::vector<Tensor>{short_bytes}, two}) {
    const auto outputs = evaluate(module, inputs);
    ASSERT_FALSE(outputs.ok());
    EXPECT_EQ(outputs.status().code(), Code::kInvalidArgument) << outputs.status().message();
  }
}

TEST(Refusals, ResultsBeyondTheMemoryLimit) {
  const auto outputs =
      evaluate(parse_entry("z = f32[] constant(0)\nROOT b = f32[1000000000000] broadcast(z), "
                           "dimensions={}"),
               {});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.status().code(), Code::kResourceExhausted);
  EXPECT_NE(outputs.status().message().find("broadcast 'b'"), std::string::npos)
      << outputs.status().message();
}

TEST(Refusals, DeadValuesDoNotCountAgainstTheMemoryLimit) {
  std::string lines = "z = f32[] constant(1)\nb0 = f32[1000] broadcast(z), dimensions={}\n";
  for (int i = 1; i <= 50; ++i) lines += fmt::format("b{} = f32[1000] negate(b{})\n", i, i - 1);
  Options options;
  options.byte_limit = 3 * 8 * 1000;
  EXPECT_EQ(run(parse_entry(lines + "ROOT r = f32[1000] negate(b50)"), {}, options).dims,
            (std::vector<int64_t>{1000}));
}

TEST(Refusals, CallsThatBranchAndNestWithoutEnd) {
  std::string text = "HloModule m\nc0 { x = s32[] parameter(0)\nROOT y = s32[] add(x, x) }\n";
  for (int i = 1; i <= 300; ++i) {
    text += fmt::format(
        "c{} {{ x = s32[] parameter(0)\na = s32[] call(x), to_apply=c{}\nROOT b = s32[] call(a), "
        "to_apply=c{} }}\n",
        i, i - 1, i - 1);
  }
  Options options;
  options.work_limit = 10000000;
  for (const int top : {60, 300}) {
    const std::string entry =
        fmt::format("ENTRY e {{ x = s32[] constant(1)\nROOT r = s32[] call(x), to_apply=c{} }}\n", top);
    const auto outputs = evaluate(parse(text + entry), {}, options);
    ASSERT_FALSE(outputs.ok());
    EXPECT_EQ(outputs.status().code(), Code::kResourceExhausted) << outputs.status().message();
  }
}

TEST(Inputs, AreReproducibleAndCoverTheRange) {
  const hlo::Module module = parse_entry(
      "a = s8[4096] parameter(0)\nb = s32[4096] parameter(1)\nc = f32[64] parameter(2)\n"
      "ROOT t = (s8[4096], s32[4096], f32[64]) tuple(a, b, c)");
  const auto first = generate_inputs(module, 5);
  const auto again = generate_inputs(module, 5);
  const auto other = generate_inputs(module, 6);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_NE((*first)[0], (*other)[0]);
  const auto bytes = tensor_values<int8_t>((*first)[0]);
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), -128);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 127);
  for (const int32_t value : tensor_values<int32_t>((*first)[1]))
    EXPECT_TRUE(value >= -32768 && value <= 32767);
}

TEST(Tensors, WireRoundTripAndSizeCheck) {
  const Tensor tensor = make_tensor(DType::S32, {2, 1}, I32{5, -6});
  const auto back = from_wire(to_wire(tensor, "x"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, tensor);
  wire::TensorT message = to_wire(tensor, "x");
  message.data.pop_back();
  const auto damaged = from_wire(message);
  ASSERT_FALSE(damaged.ok());
  EXPECT_EQ(damaged.status().message(),
            "tensor 'x': a tensor s32[2,1] needs 2 elements of 4 bytes, but holds 7 bytes");
}

}  // namespace
}  // namespace zomboss::oracle
