// Whole blocks of language models have exactly the expected operators, and odd graphs do no harm.
#include <chrono>

#include "core/graph/kv.h"
#include "core/oracle/hlo_writer.h"
#include "core/oracle/recognition_check.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

struct Config {
  int64_t sequence = 6, heads = 6, kv_heads = 2, feature = 4;
  int64_t hidden() const { return heads * feature; }
};

Val kv_repeated(HloWriter& w, const Val& x, const Config& c) {
  if (c.kv_heads == c.heads) return x;
  const Dims split{c.sequence, c.kv_heads, c.heads / c.kv_heads, c.feature};
  return w.reshape(w.broadcast(x, split, {0, 1, 3}), {c.sequence, c.heads, c.feature});
}

// Projections, attention with rope and a causal mask if wanted, output projection.
Val attention_block(HloWriter& w, const Val& x, const Val& memory, const Config& c, bool rope, bool causal) {
  const auto project = [&](const Val& from, int64_t heads) {
    const Val weight = w.parameter("f32", {c.hidden(), heads * c.feature});
    return w.reshape(w.linear(from, weight), {c.sequence, heads, c.feature});
  };
  Val q = project(x, c.heads), k = project(memory, c.kv_heads);
  const Val v = project(memory, c.kv_heads);
  if (rope) {
    const Val cosine = w.parameter("f32", {c.sequence, c.feature});
    const Val sine = w.parameter("f32", {c.sequence, c.feature});
    q = w.rope(q, cosine, sine, {0, 2});
    k = w.rope(k, cosine, sine, {0, 2});
  }
  Val scores = w.with("multiply", w.dot(q, kv_repeated(w, k, c), {1}, 2, {1}, 2), "0.5");
  if (causal) scores = w.causal(scores);
  const Val mixed = w.dot(w.softmax(scores, 2), kv_repeated(w, v, c), {0}, 2, {1}, 0);
  const Val joined = w.reshape(w.transpose(mixed, {1, 0, 2}), {c.sequence, c.hidden()});
  return w.linear(joined, w.parameter("f32", {c.hidden(), c.hidden()}));
}

Val swiglu(HloWriter& w, const Val& x, int64_t inner) {
  const Val gate = w.linear(x, w.parameter("f32", {x.dims[1], inner}));
  const Val up = w.linear(x, w.parameter("f32", {x.dims[1], inner}));
  return w.linear(w.binary("multiply", w.silu(gate), up), w.parameter("f32", {inner, x.dims[1]}));
}

Val ffn(HloWriter& w, const Val& x, int64_t inner) {
  const Val up = w.linear(x, w.parameter("f32", {x.dims[1], inner}));
  return w.linear(w.silu(up), w.parameter("f32", {inner, x.dims[1]}));
}

TEST(Blocks, FeedForward) {
  HloWriter w;
  expect_ops(w.module({ffn(w, w.parameter("f32", {4, 8}), 16)}), "matmul:2 silu");
  HloWriter v;
  expect_ops(v.module({swiglu(v, v.parameter("f32", {4, 8}), 16)}), "matmul:3 multiply silu");
}

TEST(Blocks, AttentionWithManyGroupedAndOneHead) {
  for (const int64_t kv_heads : {6, 2, 1}) {
    for (const bool jax : {false, true}) {
      HloWriter w;
      w.jax = jax;
      Config config;
      config.kv_heads = kv_heads;
      const Val x = w.parameter("f32", {config.sequence, config.hidden()});
      const auto graph =
          expect_ops(w.module({attention_block(w, x, x, config, false, false)}),
                     kv_heads == 1 ? "attention matmul:4 reshape:2" : "attention matmul:4 reshape:4");
      EXPECT_EQ(node_of(graph, "attention").text("equation"), kv_heads == 6   ? "qhd,khd,khe->qhe"
                                                              : kv_heads == 2 ? "qhgd,khd,khe->qhge"
                                                                              : "qgd,kd,ke->qge");
    }
  }
}

