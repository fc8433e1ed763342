// The messages of bad texts, with their exact positions.
#include "core/hlo/test_util.h"

namespace zomboss::hlo {
namespace {

std::string in_entry(const std::string& statements) {
  return diagnose("ENTRY e {\np = f32[2,3] parameter(0)\n" + statements + "\n}");
}

TEST(ParseErrors, NameWhatIsWrongWithTheModule) {
  EXPECT_EQ(diagnose(""), "1:1: the text holds no HLO module | expected 'HloModule name' and computations\n");
  EXPECT_EQ(diagnose(" // nothing\n"),
            "2:1: the text holds no HLO module | expected 'HloModule name' and computations\n");
  EXPECT_EQ(diagnose("HloModule"),
            "1:10: expected the module's name after 'HloModule', found the end of the text\n");
  EXPECT_EQ(diagnose("HloModule m, =1"), "1:14: expected a module attribute after ',', found '='\n");
  EXPECT_EQ(diagnose("HloModule m, a=1, a=2"),
            "1:14: warning: unknown module attribute 'a' is kept but has no effect\n"
            "1:19: module attribute 'a' stands twice\n");
  EXPECT_EQ(diagnose("HloModule m\n"),
            "2:1: the module has no computation | expected 'ENTRY name { ... }'\n");
  EXPECT_EQ(diagnose("{}"),
            "1:1: expected a computation, found '{' | expected 'HloModule', 'ENTRY' or 'name {'\n");
  EXPECT_EQ(diagnose(entry("a = f32[] parameter(0)") + "}"),
            "4:1: expected a computation, found '}' | nothing but computations may follow the last '}'\n");
  EXPECT_EQ(diagnose(entry("a = f32[] parameter(0)") + "trailing"),
            "4:9: expected '{' to open the body of computation 'trailing', found the end of the text\n");
  EXPECT_EQ(
      diagnose("HloModule a\n" + entry("a = f32[] parameter(0)") + "// -----\nHloModule b\n" +
               entry("a = f32[] parameter(0)")),
      "6:1: a second module starts here | one file holds one module: split it at the '// -----' lines\n");
  EXPECT_EQ(diagnose(entry("a = f32[] parameter(0)") + entry("a = f32[] parameter(0)")),
            "4:1: a second ENTRY; 'e' is the entry already\n");
  EXPECT_EQ(diagnose("f { a = f32[] parameter(0) }\nf { a = f32[] parameter(0) }"),
            "2:1: computation 'f' is defined twice\n");
  EXPECT_EQ(diagnose("ENTRY e {}"), "1:11: computation 'e' has no instruction\n");
  EXPECT_EQ(
      diagnose("ENTRY e {\na = f32[] parameter(0)"),
      "2:23: expected an instruction or '}', found the end of the text | the body of 'e' starts at line 1\n");
}

TEST(ParseErrors, NameWhatIsWrongWithInstructions) {
  EXPECT_EQ(in_entry("a = f32[2,3] exp(p)"), "3:14: unknown opcode 'exp' | did you mean 'exponential'?\n");
  EXPECT_EQ(in_entry("a = f32[2,3] get_tuple_element(p)"),
            "3:14: unknown opcode 'get_tuple_element' | did you mean 'get-tuple-element'?\n");
  EXPECT_EQ(in_entry("a = f32[2,3] multiplyy(p, p)"),
            "3:14: unknown opcode 'multiplyy' | did you mean 'multiply'?\n");
  EXPECT_EQ(in_entry("a = f32[2,3] frobnicate(p)"), "3:14: unknown opcode 'frobnicate'\n");
  EXPECT_EQ(in_entry("a = f31[2,3] negate(p)"), "3:5: unknown element type 'f31' | did you mean 'f32'?\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(q)"),
            "3:21: 'q' is not defined before this use | did you mean 'p'?\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(b)\nb = f32[2,3] negate(p)"),
            "3:21: 'b' is not defined before this use | did you mean 'p'?\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(f32[3,2] %p)"),
            "3:30: '%p' is used as f32[3,2], but it is f32[2,3]\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate p"), "3:21: expected '(' after the opcode 'negate', found 'p'\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(p"),
            "4:1: expected ')' to close the operands of 'negate', found '}'\n");
  EXPECT_EQ(in_entry("p = f32[2,3] negate(p)"), "3:1: 'p' is defined twice in 'e'\n");
  EXPECT_EQ(in_entry("ROOT a = f32[2,3] negate(p)\nROOT b = f32[2,3] negate(p)"),
            "4:1: a second ROOT; 'a' is the root already\n");
  EXPECT_EQ(in_entry("a negate(p)"), "3:3: expected '=' after the name 'a', found 'negate'\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(p), "),
            "4:1: expected an attribute 'key=value' of 'negate', found '}'\n");
  EXPECT_EQ(in_entry("a = b(f32[2]) negate(p)"), "3:5: buffer types 'b(...)' are not supported\n");
  EXPECT_EQ(in_entry("a = constant(1)"),
            "3:14: a constant needs its type before the opcode, as in 'f32[] constant(1)'\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(p#0)"),
            "3:22: get-tuple-element: the operand is f32[2,3], expected a tuple\n");
  EXPECT_EQ(in_entry("a = f32[] \xC3\xA4(p)"), "3:11: unexpected character (byte 0xc3)\n");
  EXPECT_EQ(in_entry("a = f32[] add(p ~ p)"), "3:17: unexpected character '~'\n");
}

