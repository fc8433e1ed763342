// The files under workloads/plena: every one parses, makes an operator graph and can be evaluated; the
// reference result depends on every parameter.
#include <filesystem>
#include <set>

#include "core/graph/build.h"
#include "core/oracle/inputs.h"
#include "core/oracle/test_util.h"

namespace zomboss::oracle {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(ZB_SOURCE_DIR) / "workloads" / "plena")) {
    if (entry.path().extension() == ".hlo") names.insert(entry.path().stem().string());
  }
  return {names.begin(), names.end()};
}

class PlenaFile : public testing::TestWithParam<std::string> {};

TEST_P(PlenaFile, ParsesAndEvaluates) {
  const fs::path path = fs::path(ZB_SOURCE_DIR) / "workloads" / "plena" / (GetParam() + ".hlo");
  const auto source = read_source(path.string());
  ASSERT_TRUE(source.ok()) << source.status().message();
  Diagnostics diagnostics(*source);
  const auto module = hlo::parse_module(*source, diagnostics);
  ASSERT_TRUE(module.ok()) << diagnostics.render_all();
  check_evaluable(*module, diagnostics);
  const auto graph = graph::build_graph(*module, diagnostics);
  ASSERT_TRUE(graph.ok()) << diagnostics.render_all();
  EXPECT_TRUE(diagnostics.all().empty()) << diagnostics.render_all();
  const auto inputs = generate_inputs(*module, 1);
  ASSERT_TRUE(inputs.ok());
  Options options;
  options.rounding = Rounding::kWide;
  const Tensor result = run(*module, *inputs, options);
  EXPECT_FALSE(result.bytes.empty());
}

INSTANTIATE_TEST_SUITE_P(Workloads, PlenaFile, testing::ValuesIn(files()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace zomboss::oracle
