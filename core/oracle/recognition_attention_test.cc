// Rope and attention: many spellings of each are one operator, and near misses are none.
#include <functional>

#include "core/oracle/hlo_writer.h"
#include "core/oracle/recognition_check.h"

namespace zomboss::oracle {
namespace {

using Ints = std::vector<int64_t>;

// First and second features of x, each [..., d/2].
struct Pieces {
  Val first, second;
};

Pieces halves(HloWriter& w, const Val& x) {
  const auto dim = static_cast<int64_t>(x.dims.size()) - 1;
  return {w.slice(x, dim, 0, x.dims.back() / 2), w.slice(x, dim, x.dims.back() / 2, x.dims.back())};
}

Pieces strided(HloWriter& w, const Val& x) {
  const auto dim = static_cast<int64_t>(x.dims.size()) - 1;
  return {w.slice(x, dim, 0, x.dims.back() - 1, 2), w.slice(x, dim, 1, x.dims.back(), 2)};
}

// Through a reshape to [..., d/2, 2] (or [..., 2, d/2]).
Pieces paired(HloWriter& w, const Val& x, bool interleaved) {
  Dims dims = x.dims, piece = x.dims;
  piece.back() /= 2;
  dims.back() = interleaved ? x.dims.back() / 2 : 2;
  dims.push_back(interleaved ? 2 : x.dims.back() / 2);
  const Val pairs = w.reshape(x, dims);
  const auto dim = static_cast<int64_t>(dims.size()) - (interleaved ? 1 : 2);
  return {w.reshape(w.slice(pairs, dim, 0, 1), piece), w.reshape(w.slice(pairs, dim, 1, 2), piece)};
}

Val joined(HloWriter& w, const Val& first, const Val& second, bool interleaved) {
  const auto last = static_cast<int64_t>(first.dims.size()) - 1;
  if (!interleaved) return w.concatenate(first, second, last);
  Dims unit = first.dims, dims = first.dims;
  unit.push_back(1);
  dims.back() *= 2;
  return w.reshape(w.concatenate(w.reshape(first, unit), w.reshape(second, unit), last + 1), dims);
}

// first * c - second * s, second * c + first * s; tables [sequence, d/2] of x [sequence, heads, d].
Val rotated_pieces(HloWriter& w, const Pieces& x, const Val& cosine, const Val& sine, bool interleaved) {
  const Val c = w.broadcast(cosine, x.first.dims, {0, 2}), s = w.broadcast(sine, x.first.dims, {0, 2});
  const Val first = w.binary("subtract", w.binary("multiply", x.first, c), w.binary("multiply", x.second, s));
  const Val second = w.binary("add", w.binary("multiply", x.first, s), w.binary("multiply", c, x.second));
  return joined(w, first, second, interleaved);
}

void expect_rope(const graph::Graph& graph, const char* layout, const char* table, const Ints& dims) {
  const auto node = node_of(graph, "rope");
  EXPECT_EQ(node.text("layout"), layout);
  EXPECT_EQ(node.text("table"), table);
  EXPECT_EQ(node.ints("dims"), dims);
}

TEST(Rope, FullTablesInBothLayouts) {
  for (const char* type : {"f32", "bf16"}) {
    for (const bool interleaved : {false, true}) {
      HloWriter w;
      const Val narrow = w.parameter(type, {5, 3, 8});
      const Val cosine = w.parameter("f32", {5, 8}), sine = w.parameter("f32", {5, 8});
      const Val x = w.convert(narrow, "f32");
      const Pieces pieces = interleaved ? strided(w, x) : halves(w, x);
      const Val rotated = joined(w, w.unary("negate", pieces.second), pieces.first, interleaved);
      const Val s = w.broadcast(sine, x.dims, {0, 2}), c = w.broadcast(cosine, x.dims, {0, 2});
      const Val sum = w.binary("add", w.binary("multiply", s, rotated), w.binary("multiply", x, c));
      const auto graph = expect_ops(w.module({w.convert(sum, type)}), "rope");
      expect_rope(graph, interleaved ? "interleaved" : "half", "full", {0, 2});
    }
  }
}

TEST(Rope, HalfTablesInBothLayoutsAndAllWaysToTakeHalves) {
  for (const char* type : {"f32", "bf16"}) {
    for (const bool interleaved : {false, true}) {
      for (const bool pairs : {false, true}) {
        HloWriter w;
        const Val narrow = w.parameter(type, {5, 3, 8});
        const Val cosine = w.parameter("f32", {5, 4}), sine = w.parameter("f32", {5, 4});
        const Val x = w.convert(narrow, "f32");
        const Pieces pieces = pairs ? paired(w, x, interleaved) : interleaved ? strided(w, x) : halves(w, x);
        const Val result = rotated_pieces(w, pieces, cosine, sine, interleaved);
        const auto graph = expect_ops(w.module({w.convert(result, type)}), "rope");
        expect_rope(graph, interleaved ? "interleaved" : "half", "half", {0, 2});
      }
    }
  }
}

TEST(Rope, ComputedTablesAndScaledQueriesStayOperands) {
  HloWriter w;
  const Val x = w.with("multiply", w.parameter("f32", {5, 3, 8}), "0.3");
  const Val angle = w.parameter("f32", {5, 4});
  const auto graph = expect_ops(
      w.module({rotated_pieces(w, halves(w, x), w.unary("cosine", angle), w.unary("sine", angle), false)}),
      "broadcast cosine multiply rope sine");
  expect_rope(graph, "half", "half", {0, 2});
}

TEST(Rope, NearMissesStayAsTheyAre) {
  const auto near = [](const std::function<Val(HloWriter&, const Val&, const Val&, const Val&)>& f,
                       bool full) {
    HloWriter w;
    const Val x = w.parameter("f32", {5, 3, 8});
    const Dims table{5, full ? 8 : 4};
    const Val cosine = w.parameter("f32", table), sine = w.parameter("f32", table);
    const std::string text = w.module({f(w, x, cosine, sine)});
    const hlo::Module module = parse(text);
    const Source source("test.hlo", text);
    Diagnostics diagnostics(source);
    const auto graph = graph::build_graph(module, diagnostics);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(ops_of(*graph).find("rope"), std::string::npos) << text;
    expect_ops(text, ops_of(*graph));
  };
  // the rotation in the other direction
  near(
      [](HloWriter& w, const Val& x, const Val& c, const Val& s) {
        const Pieces p = halves(w, x);
        const Val rotated = w.concatenate(p.second, w.unary("negate", p.first), 2);
        return w.binary("add", w.binary("multiply", x, w.broadcast(c, x.dims, {0, 2})),
                        w.binary("multiply", rotated, w.broadcast(s, x.dims, {0, 2})));
      },
      true);
  // the halves swapped but not negated
  near(
      [](HloWriter& w, const Val& x, const Val& c, const Val& s) {
        const Pieces p = halves(w, x);
        return w.binary(
            "add", w.binary("multiply", x, w.broadcast(c, x.dims, {0, 2})),
            w.binary("multiply", w.concatenate(p.second, p.first, 2), w.broadcast(s, x.dims, {0, 2})));
      },
      true);
  // both halves with the same sign, and another cosine in the second
  near(
      [](HloWriter& w, const Val& x, const Val& c, const Val& s) {
        const Pieces p = halves(w, x);
        const Val cosine = w.broadcast(c, p.first.dims, {0, 2}), sine = w.broadcast(s, p.first.dims, {0, 2});
        const Val first =
            w.binary("subtract", w.binary("multiply", p.first, cosine), w.binary("multiply", p.second, sine));
        const Val second =
            w.binary("subtract", w.binary("multiply", p.second, cosine), w.binary("multiply", p.first, sine));
        return w.concatenate(first, second, 2);
      },
      false);
  near(
      [](HloWriter& w, const Val& x, const Val& c, const Val& s) {
        const Pieces p = halves(w, x);
        const Val cosine = w.broadcast(c, p.first.dims, {0, 2}), sine = w.broadcast(s, p.first.dims, {0, 2});
        const Val first =
            w.binary("subtract", w.binary("multiply", p.first, cosine), w.binary("multiply", p.second, sine));
        const Val second =
            w.binary("add", w.binary("multiply", p.second, sine), w.binary("multiply", p.first, sine));
        return w.concatenate(first, second, 2);
      },
      false);
  // pieces of one layout joined in the other
  near([](HloWriter& w, const Val& x, const Val& c,
          const Val& s) { return rotated_pieces(w, halves(w, x), c, s, true); },
       false);
}

void expect_attention(const graph::Graph& graph, const std::string& equation, double scale,
                      const std::string& mask = "none") {
  const auto node = node_of(graph, "attention");
  EXPECT_EQ(node.text("equation"), equation) << graph.text();
  EXPECT_NEAR(node.number("scale", 0), scale, 1e-3);
  EXPECT_EQ(node.text("mask"), mask);
}

using Step = std::function<Val(HloWriter&, const Val&)>;

// Of q [q, h, d], k [k, h, d] and v [k, h, e]; `mask` sees the scaled scores [h, q, k].
Val attend(HloWriter& w, const Val& q, const Val& k, const Val& v, const Step& mask) {
  const Val scores = w.dot(q, k, {1}, 2, {1}, 2);
  const Val weights = w.softmax(mask(w, w.with("multiply", scores, "0.5")), 2);
  return w.transpose(w.dot(weights, v, {0}, 2, {1}, 0), {1, 0, 2});
}

const Step kNoMask = [](HloWriter&, const Val& scores) { return scores; };

TEST(Attention, ManyHeads) {
  for (const bool jax : {false, true}) {
    for (const char* type : {"f32", "bf16"}) {
      HloWriter w;
      w.jax = jax;
      const Val q = w.parameter(type, {5, 2, 4}), k = w.parameter(type, {7, 2, 4}),
                v = w.parameter(type, {7, 2, 3});
      expect_attention(expect_ops(w.module({attend(w, q, k, v, kNoMask)}), "attention"), "qhd,khd,khe->qhe",
                       0.5);
    }
  }
}

TEST(Attention, MixedPrecisionAndTransposesFoldIn) {
  HloWriter w;
  const Val q = w.parameter("f32", {5, 2, 4}), k = w.parameter("f32", {7, 2, 4}),
            v = w.parameter("f32", {7, 2, 3});
  const Val qt = w.convert(w.transpose(q, {1, 0, 2}), "bf16"),
            kt = w.convert(w.transpose(k, {1, 2, 0}), "bf16");
  const Val scores = w.with("divide", w.dot(qt, kt, {0}, 2, {0}, 1, "f32"), "2");
  const Val weights = w.convert(w.softmax(scores, 2), "bf16");
  const Val result = w.dot(weights, w.convert(w.transpose(v, {1, 0, 2}), "bf16"), {0}, 2, {0}, 1, "f32");
  const auto graph = expect_ops(w.module({w.convert(w.transpose(result, {1, 0, 2}), "bf16")}), "attention");
  expect_attention(graph, "qhd,khd,khe->qhe", 0.5);
}

TEST(Attention, TheScaleMayBeOnAnyOfTheOperandsAndComputed) {
  for (int place = 0; place < 4; ++place) {
    HloWriter w;
    Val q = w.parameter("f32", {5, 4}), k = w.parameter("f32", {7, 4});
    const Val v = w.parameter("f32", {7, 3});
    if (place == 0) q = w.binary("divide", q, w.unary("sqrt", w.like(q, "4")));
    if (place == 1) k = w.with("multiply", k, "0.5");
    if (place == 2) k = w.transpose(w.with("multiply", k, "0.5"), {1, 0});
    Val scores = w.dot(q, k, {}, 1, {}, place == 2 ? 0 : 1);
    if (place == 3) scores = w.binary("multiply", scores, w.unary("rsqrt", w.like(scores, "4")));
    const auto graph = expect_ops(w.module({w.dot(w.softmax(scores, 1), v, {}, 1, {}, 0)}), "attention");
    expect_attention(graph, "qd,kd,ke->qe", 0.5);
  }
}

TEST(Attention, BatchesAndTheOrderOfTheProducts) {
  HloWriter w;  // scores [b, h, k, q]: k first in both products
  const Val q = w.parameter("f32", {2, 5, 3, 4}), k = w.parameter("f32", {2, 7, 3, 4}),
            v = w.parameter("f32", {2, 7, 3, 6});
  const Val scores = w.dot(k, q, {0, 2}, 3, {0, 2}, 3);
  const Val result = w.dot(v, w.softmax(scores, 2), {0, 2}, 1, {0, 1}, 2);  // [b, h, e, q]
  const auto graph = expect_ops(w.module({w.transpose(result, {0, 3, 1, 2})}), "attention");
  expect_attention(graph, "bqhd,bkhd,bkhe->bqhe", 1);
}

// x [k, 2, d] repeated to [k, 6, d], in the two orders of heads.
Val repeated(HloWriter& w, const Val& x, bool tiled) {
  const Dims dims{x.dims[0], tiled ? 3 : 2, tiled ? 2 : 3, x.dims[2]};
  return w.reshape(w.broadcast(x, dims, {0, tiled ? 2 : 1, 3}), {x.dims[0], 6, x.dims[2]});
}

TEST(Attention, SixHeadsWithTwoOfKeysAndValues) {
  for (const char* type : {"f32", "bf16"}) {
    for (const bool tiled : {false, true}) {
      HloWriter w;
      const Val q = w.reshape(w.parameter(type, {5, 24}), {5, 6, 4});
      const Val k = w.parameter(type, {7, 2, 4}), v = w.parameter(type, {7, 2, 3});
      const Val result = attend(w, q, repeated(w, k, tiled), repeated(w, v, tiled), kNoMask);
      const auto graph = expect_ops(w.module({w.reshape(result, {5, 18})}), "attention reshape:2");
      expect_attention(graph, tiled ? "qghd,khd,khe->qghe" : "qhgd,khd,khe->qhge", 0.5);
      EXPECT_EQ(graph.nodes[node_of(graph, "attention").operands[1]].op, "parameter");
    }
  }
}

TEST(Attention, GroupsAsADimOfTheQueries) {
  HloWriter w;
  const Val q = w.reshape(w.parameter("f32", {5, 6, 4}), {5, 2, 3, 4});
  const Val k = w.parameter("f32", {7, 2, 4}), v = w.parameter("f32", {7, 2, 3});
  const Val scores = w.dot(q, k, {1}, 3, {1}, 2);  // [h, q, g, k]
  const Val weights = w.softmax(w.with("multiply", scores, "0.5"), 3);
  const Val result = w.transpose(w.dot(weights, v, {0}, 3, {1}, 0), {1, 0, 2, 3});
  const auto graph = expect_ops(w.module({w.reshape(result, {5, 18})}), "attention reshape:2");
  expect_attention(graph, "qhgd,khd,khe->qhge", 0.5);
}

TEST(Attention, OneHeadOfKeysAndValues) {
  for (const bool repeats : {false, true}) {
    HloWriter w;
    const Val q = w.parameter("f32", {5, 6, 4}), k = w.parameter("f32", {7, 4}),
              v = w.parameter("f32", {7, 3});
    Val result;
    if (repeats) {
      result = attend(w, q, w.broadcast(k, {7, 6, 4}, {0, 2}), w.broadcast(v, {7, 6, 3}, {0, 2}), kNoMask);
    } else {
      const Val scores = w.with("multiply", w.dot(q, k, {}, 2, {}, 1), "0.5");
      result = w.dot(w.softmax(scores, 2), v, {}, 2, {}, 0);
    }
    expect_attention(expect_ops(w.module({result}), "attention"), "qgd,kd,ke->qge", 0.5);
  }
}

TEST(Attention, OneQueryPosition) {
  HloWriter w;
  const Val q = w.parameter("f32", {1, 2, 4}), k = w.parameter("f32", {7, 2, 4}),
            v = w.parameter("f32", {7, 2, 3});
  expect_attention(expect_ops(w.module({attend(w, q, k, v, kNoMask)}), "attention"), "qhd,khd,khe->qhe", 0.5);
}

TEST(Attention, CausalMasks) {
  const std::vector<Step> masks = {
      [](HloWriter& w, const Val& s) { return w.causal(s); },
      [](HloWriter& w, const Val& s) {  // replaced where the key is later
        return w.select(w.compare("GT", w.iota(s.dims, 2), w.iota(s.dims, 1)), w.like(s, "-1e30"), s);
      },
      [](HloWriter& w, const Val& s) {  // a triangle of ones, as tril makes it, repeated over the heads
        const Dims square{s.dims[1], s.dims[2]};
        const Val row = w.with("add", w.iota(square, 0), "0"), column = w.iota(square, 1);
        return w.select(w.broadcast(w.compare("GE", row, column), s.dims, {1, 2}), s, w.like(s, "-3.4e38"));
      },
      [](HloWriter& w, const Val& s) {  // added
        const Dims square{s.dims[1], s.dims[2]};
        const Val keep = w.compare("LE", w.iota(square, 1), w.iota(square, 0));
        const Val zero = w.broadcast(w.scalar("f32", "0"), square, {});
        const Val low = w.broadcast(w.scalar("f32", "-1e9"), square, {});
        return w.binary("add", s, w.broadcast(w.select(keep, zero, low), s.dims, {1, 2}));
      }};
  for (const Step& mask : masks) {
    HloWriter w;
    const Val q = w.parameter("f32", {6, 2, 4}), k = w.parameter("f32", {6, 2, 4}),
              v = w.parameter("f32", {6, 2, 3});
    const auto graph = expect_ops(w.module({attend(w, q, k, v, mask)}), "attention");
    expect_attention(graph, "qhd,khd,khe->qhe", 0.5, "causal");
  }
}

TEST(Attention, CausalMaskOverGroupsSaysWhichDimHoldsThePositions) {
  HloWriter w;  // one head of K and V, heads before positions
  const Val q = w.parameter("f32", {6, 5, 4}), k = w.parameter("f32", {5, 4}), v = w.parameter("f32", {5, 3});
  const Val weights = w.softmax(w.causal(w.dot(q, k, {}, 2, {}, 1)), 2);
  const auto graph = expect_ops(w.module({w.dot(weights, v, {}, 2, {}, 0)}), "attention");
  expect_attention(graph, "gqd,kd,ke->gqe", 1, "causal");
}

TEST(Attention, OtherMasks) {
  HloWriter w;  // keys that count, for each query
  const Val q = w.parameter("f32", {5, 2, 4}), k = w.parameter("f32", {7, 2, 4}),
            v = w.parameter("f32", {7, 2, 3});
  const Val keep = w.parameter("pred", {5, 7});
  const Step boolean = [&](HloWriter& x, const Val& s) {
    return x.select(x.broadcast(keep, s.dims, {1, 2}), s, x.like(s, "-1e30"));
  };
  expect_attention(expect_ops(w.module({attend(w, q, k, v, boolean)}), "attention"), "qhd,khd,khe,qk->qhe",
                   0.5, "boolean");

  HloWriter a;  // a term for each head, query and key
  const Val qa = a.parameter("f32", {5, 2, 4}), ka = a.parameter("f32", {7, 2, 4}),
            va = a.parameter("f32", {7, 2, 3});
  const Val term = a.parameter("f32", {2, 5, 7});
  const Step additive = [&](HloWriter& x, const Val& s) { return x.binary("add", term, s); };
  expect_attention(expect_ops(a.module({attend(a, qa, ka, va, additive)}), "attention"),
                   "qhd,khd,khe,hqk->qhe", 0.5, "additive");

  HloWriter b;  // keys to leave out, right after the product: the scale is on q
  const Val qb = b.parameter("f32", {5, 4}), kb = b.parameter("f32", {7, 4}), vb = b.parameter("f32", {7, 3});
  const Val out = b.parameter("pred", {1, 7});
  const Val scores = b.dot(b.with("multiply", qb, "0.5"), kb, {}, 1, {}, 1);
  const Val masked =
      b.select(b.broadcast(b.reshape(out, {7}), scores.dims, {1}), b.like(scores, "-inf"), scores);
  const auto graph =
      expect_ops(b.module({b.dot(b.softmax(masked, 1), vb, {}, 1, {}, 0)}), "attention not reshape");
  expect_attention(graph, "qd,kd,ke,k->qe", 0.5, "boolean");

  HloWriter c;  // added to the bare product, where it looks like a bias
  const Val qc = c.parameter("f32", {5, 4}), kc = c.parameter("f32", {7, 4}), vc = c.parameter("f32", {7, 3});
  const Val row = c.parameter("f32", {7});
  const Val sum = c.binary("add", c.dot(qc, kc, {}, 1, {}, 1), c.row(row, Val{"", "f32", {5, 7}}));
  expect_attention(expect_ops(c.module({c.dot(c.softmax(sum, 1), vc, {}, 1, {}, 0)}), "attention"),
                   "qd,kd,ke,k->qe", 1, "additive");
}

TEST(Attention, NearMissesKeepTheirParts) {
  HloWriter w;  // softmax over the queries
  const Val q = w.parameter("f32", {5, 4}), k = w.parameter("f32", {7, 4}), v = w.parameter("f32", {7, 3});
  const Val weights = w.softmax(w.dot(q, k, {}, 1, {}, 1), 0);
  expect_ops(w.module({w.dot(weights, v, {}, 1, {}, 0)}), "matmul:2 softmax");

  HloWriter u;  // the weights are a result, too
  const Val qu = u.parameter("f32", {5, 4}), ku = u.parameter("f32", {7, 4}), vu = u.parameter("f32", {7, 3});
  const Val shown = u.softmax(u.dot(qu, ku, {}, 1, {}, 1), 1);
  expect_ops(u.module({u.dot(shown, vu, {}, 1, {}, 0), shown}), "matmul:2 softmax");

  HloWriter t;  // two masks
  const Val qt = t.parameter("f32", {5, 1, 4}), kt = t.parameter("f32", {5, 1, 4}),
            vt = t.parameter("f32", {5, 1, 3});
  const Val term = t.parameter("f32", {1, 5, 5});
  const Step both = [&](HloWriter& x, const Val& s) { return x.causal(x.binary("add", s, term), "-1e9"); };
  expect_ops(t.module({attend(t, qt, kt, vt, both)}),
             "add broadcast:2 compare iota:2 matmul:2 multiply select softmax transpose");

  HloWriter m;  // a mask that is none: what it puts in is no low value
  const Val qm = m.parameter("f32", {5, 1, 4}), km = m.parameter("f32", {5, 1, 4}),
            vm = m.parameter("f32", {5, 1, 3});
  const Step zero = [&](HloWriter& x, const Val& s) { return x.causal(s, "0"); };
  expect_ops(m.module({attend(m, qm, km, vm, zero)}),
             "broadcast:2 compare iota:2 matmul:2 multiply select softmax transpose");

  HloWriter s;  // the scale behind the mask
  const Val qs = s.parameter("f32", {5, 4}), ks = s.parameter("f32", {7, 4}), vs = s.parameter("f32", {7, 3});
  const Val added =
      s.with("multiply", s.binary("add", s.dot(qs, ks, {}, 1, {}, 1), s.parameter("f32", {5, 7})), "0.5");
  expect_ops(s.module({s.dot(s.softmax(added, 1), vs, {}, 1, {}, 0)}),
             "bias broadcast matmul:2 multiply softmax");
}

TEST(Attention, ALaterQueryThanKeyMaskIsBoolean) {
  HloWriter w;  // key < query, without the key itself
  const Val q = w.parameter("f32", {5, 1, 4}), k = w.parameter("f32", {5, 1, 4}),
            v = w.parameter("f32", {5, 1, 3});
  const Step strict = [](HloWriter& x, const Val& s) {
    return x.select(x.compare("GT", x.iota(s.dims, 1), x.iota(s.dims, 2)), s, x.like(s, "-1e30"));
  };
  const auto graph = expect_ops(w.module({attend(w, q, k, v, strict)}), "attention compare iota:2");
  EXPECT_EQ(node_of(graph, "attention").text("mask"), "boolean");
}

}  // namespace
}  // namespace zomboss::oracle
