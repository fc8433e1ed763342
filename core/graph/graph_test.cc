// Which graph each spelling gives. That the values agree with the oracle is tested in
// core/oracle/recognition_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/graph/build.h"
#include "core/graph/ops.h"
#include "core/graph/to_wire.h"
#include "core/hlo/parser.h"

namespace zomboss::graph {
namespace {

Graph build(const std::string& text) {
  const Source source("test.hlo", text);
  Diagnostics diagnostics(source);
  const auto module = hlo::parse_module(source, diagnostics);
  EXPECT_TRUE(module.ok()) << diagnostics.render_all() << text;
  if (!module.ok()) return {};
  auto graph = build_graph(*module, diagnostics);
  EXPECT_TRUE(graph.ok()) << diagnostics.render_all();
  return graph.ok() ? *std::move(graph) : Graph{};
}

Graph build_entry(const std::string& lines) {
  return build("HloModule test\nENTRY e {\n" + lines + "\n}\n");
}

// The ops of a graph without parameters, in order.
std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes) {
    if (node.op != "parameter") ops.push_back(node.op);
  }
  return ops;
}

using Ops = std::vector<std::string>;

const std::string kMatmul =
    "a = s8[4,8] parameter(0)\nb = s8[8,6] parameter(1)\nv = s32[6] parameter(2)\n"
    "d = s32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";

std::string scaled(const std::string& scale = "0.01") {
  return "f = f32[4,6] convert(d)\nc = f32[] constant(" + scale +
         ")\nB = f32[4,6] broadcast(c), dimensions={}\nm = f32[4,6] multiply(f, B)\n";
}

TEST(Matmul, ConvertsOfTheOperandsFoldIn) {
  const Graph graph = build_entry(
      "a = s8[4,8] parameter(0)\nb = u8[8,6] parameter(1)\nx = s32[4,8] convert(a)\ny = s32[8,6] convert(b)\n"
      "ROOT d = s32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  EXPECT_EQ(
      graph.text(),
      "0 = parameter s8[4,8] () number={0}  # a at 3:1\n"
      "1 = parameter u8[8,6] () number={1}  # b at 4:1\n"
      "2 = matmul s32[4,6] (0, 1) lhs_batch={} lhs_contract={1} rhs_batch={} rhs_contract={0}  # d at 7:6\n"
      "outputs 2\n");
}

TEST(Matmul, NarrowingOrMixedConvertsStay) {
  EXPECT_EQ(
      ops_of(build_entry("a = s16[4] parameter(0)\nx = s8[4] convert(a)\n"
                         "ROOT d = s8[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}")),
      (Ops{"convert", "matmul"}));
  EXPECT_EQ(
      ops_of(build_entry("a = s8[4] parameter(0)\nx = f32[4] convert(a)\n"
                         "ROOT d = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}")),
      (Ops{"convert", "matmul"}));
}

TEST(Matmul, TransposesOfOperandsFoldInWhenTheFreeDimsKeepTheirOrder) {
  const Graph graph = build_entry(
      "a = s8[8,3,4] parameter(0)\nb = s8[6,3,8] parameter(1)\nx = s32[8,3,4] convert(a)\n"
      "p = s32[3,4,8] transpose(x), dimensions={1,2,0}\nw = s32[6,3,8] convert(b)\n"
      "q = s32[3,8,6] transpose(w), dimensions={1,2,0}\n"
      "ROOT d = s32[3,4,6] dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}");
  EXPECT_EQ(ops_of(graph), (Ops{"matmul"}));
  const Node& matmul = graph.nodes[graph.outputs[0]];
  EXPECT_EQ(matmul.ints("lhs_batch"), (std::vector<int64_t>{1}));
  EXPECT_EQ(matmul.ints("lhs_contract"), (std::vector<int64_t>{0}));
  EXPECT_EQ(matmul.ints("rhs_batch"), (std::vector<int64_t>{1}));
  EXPECT_EQ(matmul.ints("rhs_contract"), (std::vector<int64_t>{2}));
  EXPECT_EQ(ops_of(build_entry(
                "a = s8[2,3,8] parameter(0)\nb = s8[8,6] parameter(1)\n"
                "p = s8[3,2,8] transpose(a), dimensions={1,0,2}\n"
                "ROOT d = s32[3,2,6] dot(p, b), lhs_contracting_dims={2}, rhs_contracting_dims={0}")),
            (Ops{"transpose", "matmul"}));
}