TEST(Blocks, LlamaWithRopeGroupsAndCausalMask) {
  HloWriter w;
  w.jax = true;
  const Config config;
  const Val x = w.parameter("f32", {config.sequence, config.hidden()});
  const auto norm = [&](const Val& of) { return w.rms_norm(of, w.parameter("f32", {config.hidden()})); };
  const Val normed = norm(x);
  const Val middle = w.binary("add", x, attention_block(w, normed, normed, config, true, true));
  const Val result = w.binary("add", middle, swiglu(w, norm(middle), 20));
  const auto graph =
      expect_ops(w.module({result}), "add attention bias matmul:7 multiply reshape:5 rms_norm:2 rope:2 silu");
  const auto attention = node_of(graph, "attention");
  EXPECT_EQ(attention.text("equation"), "qhgd,khd,khe->qhge");
  EXPECT_EQ(attention.text("mask"), "causal");
  // The first residual is a bias along all dims.
  EXPECT_EQ(node_of(graph, "bias").ints("dims"), (std::vector<int64_t>{0, 1}));

  const auto kv = graph::kv_values(graph);
  ASSERT_EQ(kv.size(), 2u);
  EXPECT_TRUE(kv[0].is_key);
  EXPECT_EQ(graph.nodes[kv[0].node].op, "rope");
  EXPECT_FALSE(kv[1].is_key);
  EXPECT_EQ(graph.nodes[kv[1].node].op, "reshape");
  for (const auto& value : kv) {
    EXPECT_EQ(value.feature_dim, 2);
    EXPECT_EQ(value.name, graph.nodes[value.node].name);
  }
}

TEST(Blocks, DecoderOfT5) {
  HloWriter w;
  Config config;
  config.kv_heads = config.heads;
  const Val x = w.parameter("f32", {config.sequence, config.hidden()});
  const Val memory = w.parameter("f32", {config.sequence, config.hidden()});
  const auto norm = [&](const Val& of) { return w.rms_norm(of, w.parameter("f32", {config.hidden()})); };
  const Val first = norm(x);
  const Val one = w.binary("add", x, attention_block(w, first, first, config, false, true));
  const Val two = w.binary("add", one, attention_block(w, norm(one), memory, config, false, false));
  const Val three = w.binary("add", two, ffn(w, norm(two), 20));
  const auto graph =
      expect_ops(w.module({three}), "add attention:2 bias:2 matmul:10 reshape:8 rms_norm:3 silu");
  EXPECT_EQ(graph::kv_values(graph).size(), 4u);
}

TEST(KvValues, ParametersAreLeftOutAndValuesAreThoseOfTheHlo) {
  HloWriter w;  // K is stored; V is computed, heads apart only by the recognition
  const Val q = w.parameter("f32", {5, 6, 4}), k = w.parameter("f32", {7, 8});
  const Val v = w.unary("tanh", w.parameter("f32", {7, 2, 4}));
  const Config config{7, 6, 2, 4};
  const Val keys = kv_repeated(w, w.reshape(k, {7, 2, 4}), config), values = kv_repeated(w, v, config);
  const Val weights = w.softmax(w.dot(q, keys, {1}, 2, {1}, 2), 2);
  const auto graph =
      expect_ops(w.module({w.dot(weights, values, {0}, 2, {1}, 0)}), "attention reshape:3 tanh");
  const auto kv = graph::kv_values(graph);
  ASSERT_EQ(kv.size(), 1u);
  EXPECT_FALSE(kv[0].is_key);
  EXPECT_EQ(kv[0].name, v.name);
  EXPECT_EQ(kv[0].feature_dim, 2);
}

TEST(KvValues, FeaturesAreCountedInTheShapeOfTheHloInstruction) {
  HloWriter w;  // the batch of 1 of K has no letter, so that a reshape takes it away
  const Val q = w.parameter("f32", {5, 4});
  const Val k = w.unary("tanh", w.parameter("f32", {1, 4, 7})), v = w.parameter("f32", {7, 3});
  const Val scores = w.dot(q, k, {}, 1, {}, 1);
  const Val weights = w.softmax(w.reshape(scores, {5, 7}), 1);
  const auto graph = expect_ops(w.module({w.dot(weights, v, {}, 1, {}, 0)}), "attention reshape tanh");
  const auto kv = graph::kv_values(graph);
  ASSERT_EQ(kv.size(), 1u);
  EXPECT_EQ(kv[0].name, k.name);
  EXPECT_EQ(kv[0].feature_dim, 1);
}

