// Damaged, hostile and very large texts: no crash, no endless work, no memory beyond the text's size.
#include <fmt/format.h>

#include "core/hlo/test_util.h"
#include "zomboss/sdk/random.h"

namespace zomboss::hlo {
namespace {

// A good module that uses every part of the grammar.
const std::string& sample() {
  static const std::string kText =
      R"(HloModule m, is_scheduled=true, entry_computation_layout={(f32[2,3]{1,0})->f32[2]{0}}
FileNames
1 "a.py"
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
%cond (p: (s32[], f32[4])) -> pred[] {
  %p = (s32[], f32[4]{0:T(128)}) parameter(0)
  ROOT %lt = pred[] compare(s32[] %p#0, s32[] constant(3)), direction=LT, type=SIGNED
}
%body (p: (s32[], f32[4])) -> (s32[], f32[4]) {
  p = (s32[], /*index=1*/f32[4]) parameter(0)
  ROOT t = (s32[], f32[4]) tuple(add(p#0, s32[] constant(1)), p#1)
}, execution_thread="main"
ENTRY main (x: f32[2,3]) -> f32[2] { // entry
  x = f32[2,3]{1,0} parameter(0), sharding={devices=[2,1]<=[2]}, metadata={op_name="a/\"b" source_line=3}
  k = f32[2,3] constant({{1, -2.5e3, nan}, /*i0=1*/ {inf, nan(0x7), 0}})
  e = bf16[9] constant({...})
  z = f32[2,3] constant(0)
  q = s4[2] constant({-8,7})
  c = c64[1] constant({(1, -2)})
  img = f32[1,8,8,2] broadcast(f32[] constant(1)), dimensions={}
  ker = f32[3,3,2,4] broadcast(f32[] constant(2)), dimensions={}
  conv = convolution(img, ker), window={size=3x3 pad=1_1x-1_0 stride=2x1}, dim_labels=b01f_01io->b01f
  s = slice(img), slice={[0:1], [1:8:3], [0:8], [0:1]}
  pd = pad(k, f32[] constant(0)), padding=0_1_2x-1_0
  d = f32[2,2] dot(k, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}, operand_precision={highest,highest}
  loop = while((s32[], f32[4]) tuple(s32[] constant(0), f32[4] constant({1,2,3,4}))), condition=cond, body=body
  cc = (f32[2], (), token[]) custom-call(x), custom_call_target="f\n", backend_config={"a":[1,{b:'}'}]}
  ROOT r = f32[2] reduce(d, f32[] constant(0)), dimensions={1}, to_apply=add
}
)";
  return kText;
}

// Parses whatever `text` is; what is accepted must survive a round trip.
void survive(const std::string& text) {
  const Source source("t", text);
  Diagnostics diagnostics(source);
  const auto module = parse_module(source, diagnostics);
  ASSERT_EQ(module.ok(), diagnostics.errors() == 0);
  if (!module.ok()) {
    ASSERT_FALSE(module.status().message().empty());
    return;
  }
  const std::string printed = print(*module);
  const Source again("printed", printed);
  Diagnostics more(again);
  const auto second = parse_module(again, more);
  ASSERT_TRUE(second.ok()) << more.render_all() << text << "\n---\n" << printed;
  ASSERT_TRUE(equivalent(*module, *second)) << text << "\n---\n" << printed;
}

size_t errors_in(const std::string& text) {
  const Source source("t", text);
  Diagnostics diagnostics(source);
  const bool ok = parse_module(source, diagnostics).ok();
  EXPECT_EQ(ok, diagnostics.ok());
  return diagnostics.errors();
}

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Robustness, TheSampleIsGood) {
  parse_good(sample());
}

TEST(Robustness, SurvivesTruncationAtEveryByte) {
  for (size_t length = 0; length < sample().size(); ++length) survive(sample().substr(0, length));
}

TEST(Robustness, SurvivesTheLossOfEveryByte) {
  for (size_t i = 0; i < sample().size(); ++i) survive(sample().substr(0, i) + sample().substr(i + 1));
}

TEST(Robustness, SurvivesRandomChanges) {
  constexpr std::string_view kLikely = "{}()[],=%#:\"'/*-.0123456789xe \n\rabf\\<?";
  constexpr int kRounds = 1500;
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(20, seed);
    std::string text = sample();
    for (uint64_t change = random.below(4) + 1; change > 0; --change) {
      const size_t at = random.below(text.size());
      const char byte =
          random.below(4) == 0 ? static_cast<char>(random.below(256)) : kLikely[random.below(kLikely.size())];
      switch (random.below(4)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        case 2:
          text.erase(at, random.below(12));
          break;
        default:  // a piece of the text in another place
          text.insert(at, sample().substr(random.below(sample().size()), random.below(40)));
      }
    }
    survive(text);
    if (HasFatalFailure()) return;
  }
}

TEST(Robustness, BoundsNesting) {
  for (const size_t depth : {size_t{100}, size_t{10'000}, size_t{200'000}}) {
    const size_t expected = depth < 200 ? 0 : 1;
    EXPECT_EQ(errors_in(entry("a = " + repeat("(", depth) + "f32[]" + repeat(")", depth) + " parameter(0)")),
              expected);
    EXPECT_EQ(errors_in(entry("p = f32[] parameter(0)\na = " + repeat("negate(", depth) + "p" +
                              repeat(")", depth))),
              expected);
    EXPECT_EQ(errors_in(entry("a = f32[] parameter(0), metadata=" + repeat("{", depth) + repeat("}", depth))),
              0u);
    EXPECT_GE(errors_in(entry("a = f32[2] constant(" + repeat("{", depth) + ")")), 1u);
    EXPECT_GE(errors_in(entry("a = (f32[2]) constant(" + repeat("(", depth) + ")")), 1u);
    EXPECT_GE(errors_in(repeat("{", depth)), 1u);
    EXPECT_GE(errors_in("ENTRY e (p: " + repeat("(", depth)), 1u);
  }
}

// Short texts whose inferred types would be exponentially large or arbitrarily deep.
TEST(Robustness, BoundsInferredTuples) {
  std::string doubling = "t0 = f32[] parameter(0)\n";
  std::string nesting = doubling;
  for (int i = 0; i < 64; ++i) doubling += fmt::format("t{} = tuple(t{}, t{})\n", i + 1, i, i);
  for (int i = 0; i < 5000; ++i) nesting += fmt::format("t{} = tuple(t{})\n", i + 1, i);
  EXPECT_EQ(errors_in(entry(doubling)), 1u);
  EXPECT_GE(errors_in(entry(nesting)), 1u);
  std::string wide = "t = (f32[]" + repeat(",f32[]", 50'000) + ") parameter(0)\n";
  for (int i = 0; i < 20'000; ++i) wide += fmt::format("b{} = opt-barrier(t)\n", i);
  EXPECT_EQ(errors_in(entry(wide)), 1u);
}

TEST(Robustness, TakesTextsOfMegabytesOnOneLine) {
  constexpr size_t kMany = 200'000;
  std::string chain = "ENTRY e { a0 = f32[2] parameter(0) ";
  for (size_t i = 1; i < kMany / 10; ++i)
    chain += fmt::format("a{} = f32[2] add(a{}, a{}) ", i, i - 1, i - 1);
  EXPECT_EQ(errors_in(chain + "}"), 0u);
  EXPECT_EQ(errors_in("HloModule m, input_output_alias={" + repeat("{0}: (0, {}, may-alias), ", kMany) +
                      "} " + entry("a = f32[] parameter(0)")),
            0u);
  EXPECT_EQ(errors_in("ENTRY e { a = s32[200000] constant({0" + repeat(", 7", kMany - 1) + "}) }"), 0u);
  EXPECT_EQ(errors_in(repeat("/* */", kMany) + "ENTRY e { a = f32[] parameter(0) }"), 0u);
  EXPECT_EQ(
      errors_in("ENTRY e { a = f32[] parameter(0), metadata={op_name=\"" + repeat("x\\\"", kMany) + "\"} }"),
      0u);
  EXPECT_EQ(errors_in("ENTRY e { " + repeat("a", kMany) + " = f32[] parameter(0) }"), 0u);
}

TEST(Robustness, RefusesHostileTextsOfMegabytesQuickly) {
  constexpr size_t kMany = 100'000;
  for (const std::string_view piece : {"/*",
                                       "\"",
                                       "'",
                                       "a = ",
                                       "a=b(",
                                       "}",
                                       "{",
                                       "\n",
                                       "\na = f32[] b(",
                                       "\n}",
                                       "x, ",
                                       "#",
                                       "%a",
                                       "ROOT ",
                                       "f32[",
                                       "(f32[],",
                                       "0x",
                                       "...",
                                       "ENTRY ",
                                       "-",
                                       "\\",
                                       "a = f32[] c(), d={"})
    EXPECT_GE(errors_in("ENTRY e { a = f32[] parameter(0) " + repeat(piece, kMany)), 1u) << piece;
}

TEST(Robustness, AllocatesNoMoreThanTheTextSays) {
  EXPECT_EQ(errors_in(entry("a = f32[1000000000000] constant({1,2})")), 1u);
  EXPECT_EQ(errors_in(entry("a = f32[1000000000000] constant(0)")), 0u);
  EXPECT_EQ(errors_in(entry("a = f32[1000000000000] constant({...})")), 0u);
  EXPECT_EQ(errors_in(entry("a = s32[1000000000000] iota(), iota_dimension=0")), 0u);
  EXPECT_EQ(errors_in(entry("a = f32[] parameter(9223372036854775807)")), 1u);
  EXPECT_EQ(errors_in(entry("a = f32[4611686018427387903] parameter(0)")), 1u);
}

TEST(Robustness, BoundsResultsThatRulesCompute) {
  EXPECT_EQ(errors_in(entry("a = s8[2305843009213693952] parameter(0)\nb = dot(a, a)")), 1u);
  EXPECT_EQ(errors_in(entry(
                "a = s8[2305843009213693952] parameter(0)\nb = concatenate(a, a, a, a, a), dimensions={0}")),
            1u);
  EXPECT_EQ(
      errors_in(entry("a = s8[2305843009213693952] parameter(0)\n"
                      "b = pad(a, s8[] constant(0)), padding=1099511627776_1099511627776_1099511627776")),
      1u);
  EXPECT_EQ(
      errors_in(entry("a = s8[4] parameter(0)\nb = pad(a, s8[] constant(0)), padding=9223372036854775807_1")),
      1u);
}

}  // namespace
}  // namespace zomboss::hlo