TEST(Bias, EverySpellingOfABroadcastRow) {
  const std::string row = "s = s32[6] reshape(r)\nw = s32[4,6] broadcast(s), dimensions={1}\n";
  const std::string spellings[] = {
      "w = s32[4,6] broadcast(v), dimensions={1}\n",
      "r = s32[1,6] broadcast(v), dimensions={1}\n" + row,
      "r = s32[1,6] reshape(v)\n" + row,
      "r = s32[6,4] broadcast(v), dimensions={0}\nw = s32[4,6] transpose(r), dimensions={1,0}\n",
  };
  for (const std::string& spelling : spellings) {
    for (const char* order : {"d, w", "w, d"}) {
      const Graph graph = build_entry(kMatmul + spelling + "ROOT o = s32[4,6] add(" + order + ")");
      EXPECT_EQ(ops_of(graph), (Ops{"matmul", "bias"})) << spelling;
      const Node& bias = graph.nodes[graph.outputs[0]];
      EXPECT_EQ(bias.operands, (std::vector<uint32_t>{3, 2})) << spelling;
      EXPECT_EQ(bias.ints("dims"), (std::vector<int64_t>{1})) << spelling;
    }
  }
}

TEST(Bias, ColumnsMatricesAndRowVectorsWithUnitDims) {
  const auto bias_dims = [](const std::string& type, const std::string& lines) {
    const Graph graph = build_entry(
        "a = s8[4,8] parameter(0)\nb = s8[8,6] parameter(1)\nv = " + type +
        " parameter(2)\nd = s32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n" +
        lines);
    const Node& bias = graph.nodes[graph.outputs[0]];
    EXPECT_EQ(bias.op, "bias") << lines;
    return bias.ints("dims");
  };
  using Dims = std::vector<int64_t>;
  EXPECT_EQ(bias_dims("s32[4]", "w = s32[4,6] broadcast(v), dimensions={0}\nROOT o = s32[4,6] add(d, w)"),
            (Dims{0}));
  EXPECT_EQ(bias_dims("s32[4,6]", "ROOT o = s32[4,6] add(v, d)"), (Dims{0, 1}));
  EXPECT_EQ(bias_dims("s32[6,4]", "t = s32[4,6] transpose(v), dimensions={1,0}\nROOT o = s32[4,6] add(t, d)"),
            (Dims{1, 0}));
  EXPECT_EQ(bias_dims("s32[]", "w = s32[4,6] broadcast(v), dimensions={}\nROOT o = s32[4,6] add(d, w)"),
            (Dims{}));
}

