// The suites under workloads/ for PLENA: every file is listed once, loads with its contract, and has a finite
// reference result of ordinary size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <ostream>
#include <set>

#include "core/config/contract_file.h"
#include "core/config/suite.h"
#include "core/evaluate/compare.h"
#include "core/evaluate/workload.h"
#include "core/hlo/number.h"

namespace zomboss::config {

void PrintTo(const Instance& instance, std::ostream* stream);
void PrintTo(const Instance& instance, std::ostream* stream) {
  *stream << instance.name;
}

namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(ZB_SOURCE_DIR) / "workloads";

std::vector<Instance> instances_of(const std::string& name) {
  const auto suite = read_suite((kFolder / (name + ".toml")).string());
  EXPECT_TRUE(suite.ok()) << suite.status().message();
  if (!suite.ok()) return {};
  EXPECT_EQ(suite->target, "plena");
  return suite->instances;
}

// Of the suites that share no instance.
std::vector<Instance> all_instances() {
  std::vector<Instance> all;
  for (const char* name : {"plena", "plena-decoder", "plena-extra"}) {
    const auto instances = instances_of(name);
    all.insert(all.end(), instances.begin(), instances.end());
  }
  return all;
}

std::set<std::string> names_of(const std::vector<Instance>& instances) {
  std::set<std::string> names;
  for (const Instance& instance : instances) names.insert(instance.name);
  return names;
}

TEST(PlenaSuites, ListEveryFileOnce) {
  const auto instances = all_instances();
  const auto names = names_of(instances);
  EXPECT_EQ(instances.size(), names.size());
  std::set<std::string> present;
  for (const auto& entry : fs::directory_iterator(kFolder / "plena"))
    if (entry.path().extension() == ".hlo") present.insert(entry.path().stem().string());
  EXPECT_EQ(names, present);
  EXPECT_EQ(instances_of("plena").size(), 36u);
  EXPECT_EQ(instances_of("plena-decoder").size(), 6u);
  const auto main = names_of(instances_of("plena"));
  const auto composite = instances_of("plena-composite");
  EXPECT_EQ(composite.size(), 18u);
  for (const Instance& instance : composite) EXPECT_TRUE(main.contains(instance.name)) << instance.name;
  for (const Instance& instance : instances_of("plena"))
    EXPECT_TRUE(instance.baseline.has_value() && !instance.baseline_source.empty()) << instance.name;
}

// Root of the mean square of the outputs; infinite when one is not finite.
double spread(const std::vector<oracle::Tensor>& outputs) {
  double squares = 0;
  double count = 0;
  for (const oracle::Tensor& tensor : outputs) {
    const auto width = static_cast<size_t>(hlo::dtype_bytes(tensor.dtype));
    for (size_t at = 0; at < tensor.bytes.size(); at += width) {
      const auto* bytes = reinterpret_cast<const char*>(tensor.bytes.data()) + at;
      const double value = hlo::decode(tensor.dtype, hlo::load_bits(tensor.dtype, bytes));
      squares += value * value;
      ++count;
    }
  }
  return std::isfinite(squares) ? std::sqrt(squares / count) : std::numeric_limits<double>::infinity();
}

size_t computed_keys_and_values(const std::string& family) {
  if (family == "t5") return 4;  // of its own positions and of the memory
  return family == "mha" || family == "mha_causal" || family == "gqa" || family == "mqa" || family == "llama"
             ? 2
             : 0;
}

std::vector<oracle::Tensor> zeros(std::vector<oracle::Tensor> outputs) {
  for (oracle::Tensor& tensor : outputs) std::fill(tensor.bytes.begin(), tensor.bytes.end(), uint8_t{0});
  return outputs;
}

// Every element one place further.
std::vector<oracle::Tensor> moved(std::vector<oracle::Tensor> outputs) {
  for (oracle::Tensor& tensor : outputs)
    std::rotate(tensor.bytes.begin(), tensor.bytes.begin() + hlo::dtype_bytes(tensor.dtype),
                tensor.bytes.end());
  return outputs;
}

class PlenaWorkload : public testing::TestWithParam<Instance> {};

TEST_P(PlenaWorkload, HasAReferenceThatWrongOutputsDoNotMatch) {
  const Instance& instance = GetParam();
  const auto contract = read_contract(instance.contract);
  ASSERT_TRUE(contract.ok()) << contract.status().message();
  const auto source = read_source(instance.hlo);
  ASSERT_TRUE(source.ok()) << source.status().message();
  Diagnostics diagnostics(*source);
  const auto workload = evaluate::load_workload(*source, instance.name, *contract, diagnostics);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(diagnostics.errors(), 0u) << diagnostics.render_all();
  const wire::ContractT& message = *workload->message.contract;
  EXPECT_EQ(message.storage.size(), workload->message.inputs.size());
  for (const auto& entry : message.storage) EXPECT_EQ(entry->text, "mxfp8") << entry->key;
  EXPECT_EQ(message.worst_factor, 8);
  const auto reference = evaluate::make_reference(*workload);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  const double size = spread(reference->outputs);
  EXPECT_TRUE(size > 0.005 && size < 4) << size;
  EXPECT_EQ(workload->stored.size(), computed_keys_and_values(instance.family));
  EXPECT_TRUE(evaluate::compare(reference->outputs, reference->outputs, message).accepted);
  EXPECT_FALSE(evaluate::compare(reference->outputs, zeros(reference->outputs), message).accepted);
  EXPECT_FALSE(evaluate::compare(reference->outputs, moved(reference->outputs), message).accepted);
}

INSTANTIATE_TEST_SUITE_P(Suites, PlenaWorkload, testing::ValuesIn(all_instances()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace zomboss::config
