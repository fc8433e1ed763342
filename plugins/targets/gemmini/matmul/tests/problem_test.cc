// What is not taken is refused with every offending operator, its place and the rule.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/matmul/problem.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"

namespace zomboss::gemmini {
namespace {

using wire::DType;

std::string refusal(const wire::WorkloadT& workload) {
  const auto problem = recognise(workload, default_machine());
  EXPECT_FALSE(problem.ok());
  return problem.ok() ? "" : problem.status().message();
}

TEST(Recognise, NamesAllUnknownOperatorsInOneMessage) {
  GraphBuilder graph;
  const uint32_t x = graph.node("tanh", {graph.parameter({4, 4}, DType::F32)}, {4, 4}, DType::F32);
  graph.node("logistic", {x}, {4, 4}, DType::F32);
  EXPECT_EQ(refusal(graph.finish()),
            "gemmini does not take this workload\n"
            "  test.hlo:2:3: tanh 'tanh.1' f32[4,4]: gemmini takes one s8 matmul with optional s32 bias, "
            "relu and quantize "
            "to s8, and transposes, reshapes and broadcasts of its operands\n"
            "  test.hlo:3:3: logistic 'logistic.2' f32[4,4]: gemmini takes one s8 matmul with optional s32 "
            "bias, relu and "
            "quantize to s8, and transposes, reshapes and broadcasts of its operands");
}

void expect_refused(const GraphBuilder& graph, const std::string& words) {
  const std::string message = refusal(graph.finish());
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

GraphBuilder product(uint32_t* c, DType lhs = DType::S8) {
  GraphBuilder graph;
  const uint32_t a = graph.parameter({8, 8}, lhs), b = graph.parameter({8, 8});
  *c = graph.matmul(a, b, {1}, {0});
  return graph;
}

TEST(Recognise, RefusesWhatTheStoreCannotDo) {
  uint32_t c = 0;
  GraphBuilder clamp = product(&c);
  clamp.quantize(c, 0.5, -100, 100);
  expect_refused(clamp, "test.hlo:4:3: quantize 'quantize.3' s8[8,8]: clamps to [-100, 100]");
  GraphBuilder negative = product(&c);
  negative.quantize(negative.relu(c), -0.5);
  expect_refused(negative, "relu with a negative scale");
  GraphBuilder wide = product(&c);
  wide.relu(c);
  expect_refused(wide, "a full-width s32 result takes no relu");
  GraphBuilder infinite = product(&c);
  infinite.quantize(c, 1e300);
  expect_refused(infinite, "is no finite f32");
  GraphBuilder narrowed = product(&c);
  narrowed.node("convert", {c}, {8, 8}, DType::S8);
  expect_refused(narrowed, "narrowing needs a quantize");
}

TEST(Recognise, RefusesOtherChains) {
  uint32_t c = 0;
  GraphBuilder floats = product(&c, DType::F32);
  floats.quantize(c, 0.5);
  expect_refused(floats, "test.hlo:1:3: parameter 'parameter.0' f32[8,8]: must be s8 here");
  GraphBuilder twice = product(&c);
  twice.matmul(twice.quantize(c, 0.5), twice.parameter({8, 8}), {1}, {0});
  expect_refused(twice, "is a second matmul");
  GraphBuilder biases = product(&c);
  c = biases.bias(c, biases.parameter({8}, DType::S32), {1});
  biases.quantize(biases.bias(c, biases.parameter({8}, DType::S32), {1}), 0.5);
  expect_refused(biases, "is a second bias");
  GraphBuilder early = product(&c);
  early.quantize(early.bias(early.relu(c), early.parameter({8}, DType::S32), {1}), 0.5);
  expect_refused(early, "a relu comes after the bias");
  GraphBuilder none;
  none.relu(none.parameter({8, 8}));
  expect_refused(none, "no matmul leads here");
}

TEST(Recognise, RefusesEmptyAndEnormousTensors) {
  GraphBuilder empty;
  empty.quantize(empty.matmul(empty.parameter({0, 8}), empty.parameter({8, 8}), {1}, {0}), 0.5);
  expect_refused(empty, "has no elements");
  GraphBuilder large;
  large.quantize(large.matmul(large.parameter({int64_t{1} << 40, 8}), large.parameter({8, 8}), {1}, {0}),
                 0.5);
  expect_refused(large, "has too many elements");
  GraphBuilder steps;
  steps.quantize(steps.matmul(steps.parameter({16384, 16384}), steps.parameter({16384, 16384}), {1}, {0}),
                 0.5);
  expect_refused(steps, "array steps");
}

TEST(Recognise, RefusesDamagedGraphs) {
  GraphBuilder forward = [] {
    uint32_t c = 0;
    GraphBuilder graph = product(&c);
    graph.quantize(c, 0.5);
    graph.at(c).operands = {7, 1};
    return graph;
  }();
  expect_refused(forward, "uses a node that does not come before it");
  uint32_t c = 0;
  GraphBuilder dims = product(&c);
  dims.transpose(dims.quantize(c, 0.5), {1, 0});
  dims.at(4).attributes[0]->ints = {1, 1};
  expect_refused(dims, "no permutation");
  GraphBuilder contract = product(&c);
  contract.quantize(c, 0.5);
  for (auto& attribute : contract.at(c).attributes)
    if (attribute->key == "lhs_contract") attribute->ints = {9};
  expect_refused(contract, "dims do not fit");
  GraphBuilder other = product(&c);
  other.quantize(c, 0.5);
  other.at(c).type->dims = {8, 9};
  other.at(3).type->dims = {8, 9};
  expect_refused(other, "different extents");
}

// Orientation and fold of each form.
std::vector<std::pair<bool, int64_t>> forms_of(const wire::WorkloadT& workload) {
  std::vector<std::pair<bool, int64_t>> forms;
  const auto problem = recognise(workload, default_machine());
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  for (const Form& form : problem->forms) forms.emplace_back(form.exchanged, form.fold);
  std::sort(forms.begin(), forms.end());
  return forms;
}

TEST(Recognise, OffersBothOrientationsOfAMatrixVectorProduct) {
  using Forms = std::vector<std::pair<bool, int64_t>>;
  GraphBuilder vector;
  vector.quantize(vector.matmul(vector.parameter({64, 64}), vector.parameter({64}), {1}, {0}), 0.5);
  EXPECT_EQ(forms_of(vector.finish()), (Forms{{false, 1}, {true, 1}}));
  uint32_t c = 0;
  GraphBuilder matrix = product(&c);
  matrix.quantize(c, 0.5);
  EXPECT_EQ(forms_of(matrix.finish()), (Forms{{false, 1}}));
}

TEST(Recognise, FoldsShortRowsOfWholeBlocks) {
  using Forms = std::vector<std::pair<bool, int64_t>>;
  const auto forms = [](int64_t m, int64_t k, int64_t n) {
    GraphBuilder graph;
    graph.quantize(graph.matmul(graph.parameter({m, k}), graph.parameter({k, n}), {1}, {0}), 0.5);
    return forms_of(graph.finish());
  };
  EXPECT_EQ(forms(64, 32, 128), (Forms{{false, 1}, {false, 2}}));              // rows of A of 32 bytes
  EXPECT_EQ(forms(64, 16, 128), (Forms{{false, 1}, {false, 2}, {false, 4}}));  // of 16
  EXPECT_EQ(forms(32, 16, 128), (Forms{{false, 1}, {false, 2}}));  // four would leave short blocks
  EXPECT_EQ(forms(64, 128, 32), (Forms{{false, 1}, {false, 2}}));  // rows of C of 32 bytes
  EXPECT_EQ(forms(64, 24, 128), (Forms{{false, 1}}));              // no whole blocks
  EXPECT_EQ(forms(48, 32, 128), (Forms{{false, 1}}));              // rows do not divide
}

}  // namespace
}  // namespace zomboss::gemmini