TEST(Bias, TwoMatmulsAreAdded) {
  const Graph graph =
      build_entry(kMatmul +
                  "e = s32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                  "ROOT o = s32[4,6] add(d, e)");
  EXPECT_EQ(ops_of(graph), (Ops{"matmul", "matmul", "add"}));
}

TEST(Quantize, EverySpellingOfTheEpilogue) {
  const std::string limits =
      "lo = f32[] constant(-100)\nhi = f32[] constant(90)\nL = f32[4,6] broadcast(lo), "
      "dimensions={}\nH = f32[4,6] broadcast(hi), dimensions={}\n";
  const char* const kTails[] = {
      "r = f32[4,6] round-nearest-even(m)\nk = f32[4,6] clamp(lo, r, hi)\n",
      "r = f32[4,6] clamp(L, m, H)\nk = f32[4,6] round-nearest-even(r)\n",
      "r = f32[4,6] round-nearest-even(m)\nx = f32[4,6] maximum(r, L)\nk = f32[4,6] minimum(x, H)\n",
      "r = f32[4,6] round-nearest-even(m)\nx = f32[4,6] minimum(H, r)\nk = f32[4,6] maximum(L, x)\n",
      "x = f32[4,6] minimum(H, m)\nr = f32[4,6] round-nearest-even(x)\nk = f32[4,6] maximum(L, r)\n",
  };
  for (const std::string tail : kTails) {
    const Graph graph = build_entry(kMatmul + scaled() + limits + tail + "ROOT o = s8[4,6] convert(k)");
    EXPECT_EQ(ops_of(graph), (Ops{"matmul", "quantize"})) << tail << graph.text();
    const Node& quantize = graph.nodes[graph.outputs[0]];
    EXPECT_EQ(quantize.number("scale", 0), static_cast<double>(0.01f));
    EXPECT_EQ(quantize.ints("low"), (std::vector<int64_t>{-100}));
    EXPECT_EQ(quantize.ints("high"), (std::vector<int64_t>{90}));
    EXPECT_EQ(quantize.ints("zero_point"), (std::vector<int64_t>{0}));
    EXPECT_EQ(quantize.name, "o");
  }
}

// The limits that a tail after rounding gives, as "low..high"; "" when there is no quantize node at the end.
std::string limits_of(const std::string& tail, const std::string& type = "s8",
                      const std::string& scale = "0.01") {
  const Graph graph = build_entry(kMatmul + scaled(scale) + "r = f32[4,6] round-nearest-even(m)\n" + tail +
                                  "ROOT o = " + type + "[4,6] convert(k)");
  const Node& node = graph.nodes[graph.outputs[0]];
  if (node.op != "quantize") return "";
  return fmt::format("{}..{}", node.ints("low")[0], node.ints("high")[0]);
}

std::string clamp(const std::string& low, const std::string& high) {
  return "lo = f32[] constant(" + low + ")\nhi = f32[] constant(" + high +
         ")\nk = f32[4,6] clamp(lo, r, hi)\n";
}

TEST(Quantize, LimitsAreThoseThatTheChainReallyHas) {
  EXPECT_EQ(limits_of(clamp("-1000", "1000")), "-128..127");
  EXPECT_EQ(limits_of(clamp("-7.5", "7.5")), "-7..7");
  EXPECT_EQ(limits_of(clamp("0", "1000"), "u8"), "0..255");
  EXPECT_EQ(limits_of(clamp("5", "3")), "3..3");
  EXPECT_EQ(limits_of("k = f32[4,6] copy(r)\n"), "-128..127");
  EXPECT_EQ(
      limits_of(
          "z = f32[] constant(0)\nZ = f32[4,6] broadcast(z), dimensions={}\nk = f32[4,6] maximum(Z, r)\n"),
      "0..127");
  EXPECT_EQ(
      limits_of("i = s32[4,6] convert(r)\nlo = s32[] constant(-20)\nhi = s32[] constant(20)\nk = s32[4,6] "
                "clamp(lo, i, hi)\n"),
      "-20..20");
  EXPECT_EQ(limits_of("k = s32[4,6] convert(r)\n"), "") << "the last convert wraps";
  EXPECT_EQ(limits_of(clamp("nan", "3")), "");
}

TEST(Quantize, WholeNumbersNeedNoRoundingAndIntegerLimitsNoFloats) {
  const Graph graph =
      build_entry(kMatmul +
                  "lo = s32[] constant(-128)\nhi = s32[] constant(127)\nk = s32[4,6] clamp(lo, d, "
                  "hi)\nROOT o = s8[4,6] convert(k)");
  EXPECT_EQ(ops_of(graph), (Ops{"matmul", "quantize"}));
  EXPECT_EQ(graph.nodes[graph.outputs[0]].number("scale", 0), 1.0);
  EXPECT_EQ(ops_of(build_entry(kMatmul + "ROOT o = s8[4,6] convert(d)")), (Ops{"matmul", "convert"}));
}

TEST(Quantize, OtherArithmeticIsLeftAlone) {
  // No rounding; another rounding; a scale per column.
  EXPECT_EQ(ops_of(build_entry(kMatmul + scaled() + "ROOT o = s8[4,6] convert(m)")),
            (Ops{"matmul", "convert", "constant", "broadcast", "multiply", "convert"}));
  EXPECT_EQ(build_entry(kMatmul + scaled() + "r = f32[4,6] round-nearest-afz(m)\nROOT o = s8[4,6] convert(r)")
                .nodes.back()
                .op,
            "convert");
  const Graph columns = build_entry(
      kMatmul +
      "f = f32[4,6] convert(d)\nc = f32[6] constant({1,2,3,4,5,6})\nB = f32[4,6] broadcast(c), "
      "dimensions={1}\nm = f32[4,6] multiply(f, B)\nr = f32[4,6] round-nearest-even(m)\nROOT o = s8[4,6] "
      "convert(r)");
  EXPECT_EQ(ops_of(columns), (Ops{"matmul", "convert", "constant", "broadcast", "multiply", "quantize"}));
  EXPECT_EQ(columns.nodes[columns.outputs[0]].number("scale", 0), 1.0);
}

TEST(Quantize, ScalesMayBeDivisorsThatArePowersOfTwo) {
  const std::string head = kMatmul + "f = f32[4,6] convert(d)\nc = f32[] constant(";
  const std::string tail =
      ")\nB = f32[4,6] broadcast(c), dimensions={}\nm = f32[4,6] divide(f, B)\nr = f32[4,6] "
      "round-nearest-even(m)\nROOT o = s8[4,6] convert(r)";
  const Graph exact = build_entry(head + "64" + tail);
  EXPECT_EQ(ops_of(exact), (Ops{"matmul", "quantize"}));
  EXPECT_EQ(exact.nodes[exact.outputs[0]].number("scale", 0), 1.0 / 64);
  EXPECT_EQ(ops_of(build_entry(head + "60" + tail)),
            (Ops{"matmul", "convert", "constant", "broadcast", "divide", "quantize"}));
}

TEST(Relu, KeepsItsPlace) {
  const std::string zero = "z = s32[] constant(0)\nZ = s32[4,6] broadcast(z), dimensions={}\n";
  const std::string end = "r = f32[4,6] round-nearest-even(m)\nROOT o = s8[4,6] convert(r)";
  const Graph before =
      build_entry(kMatmul + zero +
                  "y = s32[4,6] maximum(Z, d)\nf = f32[4,6] convert(y)\nc = f32[] constant(0.01)\nB = "
                  "f32[4,6] broadcast(c), dimensions={}\nm = f32[4,6] multiply(f, B)\n" +
                  end);
  EXPECT_EQ(ops_of(before), (Ops{"matmul", "relu", "quantize"}));
  const Graph floats =
      build_entry(kMatmul +
                  "f = f32[4,6] convert(d)\nz = f32[] constant(0)\nZ = f32[4,6] broadcast(z), "
                  "dimensions={}\ny = f32[4,6] maximum(f, Z)\nc = f32[] constant(0.01)\nB = f32[4,6] "
                  "broadcast(c), dimensions={}\nm = f32[4,6] multiply(B, y)\n" +
                  end);
  EXPECT_EQ(ops_of(floats), (Ops{"matmul", "relu", "quantize"})) << floats.text();
  EXPECT_EQ(floats.nodes[floats.outputs[0]].ints("low"), (std::vector<int64_t>{-128}));
}

TEST(Build, InlinesCallsFusionsAndTuplesAndDropsDeadCode) {
  const Graph graph = build(
      "HloModule m\nrelu.1 {\n  x = s32[4] parameter(0)\n  z = s32[] constant(0)\n  b = s32[4] broadcast(z), "
      "dimensions={}\n  ROOT y = s32[4] maximum(x, b)\n}\nfused {\n  x = s32[4] parameter(0)\n  n = s32[4] "
      "negate(x)\n  "
      "dead = s32[4] abs(x)\n  ROOT t = (s32[4], s32[4]) tuple(n, x)\n}\nENTRY e {\n  unused = f32[2] "
      "parameter(0)\n  a "
      "= s32[4] parameter(1)\n  c = s32[4] call(a), to_apply=relu.1\n  dead = s32[4] add(c, c)\n  f = "
      "(s32[4], s32[4]) "
      "fusion(c), kind=kLoop, calls=fused\n  g = s32[4] get-tuple-element(f), index=0\n  h = s32[4] "
      "get-tuple-element(f), index=1\n  i = s32[4] copy(g)\n  t = (s32[4]) tuple(h)\n  ROOT r = (s32[4], "
      "(s32[4])) tuple(i, t)\n}\n");
  EXPECT_EQ(graph.text(),
            "0 = parameter f32[2] () number={0}  # unused at 15:3\n"
            "1 = parameter s32[4] () number={1}  # a at 16:3\n"
            "2 = relu s32[4] (1)  # y at 6:8\n"
            "3 = negate s32[4] (2)  # n at 10:3\n"
            "outputs 3, 2\n");
}

TEST(Build, ElidedConstantsAreErrorsWithAdvice) {
  const std::string text = "ENTRY e {\n  c = f32[99] constant({...})\n  ROOT r = f32[99] negate(c)\n}\n";
  const Source source("big.hlo", text);
  Diagnostics diagnostics(source);
  const auto module = hlo::parse_module(source, diagnostics);
  ASSERT_TRUE(module.ok());
  const auto graph = build_graph(*module, diagnostics);
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("big.hlo:2:3: error: the values of constant 'c' are elided"),
            std::string::npos)
      << graph.status().message();
}

