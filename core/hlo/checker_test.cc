// Shape rules: one refusal for each, next to the acceptances in parser_test.cc.
#include "core/hlo/checker.h"

#include "core/hlo/test_util.h"

namespace zomboss::hlo {
namespace {

// The message about the last statement; its position is always that of its name.
std::string refuse(const std::string& statement) {
  const std::string text = R"(
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }
always { a = f32[2,3] parameter(0) ROOT c = pred[] constant(true) }
twice { a = f32[2,3] parameter(0) ROOT c = f32[2,3] add(a, a) }
ENTRY e {
x = f32[2,3] parameter(0)
y = f32[3,2] parameter(1)
i = s32[2,3] parameter(2)
z = f32[] constant(0)
n = s32[] constant(0)
q = pred[2,3] compare(x, x), direction=EQ
img = f32[1,8,8,4] parameter(3)
ker = f32[3,3,4,8] parameter(4)
t = (f32[], s32[]) tuple(z, n)
)" + statement + "\n}";
  const std::string all = diagnose(text);
  const std::string prefix = "16:1: ";
  return all.starts_with(prefix) ? all.substr(prefix.size(), all.size() - prefix.size() - 1) : all;
}

TEST(ShapeRules, CheckElementwiseOperands) {
  EXPECT_EQ(refuse("a = f32[2,3] add(x, y)"),
            "add: operand 1 is f32[3,2], operand 0 is f32[2,3]; they must agree");
  EXPECT_EQ(refuse("a = f32[2,3] add(x, i)"),
            "add: operand 1 is s32[2,3], operand 0 is f32[2,3]; they must agree");
  EXPECT_EQ(refuse("a = f32[3,2] add(x, x)"), "add gives f32[2,3], but the text says f32[3,2]");
  EXPECT_EQ(refuse("a = f32[2,3] add(x)"), "add: has 1 operand, expected 2 operands");
  EXPECT_EQ(refuse("a = f32[2,3] negate()"), "negate: has 0 operands, expected 1 operand");
  EXPECT_EQ(refuse("a = f32[2,3] negate(t)"),
            "negate: operand 0 is (f32[], s32[]), expected integers, floats, complex numbers");
  EXPECT_EQ(refuse("a = s32[2,3] exponential(i)"),
            "exponential: operand 0 is s32[2,3], expected floats, complex numbers");
  EXPECT_EQ(refuse("a = f32[2,3] and(x, x)"), "and: operand 0 is f32[2,3], expected pred, integers");
  EXPECT_EQ(refuse("a = s32[2,3] shift-left(x, i)"), "shift-left: operand 0 is f32[2,3], expected integers");
  EXPECT_EQ(refuse("a = f32[2,3] compare(x, x), direction=LT"),
            "compare gives pred[2,3], but the text says f32[2,3]");
  EXPECT_EQ(refuse("a = pred[2,3] compare(x, x)"), "compare: needs direction=EQ, NE, LT, LE, GT or GE");
  EXPECT_EQ(refuse("a = pred[2,3] compare(x, x), direction=lt"),
            "compare: direction is 'lt', expected EQ, NE, LT, LE, GT or GE");
  EXPECT_EQ(refuse("a = f32[2,3] select(i, x, x)"),
            "select: the predicate is s32[2,3], expected pred[] or pred of the dimensions of f32[2,3]");
  EXPECT_EQ(refuse("a = f32[2,3] select(q, x, y)"),
            "select: the two values are f32[2,3] and f32[3,2]; they must agree");
  EXPECT_EQ(refuse("a = f32[2,3] clamp(n, x, z)"), "clamp: bound 0 is s32[], expected f32[] or f32[2,3]");
  EXPECT_EQ(refuse("a = s8[3,2] convert(x)"),
            "convert: gives s8[3,2], but the operand is f32[2,3]; only the element type may change");
  EXPECT_EQ(refuse("a = s8[2,3] bitcast-convert(x)"),
            "bitcast-convert: cannot turn f32[2,3] into s8[2,3]: the bits do not line up");
}

TEST(ShapeRules, TakeBitcastsThatLineUp) {
  for (const std::string good :
       {"s8[2,3,4] bitcast-convert(x)", "s32[2,3] bitcast-convert(x)", "u32[2,3] bitcast-convert(x)"})
    EXPECT_EQ(refuse("a = " + good), "");
}

