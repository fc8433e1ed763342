// Graphs with seeded random damage are refused or understood; nothing crashes. Most useful under the
// sanitizers.
#include <gtest/gtest.h>

#include <random>

#include "plugins/targets/gemmini/chain/tests/chain_cases.h"

namespace zomboss::gemmini {
namespace {

wire::WorkloadT residual_sum() {
  GraphBuilder graph;
  uint32_t a = graph.transpose(graph.parameter({4, 6, 8}), {1, 0, 2});
  a = graph.node("convert", {graph.quantize(a, 0.5)}, {6, 4, 8}, wire::DType::S32);
  const uint32_t b = graph.node("convert", {graph.parameter({6, 4, 8})}, {6, 4, 8}, wire::DType::S32);
  const uint32_t sum = graph.relu(graph.node("add", {a, b}, {6, 4, 8}, wire::DType::S32));
  graph.reshape(graph.quantize(sum, 0.5), {24, 8});
  return graph.finish();
}

wire::WorkloadT attention_like() {
  GraphBuilder graph;
  const uint32_t x = graph.parameter({2, 6, 8});
  const uint32_t q = graph.quantize(graph.matmul(x, graph.parameter({8, 5}), {2}, {0}), 0.25);
  const uint32_t k =
      graph.transpose(graph.quantize(graph.matmul(x, graph.parameter({8, 5}), {2}, {0}), 0.5), {0, 2, 1});
  graph.quantize(
      graph.bias(graph.matmul(q, k, {2}, {1}, {0}, {0}), graph.parameter({6}, wire::DType::S32), {2}), 0.1);
  return graph.finish();
}

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  void apply(wire::WorkloadT& workload) {
    wire::NodeT& node = *workload.nodes[below(workload.nodes.size())];
    switch (below(7)) {
      case 0:
        node.op = kOps[below(std::size(kOps))];
        break;
      case 1:
        if (!node.operands.empty())
          node.operands[below(node.operands.size())] = number(workload.nodes.size());
        break;
      case 2:
        if (below(2) == 0 && !node.operands.empty())
          node.operands.pop_back();
        else
          node.operands.push_back(number(workload.nodes.size()));
        break;
      case 3:
        if (!node.type->dims.empty())
          node.type->dims[below(node.type->dims.size())] = kSizes[below(std::size(kSizes))];
        break;
      case 4:
        node.type->dtype = static_cast<wire::DType>(below(8));
        break;
      case 5:
        if (!node.attributes.empty()) {
          auto& ints = node.attributes[below(node.attributes.size())]->ints;
          if (ints.empty())
            ints.push_back(kSizes[below(std::size(kSizes))]);
          else
            ints[below(ints.size())] = kSizes[below(std::size(kSizes))];
        }
        break;
      default:
        (below(2) == 0 ? workload.outputs : workload.inputs).push_back(number(workload.nodes.size() + 1));
        break;
    }
  }

 private:
  static constexpr const char* kOps[] = {"parameter", "constant",  "matmul",  "bias", "add",       "quantize",
                                         "relu",      "transpose", "reshape", "tan",  "broadcast", "convert"};
  static constexpr int64_t kSizes[] = {0, 1, 2, 4, 5, 6, 8, 24, -1, int64_t{1} << 40};

  size_t below(size_t end) { return random_() % end; }
  uint32_t number(size_t end) { return static_cast<uint32_t>(below(end)); }

  std::mt19937_64 random_;
};

TEST(DamagedGraphs, AreRefusedOrUnderstood) {
  const MachineModel model = default_model();
  const std::vector<wire::WorkloadT> sound = [] {
    std::vector<wire::WorkloadT> list;
    list.push_back(residual_sum());
    list.push_back(attention_like());
    list.push_back(mlp({.rows = 6, .widths = {8, 8, 8}, .scales = {0.125}, .bias = true, .relu = true}));
    return list;
  }();
  size_t accepted = 0, refused = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    wire::WorkloadT workload(sound[seed % sound.size()]);
    Damage damage(seed);
    for (uint64_t i = 0; i <= seed % 3; ++i) damage.apply(workload);
    const auto kernel = recognise_kernel(workload, model);
    if (kernel.ok()) {
      ++accepted;
      EXPECT_GT((*kernel)->bound().latency, 0);
      EXPECT_FALSE((*kernel)->buffers().empty());
    } else {
      ++refused;
      EXPECT_NE(kernel.status().code(), Code::kInternal) << seed << ": " << kernel.status().message();
    }
  }
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 3000u);
}

}  // namespace
}  // namespace zomboss::gemmini
