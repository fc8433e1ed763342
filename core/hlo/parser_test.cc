// Spellings of XLA and jax, and the pitfalls that their texts hold.
#include "core/hlo/parser.h"

#include "core/hlo/test_util.h"

namespace zomboss::hlo {
namespace {

TEST(ParseModule, ReadsTheShortFormOfJax) {
  const Module m = parse_good(
      R"(HloModule jit_f, entry_computation_layout={(bf16[4,8]{1,0}, bf16[8,16]{1,0})->f32[4,16]{1,0}}

region_0.4 {
  Arg_0.5 = f32[] parameter(0)
  Arg_1.6 = f32[] parameter(1)
  ROOT maximum.7 = f32[] maximum(Arg_0.5, Arg_1.6)
}

ENTRY main.20 {
  Arg_0.1 = bf16[4,8]{1,0} parameter(0)
  Arg_1.2 = bf16[8,16]{1,0} parameter(1)
  dot_general.3 = f32[4,16]{1,0} dot(Arg_0.1, Arg_1.2), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  constant.4 = f32[] constant(-inf)
  reduce_max.8 = f32[4]{0} reduce(dot_general.3, constant.4), dimensions={1}, to_apply=region_0.4
  reshape.9 = f32[4,1]{1,0} reshape(reduce_max.8)
  broadcast.10 = f32[4,1]{1,0} broadcast(reshape.9), dimensions={0,1}
  reshape.11 = f32[4]{0} reshape(broadcast.10)
  broadcast.12 = f32[4,16]{1,0} broadcast(reshape.11), dimensions={0}
  subtract.13 = f32[4,16]{1,0} subtract(dot_general.3, broadcast.12)
  ROOT exponential.14 = f32[4,16]{1,0} exponential(subtract.13)
}
)");
  EXPECT_EQ(m.name, "jit_f");
  EXPECT_EQ(m.entry_computation().name, "main.20");
  EXPECT_EQ(m.computations.size(), 2u);
  const Instruction& dot = at(m, "dot_general.3");
  EXPECT_EQ(dot.opcode, "dot");
  EXPECT_EQ(dot.shape.text(true), "f32[4,16]{1,0}");
  EXPECT_EQ(dot.operands, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(dot.attributes.lhs_contracting_dims, std::vector<int64_t>{1});
  EXPECT_EQ(dot.where, (Location{12, 3}));
  EXPECT_EQ(at(m, "reduce_max.8").attributes.calls, std::vector<uint32_t>{0});
  EXPECT_EQ(m.entry_computation().root, 10u);
}

TEST(ParseModule, ReadsTheDefaultFormWithPercentSignaturesAndOperandTypes) {
  const Module m = parse_good(R"(HloModule xla_comp.9, is_scheduled=true, replica_count=2, num_partitions=1

%add.1 (x: s32[], y: s32[]) -> s32[] {
  %x = s32[] parameter(0)
  %y = s32[] parameter(1)
  ROOT %add = s32[] add(s32[] %x, s32[] %y)
}

ENTRY %main (p0: s8[2,3], p1.1: (s32[2], token[])) -> (s32[2], s32[]) {
  %p0 = s8[2,3]{1,0} parameter(0), metadata={op_type="a" op_name="b/c\"d\"", source_line=5}
  %p1.1 = (s32[2]{0}, /*index=1*/token[]) parameter(1)
  %gte = s32[2]{0} get-tuple-element((s32[2]{0}, token[]) %p1.1), index=0
  %c = s32[2,3]{1,0} convert(s8[2,3]{1,0} %p0)
  %zero = s32[] constant(0)
  %r = s32[2]{0} reduce(s32[2,3]{1,0} %c, s32[] %zero), dimensions={1}, to_apply=%add.1
  %sum = s32[2]{0} add(%r, gte)
  ROOT %t = (s32[2]{0}, s32[]) tuple(s32[2]{0} %sum, s32[] %zero)
}, execution_thread="main"
)");
  EXPECT_EQ(at(m, "t").shape.text(), "(s32[2], s32[])");
  ASSERT_EQ(m.attributes.size(), 3u);
  EXPECT_EQ(m.attributes[1], (std::pair<std::string, std::string>("replica_count", "2")));
  EXPECT_EQ(at(m, "p0").attributes.other[0].second, R"({op_type="a" op_name="b/c\"d\"", source_line=5})");
}

TEST(ParseModule, ReadsOptimisedTpuDumps) {
  const Module m = parse_good(R"(HloModule jit_f, input_output_alias={ {0}: (0, {}, may-alias) }

%fused (param_0: bf16[128,256], param_1: f32[256]) -> f32[128,256] {
  %param_0 = bf16[128,256]{1,0:T(8,128)(2,1)S(1)} parameter(0)
  %cv = f32[128,256]{1,0:T(8,128)} convert(%param_0)
  %param_1 = f32[256]{0:T(256)} parameter(1)
  %b = f32[128,256]{1,0:T(8,128)} broadcast(%param_1), dimensions={1}
  ROOT %add.3 = f32[128,256]{1,0:T(8,128)} add(%cv, %b)
}

ENTRY %main.1 (a: bf16[128,256], b: f32[256]) -> f32[128,256] {
  %a = bf16[128,256]{1,0:T(8,128)(2,1)} parameter(0), sharding={devices=[2,1]<=[2]}
  %b = f32[256]{0:T(256)} parameter(1), sharding={{replicated},{maximal device=0}}
  %s = s32[]{:T(128)} constant(7), control-predecessors={%a}
  ROOT %fusion = f32[128,256]{1,0:T(8,128)} fusion(%a, %b), kind=kLoop, calls=%fused,
    backend_config={"flag_configs":[],scoped_memory:[{"memory_space":'1',offset:"0"}],"used":"}{\"'"},
    frontend_attributes={k="v",a={1}}
}
)");
  const Instruction& fusion = at(m, "fusion");
  EXPECT_EQ(fusion.attributes.fusion_kind, "kLoop");
  EXPECT_EQ(fusion.attributes.calls, std::vector<uint32_t>{0});
  EXPECT_EQ(fusion.attributes.other[0].second,
            R"({"flag_configs":[],scoped_memory:[{"memory_space":'1',offset:"0"}],"used":"}{\"'"})");
  EXPECT_EQ(*at(m, "a").shape.layout, "1,0:T(8,128)(2,1)");
  EXPECT_EQ(*at(m, "s").shape.layout, ":T(128)");
}

TEST(ParseModule, ReadsWhileConditionalCallSortMapAndTuples) {
  const Module m = parse_good(R"(HloModule control
cond { p = (s32[], f32[4]) parameter(0)  ROOT lt = pred[] compare(s32[] p#0, s32[] constant(3)), direction=LT }
body {
  p = (s32[], f32[4]) parameter(0)
  ROOT t = (s32[], f32[4]) tuple(add(p#0, s32[] constant(1)), multiply(p#1, p#1))
}
square { a = f32[] parameter(0) ROOT m = multiply(a, a) }
less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = compare(a, b), direction=LT, type=TOTALORDER }
yes { a = f32[4] parameter(0) ROOT n = f32[4] negate(a) }
no { ROOT a = f32[4] parameter(0) }
ENTRY main {
  x = f32[4] parameter(0)
  flag = pred[] parameter(1)
  loop = while(tuple(s32[] constant(0), x)), condition=cond, body=body
  nested = (f32[4], (f32[4], ())) tuple(loop#1, tuple(x, tuple()))
  deep = negate(nested#1#0)
  mapped = f32[4] map(deep), dimensions={0}, to_apply=square
  sorted = f32[4] sort(mapped), dimensions={0}, is_stable=true, to_apply=less
  either = f32[4] conditional(flag, x, sorted), false_computation=no, true_computation=yes
  index = s32[] constant(1)
  many = conditional(index, x, x, x), branch_computations={yes, no, %yes}
  ROOT called = f32[4] call(many), to_apply=yes
})");
  EXPECT_EQ(at(m, "either").attributes.branches, (std::vector<uint32_t>{4, 5}));
  EXPECT_EQ(at(m, "many").attributes.branches, (std::vector<uint32_t>{4, 5, 4}));
  EXPECT_EQ(at(m, "loop").shape.text(), "(s32[], f32[4])");
  EXPECT_EQ(at(m, "deep").shape.text(), "f32[4]");
  EXPECT_EQ(*at(m, "loop").attributes.condition, 0u);
  EXPECT_EQ(*at(m, "loop").attributes.body, 1u);
}

TEST(ParseModule, ReadsEveryParsedAttribute) {
  const Module m = parse_good(R"(ENTRY main {
  x = f32[1,8,8,2] parameter(0)
  k = f32[3,3,2,4] parameter(1)
  conv = f32[1,4,4,4] convolution(x, k), dim_labels=b01f_01io->b01f, window={size=3x3 stride=2x2 pad=0_1x1_0 rhs_reversal=0x1}
  s = f32[1,4,3,2] slice(x), slice={[0:1], [ 0 : 4 ], [1:7:2], [0:2]}
  p = f32[1,6,7,2] pad(s, f32[] constant(0)), padding=0_0x1_1x0_0_2x0_0
  neg = f32[1,2,3,2] pad(s, f32[] constant(0)), padding=0_0x-1_-1x0_0x0_0
  i0 = s32[] constant(0)
  ds = f32[1,2,2,2] dynamic-slice(x, i0, i0, i0, i0), dynamic_slice_sizes={1,2,2,2}
  dus = f32[1,8,8,2] dynamic-update-slice(x, ds, i0, i0, i0, i0)
  io = s32[4,5] iota(), iota_dimension=1
  cat = f32[1,16,8,2] concatenate(x, dus), dimensions={1}
  tr = f32[8,1,2,8] transpose(x), dimensions={1,0,3,2}
  rv = f32[1,8,8,2] reverse(x), dimensions={1,2}
  cc = f32[7] custom-call(x, k), custom_call_target="__onednn$mat\"mul\n", api_version=API_VERSION_STATUS_RETURNING, literal=f32[2] {1, 2}
  ROOT g = f32[3,2] gather(x, io), offset_dims={1}, collapsed_slice_dims={0,1,2}, start_index_map={0,1,2}, index_vector_dim=1, slice_sizes={1,1,1,2}
})");
  EXPECT_EQ(at(m, "conv").attributes.dim_labels, "b01f_01io->b01f");
  const WindowDim first{3, 2, 0, 1, 1, 1, false}, second{3, 2, 1, 0, 1, 1, true};
  EXPECT_EQ(at(m, "conv").attributes.window, (std::vector<WindowDim>{first, second}));
  EXPECT_EQ(at(m, "s").attributes.slice[2], (SliceDim{1, 7, 2}));
  EXPECT_EQ(at(m, "p").attributes.padding[2], (PadDim{0, 0, 2}));
  EXPECT_EQ(at(m, "neg").attributes.padding[1], (PadDim{-1, -1, 0}));
  EXPECT_EQ(at(m, "cc").attributes.custom_call_target, "__onednn$mat\"mul\n");
  EXPECT_EQ(at(m, "cc").attributes.other[1].second, "f32[2] {1, 2}");
  EXPECT_EQ(*at(m, "io").attributes.iota_dimension, 1);
}

TEST(ParseModule, ReadsOneDimensionalConvolutionWindows) {
  const Module m = parse_good(
      entry("x = f32[2,28,1] parameter(0)\nk = f32[28,1,4] parameter(1)\n"
            "c = f32[2,28,4] convolution(x, k), window={size=28 pad=13_14}, dim_labels=b0f_0io->b0f"));
  EXPECT_EQ(at(m, "c").attributes.window, (std::vector<WindowDim>{{28, 1, 13, 14, 1, 1, false}}));
}

TEST(ParseModule, TakesNamesThatEqualOpcodesTypesAndKeywords) {
  const Module m = parse_good(
      entry("add = f32[] parameter(0)\n  %f32 = f32[] add(add, add)\n %a-b.c_1 = f32[] add(%add, f32)\n"
            "  ROOT ROOT = add(add(a-b.c_1, f32), add)"));
  EXPECT_EQ(at(m, "ROOT").shape.text(), "f32[]");
  EXPECT_EQ(m.entry_computation().root, 4u);
}

TEST(ParseModule, NamesNestedOperandsWithoutClashes) {
  const Module m =
      parse_good(entry("a = f32[] parameter(0)\nnegate.0 = f32[] negate(negate(a))\n"
                       "b = f32[] add(negate(a), negate.0)"));
  const auto& instructions = m.entry_computation().instructions;
  ASSERT_EQ(instructions.size(), 5u);
  EXPECT_EQ(instructions[1].name, "negate.1");
  EXPECT_EQ(instructions[3].name, "negate.2");
  EXPECT_EQ(instructions[1].where, (Location{3, 25}));
}

TEST(ParseModule, GivesAttributesToTheNestedOperandTheyFollow) {
  const Module m =
      parse_good(entry("a = f32[2,3] parameter(0)\nb = f32[] parameter(1)\n"
                       "c = f32[2,2] add(dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
                       "f32[2,2] broadcast(b), "
                       "dimensions={})"));
  EXPECT_EQ(at(m, "c").operands.size(), 2u);
}

TEST(ParseModule, SkipsCommentsAnywhere) {
  parse_good(
      "// first\nHloModule/* a\n b */m // x\nENTRY /**/ e { /* } */ a = /*1*/ f32 /*2*/ [ 2 /*3*/ , /**/ 3 ] "
      "{ 1 , 0 } "
      "parameter( /*n*/ 0 ) // y\n ROOT b = f32[2]/**/constant({ /*i0=0*/ 1, // z\n 2})}/* last */");
}

TEST(ParseModule, TakesEveryLineEndAndAByteOrderMark) {
  const std::string text = "HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  ROOT b =f32[] negate(a)\n}";
  const Module plain = parse_good(text);
  for (const std::string end : {"\r\n", "\r", "\n\n"}) {
    std::string other = "\xEF\xBB\xBF";
    for (const char c : text) other += c == '\n' ? end : std::string(1, c);
    EXPECT_TRUE(equivalent(parse_good(other), plain));
  }
  std::string one_line = text;
  for (char& c : one_line)
    if (c == '\n') c = ' ';
  EXPECT_TRUE(equivalent(parse_good(one_line), plain));
}

TEST(ParseModule, TellsLayoutsFromBodies) {
  const Module m = parse_good(
      "HloModule m: f () -> f32[2] {c = f32[2] constant({1,2})}\n"
      "ENTRY g () -> f32[2]{0} { ROOT %x = f32[2]{0} call(), to_apply=f }");
  EXPECT_EQ(m.name, "m");
  EXPECT_EQ(m.computations.size(), 2u);
}

TEST(ParseModule, FallsBackToTheLastComputationAndInstruction) {
  const Module m =
      parse_good("a { x = f32[] parameter(0) }\nb { x = f32[] parameter(0) y = f32[] negate(x) }");
  EXPECT_EQ(m.entry, 1u);
  EXPECT_EQ(m.entry_computation().root, 1u);
  EXPECT_EQ(m.name, "b");
}

TEST(ParseModule, TakesRootsThatAreParametersAndDeadCode) {
  const Module m =
      parse_good(entry("ROOT a = f32[0,1] parameter(1)\nb = f32[] parameter(0)\nc = f32[] negate(b)"));
  EXPECT_EQ(m.entry_computation().root, 0u);
  EXPECT_EQ(m.entry_computation().parameters, (std::vector<uint32_t>{1, 0}));
}

TEST(ParseModule, PassesOverStackFrameTables) {
  const Module m = parse_good(
      "HloModule m\n\nFileNames\n1 \"/a \\\"b.py\"\n2 'c'\n\nFunctionNames\n1 \"f\"\nFileLocations\n"
      "1 {file_name_id=1 function_name_id=1 line=3}\nStackFrames\n1 {file_location_id=1}\n\n"
      "FileNames { ROOT a = f32[] parameter(0), metadata={op_name=\"x\" stack_frame_id=1} }");
  EXPECT_EQ(m.entry_computation().name, "FileNames");
}

TEST(ParseModule, KeepsBoundedDimensions) {
  const Module m = parse_good(entry("a = f32[<=128, 4] parameter(0)\nb = f32[<=128,4] negate(a)"));
  EXPECT_EQ(at(m, "a").shape.text(), "f32[<=128,4]");
}

TEST(ParseModule, InfersShapesThatAreLeftOut) {
  const Module m = parse_good(entry(
      "a = s8[2,3,4] parameter(0)\nb = s8[2,4,5] parameter(1)\n"
      "c = dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n"
      "outer = dot(a, b)\nt = transpose(c), dimensions={2,0,1}\ns = slice(t), slice={[1:5:3], [0:2], [0:0]}\n"
      "p = compare(s, s), direction=EQ\nu = (s8[2,3,4], s8[2,0]) tuple(a, s8[2,0] constant({{},{}}))\n"
      "v = opt-barrier(u)\nROOT w = after-all()"));
  EXPECT_EQ(at(m, "c").shape.text(), "s8[2,3,5]");
  EXPECT_EQ(at(m, "outer").shape.text(), "s8[2,3,4,2,4,5]");
  EXPECT_EQ(at(m, "t").shape.text(), "s8[5,2,3]");
  EXPECT_EQ(at(m, "p").shape.text(), "pred[2,2,0]");
  EXPECT_EQ(at(m, "v").shape.text(), "(s8[2,3,4], s8[2,0])");
}

TEST(ParseModule, AcceptsAsynchronousAndCollectiveOpsWithTheirStatedShape) {
  parse_good(R"(wrapped { p = f32[4] parameter(0) ROOT n = f32[4] negate(p) }
ENTRY e {
  p = f32[4] parameter(0)
  start = ((f32[4]), f32[4], s32[]) async-start(p), calls=wrapped, async_execution_thread="x"
  done = f32[4] async-done(start)
  ag = (f32[4], f32[8]) all-gather-start(done), dimensions={0}, replica_groups={{0,1}}, channel_id=1
  agd = f32[8] all-gather-done(ag)
  tok = token[] after-all()
  ROOT out = f32[8] domain(agd), domain={kind="sharding", entry={replicated}, exit={maximal device=0}}
})");
}

TEST(ParseModule, WarnsOnceAboutEachUnknownAttribute) {
  EXPECT_EQ(diagnose("HloModule m, new_thing={(]=1\n}"),
            "1:14: warning: unknown module attribute 'new_thing' is kept but has no effect\n"
            "1:26: expected ')', found ']' | the '(' to close is at line 1\n");
  EXPECT_EQ(
      diagnose("HloModule m, new_thing={}\n" +
               entry("a = f32[] parameter(0), foo={1,{2}}\nb = f32[] negate(a), foo=(x), bar=\"},\"\n"
                     "c = f32[] negate(b), bar=a-b<=[2], directon=LT")),
      "1:14: warning: unknown module attribute 'new_thing' is kept but has no effect\n"
      "3:25: warning: unknown attribute 'foo' is kept but has no effect\n"
      "4:31: warning: unknown attribute 'bar' is kept but has no effect\n"
      "5:36: warning: unknown attribute 'directon' is kept but has no effect | did you mean 'direction'?\n");
}

}  // namespace
}  // namespace zomboss::hlo