TEST(ShapeRules, CheckDataMovement) {
  EXPECT_EQ(refuse("a = f32[4,3] broadcast(x), dimensions={0,1}"),
            "broadcast: dimension 0 of the operand has size 2, dimension 0 of the result 4");
  EXPECT_EQ(refuse("a = f32[4,2,3] broadcast(x)"),
            "broadcast: the operand f32[2,3] has 2 dimensions, dimensions= has 0");
  EXPECT_EQ(refuse("a = f32[2,3] broadcast(x), dimensions={0,2}"),
            "broadcast: names dimension 2 in dimensions, but there are 2");
  EXPECT_EQ(refuse("a = f32[7] reshape(x)"), "reshape: f32[2,3] has 6 elements, f32[7] has 7");
  EXPECT_EQ(refuse("a = s32[6] reshape(x)"),
            "reshape: gives s32[6], but the operand is f32[2,3]; the element types must agree");
  EXPECT_EQ(refuse("a = f32[2,3] transpose(x), dimensions={1,1}"),
            "transpose: names dimension 1 twice in dimensions");
  EXPECT_EQ(refuse("a = f32[2,3] transpose(x), dimensions={1,0}"),
            "transpose gives f32[3,2], but the text says f32[2,3]");
  EXPECT_EQ(refuse("a = f32[2,2] slice(x), slice={[0:2], [0:4]}"),
            "slice: [0:4:1] does not fit in dimension 1 of size 3");
  EXPECT_EQ(refuse("a = f32[2,2] slice(x), slice={[0:2]}"),
            "slice: the operand f32[2,3] has 2 dimensions, slice= has 1");
  EXPECT_EQ(refuse("a = f32[2,1] dynamic-slice(x, n), dynamic_slice_sizes={2,1}"),
            "dynamic-slice: has 1 start operands for 2 dimensions");
  EXPECT_EQ(refuse("a = f32[2,4] dynamic-slice(x, n, n), dynamic_slice_sizes={2,4}"),
            "dynamic-slice: slice size 4 does not fit in dimension 1 of size 3");
  EXPECT_EQ(refuse("a = f32[2,3] dynamic-update-slice(x, y, n, n)"),
            "dynamic-update-slice: the update f32[3,2] does not fit in f32[2,3]");
  EXPECT_EQ(refuse("a = f32[5,3] concatenate(x, y), dimensions={0}"),
            "concatenate: operand 1 is f32[3,2], operand 0 is f32[2,3]; only dimension 0 may differ");
  EXPECT_EQ(refuse("a = f32[2,3] pad(x, z), padding=0_0x0_-4"),
            "pad: dimension 1 of size 3 cannot be padded by 0_-4_0");
  EXPECT_EQ(refuse("a = f32[2,3] pad(x, n), padding=0_0x0_0"),
            "pad: the padding value is s32[], expected f32[]");
  EXPECT_EQ(refuse("a = f32[2,3] iota(), iota_dimension=2"),
            "iota: names dimension 2 in iota_dimension, but there are 2");
}