TEST(Build, NestingAndGrowthOfCallsAreLimited) {
  std::string text = "HloModule m\nc0 { x = s32[] parameter(0)\nROOT y = s32[] add(x, x) }\n";
  for (int i = 1; i <= 300; ++i) {
    text += fmt::format(
        "c{} {{ x = s32[] parameter(0)\na = s32[] call(x), to_apply=c{}\nROOT b = s32[] call(a), "
        "to_apply=c{} }}\n",
        i, i - 1, i - 1);
  }
  for (const auto& [top, expected] :
       {std::pair(60, "once its calls are inlined"), std::pair(300, "nested more than")}) {
    const Source source("m.hlo",
                        text + fmt::format("ENTRY e {{ x = s32[] constant(1)\nROOT r = s32[] call(x), "
                                           "to_apply=c{} }}\n",
                                           top));
    Diagnostics diagnostics(source);
    const auto module = hlo::parse_module(source, diagnostics);
    ASSERT_TRUE(module.ok()) << diagnostics.render_all();
    const auto graph = build_graph(*module, diagnostics);
    ASSERT_FALSE(graph.ok());
    EXPECT_NE(graph.status().message().find(expected), std::string::npos) << graph.status().message();
  }
}

TEST(Unsupported, AreListedTogetherInTheOrderOfTheText) {
  const std::string text =
      "ENTRY e {\n  a = f32[4] parameter(0)\n  b = f32[4] exponential(a)\n  c = f32[4] custom-call(b), "
      "custom_call_target=\"x\"\n  d = f32[4] add(a, b)\n  ROOT r = (f32[4], f32[4]) tuple(d, c)\n}\n";
  const Source source("net.hlo", text);
  Diagnostics diagnostics(source);
  const auto module = hlo::parse_module(source, diagnostics);
  ASSERT_TRUE(module.ok());
  const auto graph = build_graph(*module, diagnostics);
  ASSERT_TRUE(graph.ok());
  const std::vector<std::string> taken = {"add", "matmul"};
  const auto unsupported = list_unsupported(*graph, taken);
  ASSERT_EQ(unsupported.size(), 2u);
  EXPECT_EQ(unsupported[0].op, "exponential");
  EXPECT_EQ(unsupported[1].op, "custom-call");
  report_unsupported(*graph, "gemmini", taken, diagnostics);
  EXPECT_NE(diagnostics.render_all().find("net.hlo:3:3: error: gemmini has no exponential ('b', f32[4])"),
            std::string::npos)
      << diagnostics.render_all();
}

