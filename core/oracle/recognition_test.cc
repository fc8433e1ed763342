// The operator graph must have the values of the HLO that it was built from: random matmuls with random
// operand orders and random epilogues, evaluated by the oracle and by the graph evaluator.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/graph/build.h"
#include "core/oracle/graph_evaluate.h"
#include "core/oracle/inputs.h"
#include "core/oracle/test_util.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

using Dims = std::vector<int64_t>;

std::string shape_text(std::string_view type, const Dims& dims) {
  return fmt::format("{}[{}]", type, fmt::join(dims, ","));
}

// Writes one random program.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed, 9) {}

  std::string write() {
    std::string x = matmul();
    if (coin()) x = bias(x);
    if (coin(3)) x = add("s32", "maximum", two(x, splat("s32", "0")));
    x = epilogue(x);
    return text_ + "ROOT out = " + shape_text(out_type_, out_) + " copy(" + x + ")\n";
  }

 private:
  bool coin(uint64_t one_in = 2) { return random_.below(one_in) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> items) {
    return *(items.begin() + random_.below(items.size()));
  }

  std::string add(std::string_view type, const Dims& dims, std::string_view op, std::string_view operands,
                  std::string_view attributes = "") {
    std::string name = fmt::format("v{}", count_++);
    text_ += fmt::format("{} = {} {}({}){}\n", name, shape_text(type, dims), op, operands, attributes);
    return name;
  }
  std::string add(std::string_view type, std::string_view op, std::string_view operands,
                  std::string_view attributes = "") {
    return add(type, out_, op, operands, attributes);
  }
  std::string two(const std::string& a, const std::string& b) { return coin() ? a + ", " + b : b + ", " + a; }
  std::string scalar(std::string_view type, std::string_view value) {
    return add(type, Dims{}, "constant", value);
  }
  std::string splat(std::string_view type, std::string_view value) {
    return add(type, "broadcast", scalar(type, value), ", dimensions={}");
  }
  // A limit of clamp: scalar or splat. Of minimum and maximum: splat.
  std::string bound(std::string_view type, std::string_view value) {
    return coin() ? scalar(type, value) : splat(type, value);
  }

  Dims shuffled(size_t rank) {
    Dims order(rank);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = rank; i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    return order;
  }

  // A parameter whose dims lie in another order, brought to `dims` by transpose, perhaps widened around it.
  std::string operand(const Dims& dims, std::string_view narrow, bool widen, int number) {
    const Dims order = shuffled(dims.size());  // result dim i is parameter dim order[i]
    const bool moves = coin() && !std::is_sorted(order.begin(), order.end());
    Dims stored = dims;
    if (moves) {
      for (size_t i = 0; i < dims.size(); ++i) stored[static_cast<size_t>(order[i])] = dims[i];
    }
    std::string x = add(narrow, stored, "parameter", std::to_string(number));
    const bool early = coin();
    if (widen && early) x = add("s32", stored, "convert", x);
    const std::string_view type = widen && early ? std::string_view("s32") : narrow;
    if (moves) x = add(type, dims, "transpose", x, fmt::format(", dimensions={{{}}}", fmt::join(order, ",")));
    if (widen && !early) x = add("s32", dims, "convert", x);
    return x;
  }

  std::string matmul() {
    Dims batch, left, right, contract;
    for (Dims* part : {&batch, &left, &right}) {
      for (uint64_t i = random_.below(3); i > 0; --i) part->push_back(random_.between(1, 4));
    }
    for (int64_t i = random_.between(1, 2); i > 0; --i) contract.push_back(random_.between(1, 5));
    Dims lhs_batch, lhs_contract, rhs_batch, rhs_contract, lhs, rhs;
    place(batch, contract, left, lhs, lhs_batch, lhs_contract);
    place(batch, contract, right, rhs, rhs_batch, rhs_contract);
    const bool widen = coin();
    const std::string a = operand(lhs, pick<std::string_view>({"s8", "s8", "u8"}), widen, 0);
    const std::string b = operand(rhs, "s8", widen, 1);
    out_ = batch;
    out_.insert(out_.end(), left.begin(), left.end());
    out_.insert(out_.end(), right.begin(), right.end());
    return add("s32", "dot", a + ", " + b,
               fmt::format(", lhs_batch_dims={{{}}}, lhs_contracting_dims={{{}}}, rhs_batch_dims={{{}}}, "
                           "rhs_contracting_dims={{{}}}",
                           fmt::join(lhs_batch, ","), fmt::join(lhs_contract, ","), fmt::join(rhs_batch, ","),
                           fmt::join(rhs_contract, ",")));
  }

  // Random positions for the dims of one side; free dims keep their order.
  void place(const Dims& batch, const Dims& contract, const Dims& free, Dims& dims, Dims& batch_at,
             Dims& contract_at) {
    const size_t rank = batch.size() + contract.size() + free.size();
    const Dims order = shuffled(rank);
    dims.assign(rank, 0);
    size_t next = 0;
    for (const int64_t size : batch) {
      batch_at.push_back(order[next]);
      dims[static_cast<size_t>(order[next++])] = size;
    }
    for (const int64_t size : contract) {
      contract_at.push_back(order[next]);
      dims[static_cast<size_t>(order[next++])] = size;
    }
    size_t free_next = 0;
    for (int64_t& dim : dims) {
      if (dim == 0) dim = free[free_next++];
    }
  }

  // A vector, matrix or scalar added along random dims, in random spelling.
  std::string bias(const std::string& x) {
    Dims along, dims;
    for (size_t d = 0; d < out_.size(); ++d) {
      if (!coin()) continue;
      along.push_back(static_cast<int64_t>(d));
      dims.push_back(out_[d]);
    }
    std::string b = add("s32", dims, "parameter", "2");
    if (coin()) {  // through unit dims
      Dims unit = dims;
      unit.insert(unit.begin() + static_cast<std::ptrdiff_t>(random_.below(unit.size() + 1)), 1);
      b = add("s32", dims, "reshape", add("s32", unit, "reshape", b));
    }
    if (along.size() == out_.size() && coin()) return add("s32", "add", two(x, b));
    const std::string dims_text = fmt::format(", dimensions={{{}}}", fmt::join(along, ","));
    return add("s32", "add", two(x, add("s32", "broadcast", b, dims_text)));
  }

  std::string limit(const std::string& x, std::string_view type) {
    const bool whole = type != "f32";
    const auto low = whole ? pick<std::string_view>({"-128", "-100", "0", "5"})
                           : pick<std::string_view>({"-128", "-1000", "-7.5", "0", "-0.5", "3"});
    const auto high = whole ? pick<std::string_view>({"127", "90", "6"})
                            : pick<std::string_view>({"127", "255", "6", "99.5", "90.75", "1e9"});
    if (coin()) return add(type, "clamp", bound(type, low) + ", " + x + ", " + bound(type, high));
    if (coin())
      return add(type, "minimum", two(add(type, "maximum", two(x, splat(type, low))), splat(type, high)));
    return add(type, "maximum", two(add(type, "minimum", two(x, splat(type, high))), splat(type, low)));
  }

  std::string epilogue(std::string x) {
    out_type_ = pick<std::string_view>({"s8", "s8", "u8", "s16"});
    if (coin(6)) return add(out_type_, "convert", limit(x, "s32"));  // integers only
    x = add("f32", "convert", x);
    if (coin(4)) x = add("f32", "maximum", two(x, splat("f32", "0")));
    if (!coin(8)) {
      const auto scale =
          pick<std::string_view>({"0.013", "0.0078125", "0.5", "-0.031", "1.7", "1", "0", "1e-9"});
      x = add("f32", "multiply", two(x, splat("f32", scale)));
    } else {
      x = add("f32", "divide", x + ", " + splat("f32", pick<std::string_view>({"64", "60", "-0.25"})));
    }
    if (coin(3)) x = limit(x, "f32");
    if (!coin(10)) x = add("f32", "round-nearest-even", x);
    if (coin()) x = limit(x, "f32");
    if (coin(4)) return add(out_type_, "convert", limit(add("s32", "convert", x), "s32"));
    return add(out_type_, "convert", x);
  }

  Random random_;
  std::string text_;
  int count_ = 0;
  Dims out_;
  std::string_view out_type_;
};

