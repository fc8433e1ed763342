// The two int8 suites under workloads/: every file parses, is recognised as its family, and gives a reference
// result that a wrong kernel cannot match by luck.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "core/graph/build.h"
#include "core/graph/to_wire.h"
#include "core/hlo/printer.h"
#include "core/oracle/graph_evaluate.h"
#include "core/oracle/inputs.h"
#include "core/oracle/test_util.h"

namespace zomboss::oracle {
namespace {

namespace fs = std::filesystem;
using Dims = std::vector<int64_t>;

const fs::path kFolder = fs::path(ZB_SOURCE_DIR) / "workloads";

struct Instance {
  std::string name, family, config, hlo;
  Dims params;
};

std::string text_between_quotes(const std::string& line) {
  const size_t from = line.find('"');
  return line.substr(from + 1, line.rfind('"') - from - 1);
}

// The suite files are written by a script in this plain form; core/config reads them properly.
std::vector<Instance> read_suite(const std::string& name) {
  auto source = read_source((kFolder / (name + ".toml")).string());
  EXPECT_TRUE(source.ok()) << source.status().message();
  if (!source.ok()) return {};
  std::vector<Instance> instances;
  std::istringstream lines{std::string(source->text())};
  for (std::string line; std::getline(lines, line);) {
    if (line == "[[instance]]") instances.emplace_back();
    if (instances.empty()) continue;
    Instance& instance = instances.back();
    if (line.starts_with("name")) instance.name = text_between_quotes(line);
    if (line.starts_with("family")) instance.family = text_between_quotes(line);
    if (line.starts_with("config")) instance.config = text_between_quotes(line);
    if (line.starts_with("hlo")) instance.hlo = text_between_quotes(line);
    for (size_t at = line.starts_with("params") ? line.find('{') : std::string::npos; at != std::string::npos;
         at = line.find(',', at + 1)) {
      instance.params.push_back(std::stoll(line.substr(line.find('=', at) + 1)));
    }
  }
  return instances;
}

struct Loaded {
  hlo::Module module;
  graph::Graph graph;
};

std::optional<Loaded> load(const Instance& instance) {
  auto source = read_source((kFolder / instance.hlo).string());
  EXPECT_TRUE(source.ok()) << source.status().message();
  if (!source.ok()) return std::nullopt;
  Diagnostics diagnostics(*source);
  auto module = hlo::parse_module(*source, diagnostics);
  EXPECT_TRUE(module.ok()) << diagnostics.render_all();
  if (!module.ok()) return std::nullopt;
  auto graph = graph::build_graph(*module, diagnostics);
  EXPECT_TRUE(graph.ok()) << diagnostics.render_all();
  EXPECT_TRUE(diagnostics.all().empty()) << diagnostics.render_all();
  if (!graph.ok()) return std::nullopt;
  return Loaded{*std::move(module), *std::move(graph)};
}

struct Expected {
  Dims lhs, rhs, output;
};

Expected expected_shapes(const std::string& family, const Dims& p) {
  if (family == "batchmatmul") return {{p[0], p[1], p[2]}, {p[0], p[2], p[3]}, {p[0], p[1], p[3]}};
  if (family == "gemv") return {{p[0], p[1]}, {p[1]}, {p[0]}};
  return {{p[0], p[1]}, {p[1], p[2]}, {p[0], p[2]}};
}

class Suite : public testing::TestWithParam<const char*> {};

TEST_P(Suite, HasTwentyInstancesAndNoStrayFiles) {
  const auto instances = read_suite(GetParam());
  ASSERT_EQ(instances.size(), 20u);
  std::set<std::string> files, names;
  std::map<std::string, int> families;
  for (const Instance& instance : instances) {
    files.insert(fs::path(instance.hlo).filename().string());
    names.insert(instance.name);
    ++families[instance.family];
  }
  EXPECT_EQ(names.size(), 20u);
  EXPECT_EQ(families,
            (std::map<std::string, int>{{"batchmatmul", 5}, {"gemm", 5}, {"gemv", 5}, {"linear", 5}}));
  std::set<std::string> present;
  for (const auto& entry : fs::directory_iterator(kFolder / GetParam()))
    present.insert(entry.path().filename().string());
  EXPECT_EQ(files, present);
}

TEST_P(Suite, IsRecognisedWithTheShapesOfItsParameters) {
  for (const Instance& instance : read_suite(GetParam())) {
    const auto loaded = load(instance);
    ASSERT_TRUE(loaded) << instance.hlo;
    const graph::Graph& graph = loaded->graph;
    const bool linear = instance.family == "linear";
    std::vector<std::string> ops;
    for (const graph::Node& node : graph.nodes) ops.push_back(node.op);
    EXPECT_EQ(ops, linear ? (std::vector<std::string>{"parameter", "parameter", "parameter", "matmul", "bias",
                                                      "quantize"})
                          : (std::vector<std::string>{"parameter", "parameter", "matmul", "quantize"}))
        << instance.hlo << "\n"
        << graph.text();
    const Expected expected = expected_shapes(instance.family, instance.params);
    EXPECT_EQ(graph.nodes[0].shape.dims, expected.lhs) << instance.hlo;
    EXPECT_EQ(graph.nodes[1].shape.dims, expected.rhs) << instance.hlo;
    EXPECT_EQ(graph.nodes[0].shape.dtype, DType::S8);
    EXPECT_EQ(graph.nodes[1].shape.dtype, DType::S8);
    const graph::Node& output = graph.nodes[graph.outputs[0]];
    EXPECT_EQ(output.shape.dims, expected.output) << instance.hlo;
    EXPECT_EQ(output.shape.dtype, DType::S8);
    EXPECT_EQ(output.ints("low"), (Dims{-128}));
    EXPECT_EQ(output.ints("high"), (Dims{127}));
    const auto workload = graph::to_wire(
        graph, {instance.name, instance.hlo, hlo::print(loaded->module), graph::default_contract(graph)});
    ASSERT_TRUE(workload.ok());
    EXPECT_EQ(workload->contract->acceptance, wire::Acceptance::Exact);
  }
}

TEST_P(Suite, UsesTheOutputRangeAndRealRounding) {
  int powers_of_two = 0;
  for (const Instance& instance : read_suite(GetParam())) {
    const auto loaded = load(instance);
    ASSERT_TRUE(loaded);
    const double scale = loaded->graph.nodes[loaded->graph.outputs[0]].number("scale", 0);
    int exponent = 0;
    powers_of_two += std::frexp(scale, &exponent) == 0.5 ? 1 : 0;
    const auto inputs = generate_inputs(loaded->module, 1);
    ASSERT_TRUE(inputs.ok());
    const Tensor result = run(loaded->module, *inputs);
    const auto values = tensor_values<int8_t>(result);
    ASSERT_FALSE(values.empty());
    size_t saturated = 0;
    double squares = 0;
    for (const int8_t value : values) {
      saturated += value == 127 || value == -128 ? 1 : 0;
      squares += value * value;
    }
    EXPECT_LT(saturated * 10, values.size()) << instance.hlo;
    const double spread = std::sqrt(squares / static_cast<double>(values.size()));
    EXPECT_TRUE(spread > 25 && spread < 90) << instance.hlo << " " << spread;
    if (values.size() * static_cast<size_t>(instance.params.rbegin()[1]) > 600000) continue;
    const auto by_graph = evaluate_graph(loaded->graph, *inputs);
    ASSERT_TRUE(by_graph.ok()) << by_graph.status().message();
    EXPECT_EQ((*by_graph)[0], result) << instance.hlo;
  }
  EXPECT_GE(powers_of_two, 1);
  EXPECT_LE(powers_of_two, 10);
}

INSTANTIATE_TEST_SUITE_P(Workloads, Suite, testing::Values("gemmini", "gemmini-alt"), [](const auto& info) {
  return std::string(info.param) == "gemmini" ? "gemmini" : "alt";
});

}  // namespace
}  // namespace zomboss::oracle