// The suites of workloads/plena, by family. Types differ between the files, so converts are not counted.
TEST(PlenaSuite, EveryFamilyIsRecognised) {
  const std::map<std::string, std::string> families = {
      {"ffn", "matmul:2 silu"},
      {"swiglu", "matmul:3 multiply silu"},
      {"softmax", "softmax"},
      {"layernorm", "layer_norm"},
      {"rmsnorm", "rms_norm"},
      {"silu", "silu"},
      {"gelu", "gelu"},
      {"relu", "relu"},
      {"rope", "rope"},
      {"scaleddotproduct", "attention"},
      {"flashattention", "attention"},
      {"gemm", "matmul"},
      {"linear", "bias matmul"},
      {"llama", "add attention bias matmul:7 multiply reshape:4 rms_norm:2 silu"},
      {"t5", "add attention:2 bias:2 matmul:10 reshape:8 rms_norm:3 silu"}};
  for (const auto& [family, expected] : families) {
    for (int size = 1; size <= 5; ++size) {
      const auto source =
          read_source(fmt::format("{}/workloads/plena/{}_c{}.hlo", ZB_SOURCE_DIR, family, size));
      ASSERT_TRUE(source.ok()) << source.status().message();
      Diagnostics diagnostics(*source);
      const auto module = hlo::parse_module(*source, diagnostics);
      ASSERT_TRUE(module.ok());
      auto graph = graph::build_graph(*module, diagnostics);
      ASSERT_TRUE(graph.ok());
      std::erase_if(graph->nodes, [](const graph::Node& node) { return node.op == "convert"; });
      EXPECT_EQ(ops_of(*graph), expected) << family << size;
    }
  }
}