TEST(ShapeRules, CheckDots) {
  EXPECT_EQ(
      refuse("a = f32[2,2] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
      "dot: contracting dimension 1 of lhs f32[2,3] has size 3, dimension 0 of rhs f32[2,3] has size 2");
  EXPECT_EQ(refuse("a = f32[2,2] dot(x, y), lhs_contracting_dims={1}"),
            "dot: lhs has 1 contracting dimensions, rhs has 0");
  EXPECT_EQ(refuse("a = f32[2,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "dot gives f32[2,2], but the text says f32[2,3]");
  EXPECT_EQ(refuse("a = f32[2,2] dot(x, i), lhs_contracting_dims={1}, rhs_contracting_dims={1}"),
            "dot: cannot multiply f32 by s32");
  EXPECT_EQ(refuse("a = s32[2,2] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"),
            "dot: cannot give s32[2,2] from f32 and f32");
  EXPECT_EQ(refuse("a = f32[2,2] dot(x, y), lhs_contracting_dims={2}, rhs_contracting_dims={0}"),
            "dot: names dimension 2 in the dimensions of lhs, but there are 2");
}

TEST(ShapeRules, CheckConvolutionsAndWindows) {
  const std::string conv = "a = f32[1,6,6,8] convolution(img, ker), ";
  EXPECT_EQ(refuse(conv + "window={size=3x3}, dim_labels=b01f_01io->b01f"), "");
  EXPECT_EQ(refuse(conv + "window={size=3x3}"),
            "convolution: needs dim_labels=, as in dim_labels=b01f_01io->b01f");
  EXPECT_EQ(refuse(conv + "window={size=3x3}, dim_labels=b0f_0io->b0f"),
            "convolution: dim_labels 'b0f_0io->b0f' do not fit a window of 2 dimensions");
  EXPECT_EQ(refuse(conv + "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"),
            "convolution gives f32[1,8,8,8], but the text says f32[1,6,6,8]");
  EXPECT_EQ(refuse(conv + "window={size=2x3}, dim_labels=b01f_01io->b01f"),
            "convolution: the window has size 2 in dimension 0, the kernel 3");
  EXPECT_EQ(refuse(conv + "window={size=3x3}, dim_labels=b01f_01oi->b01f"),
            "convolution: 4 input features in 1 groups do not match 8 kernel inputs and 4 outputs");
  EXPECT_EQ(
      refuse("a = f32[1,4,4,4] reduce-window(img, z), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=add"),
      "");
  EXPECT_EQ(refuse("a = f32[1,4,4,4] reduce-window(img, z), window={size=2x2}, to_apply=add"),
            "reduce-window: the operand f32[1,8,8,4] has 4 dimensions, window= has 2");
}

TEST(ShapeRules, CheckReductionsAndCalls) {
  EXPECT_EQ(refuse("a = f32[2] reduce(x, z), dimensions={1}"),
            "reduce: needs one computation to apply, has 0");
  EXPECT_EQ(refuse("a = f32[3] reduce(x, z), dimensions={1}, to_apply=add"),
            "reduce gives f32[2], but the text says f32[3]");
  EXPECT_EQ(refuse("a = f32[2] reduce(x, n), dimensions={1}, to_apply=add"),
            "reduce: the initial value 0 is s32[], expected f32[]");
  EXPECT_EQ(refuse("a = s32[2] reduce(i, n), dimensions={1}, to_apply=add"),
            "reduce: parameter 0 of computation 'add' is f32[], expected s32[]");
  EXPECT_EQ(refuse("a = f32[2] reduce(x, z), dimensions={1}, to_apply=less"),
            "reduce: computation 'less' gives pred[], expected one scalar for each of the 1 arrays");
  EXPECT_EQ(refuse("a = f32[2,3] call(x), to_apply=add"),
            "call: computation 'add' has 2 parameters, expected 1");
  EXPECT_EQ(refuse("a = f32[2,3] fusion(y), kind=kLoop, calls=twice"),
            "fusion: parameter 0 of computation 'twice' is f32[2,3], expected f32[3,2]");
  EXPECT_EQ(refuse("a = f32[2,3] while(x), condition=always, body=twice"), "");
  EXPECT_EQ(refuse("a = f32[2,3] while(x), condition=twice, body=twice"),
            "while: condition 'twice' gives f32[2,3], expected pred[]");
  EXPECT_EQ(refuse("a = f32[2,3] while(x), body=twice"), "while: needs condition= and body=");
  EXPECT_EQ(refuse("a = f32[2,3] conditional(n, x, x), branch_computations={twice, always}"),
            "conditional: branch 'always' gives pred[], branch 0 gives f32[2,3]");
  EXPECT_EQ(refuse("a = f32[2,3] sort(x), dimensions={1}, to_apply=add"),
            "sort: comparator 'add' gives f32[], expected pred[]");
  EXPECT_EQ(refuse("a = f32[2,3] map(x, x), to_apply=add"), "");
  EXPECT_EQ(refuse("a = f32[] get-tuple-element(t), index=2"),
            "get-tuple-element: index 2 is out of range for a tuple of 2 elements");
  EXPECT_EQ(refuse("a = (f32[], f32[]) tuple(z, n)"), "tuple: operand 1 is s32[], the type says f32[]");
  EXPECT_EQ(refuse("a = gather(x, i)"), "gather: needs its type before the opcode");
}

TEST(CheckModule, FindsBrokenStructure) {
  const Source source("none", "");
  Module module = parse_good(
      "f { a = f32[] parameter(0) }\nENTRY e { a = f32[] parameter(0) b = f32[] call(a), to_apply=f }");
  const auto broken = [&](auto change) {
    Module copy = module;
    change(copy);
    Diagnostics diagnostics(source);
    check_module(copy, diagnostics);
    return diagnostics.all().empty() ? std::string() : diagnostics.all()[0].message;
  };
  EXPECT_EQ(broken([](Module&) {}), "");
  EXPECT_EQ(broken([](Module& m) { m.computations[1].instructions[1].operands[0] = 1; }),
            "'b' uses instruction 1, which does not stand before it");
  EXPECT_EQ(broken([](Module& m) { m.computations[1].instructions[1].attributes.calls[0] = 1; }),
            "'b' calls computation 1, which does not stand before 'e'");
  EXPECT_EQ(broken([](Module& m) { m.computations[1].instructions[1].shape.dims = {2}; }),
            "call gives f32[], but the text says f32[2]");
  EXPECT_EQ(broken([](Module& m) { m.computations[1].instructions[1].opcode = "nothing"; }),
            "unknown opcode 'nothing'");
  EXPECT_EQ(broken([](Module& m) { m.computations[0].parameters.clear(); }),
            "the parameter list of 'f' does not match its instructions");
  EXPECT_EQ(broken([](Module& m) { m.computations[1].root = 7; }), "computation 'e' has no root");
  EXPECT_EQ(broken([](Module& m) { m.entry = 2; }), "the module has no entry computation");
}

TEST(Opcodes, AreKnownByName) {
  EXPECT_TRUE(is_opcode("round-nearest-even"));
  EXPECT_TRUE(is_opcode("custom-call-start"));
  EXPECT_FALSE(is_opcode("start"));
  EXPECT_FALSE(is_opcode(""));
  EXPECT_GT(opcode_names().size(), 110u);
}

}  // namespace
}  // namespace zomboss::hlo