TEST(ParseErrors, NameWhatIsWrongWithParameters) {
  EXPECT_EQ(in_entry("q = f32[] parameter(0)"), "3:1: parameter(0) of 'e' is defined twice\n");
  EXPECT_EQ(in_entry("q = f32[] parameter(2)"),
            "3:1: parameter(2) without parameter(1) in 'e' | parameters are numbered from 0 without gaps\n");
  EXPECT_EQ(in_entry("q = f32[] parameter(-1)"), "3:21: a parameter number cannot be -1\n");
  EXPECT_EQ(in_entry("q = f32[] parameter(99999999999999999999)"),
            "3:21: '99999999999999999999' does not fit in 64 bits\n");
  EXPECT_EQ(diagnose("e (a: f32[2]) -> f32[2] { ROOT a = f32[3] parameter(0) }"),
            "1:3: the signature of 'e' has f32[2] as parameter 0, its body has f32[3]\n");
  EXPECT_EQ(diagnose("e () -> f32[2] { ROOT a = f32[2] parameter(0) }"),
            "1:3: the signature of 'e' has 0 parameters, its body has 1\n");
  EXPECT_EQ(diagnose("e (a: f32[2]) -> f32[3] { ROOT a = f32[2] parameter(0) }"),
            "1:3: the signature of 'e' promises f32[3], its root is f32[2]\n");
}

TEST(ParseErrors, NameWhatIsWrongWithShapes) {
  EXPECT_EQ(in_entry("a = f32[-2] negate(p)"), "3:9: a dimension cannot be -2\n");
  EXPECT_EQ(
      in_entry("a = f32[?] negate(p)"),
      "3:9: dimensions without a bound ('?') are not supported | give a size, or a bound as in '<=128'\n");
  EXPECT_EQ(in_entry("a = f32[4294967296,4294967296] negate(p)"),
            "3:5: f32[4294967296,4294967296] has more than 2^62 bytes\n");
  EXPECT_EQ(in_entry("a = f32[0,4294967296,4294967296] negate(p)"),
            "3:5: f32[0,4294967296,4294967296] has more than 2^62 bytes\n");
  EXPECT_EQ(in_entry("a = f32[2,3]{0} negate(p)"), "3:13: the layout {0} has 1 dimensions, f32[2,3] has 2\n");
  EXPECT_EQ(in_entry("a = f32[2,3]{1,1} negate(p)"),
            "3:13: the layout {1,1} is no order of the 2 dimensions of f32[2,3]\n");
  EXPECT_EQ(in_entry("a = f32[2,3]{1,} negate(p)"), "3:13: the layout {1,} is no list of dimensions\n");
  EXPECT_EQ(in_entry("a = token[2] negate(p)"), "3:5: token has no dimensions: write token[]\n");
  EXPECT_EQ(in_entry("a = (f32[2] f32[]) negate(p)"),
            "3:13: expected ',' or ')' in a tuple type, found 'f32'\n");
  std::string rank = "1";
  for (int i = 0; i < 64; ++i) rank += ",1";
  EXPECT_EQ(in_entry("a = f32[" + rank + "] negate(p)"), "3:137: more than 64 dimensions\n");
}