// Checks one module and counts the ops of its graph.
void check(const hlo::Module& module, const std::string& text, uint64_t seed,
           std::map<std::string, int>& ops) {
  const Source source("test.hlo", text);
  Diagnostics diagnostics(source);
  const auto graph = graph::build_graph(module, diagnostics);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  const auto inputs = generate_inputs(module, seed);
  ASSERT_TRUE(inputs.ok());
  const auto expected = evaluate(module, *inputs);
  const auto actual = evaluate_graph(*graph, *inputs);
  ASSERT_TRUE(expected.ok()) << expected.status().message() << text;
  ASSERT_TRUE(actual.ok()) << actual.status().message() << text << graph->text();
  ASSERT_EQ(*expected, *actual) << "seed " << seed << "\n" << text << graph->text();
  for (const graph::Node& node : graph->nodes) ++ops[node.op];
}

TEST(Recognition, KeepsTheValuesOfRandomMatmulsWithRandomEpilogues) {
  constexpr uint64_t kPrograms = 3000;
  std::map<std::string, int> ops;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    const std::string text = Program(seed).write();
    check(parse_entry(text), text, seed, ops);
    if (testing::Test::HasFatalFailure()) return;
  }
  // The test means something only as long as most of it is recognised.
  EXPECT_EQ(ops["matmul"], static_cast<int>(kPrograms));
  EXPECT_EQ(ops["dot"], 0);
  EXPECT_GT(ops["bias"], 1000);
  EXPECT_EQ(ops["add"], 0);
  EXPECT_GT(ops["relu"], 500);
  EXPECT_GT(ops["quantize"], 2000);
}