TEST(ToWire, CarriesNodesAndHashesTextAndContract) {
  const Graph graph =
      build_entry(kMatmul + scaled() + "r = f32[4,6] round-nearest-even(m)\nROOT o = s8[4,6] convert(r)");
  const auto make = [&](std::string hlo, double absolute) {
    WireOptions options{"w", "w.hlo", std::move(hlo), default_contract(graph)};
    options.contract.absolute = absolute;
    return to_wire(graph, std::move(options));
  };
  const auto workload = make("text", 0);
  ASSERT_TRUE(workload.ok());
  EXPECT_EQ(workload->name, "w");
  EXPECT_EQ(workload->inputs, graph.inputs);
  EXPECT_EQ(workload->contract->acceptance, wire::Acceptance::Exact);
  ASSERT_EQ(workload->nodes.size(), graph.nodes.size());
  const wire::NodeT& last = *workload->nodes.back();
  EXPECT_EQ(last.op, "quantize");
  EXPECT_EQ(last.id, graph.nodes.size() - 1);
  EXPECT_EQ(last.type->dtype, DType::S8);
  EXPECT_EQ(last.name, "o");
  EXPECT_EQ(last.line, 12u);
  EXPECT_EQ(workload->hash, make("text", 0)->hash);
  EXPECT_NE(workload->hash, make("other", 0)->hash);
  EXPECT_NE(workload->hash, make("text", 1)->hash);
}

TEST(ToWire, FloatOutputsGetATolerance) {
  const auto contract = default_contract(build_entry("ROOT a = bf16[2] parameter(0)"));
  EXPECT_EQ(contract.acceptance, wire::Acceptance::Tolerance);
  EXPECT_EQ(contract.absolute, 0.012);
  EXPECT_EQ(contract.relative, 0.01);
}

TEST(Ops, IdsAreUnique) {
  for (const OpInfo& info : ops()) EXPECT_EQ(find_op(info.id), &info) << info.id;
  EXPECT_EQ(find_op("sort"), nullptr);
}

TEST(Ops, AreAllInTheDocumentation) {
  const auto page = read_source(std::string(ZB_SOURCE_DIR) + "/docs/workloads.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  for (const OpInfo& info : ops()) {
    EXPECT_NE(page->text().find(fmt::format("| `{}` | {} |", info.id,
                                            info.operands < 0 ? "any" : std::to_string(info.operands))),
              std::string_view::npos)
        << info.id;
  }
}

}  // namespace
}  // namespace zomboss::graph
