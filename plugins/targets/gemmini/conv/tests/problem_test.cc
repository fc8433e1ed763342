// What is not taken as a convolution is refused with every offending operator, its place and the rule.
#include <gtest/gtest.h>

#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/conv/tests/conv_case.h"
#include "plugins/targets/gemmini/kernel.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"

namespace zomboss::gemmini::conv {
namespace {

using wire::DType;

std::string refusal(const wire::WorkloadT& workload) {
  const auto problem = recognise(workload, default_machine());
  EXPECT_FALSE(problem.ok());
  return problem.ok() ? "" : problem.status().message();
}

void expect_refused(const wire::WorkloadT& workload, const std::string& words) {
  const std::string message = refusal(workload);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

ConvCase small() {
  ConvCase layer;
  layer.rows = layer.cols = 4;
  layer.in_channels = layer.out_channels = 4;
  return layer;
}

// The layer with one attribute of its conv2d changed.
wire::WorkloadT changed(const ConvCase& layer, const std::string& key, std::vector<int64_t> ints) {
  wire::WorkloadT workload = layer.workload();
  for (auto& node : workload.nodes) {
    if (node->op != "conv2d") continue;
    for (auto& attribute : node->attributes)
      if (attribute->key == key) attribute->ints = ints;
  }
  return workload;
}

TEST(RecogniseConv, NamesAllOffendersInOneMessage) {
  wire::WorkloadT workload = small().workload();
  workload.nodes[3]->op = "convolution";
  workload.nodes[4]->op = "tanh";
  EXPECT_EQ(
      refusal(workload),
      "gemmini does not take this workload\n"
      "  test.hlo:4:3: convolution 'conv2d.3' s32[1,4,4,4]: gemmini takes convolutions over two spatial dims "
      "without input dilation, reversal, batch groups and negative padding\n"
      "  test.hlo:5:3: tanh 'bias.4' s32[1,4,4,4]: gemmini takes one s8 conv2d with optional s32 bias, relu "
      "and "
      "quantize to s8, and transposes and reshapes around it");
}

TEST(RecogniseConv, DispatchesByOperator) {
  MachineModel model;
  model.machine = default_machine();
  model.memory.bus_bytes = model.memory.in_flight = 16;
  EXPECT_TRUE(recognise_kernel(small().workload(), model).ok());
  wire::WorkloadT workload = small().workload();
  workload.nodes[3]->op = "convolution";
  const auto kernel = recognise_kernel(workload, model);
  ASSERT_FALSE(kernel.ok());
  EXPECT_NE(kernel.status().message().find("over two spatial dims"), std::string::npos);
}

TEST(RecogniseConv, RefusesWhatTheStoreCannotDo) {
  ConvCase wide = small();
  wide.quantizes = false;
  wide.relu = true;
  expect_refused(wide.workload(), "a full-width s32 result takes no relu");
  ConvCase negative = small();
  negative.relu = true;
  negative.scale = -0.5;
  expect_refused(negative.workload(), "relu with a negative scale");
  ConvCase infinite = small();
  infinite.scale = 1e300;
  expect_refused(infinite.workload(), "is no finite f32");
  GraphBuilder twice;
  const wire::WorkloadT layer = small().workload();
  wire::WorkloadT floats = small().workload();
  floats.nodes[0]->type->dtype = DType::F32;
  expect_refused(floats, "test.hlo:1:3: parameter 'parameter.0' f32[1,4,4,4]: must be s8 here");
  wire::WorkloadT outputs = small().workload();
  outputs.outputs.push_back(3);
  expect_refused(outputs, "is a second output");
}

TEST(RecogniseConv, RefusesDamagedConvolutions) {
  const ConvCase layer = small();
  expect_refused(changed(layer, "strides", {1}), "has not two spatial dims");
  expect_refused(changed(layer, "strides", {0, 1}), "a stride or dilation out of range");
  expect_refused(changed(layer, "pad_low", {-1, 1}), "a padding out of range");
  expect_refused(changed(layer, "pad_high", {2, 1}), "has an output of another size");
  expect_refused(changed(layer, "dilations", {5, 1}), "has an output of another size");
  expect_refused(changed(layer, "groups", {3}), "has dimensions of different extents");
  expect_refused(changed(layer, "input_dims", {0, 1, 2, 2}), "input_dims do not name four dims");
  expect_refused(changed(layer, "kernel_dims", {}), "kernel_dims do not name four dims");
  wire::WorkloadT one = layer.workload();
  one.nodes[3]->operands = {0};
  expect_refused(one, "conv2d");
  ConvCase large = layer;
  large.rows = large.cols = 1024;
  large.in_channels = 5;
  large.out_channels = 255;
  large.quantizes = false;
  expect_refused(large.workload(), "bytes, at most");
  ConvCase deep = layer;
  deep.rows = deep.cols = 512;
  deep.in_channels = deep.out_channels = 512;
  expect_refused(deep.workload(), "array steps");
  ConvCase turned = deep;
  turned.input_order = "bfyx";
  expect_refused(turned.workload(), "rearranged one by one");
}

TEST(RecogniseConv, ReadsOtherOrdersWhereChannelsAreLast) {
  ConvCase layer = small();
  EXPECT_TRUE(recognise(layer.workload(), default_machine())->before.empty());
  layer.input_order = "yxbf";
  layer.output_order = "xbyf";
  layer.kernel_order = "iyxo";
  const auto strided = recognise(layer.workload(), default_machine());
  ASSERT_TRUE(strided.ok());
  EXPECT_TRUE(strided->before.empty() && strided->after.empty());
  layer.kernel_order = "oiyx";
  layer.output_order = "bfyx";
  const auto staged = recognise(layer.workload(), default_machine());
  ASSERT_TRUE(staged.ok());
  EXPECT_EQ(staged->before.size(), 1u);
  EXPECT_EQ(staged->after.size(), 1u);
}

TEST(RecogniseConv, LaysDownImagesOfOneColumn) {
  ConvCase layer = small();
  layer.rows = 40;
  layer.cols = 1;
  layer.kernel = {5, 1};
  layer.low = layer.high = {2, 0};
  const auto problem = recognise(layer.workload(), default_machine());
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_EQ(problem->cols.in, 40);
  EXPECT_EQ(problem->cols.kernel, 5);
  EXPECT_EQ(problem->rows.in, 1);
}

TEST(RecogniseConv, OffersTwoFormsOfDepthwiseConvolutions) {
  ConvCase layer = small();
  EXPECT_EQ(recognise(layer.workload(), default_machine())->forms.size(), 1u);
  layer.groups = 20;
  layer.in_channels = layer.out_channels = 1;
  const auto problem = recognise(layer.workload(), default_machine());
  ASSERT_EQ(problem->forms.size(), 2u);
  EXPECT_TRUE(problem->forms[0].diagonal);
  EXPECT_EQ(problem->forms[0].groups.size(), 2u);
  EXPECT_EQ(problem->forms[1].groups.size(), 20u);
}

}  // namespace
}  // namespace zomboss::gemmini::conv
