// The contract of each family can tell wrong results from right ones: outputs of other shape in content
// (zeros, an input, one row off), and a kernel that reads an input with parts exchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "plugins/targets/plena/tests/plena_case.h"
#include "zomboss/sdk/message.h"

namespace zomboss::plena {
namespace {

using oracle::Tensor;

int64_t width_of(const Tensor& tensor) {
  return tensor.dims.empty() ? 1 : tensor.dims.back();
}

// Elements of `count` rows each exchanged: the first half of the matrix with the second, by rows or by
// columns, in multiples of a storage block.
Tensor exchanged(Tensor tensor, bool rows) {
  std::vector<float> values = oracle::tensor_values<float>(tensor);
  const auto cols = static_cast<size_t>(width_of(tensor));
  const size_t count = values.size() / cols;
  const size_t half = rows ? count / 2 : cols / 2 / 8 * 8;
  for (size_t row = 0; row < (rows ? half : count); ++row) {
    for (size_t col = 0; col < (rows ? cols : half); ++col) {
      const size_t other = rows ? (row + half) * cols + col : row * cols + col + half;
      std::swap(values[row * cols + col], values[other]);
    }
  }
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

class Mutations : public testing::TestWithParam<const char*> {};

TEST_P(Mutations, WrongOutputsAreRefused) {
  const auto workload = PlenaCase::of_file(GetParam());
  ASSERT_NE(workload, nullptr);
  const auto& reference = workload->reference();
  EXPECT_TRUE(workload->accepts(reference.outputs));
  for (size_t i = 0; i < reference.outputs.size(); ++i) {
    const Tensor& right = reference.outputs[i];
    auto outputs = reference.outputs;
    std::fill(outputs[i].bytes.begin(), outputs[i].bytes.end(), uint8_t{0});
    EXPECT_FALSE(workload->accepts(outputs)) << "zeros";
    for (size_t input = 0; input < reference.inputs.size(); ++input) {
      const auto& from = reference.inputs[input].bytes;
      for (size_t at = 0; at < right.bytes.size(); ++at) outputs[i].bytes[at] = from[at % from.size()];
      EXPECT_FALSE(workload->accepts(outputs)) << "input " << input;
    }
    const auto row = static_cast<std::ptrdiff_t>(4 * width_of(right));
    if (static_cast<size_t>(row) == right.bytes.size()) continue;
    outputs[i] = right;
    std::rotate(outputs[i].bytes.begin(), outputs[i].bytes.begin() + row, outputs[i].bytes.end());
    EXPECT_FALSE(workload->accepts(outputs)) << "one row off";
  }
}

TEST_P(Mutations, AKernelThatReadsAnInputWronglyIsRefused) {
  const auto workload = PlenaCase::of_file(GetParam());
  ASSERT_NE(workload, nullptr);
  const auto program = workload->lower("");
  ASSERT_TRUE(program.ok()) << program.status().message();
  const auto accepted = [&](const std::vector<Tensor>& inputs) {
    wire::TensorsT message;
    for (const Tensor& each : inputs)
      message.tensors.push_back(std::make_unique<wire::TensorT>(oracle::to_wire(each, "x")));
    const auto simulation = workload->target().simulate(encode(*program), encode(message));
    EXPECT_TRUE(simulation.ok()) << simulation.status().message();
    std::vector<Tensor> outputs;
    for (const auto& each : simulation->outputs) {
      auto tensor = oracle::from_wire(*each);
      EXPECT_TRUE(tensor.ok()) << tensor.status().message();
      outputs.push_back(*std::move(tensor));
    }
    return workload->accepts(outputs);
  };
  EXPECT_TRUE(accepted(workload->reference().inputs));
  for (size_t i = 0; i < workload->reference().inputs.size(); ++i) {
    for (const bool rows : {true, false}) {
      auto inputs = workload->reference().inputs;
      inputs[i] = exchanged(inputs[i], rows);
      if (inputs[i] == workload->reference().inputs[i]) continue;
      // Keys and values of the same input: in which order they come does not matter.
      const bool is_memory = std::string_view(GetParam()) == "t5_c1" && i == 1;
      EXPECT_EQ(accepted(inputs), is_memory && rows) << "input " << i << (rows ? " by rows" : " by columns");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Plena, Mutations,
                         testing::Values("gemm_c1", "gemv_c1", "linear_c1", "batchmatmul_c1", "relu_c1",
                                         "silu_c1", "gelu_c1", "softmax_c1", "layernorm_c1", "rmsnorm_c1",
                                         "rope_c1", "rope_interleaved", "ffn_c1", "swiglu_c1",
                                         "scaleddotproduct_c1", "flashattention_c1", "mha_c1", "mha_causal",
                                         "gqa_c1", "mqa_c1", "t5_c1", "llama_c1"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace zomboss::plena