TEST(Recognition, KeepsTheValuesOfFloatPrograms) {
  const char* const kPrograms[] = {
      // bf16 matmul with an f32 result, transposed operand, bias, relu
      "x = bf16[3,4] parameter(0)\nw = bf16[5,4] parameter(1)\nv = f32[5] parameter(2)\nxf = f32[3,4] "
      "convert(x)\nwf = "
      "f32[5,4] convert(w)\nt = f32[4,5] transpose(wf), dimensions={1,0}\nd = f32[3,5] dot(xf, t), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}\nb = f32[3,5] broadcast(v), dimensions={1}\na = "
      "f32[3,5] "
      "add(d, b)\nz = f32[] constant(0)\nZ = f32[3,5] broadcast(z), dimensions={}\nROOT r = f32[3,5] "
      "maximum(a, Z)\n",
      // slices, padding, selection, windows
      "x = s32[4,6] parameter(0)\ns = s32[2,3] slice(x), slice={[1:3], [0:6:2]}\nz = s32[] constant(7)\np = "
      "s32[4,5] "
      "pad(s, z), padding=1_1x0_0_1\nv = s32[4,5] reverse(p), dimensions={0}\nc = pred[4,5] compare(p, v), "
      "direction=GT\nk = s32[4,5] select(c, p, v)\nROOT w = s32[3,4] reduce-window(k, z), window={size=2x2}, "
      "to_apply=isum\n",
      "x = f32[1,5,5,2] parameter(0)\nk = f32[3,3,2,4] parameter(1)\nROOT r = f32[1,3,3,4] convolution(x, "
      "k), "
      "window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"};
  const std::string reducers =
      "HloModule m\nmax {\na = f32[] parameter(0)\nb = f32[] parameter(1)\nROOT r = f32[] maximum(a, "
      "b)\n}\nsum {\na = "
      "f32[] parameter(0)\nb = f32[] parameter(1)\nROOT r = f32[] add(b, a)\n}\nisum {\na = s32[] "
      "parameter(0)\nb = "
      "s32[] parameter(1)\nROOT r = s32[] add(a, b)\n}\nENTRY e {\n";
  std::map<std::string, int> ops;
  for (const std::string program : kPrograms) {
    const std::string text = reducers + program + "}\n";
    check(parse(text), text, 4, ops);
  }
  EXPECT_EQ(ops["matmul"], 1);
  EXPECT_EQ(ops["bias"], 1);
  EXPECT_EQ(ops["relu"], 1);
  EXPECT_EQ(ops["transpose"] + ops["convert"], 0);
}

TEST(Recognition, KeepsNanAndSpecialValuesOfFloatInputs) {
  const std::string text =
      "x = f32[8] constant({nan, inf, -inf, 0.5, 1.5, -0.5, 1e30, -3})\ns = f32[] constant(3)\nS = f32[8] "
      "broadcast(s), "
      "dimensions={}\nm = f32[8] multiply(x, S)\nr = f32[8] round-nearest-even(m)\nlo = f32[] "
      "constant(-5)\nhi = f32[] "
      "constant(5)\nc = f32[8] clamp(lo, r, hi)\nROOT q = s8[8] convert(c)\n";
  std::map<std::string, int> ops;
  check(parse_entry(text), text, 0, ops);
  EXPECT_EQ(ops["quantize"], 1);
  // With limits that leave out zero NaN still gives zero, so there is no such node.
  std::string above = text;
  above.replace(above.find("-5"), 2, "2");
  ops.clear();
  check(parse_entry(above), above, 0, ops);
  EXPECT_EQ(ops["quantize"], 0);
}

}  // namespace
}  // namespace zomboss::oracle
