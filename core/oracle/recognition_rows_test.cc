// Softmax, norms and activations: many spellings of each are one operator, and near misses are none.
#include <functional>

#include "core/oracle/hlo_writer.h"
#include "core/oracle/recognition_check.h"

namespace zomboss::oracle {
namespace {

using Ints = std::vector<int64_t>;

TEST(Softmax, EverySpellingIsOneOperator) {
  for (const bool jax : {false, true}) {
    for (const char* type : {"f32", "bf16"}) {
      for (const int64_t dim : {0, 1, 2}) {
        HloWriter w;
        w.jax = jax;
        const Val x = w.parameter(type, {3, 4, 5});
        const auto graph = expect_ops(w.module({w.softmax(x, dim)}), "softmax");
        EXPECT_EQ(node_of(graph, "softmax").ints("dims"), Ints{dim});
      }
    }
  }
}

TEST(Softmax, WithoutTheMaximumAndWithAReciprocal) {
  HloWriter w;
  const Val x = w.parameter("f32", {3, 5});
  const Val e = w.unary("exponential", x);
  const Val sum = w.reduce("add", e, 1);
  const Val inverse = w.binary("divide", w.like(sum, "1"), sum);
  expect_ops(w.module({w.binary("multiply", w.spread(inverse, 1, x.dims), e)}), "softmax");
}

TEST(Softmax, ConvertsAroundItFoldIn) {
  HloWriter w;
  const Val x = w.parameter("bf16", {3, 5});
  const auto graph = expect_ops(w.module({w.convert(w.softmax(w.convert(x, "f32"), 1), "bf16")}), "softmax");
  EXPECT_EQ(node_of(graph, "softmax").shape.dtype, hlo::DType::BF16);
  EXPECT_EQ(graph.nodes[node_of(graph, "softmax").operands[0]].op, "parameter");
}

TEST(Softmax, AMaximumOverAnotherDimIsPartOfItsOperand) {
  HloWriter w;
  const Val x = w.parameter("f32", {4, 4});
  const Val shifted = w.binary("subtract", x, w.spread(w.reduce("maximum", x, 0), 0, x.dims));
  const Val e = w.unary("exponential", shifted);
  expect_ops(w.module({w.binary("divide", e, w.spread(w.reduce("add", e, 1), 1, x.dims))}),
             "broadcast reduce softmax subtract");
}

TEST(Softmax, NearMissesStayAsTheyAre) {
  HloWriter w;  // the sum runs along the wrong dim of its result
  const Val x = w.parameter("f32", {4, 4});
  const Val e = w.unary("exponential", x);
  const Val crossed = w.broadcast(w.reduce("add", e, 1), x.dims, {1});
  expect_ops(w.module({w.binary("divide", e, crossed)}), "broadcast divide exponential reduce");

  HloWriter v;  // another numerator
  const Val y = v.parameter("f32", {4, 4});
  const Val f = v.unary("exponential", y);
  const Val g = v.unary("exponential", v.with("multiply", y, "2"));
  expect_ops(v.module({v.binary("divide", g, v.spread(v.reduce("add", f, 1), 1, y.dims))}),
             "broadcast:2 divide exponential:2 multiply reduce");

  HloWriter u;  // one added to the sum
  const Val z = u.parameter("f32", {4, 4});
  const Val h = u.unary("exponential", z);
  const Val sum = u.with("add", u.reduce("add", h, 1), "1");
  expect_ops(u.module({u.binary("divide", h, u.spread(sum, 1, z.dims))}),
             "add broadcast:2 divide exponential reduce");
}

// The ways to write a norm.
struct NormStyle {
  bool jax, divide_by_count;
  int square;  // x*x, x^2, or (variance only) E[x^2] - E[x]^2
  int root;    // rsqrt, divide by sqrt, power -0.5
  bool early_gamma;
  const char* type;
};

void for_each_style(const std::function<void(const NormStyle&)>& f) {
  for (int i = 0; i < 2 * 2 * 3 * 3 * 2; ++i) {
    for (const char* type : {"f32", "bf16"}) {
      f({i % 2 == 1, i / 2 % 2 == 1, i / 4 % 3, i / 12 % 3, i / 36 == 1, type});
    }
  }
}

Val mean(HloWriter& w, const NormStyle& style, const Val& x) {
  const Val sum = w.reduce("add", x, 1);
  return style.divide_by_count ? w.with("divide", sum, "8") : w.with("multiply", sum, "0.125");
}

Val square(HloWriter& w, const NormStyle& style, const Val& x) {
  return style.square == 1 ? w.with("power", x, "2") : w.binary("multiply", x, x);
}

// x over the root of the statistic, times gamma if there is one.
Val normalise(HloWriter& w, const NormStyle& style, const Val& x, const Val& statistic, const Val* gamma) {
  const Val inner = w.with("add", statistic, "1e-5");
  const bool divides = style.root == 1;
  Val root = style.root == 0   ? w.unary("rsqrt", inner)
             : style.root == 1 ? w.unary("sqrt", inner)
                               : w.with("power", inner, "-0.5");
  root = w.spread(root, 1, x.dims);
  if (gamma == nullptr) return w.binary(divides ? "divide" : "multiply", x, root);
  const Val g = w.row(*gamma, x);
  if (style.early_gamma) {
    return divides ? w.binary("divide", w.binary("multiply", g, x), root)
                   : w.binary("multiply", x, w.binary("multiply", root, g));
  }
  return w.binary("multiply", g, w.binary(divides ? "divide" : "multiply", x, root));
}

TEST(RmsNorm, EverySpellingIsOneOperator) {
  for_each_style([](const NormStyle& style) {
    if (style.square == 2) return;
    HloWriter w;
    w.jax = style.jax;
    const Val narrow = w.parameter(style.type, {3, 8});
    const Val gamma = w.parameter("f32", {8});
    const Val x = w.convert(narrow, "f32");
    const Val result = normalise(w, style, x, mean(w, style, square(w, style, x)), &gamma);
    const auto graph = expect_ops(w.module({w.convert(result, style.type)}), "rms_norm");
    const auto node = node_of(graph, "rms_norm");
    EXPECT_EQ(node.ints("dims"), Ints{1});
    EXPECT_EQ(node.ints("scale"), Ints{1});
    EXPECT_NEAR(node.number("epsilon", 0), 1e-5, 1e-9);
  });
}

TEST(LayerNorm, EverySpellingIsOneOperator) {
  for_each_style([](const NormStyle& style) {
    HloWriter w;
    w.jax = style.jax;
    const Val narrow = w.parameter(style.type, {3, 8});
    const Val gamma = w.parameter("f32", {8}), beta = w.parameter("f32", {8});
    const Val x = w.convert(narrow, "f32");
    const Val average = mean(w, style, x);
    const Val centred = w.binary("subtract", x, w.spread(average, 1, x.dims));
    const Val variance = style.square == 2 ? w.binary("subtract", mean(w, style, w.binary("multiply", x, x)),
                                                      w.binary("multiply", average, average))
                                           : mean(w, style, square(w, style, centred));
    const Val scaled = normalise(w, style, centred, variance, &gamma);
    const Val result = w.binary("add", scaled, w.row(beta, x));
    const auto graph = expect_ops(w.module({w.convert(result, style.type)}), "layer_norm");
    const auto node = node_of(graph, "layer_norm");
    EXPECT_EQ(node.operands.size(), 3u);
    EXPECT_EQ(node.ints("scale"), Ints{1});
    EXPECT_EQ(node.ints("shift"), Ints{1});
  });
}

TEST(LayerNorm, TheScaleAndTheShiftMayBeMissing) {
  const NormStyle style{false, true, 0, 0, false, "f32"};
  for (const bool shift : {false, true}) {
    HloWriter w;
    const Val x = w.parameter("f32", {3, 8}), beta = w.parameter("f32", {8});
    const Val centred = w.binary("subtract", x, w.spread(mean(w, style, x), 1, x.dims));
    Val result = normalise(w, style, centred, mean(w, style, square(w, style, centred)), nullptr);
    if (shift) result = w.binary("add", w.row(beta, x), result);
    const auto node = node_of(expect_ops(w.module({result}), "layer_norm"), "layer_norm");
    EXPECT_EQ(node.ints("scale"), Ints{0});
    EXPECT_EQ(node.ints("shift"), Ints{shift ? 1 : 0});
  }
}

TEST(LayerNorm, TwoDimsAreNormalisedTogether) {
  const std::string text =
      "HloModule m\nsum {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT r = f32[] add(a, b)\n}\n"
      "ENTRY e {\nx = f32[3,4,5] parameter(0)\ng = f32[4,5] parameter(1)\nz = f32[] constant(0)\n"
      "n = f32[] constant(20)\nN = f32[3] broadcast(n), dimensions={}\ns = f32[3] reduce(x, z), "
      "dimensions={2,1}, to_apply=sum\nm = f32[3] divide(s, N)\nM = f32[3,4,5] broadcast(m), dimensions={0}\n"
      "c = f32[3,4,5] subtract(x, M)\nq = f32[3,4,5] multiply(c, c)\nv = f32[3] reduce(q, z), "
      "dimensions={1,2}, to_apply=sum\nw = f32[3] divide(v, N)\nr = f32[3] rsqrt(w)\n"
      "R = f32[3,4,5] broadcast(r), dimensions={0}\ny = f32[3,4,5] multiply(c, R)\n"
      "G = f32[3,4,5] broadcast(g), dimensions={1,2}\nROOT o = f32[3,4,5] multiply(y, G)\n}\n";
  const auto node = node_of(expect_ops(text, "layer_norm"), "layer_norm");
  EXPECT_EQ(node.ints("dims"), (Ints{1, 2}));
  EXPECT_EQ(node.number("epsilon", 1), 0);
}

TEST(RmsNorm, NearMissesStayAsTheyAre) {
  const NormStyle style{false, true, 0, 0, false, "f32"};
  const auto near = [&](const std::string& ops, const std::function<Val(HloWriter&, const Val&)>& f) {
    HloWriter w;
    const Val x = w.parameter("f32", {8, 8});
    expect_ops(w.module({f(w, x)}), ops);
  };
  // epsilon outside of the root
  near("add broadcast:3 divide:2 multiply reduce sqrt", [&](HloWriter& w, const Val& x) {
    const Val root = w.with("add", w.unary("sqrt", mean(w, style, square(w, style, x))), "1e-5");
    return w.binary("divide", x, w.spread(root, 1, x.dims));
  });
  // the sum in place of the mean
  near("add broadcast:2 multiply:2 reduce rsqrt", [&](HloWriter& w, const Val& x) {
    const Val sum = w.with("add", w.reduce("add", square(w, style, x), 1), "1e-5");
    return w.binary("multiply", x, w.spread(w.unary("rsqrt", sum), 1, x.dims));
  });
  // the mean of another dim
  near("add broadcast:3 divide multiply:2 reduce rsqrt", [&](HloWriter& w, const Val& x) {
    const Val inner = w.with("add", mean(w, style, square(w, style, x)), "1e-5");
    return w.binary("multiply", x, w.broadcast(w.unary("rsqrt", inner), x.dims, {1}));
  });
  // the square of something else
  near("abs add broadcast:3 divide multiply:2 reduce rsqrt", [&](HloWriter& w, const Val& x) {
    const Val inner = w.with("add", mean(w, style, w.binary("multiply", x, w.unary("abs", x))), "9");
    return w.binary("multiply", x, w.spread(w.unary("rsqrt", inner), 1, x.dims));
  });
}

TEST(LayerNorm, NearMissesAreRmsNormsOfWhatTheyAre) {
  const NormStyle style{false, true, 0, 0, false, "f32"};
  HloWriter w;  // the mean runs over the other dim
  const Val x = w.parameter("f32", {8, 8});
  const Val centred = w.binary("subtract", x, w.broadcast(mean(w, style, x), x.dims, {1}));
  const Val result = normalise(w, style, centred, mean(w, style, square(w, style, centred)), nullptr);
  expect_ops(w.module({result}), "broadcast:2 divide reduce rms_norm subtract");

  HloWriter v;  // x itself over the root of its variance
  const Val y = v.parameter("f32", {8, 8});
  const Val shifted = v.binary("subtract", y, v.spread(mean(v, style, y), 1, y.dims));
  const Val wrong = normalise(v, style, y, mean(v, style, square(v, style, shifted)), nullptr);
  expect_ops(v.module({wrong}), "add broadcast:5 divide:2 multiply:2 reduce:2 rsqrt subtract");
}

TEST(RmsNorm, AScaleAlongOtherDimsAndASharedNormStayApart) {
  const NormStyle style{false, true, 0, 0, false, "f32"};
  HloWriter w;
  const Val x = w.parameter("f32", {8, 8}), gamma = w.parameter("f32", {8});
  const Val norm = normalise(w, style, x, mean(w, style, square(w, style, x)), nullptr);
  expect_ops(w.module({w.binary("multiply", norm, w.broadcast(gamma, x.dims, {0}))}),
             "broadcast multiply rms_norm");

  HloWriter v;
  const Val y = v.parameter("f32", {8, 8}), g = v.parameter("f32", {8});
  const Val shared = normalise(v, style, y, mean(v, style, square(v, style, y)), nullptr);
  expect_ops(v.module({v.binary("multiply", shared, v.row(g, y)), shared}), "broadcast multiply rms_norm");
}

Val polynomial_erf(HloWriter& w, const Val& x) {  // Abramowitz and Stegun 7.1.26, by |x| and its sign
  const Val a = w.unary("abs", x);
  const Val t = w.binary("divide", w.like(x, "1"), w.with("add", w.with("multiply", a, "0.3275911"), "1"));
  Val sum = w.like(x, "1.061405429");
  for (const char* factor : {"-1.453152027", "1.421413741", "-0.284496736", "0.254829592"}) {
    sum = w.with("add", w.binary("multiply", sum, t), factor);
  }
  sum = w.binary("multiply", sum, t);
  const Val e = w.unary("exponential", w.unary("negate", w.binary("multiply", a, a)));
  const Val positive = w.binary("subtract", w.like(x, "1"), w.binary("multiply", sum, e));
  return w.select(w.compare("GE", x, w.like(x, "0")), positive, w.unary("negate", positive));
}

struct Spelling {
  const char* ops;
  const char* form;
  std::function<Val(HloWriter&, const Val&)> write;
};

std::vector<Spelling> activations() {
  const auto half = [](HloWriter& w, const Val& x, const Val& inner) {
    return w.binary("multiply", w.with("multiply", x, "0.5"), w.with("add", inner, "1"));
  };
  const auto tanh_inner = [](HloWriter& w, const Val& x, const Val& cube) {
    return w.with("multiply", w.binary("add", x, w.with("multiply", cube, "0.044715")), "0.7978845608");
  };
  return {
      {"silu", "", [](HloWriter& w, const Val& x) { return w.silu(x); }},
      {"silu", "",
       [](HloWriter& w, const Val& x) {
         return w.binary("divide", x, w.with("add", w.unary("exponential", w.unary("negate", x)), "1"));
       }},
      {"silu", "",
       [](HloWriter& w, const Val& x) {  // x / 2 * (1 + tanh(x / 2))
         const Val h = w.with("divide", x, "2");
         return w.binary("multiply", w.with("add", w.unary("tanh", h), "1"), h);
       }},
      {"gelu", "erf",
       [=](HloWriter& w, const Val& x) {
         return half(w, x, w.unary("erf", w.with("multiply", x, "0.70710678")));
       }},
      {"gelu", "erf",
       [](HloWriter& w, const Val& x) {
         const Val erf = w.unary("erf", w.binary("divide", x, w.unary("sqrt", w.like(x, "2"))));
         return w.with("multiply", w.binary("multiply", x, w.with("add", erf, "1")), "0.5");
       }},
      {"gelu", "erf",
       [=](HloWriter& w, const Val& x) {
         return half(w, x, polynomial_erf(w, w.with("multiply", x, "0.70710678")));
       }},
      {"gelu", "tanh",
       [=](HloWriter& w, const Val& x) {
         const Val cube = w.binary("multiply", w.binary("multiply", x, x), x);
         return half(w, x, w.unary("tanh", tanh_inner(w, x, cube)));
       }},
      {"gelu", "tanh",
       [=](HloWriter& w, const Val& x) {
         return half(w, x, w.unary("tanh", tanh_inner(w, x, w.with("power", x, "3"))));
       }},
      {"gelu", "sigmoid",
       [](HloWriter& w, const Val& x) {
         return w.binary("multiply", w.unary("logistic", w.with("multiply", x, "1.702")), x);
       }},
  };
}

TEST(Activation, EverySpellingIsOneOperator) {
  const auto spellings = activations();
  for (size_t i = 0; i < spellings.size(); ++i) {
    for (const char* type : {"f32", "bf16"}) {
      SCOPED_TRACE(i);
      const auto& spelling = spellings[i];
      HloWriter w;  // converts around it
      const Val x = w.parameter(type, {4, 9});
      const auto graph =
          expect_ops(w.module({w.convert(spelling.write(w, w.convert(x, "f32")), type)}), spelling.ops);
      EXPECT_EQ(node_of(graph, spelling.ops).text("form"), spelling.form);
      HloWriter v;  // of a value that is a product itself, and not the only factor
      const Val a = v.parameter("f32", {4, 9}), b = v.parameter("f32", {4, 9});
      const Val y = v.binary("multiply", spelling.write(v, v.binary("multiply", a, b)), b);
      expect_ops(v.module({y}), std::string(spelling.ops) == "silu" ? "multiply:2 silu" : "gelu multiply:2");
    }
  }
}

TEST(Activation, RoundedConstantsOfBf16StillCount) {
  for (const auto& spelling : activations()) {
    HloWriter w;
    const Val x = w.parameter("bf16", {4, 9});
    expect_ops(w.module({spelling.write(w, x)}), spelling.ops);
  }
}

TEST(Activation, NearMissesStayAsTheyAre) {
  const auto near = [](const std::string& ops, const std::function<Val(HloWriter&, const Val&)>& f) {
    HloWriter w;
    const Val x = w.parameter("f32", {4, 9});
    expect_ops(w.module({f(w, x)}), ops);
  };
  near("broadcast logistic multiply:2", [](HloWriter& w, const Val& x) {  // swish with another slope
    return w.binary("multiply", x, w.unary("logistic", w.with("multiply", x, "1.5")));
  });
  near("add broadcast:2 erf multiply:2", [](HloWriter& w, const Val& x) {  // without the half
    return w.binary("multiply", x, w.with("add", w.unary("erf", w.with("multiply", x, "0.70710678")), "1"));
  });
  near("broadcast:2 erf multiply:3", [](HloWriter& w, const Val& x) {  // without the one
    const Val erf = w.unary("erf", w.with("multiply", x, "0.70710678"));
    return w.binary("multiply", w.with("multiply", x, "0.5"), erf);
  });
  near("broadcast logistic maximum multiply", [](HloWriter& w, const Val& x) {  // cut off far out
    return w.binary("multiply", x, w.unary("logistic", w.with("maximum", x, "-3")));
  });
}

}  // namespace
}  // namespace zomboss::oracle
