// For the tests of recognition: a module's graph must have exactly the expected operators and the values of
// the oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/graph/build.h"
#include "core/hlo/number.h"
#include "core/oracle/graph_evaluate.h"
#include "core/oracle/inputs.h"
#include "core/oracle/test_util.h"

namespace zomboss::oracle {

// "softmax" or "matmul:2 add": without parameters and constants, by name.
inline std::string ops_of(const graph::Graph& graph) {
  std::map<std::string, int> counts;
  for (const graph::Node& node : graph.nodes) {
    if (node.op != "parameter" && node.op != "constant") ++counts[node.op];
  }
  std::string text;
  for (const auto& [op, count] : counts) {
    text += (text.empty() ? "" : " ") + op + (count == 1 ? "" : ":" + std::to_string(count));
  }
  return text;
}

inline double element(const Tensor& tensor, size_t index) {
  const auto width = static_cast<size_t>(hlo::dtype_bytes(tensor.dtype));
  return hlo::decode(
      tensor.dtype,
      hlo::load_bits(tensor.dtype, reinterpret_cast<const char*>(tensor.bytes.data()) + index * width));
}

// Fails unless the outputs agree within `tolerance` times the largest magnitude, NaN only with NaN.
inline void expect_close(const Tensor& expected, const Tensor& actual, double tolerance,
                         const std::string& what) {
  ASSERT_EQ(expected.dims, actual.dims) << what;
  ASSERT_EQ(expected.dtype, actual.dtype) << what;
  const size_t count = expected.bytes.size() / static_cast<size_t>(hlo::dtype_bytes(expected.dtype));
  double largest = 1;
  for (size_t i = 0; i < count; ++i) {
    if (std::isfinite(element(expected, i))) largest = std::max(largest, std::fabs(element(expected, i)));
  }
  for (size_t i = 0; i < count; ++i) {
    const double e = element(expected, i), a = element(actual, i);
    if (e == a || (std::isnan(e) && std::isnan(a))) continue;
    ASSERT_LE(std::fabs(e - a), tolerance * largest) << "element " << i << " " << e << " " << a << "\n"
                                                     << what;
  }
}

// The graph, checked; `ops` as ops_of gives them.
inline graph::Graph expect_ops(const std::string& text, const std::string& ops, uint64_t seed = 1) {
  const hlo::Module module = parse(text);
  const Source source("test.hlo", text);
  Diagnostics diagnostics(source);
  auto graph = graph::build_graph(module, diagnostics);
  EXPECT_TRUE(graph.ok()) << diagnostics.render_all();
  if (!graph.ok()) return {};
  EXPECT_EQ(ops_of(*graph), ops) << text << graph->text();
  const auto inputs = generate_inputs(module, seed);
  EXPECT_TRUE(inputs.ok());
  const auto expected = evaluate(module, *inputs);
  const auto actual = evaluate_graph(*graph, *inputs);
  EXPECT_TRUE(expected.ok()) << expected.status().message() << text;
  EXPECT_TRUE(actual.ok()) << actual.status().message() << text << graph->text();
  if (!expected.ok() || !actual.ok()) return *std::move(graph);
  const double tolerance =
      text.find("bf16[") != text.rfind("bf16[") && text.find("bf16[", text.find("ENTRY")) != std::string::npos
          ? 0.02
          : 2e-5;
  for (size_t i = 0; i < expected->size(); ++i) {
    expect_close((*expected)[i], (*actual)[i], tolerance, text + graph->text());
  }
  return *std::move(graph);
}

// The only node of that op; fails when there is none.
inline graph::Node node_of(const graph::Graph& graph, std::string_view op) {
  for (const graph::Node& node : graph.nodes) {
    if (node.op == op) return node;
  }
  ADD_FAILURE() << "no " << op << "\n" << graph.text();
  return {};
}

}  // namespace zomboss::oracle