// Random programs of the words that the recognisers look for, in orders that mean nothing. In f64, so that
// rounding does not grow to differences.
TEST(OddGraphs, KeepTheirValues) {
  std::map<std::string, int> ops;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Random random(seed, 3);
    HloWriter w;
    w.jax = random.below(2) == 0;
    std::vector<Val> values{w.parameter("f64", {4, 4}), w.parameter("f64", {4, 4}),
                            w.parameter("f64", {4, 4})};
    const auto pick = [&] {
      return values[values.size() - 1 - random.below(std::min<uint64_t>(values.size(), 5))];
    };
    for (int step = 0; step < 24; ++step) {
      const Val a = pick(), b = pick();
      const auto dim = static_cast<int64_t>(random.below(2));
      switch (random.below(16)) {
        case 0:
          values.push_back(w.binary("multiply", a, b));
          break;
        case 1:
          values.push_back(w.binary("add", a, w.with("multiply", b, "0.5")));
          break;
        case 2:
          values.push_back(w.binary(
              "subtract", a, w.spread(w.with("multiply", w.reduce("add", b, dim), "0.25"), dim, a.dims)));
          break;
        case 3:
          values.push_back(w.softmax(a, dim));
          break;
        case 4:
          values.push_back(w.with("multiply", w.dot(a, b, {}, dim, {}, 1), "0.25"));
          break;
        case 5:
          values.push_back(w.binary("multiply", a, w.unary("logistic", random.below(2) == 0 ? a : b)));
          break;
        case 6:
          values.push_back(w.transpose(a, {1, 0}));
          break;
        case 7:
          values.push_back(w.binary(
              "divide", a,
              w.spread(w.unary("sqrt",
                               w.with("add",
                                      w.with("divide", w.reduce("add", w.binary("multiply", b, b), dim), "4"),
                                      "1")),
                       dim, a.dims)));
          break;
        case 8:
          values.push_back(w.softmax(w.causal(w.unary("tanh", a), "-1e5"), 1));
          break;
        case 9:
          values.push_back(
              w.binary("add", w.binary("multiply", a, b), w.binary("multiply", w.rotate_half(a), pick())));
          break;
        case 10:
          values.push_back(w.unary("tanh", a));
          break;
        case 11:
          values.push_back(w.reshape(w.reshape(a, {2, 2, 4}), {4, 4}));
          break;
        case 12:
          values.push_back(
              w.binary("multiply", a, w.broadcast(w.slice(w.reshape(b, {16}), 0, 3, 7), a.dims, {dim})));
          break;
        case 13: {
          const Val c = w.binary("subtract", a,
                                 w.spread(w.with("multiply", w.reduce("add", a, dim), "0.25"), dim, a.dims));
          const Val inner =
              w.with("add", w.with("divide", w.reduce("add", w.binary("multiply", c, c), dim), "4"), "1");
          values.push_back(w.binary("multiply", c, w.spread(w.unary("rsqrt", inner), 1, a.dims)));
          break;
        }
        case 14: {
          const Val scores = w.with("multiply", w.dot(a, b, {}, dim, {}, 1), "0.25");
          const auto along = static_cast<int64_t>(random.below(2));
          values.push_back(w.dot(w.softmax(scores, along), pick(), {}, 1, {}, dim));
          break;
        }
        default:
          values.push_back(w.concatenate(w.slice(a, 1, 2, 4), w.slice(b, 1, 0, 2), 1));
          break;
      }
    }
    const std::string text =
        w.module({w.unary("tanh", values.back()), w.unary("tanh", values[values.size() - 3])});
    const hlo::Module module = parse(text);
    const Source source("test.hlo", text);
    Diagnostics diagnostics(source);
    const auto graph = graph::build_graph(module, diagnostics);
    ASSERT_TRUE(graph.ok());
    for (const graph::Node& node : graph->nodes) ++ops[node.op];
    const auto inputs = generate_inputs(module, seed);
    const auto expected = evaluate(module, *inputs);
    const auto actual = evaluate_graph(*graph, *inputs);
    ASSERT_TRUE(expected.ok() && actual.ok()) << seed;
    for (size_t i = 0; i < expected->size(); ++i) {
      expect_close((*expected)[i], (*actual)[i], 1e-6,
                   fmt::format("seed {}\n{}{}", seed, text, graph->text()));
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  // The test means something only as long as such programs contain the operators.
  for (const char* op : {"softmax", "silu", "rope", "rms_norm", "layer_norm", "attention"}) {
    EXPECT_GT(ops[op], 5) << op;
  }
}

TEST(OddGraphs, LongChainsTakeLinearTime) {
  for (const char* op : {"multiply", "divide", "add", "subtract", "maximum"}) {
    HloWriter w;
    const Val x = w.parameter("f32", {2, 2});
    Val y = w.unary("logistic", x);
    for (int i = 0; i < 20000; ++i)
      y = i % 3 == 0 ? w.binary(op, y, y) : i % 3 == 1 ? w.binary(op, x, y) : w.transpose(y, {1, 0});
    const std::string text = w.module({y});
    const hlo::Module module = parse(text);
    const Source source("test.hlo", text);
    Diagnostics diagnostics(source);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(graph::build_graph(module, diagnostics).ok());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << op;
  }
}

TEST(OddGraphs, EmptyAndScalarTensorsDoNoHarm) {
  for (const Dims& dims : {Dims{0, 4}, Dims{4, 0}, Dims{1, 1}, Dims{1, 4}, Dims{4, 1}}) {
    HloWriter w;
    const Val x = w.parameter("f32", dims);
    const Val weights = w.softmax(w.dot(x, x, {}, 1, {}, 1), 1);
    const std::string text =
        w.module({w.dot(weights, x, {}, 1, {}, 0), w.silu(x), w.rms_norm(x, w.parameter("f32", {dims[1]}))});
    const hlo::Module module = parse(text);
    const Source source("test.hlo", text);
    Diagnostics diagnostics(source);
    const auto graph = graph::build_graph(module, diagnostics);
    ASSERT_TRUE(graph.ok());
    const auto inputs = generate_inputs(module, 1);
    ASSERT_TRUE(evaluate_graph(*graph, *inputs).ok());
    if (dims[0] != 0 && dims[1] != 0) expect_ops(text, ops_of(*graph));
  }
}

}  // namespace
}  // namespace zomboss::oracle
