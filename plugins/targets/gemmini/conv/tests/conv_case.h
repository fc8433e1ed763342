// A convolution layer for tests: its operator graph, and its result by plain loops, independent of the
// target. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "zomboss/schema/tensors_generated.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/random.h"

namespace zomboss::gemmini::conv {

struct ConvCase {
  int64_t batch = 1, rows = 8, cols = 8;
  int64_t groups = 1, in_channels = 16, out_channels = 16;  // of one group
  std::array<int64_t, 2> kernel = {3, 3}, stride = {1, 1}, dilation = {1, 1}, low = {1, 1}, high = {1, 1};
  // Dims of the stored tensors: b, y, x, f and y, x, i, o.
  std::string input_order = "byxf", kernel_order = "yxio", output_order = "byxf";
  std::string bias = "f";  // dims of the bias, "" = none
  bool quantizes = true;
  bool relu = false;
  double scale = 0.01;

  int64_t out(size_t axis) const;  // rows or columns of the result
  std::string text() const;

  wire::WorkloadT workload() const;
  // The bytes of the result for the inputs of workload().
  std::vector<uint8_t> reference(const wire::TensorsT& inputs) const;
};

// Small, with at most so many channels on either side of a group.
ConvCase random_case(Random& random, int64_t most_channels);

}  // namespace zomboss::gemmini::conv