TEST(ParseErrors, NameWhatIsWrongWithAttributes) {
  EXPECT_EQ(in_entry("a = f32[2,3] negate(p), dimensions={0}"),
            "3:25: attribute 'dimensions' does not apply to 'negate'\n");
  EXPECT_EQ(in_entry("a = f32[3,2] transpose(p), dimensions={1,0}, dimensions={1,0}"),
            "3:46: attribute 'dimensions' stands twice\n");
  EXPECT_EQ(in_entry("a = f32[3,2] transpose(p), dimensions={1,x}"),
            "3:42: expected a whole number, found 'x'\n");
  EXPECT_EQ(in_entry("a = f32[3,2] transpose(p), dimensions=1"),
            "3:39: expected '{' to open a list of numbers, found '1'\n");
  EXPECT_EQ(in_entry("a = f32[2,3] call(p), to_apply=f"),
            "3:32: computation 'f' is not defined before this use\n");
  EXPECT_EQ(in_entry("a = f32[2,3] pad(p, p), padding=0_1_2_3"),
            "3:33: '0_1_2_3' is no padding | write low_high or low_high_interior per dimension, joined by "
            "'x', as in "
            "padding=0_1x0_0_2\n");
  EXPECT_EQ(
      in_entry("a = f32[2,3] convolution(p, p), window={size=3x3 stride=2}"),
      "3:40: '{size=3x3 stride=2}' is no window | write as in window={size=3x3 stride=2x2 pad=1_1x0_1}\n");
  EXPECT_EQ(in_entry("a = f32[] dot(p, p), sparsity_config={0:2:4}"),
            "3:22: sparse dots are not supported | expand the sparse operand before the dot\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(p), metadata={a={\"x\""), "3:34: this '{' is never closed\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(p), metadata={op_name=\"x}"), "3:43: this string never ends\n");
  EXPECT_EQ(in_entry("a = f32[2,3] negate(p), metadata="), "4:1: expected a value, found '}'\n");
  EXPECT_EQ(in_entry("/* a = f32[2,3] negate(p)"), "3:1: this comment never ends\n");
  EXPECT_EQ(in_entry("a = f32[2,3] custom-call(), custom_call_target=\"x"), "3:48: this string never ends\n");
}

TEST(ParseErrors, AreReportedSeveralAtATimeInSourceOrder) {
  EXPECT_EQ(in_entry("a = f32[2,3] exp(p)\nb = f32[2,3] add(a, p)\nc = f32[2,2] negate(p)\n"
                     "d = f32[2,3] negate(c),\n  metadata={}}\n  %e = f32[2,3] sine(%zz)\nROOT f = tan(e)"),
            "3:14: unknown opcode 'exp' | did you mean 'exponential'?\n"
            "5:1: negate gives f32[2,3], but the text says f32[2,2]\n"
            "8:6: expected '{' to open the body of computation 'e', found '='\n");
}

TEST(ParseErrors, StopAtTwenty) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a" + std::to_string(i) + " = f32[] nothing(p)\n";
  const Source source("t", entry(text));
  Diagnostics diagnostics(source);
  EXPECT_FALSE(parse_module(source, diagnostics).ok());
  EXPECT_EQ(diagnostics.errors(), 20u);
}

TEST(ParseErrors, ShowTheLineAndACaret) {
  const Source source("t.hlo", "ENTRY e {\n  a = f32[2] parameter(0)\n  b = f32[2] exp(a)\n}");
  Diagnostics diagnostics(source);
  const auto module = parse_module(source, diagnostics);
  EXPECT_EQ(module.status().message(),
            "t.hlo:3:14: error: unknown opcode 'exp'\n    b = f32[2] exp(a)\n               ^\n"
            "  hint: did you mean 'exponential'?");
}

}  // namespace
}  // namespace zomboss::hlo
