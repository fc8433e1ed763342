// What the target takes as a convolution: one int8 conv2d with its epilogue, read from the operator graph of
// a workload. The rest of this folder sees only a Problem. A plain value; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::conv {

// One spatial dim, in pixels and taps. Output pixel o and tap k meet at input pixel o * stride + k * dilation
// - pad, which is zero outside of the image.
struct Axis {
  int64_t in = 1, out = 1, kernel = 1;
  int64_t stride = 1, dilation = 1, pad = 0;

  int64_t input_at(int64_t output, int64_t tap) const { return output * stride + tap * dilation - pad; }
  // One tap touches only every stride-th pixel: the others are never loaded.
  bool decimates() const { return kernel == 1; }
  // The loaded pixels that `outputs` neighbouring output pixels and `taps` neighbouring taps need, how far
  // they lie apart in the image, and how far those of neighbouring outputs and taps lie apart among them.
  int64_t patch(int64_t outputs, int64_t taps) const {
    return decimates() ? outputs : (outputs - 1) * stride + (taps - 1) * dilation + 1;
  }
  int64_t patch_step() const { return decimates() ? stride : 1; }
  int64_t output_step() const { return decimates() ? 1 : stride; }
  int64_t tap_step() const { return decimates() ? 0 : dilation; }
};

// Elements from one index to the next of batch, rows and columns; channels lie next to each other.
struct Strides {
  int64_t batch = 0, row = 0, col = 0;
};

// Output channels with the input channels that they are sums over. Offsets in elements.
struct Group {
  int64_t in_channels = 1, out_channels = 1;
  int64_t input = 0, weights = 0, output = 0, bias = 0;
};

// A copy that begins somewhere inside of its buffers; offsets in elements.
struct OffsetCopy : Copy {
  int64_t source_offset = 0, target_offset = 0;
};

// A way to write the convolution as sums of products. Diagonal: of a depthwise convolution, the channels by
// blocks of the array's size, with the weights of each tap on the diagonal of a block in a scratch buffer.
struct Form {
  bool diagonal = false;
  std::vector<Group> groups;
  uint32_t weights = 0;                                        // buffer
  int64_t weight_row = 0, weight_col = 0, weight_channel = 0;  // strides of taps and input channels
  std::vector<Buffer> scratch;                                 // follow the problem's buffers
  std::vector<OffsetCopy> before;                              // after the problem's own

  int64_t most_in_channels() const;
  int64_t most_out_channels() const;
};

struct Problem : Boundary {
  std::string workload;  // its name
  int64_t batch = 1;
  Axis rows, cols;
  uint32_t input = 0, output = 0, bias = 0;  // buffers
  Strides input_strides, output_strides, bias_strides;
  bool has_bias = false;
  // What a store does to the sums: nothing (full width), or scale, round half to even, saturate to int8.
  bool full_width = false;
  bool relu = false;
  float scale = 1.0f;
  std::vector<Form> forms;  // at least one; two of a depthwise convolution

  int64_t output_bytes() const { return full_width ? 4 : 1; }
  int64_t taps() const { return rows.kernel * cols.kernel; }
  // All output pixels share one bias for each channel.
  bool bias_repeats() const {
    return bias_strides.batch == 0 && bias_strides.row == 0 && bias_strides.col == 0;
  }
  // Multiplications by weights and pixels that exist or are padding.
  int64_t multiplications() const;
};

// Everything in the graph that is not taken is named in one message: unimplemented, or invalid argument when
// the message itself makes no sense.
Result<Problem> recognise(const wire::WorkloadT& workload, const Machine& machine);

// The problem's buffers and the form's scratch buffers, in that order, at their places.
std::vector<PlacedBuffer> placed_buffers(const Problem& problem, const Form& form);

}  // namespace zomboss::gemmini::conv
