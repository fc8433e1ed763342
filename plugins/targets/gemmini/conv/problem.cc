#include "plugins/targets/gemmini/conv/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "plugins/targets/gemmini/graph_reader.h"

namespace zomboss::gemmini::conv {
namespace {

using wire::DType;

constexpr std::string_view kTaken =
    "gemmini takes one s8 conv2d with optional s32 bias, relu and quantize to s8, and transposes and "
    "reshapes "
    "around it";

constexpr int64_t kMaxCopiedElements = 16'000'000;
constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr int64_t kMaxSteps = 16'000'000;
constexpr int64_t kMaxPixels = int64_t{1} << 24;

bool is_taken(std::string_view op) {
  constexpr std::string_view kOps[] = {"parameter", "constant",  "conv2d",   "bias",
                                       "add",       "quantize",  "relu",     "convert",
                                       "reshape",   "transpose", "broadcast"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// The stride of a dim that one loop walks; 0 for an extent of 1. Nothing when it takes several loops.
std::optional<int64_t> single_stride(const Dim& dim) {
  const Dim joined = merged(dim);
  if (joined.size() > 1) return std::nullopt;
  return joined.empty() ? 0 : joined[0].stride;
}

// Walks from the output up to the convolution. Views are of the value of the node reached so far.
class Recogniser {
 public:
  Recogniser(const wire::WorkloadT& workload, const Machine& machine)
      : workload_(workload), machine_(machine), reader_(workload, problem_) {}

  Result<Problem> run() {
    problem_.workload = workload_.name;
    ZB_TRY(reader_.check_structure());
    check_each_node();
    ZB_TRY(reader_.refusal());
    ZB_TRY(reader_.add_boundary_buffers());
    const auto node = walk_to_convolution();
    ZB_TRY(reader_.refusal());
    if (!node) return internal_error("gemmini: no conv2d found and nothing refused");
    ZB_TRY(read_convolution(reader_.node(*node)));
    ZB_TRY(reader_.refusal());
    ZB_TRY(check_limits());
    return std::move(problem_);
  }

 private:
  Status check_limits() const {
    int64_t copied = 0, bytes = 0;
    const auto add = [&](const std::vector<Buffer>& buffers) {
      for (const Buffer& buffer : buffers) {
        bytes += buffer.bytes;
        if (buffer.role == wire::BufferRole::Scratch) copied += buffer.bytes;
      }
    };
    add(problem_.buffers);
    if (copied > kMaxCopiedElements)
      return resource_exhausted(fmt::format(
          "gemmini: tensors in this order of dims need {} elements rearranged one by one, at most {} are; "
          "channels last (b01f_01io->b01f) needs none",
          copied, kMaxCopiedElements));
    for (const Form& form : problem_.forms) add(form.scratch);
    if (bytes > kMaxBytes)
      return resource_exhausted(fmt::format(
          "gemmini: the workload's tensors have {} bytes, at most {} are placed", bytes, kMaxBytes));
    const int64_t dim = machine_.dim, pixels = problem_.batch * problem_.rows.out * problem_.cols.out;
    for (const Form& form : problem_.forms) {
      int64_t steps = 0;
      for (const Group& group : form.groups) {
        const int64_t blocks = ((group.in_channels + dim - 1) / dim) * ((group.out_channels + dim - 1) / dim);
        steps += std::min(kMaxSteps + 1, blocks * problem_.taps()) * ((pixels + dim - 1) / dim);
        if (steps <= kMaxSteps) continue;
        return resource_exhausted(
            fmt::format("gemmini: the convolution needs more than {} array steps", kMaxSteps));
      }
    }
    return {};
  }

  void check_each_node() {
    const std::vector<bool> used = reader_.reachable();
    size_t found = 0;
    for (uint32_t id = 0; id < used.size(); ++id) {
      if (!used[id]) continue;
      const wire::NodeT& node = reader_.node(id);
      const int64_t elements = element_count(*node.type);
      if (elements < 0) reader_.refuse(node, "has too many elements");
      if (elements == 0) reader_.refuse(node, "has no elements: nothing to compute");
      if (node.op == "convolution")
        reader_.refuse(node,
                       "gemmini takes convolutions over two spatial dims without input dilation, reversal, "
                       "batch groups and negative padding");
      else if (!is_taken(node.op))
        reader_.refuse(node, kTaken);
      if (node.op == "conv2d" && ++found > 1)
        reader_.refuse(node, "is a second conv2d; gemmini takes one a workload");
    }
    if (found == 0 && !workload_.outputs.empty() && !reader_.refused())
      reader_.refuse(reader_.node(workload_.outputs[0]), "no conv2d leads here");
    for (size_t i = 1; i < workload_.outputs.size(); ++i)
      reader_.refuse(reader_.node(workload_.outputs[i]), "is a second output; gemmini takes one a workload");
  }

  std::optional<uint32_t> walk_to_convolution() {
    uint32_t id = workload_.outputs[0];
    const wire::NodeT& output = reader_.node(id);
    const DType type = output.type->dtype;
    if (type != DType::S8 && type != DType::S32) {
      reader_.refuse(output, "the result must be s8 (after quantize) or s32");
      return std::nullopt;
    }
    problem_.full_width = type == DType::S32;
    reader_.set_narrow_output(type == DType::S8);
    c_ = dense_view(static_cast<uint32_t>(workload_.inputs.size()), output.type->dims);
    for (;;) {
      const wire::NodeT& node = reader_.node(id);
      if (node.op == "conv2d") break;
      if (!step_over(node)) return std::nullopt;
      id = node.operands[next_operand_];
    }
    const wire::NodeT& node = reader_.node(id);
    if (node.type->dtype != DType::S32) reader_.refuse(node, "the conv2d must accumulate in s32");
    if (type == DType::S8 && !quantized_)
      reader_.refuse(output, "an s8 result needs a quantize: scale, round to nearest even, clamp, narrow");
    if (problem_.relu && problem_.full_width)
      reader_.refuse(output, "a full-width s32 result takes no relu: quantize it to s8");
    if (problem_.relu && std::signbit(problem_.scale))
      reader_.refuse(output, "relu with a negative scale is not the same on all Gemmini hardware");
    return id;
  }

  // One node between output and convolution; sets next_operand_. False when it is refused.
  bool step_over(const wire::NodeT& node) {
    next_operand_ = 0;
    if (node.op == "transpose") {
      const auto dims = reader_.ints(node, "dims");
      c_ = inverse_transposed(c_, dims);
      if (d_) d_ = inverse_transposed(*d_, dims);
      return true;
    }
    if (node.op == "reshape") {
      if (element_count(*node.type) != element_count(*reader_.node(node.operands[0]).type)) {
        reader_.refuse(node, "changes the number of elements");
        return false;
      }
      c_ = reader_.before_reshape(node, c_, true);
      if (d_) d_ = reader_.before_reshape(node, *d_, false);
      return true;
    }
    if (node.op == "convert" && node.type->dtype == reader_.node(node.operands[0]).type->dtype) return true;
    if (node.op == "relu") {
      if (d_) reader_.refuse(node, "a relu comes after the bias, not before");
      if (node.type->dtype != reader_.node(node.operands[0]).type->dtype)
        reader_.refuse(node, "changes the element type");
      problem_.relu = true;
      return !reader_.refused();
    }
    if (node.op == "quantize") return read_quantize(node);
    if (node.op == "bias" || node.op == "add") return read_bias(node);
    reader_.refuse(node,
                   node.op == "convert"
                       ? "narrowing needs a quantize: scale, round to nearest even, clamp, convert to s8"
                       : "no conv2d leads here");
    return false;
  }

  bool read_quantize(const wire::NodeT& node) {
    const double scale = reader_.number(node, "scale", 1), low = reader_.number(node, "low", -128),
                 high = reader_.number(node, "high", 127);
    if (quantized_) reader_.refuse(node, "is a second quantize");
    if (node.type->dtype != DType::S8 || reader_.node(node.operands[0]).type->dtype != DType::S32)
      reader_.refuse(node, "must quantize s32 to s8");
    if (!std::isfinite(static_cast<float>(scale)))
      reader_.refuse(node, fmt::format("scale {} is no finite f32", scale));
    if (reader_.number(node, "zero_point", 0) != 0) reader_.refuse(node, "a zero point is not supported");
    if (low == 0) problem_.relu = true;
    if (high != 127 || !(low == -128 || low == 0))
      reader_.refuse(node,
                     fmt::format("clamps to [{}, {}]; the array's store clamps to [-128, 127] or, with relu, "
                                 "to [0, 127]",
                                 low, high));
    quantized_ = true;
    problem_.scale = static_cast<float>(scale);
    return !reader_.refused();
  }

  bool read_bias(const wire::NodeT& node) {
    if (node.type->dtype != DType::S32) {
      reader_.refuse(node, "a bias is added to the s32 sums, before relu and quantize");
      return false;
    }
    if (d_) {
      reader_.refuse(node, "is a second bias; gemmini adds one");
      return false;
    }
    const bool right = node.op == "add" && !leads_to_convolution(node.operands[0]);
    next_operand_ = right ? 1 : 0;
    const View view = reader_.operand_view(node.operands[right ? 0 : 1], DType::S32);
    if (reader_.refused()) return false;
    std::vector<int64_t> dims(reader_.ints(node, "dims").begin(), reader_.ints(node, "dims").end());
    if (node.op == "add") {
      dims.clear();
      for (size_t d = 0; d < view.dims.size(); ++d) dims.push_back(static_cast<int64_t>(d));
    }
    View full{view.buffer, std::vector<Dim>(node.type->dims.size())};
    for (size_t d = 0; d < full.dims.size(); ++d)
      if (node.type->dims[d] != 1) full.dims[d] = {{node.type->dims[d], 0}};
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto to = static_cast<size_t>(dims[d]);
      const int64_t extent = extent_of(view.dims[d]);
      if (extent == node.type->dims[to])
        full.dims[to] = view.dims[d];
      else if (extent != 1) {
        reader_.refuse(node, "has a bias of another extent than its result");
        return false;
      }
    }
    d_ = std::move(full);
    return true;
  }

  bool leads_to_convolution(uint32_t id) const {
    for (;;) {
      const wire::NodeT& node = reader_.node(id);
      if (node.op == "conv2d") return true;
      if (node.operands.empty()) return false;
      id = node.operands[0];
    }
  }

  // The four places of a tensor's dims; refused when they are no permutation.
  std::optional<std::vector<int64_t>> places(const wire::NodeT& node, std::string_view key, size_t rank) {
    const auto ints = reader_.ints(node, key);
    std::vector<int64_t> sorted(ints.begin(), ints.end());
    std::sort(sorted.begin(), sorted.end());
    if (rank == 4 && sorted == std::vector<int64_t>{0, 1, 2, 3})
      return std::vector<int64_t>(ints.begin(), ints.end());
    reader_.refuse(node, fmt::format("{} do not name four dims", key));
    return std::nullopt;
  }

  Status read_convolution(const wire::NodeT& node) {
    if (node.operands.size() != 2) return invalid_argument("gemmini: conv2d without two operands");
    View input = reader_.operand_view(node.operands[0], DType::S8);
    View kernel = reader_.operand_view(node.operands[1], DType::S8);
    if (reader_.refused()) return reader_.refusal();
    const auto input_dims = places(node, "input_dims", input.dims.size());
    const auto kernel_dims = places(node, "kernel_dims", kernel.dims.size());
    const auto output_dims = places(node, "output_dims", node.type->dims.size());
    if (!input_dims || !kernel_dims || !output_dims) return reader_.refusal();
    input = transposed(input, *input_dims);
    kernel = transposed(kernel, *kernel_dims);
    c_ = transposed(c_, *output_dims);
    if (d_) d_ = transposed(*d_, *output_dims);
    ZB_TRY(read_axes(node, input, kernel));
    ZB_TRY(place_tensors(input));
    ZB_TRY(make_forms(kernel));
    turn_columns();
    fill_all_strides();
    return {};
  }

  Status read_axes(const wire::NodeT& node, const View& input, const View& kernel) {
    const auto strides = reader_.ints(node, "strides"), low = reader_.ints(node, "pad_low"),
               high = reader_.ints(node, "pad_high"), dilations = reader_.ints(node, "dilations");
    const auto bad = [&](std::string_view why) {
      reader_.refuse(node, why);
      return reader_.refusal();
    };
    if (strides.size() != 2 || low.size() != 2 || high.size() != 2 || dilations.size() != 2)
      return bad("has not two spatial dims");
    problem_.batch = extent_of(input.dims[0]);
    for (size_t d = 0; d < 2; ++d) {
      Axis& axis = d == 0 ? problem_.rows : problem_.cols;
      axis = {extent_of(input.dims[d + 1]),
              extent_of(c_.dims[d + 1]),
              extent_of(kernel.dims[d]),
              strides[d],
              dilations[d],
              low[d]};
      for (const int64_t value : {axis.stride, axis.dilation})
        if (value < 1 || value > kMaxPixels) return bad("has a stride or dilation out of range");
      for (const int64_t value : {low[d], high[d]})
        if (value < 0 || value > kMaxPixels) return bad("has a padding out of range");
      if (axis.kernel > kMaxPixels || axis.in > kMaxPixels) return bad("has too large dims");
      const int64_t room = axis.in + low[d] + high[d] - (axis.kernel - 1) * axis.dilation - 1;
      if (room < 0 || room / axis.stride + 1 != axis.out) return bad("has an output of another size");
    }
    groups_ = static_cast<int64_t>(reader_.number(node, "groups", 1));
    in_channels_ = extent_of(kernel.dims[2]);
    const int64_t out_channels = extent_of(kernel.dims[3]);
    if (groups_ < 1 || out_channels % groups_ != 0 || extent_of(input.dims[3]) != in_channels_ * groups_ ||
        extent_of(c_.dims[3]) != out_channels || extent_of(c_.dims[0]) != problem_.batch)
      return bad("has dimensions of different extents");
    out_channels_ = out_channels / groups_;
    return {};
  }

  // Four dims with single strides, and channels next to each other.
  static bool readable(const View& view) {
    for (size_t d = 0; d < 4; ++d) {
      const auto stride = single_stride(view.dims[d]);
      if (!stride || *stride < 0) return false;
      if (d == 3 && extent_of(view.dims[d]) > 1 && *stride != 1) return false;
    }
    return true;
  }

  static bool repeats(const View& view) {
    return std::any_of(view.dims.begin(), view.dims.end(), [](const Dim& dim) {
      return std::any_of(dim.begin(), dim.end(),
                         [](const Factor& f) { return f.extent > 1 && f.stride == 0; });
    });
  }

  // A dense scratch buffer in place of `like`, and the copy between them. Of a bias (4 bytes), dims of pixels
  // that repeat stay repeated.
  View stage(const View& like, uint32_t element_bytes, bool is_output) {
    std::vector<int64_t> dims;
    int64_t elements = 1;
    for (const Dim& dim : like.dims) {
      const bool repeated =
          element_bytes == 4 && &dim != &like.dims.back() &&
          std::all_of(dim.begin(), dim.end(), [](const Factor& f) { return f.stride == 0; });
      dims.push_back(repeated ? 1 : extent_of(dim));
      elements *= dims.back();
    }
    const auto number = static_cast<uint32_t>(problem_.buffers.size());
    Buffer scratch;
    scratch.name = fmt::format("staged_{}", number);
    scratch.role = wire::BufferRole::Scratch;
    scratch.type.dtype = element_bytes == 1 ? DType::S8 : DType::S32;
    scratch.type.dims = dims;
    scratch.bytes = elements * element_bytes;
    problem_.buffers.push_back(std::move(scratch));
    View dense = dense_view(number, dims);
    Copy copy{is_output ? number : like.buffer, is_output ? like.buffer : number, element_bytes, {}};
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == 1) {
        if (extent_of(like.dims[i]) > 1) dense.dims[i] = like.dims[i];
        continue;
      }
      int64_t inside = dense.dims[i][0].stride * dims[i];
      for (const Factor& factor : like.dims[i]) {
        inside /= factor.extent;
        copy.loops.push_back(is_output ? CopyLoop{factor.extent, inside, factor.stride}
                                       : CopyLoop{factor.extent, factor.stride, inside});
      }
    }
    if (is_output)
      problem_.after.insert(problem_.after.begin(), std::move(copy));
    else
      problem_.before.push_back(std::move(copy));
    return dense;
  }

  static Strides strides_of(const View& view) {
    return {*single_stride(view.dims[0]), *single_stride(view.dims[1]), *single_stride(view.dims[2])};
  }

  // Dims of extent 1 get the stride that a dense tensor would have there.
  static void fill_strides(Strides& strides, int64_t row_extent, int64_t col_extent, int64_t channels) {
    if (col_extent == 1) strides.col = row_extent > 1 ? strides.row : channels;
    if (row_extent == 1) strides.row = col_extent * strides.col;
    if (strides.batch == 0) strides.batch = row_extent * strides.row;
  }

  Status place_tensors(View input) {
    if (!readable(input)) input = stage(input, 1, false);
    problem_.input = input.buffer;
    problem_.input_strides = strides_of(input);
    const auto bytes = static_cast<uint32_t>(problem_.output_bytes());
    if (!readable(c_)) c_ = stage(c_, bytes, true);
    problem_.output = c_.buffer;
    problem_.output_strides = strides_of(c_);
    problem_.has_bias = d_.has_value();
    if (!d_) return {};
    if (!readable(*d_)) d_ = stage(*d_, 4, false);
    problem_.bias = d_->buffer;
    problem_.bias_strides = strides_of(*d_);
    return {};
  }

  // Lines of one pixel would be moved pixel by pixel: such images lie down.
  void turn_columns() {
    if (problem_.cols.in != 1 || problem_.cols.out != 1 || problem_.cols.kernel != 1) return;
    std::swap(problem_.rows, problem_.cols);
    for (Strides* strides : {&problem_.input_strides, &problem_.output_strides, &problem_.bias_strides})
      std::swap(strides->row, strides->col);
    for (Form& form : problem_.forms) std::swap(form.weight_row, form.weight_col);
  }

  void fill_all_strides() {
    const Axis &rows = problem_.rows, &cols = problem_.cols;
    fill_strides(problem_.input_strides, rows.in, cols.in, in_channels_ * groups_);
    fill_strides(problem_.output_strides, rows.out, cols.out, out_channels_ * groups_);
    for (Form& form : problem_.forms) {
      if (form.weight_channel == 0)
        form.weight_channel = cols.kernel > 1   ? form.weight_col
                              : rows.kernel > 1 ? form.weight_row
                                                : out_channels_ * groups_;
      if (cols.kernel == 1)
        form.weight_col = rows.kernel > 1 ? form.weight_row : form.most_in_channels() * form.weight_channel;
      if (rows.kernel == 1) form.weight_row = cols.kernel * form.weight_col;
    }
  }

  Status make_forms(View kernel) {
    const bool depthwise = groups_ > 1 && in_channels_ == 1 && out_channels_ == 1;
    if (!readable(kernel) || repeats(kernel)) kernel = stage(kernel, 1, false);
    if (depthwise) problem_.forms.push_back(diagonal_form(kernel));
    Form plain;
    plain.weights = kernel.buffer;
    plain.weight_row = *single_stride(kernel.dims[0]);
    plain.weight_col = *single_stride(kernel.dims[1]);
    plain.weight_channel = *single_stride(kernel.dims[2]);
    for (int64_t g = 0; g < groups_; ++g) {
      const int64_t first = g * out_channels_;
      plain.groups.push_back({in_channels_, out_channels_, g * in_channels_, first, first, first});
    }
    problem_.forms.push_back(std::move(plain));
    return {};
  }

  Form diagonal_form(const View& kernel) {
    const int64_t dim = machine_.dim, blocks = (groups_ + dim - 1) / dim, block = dim * dim;
    Form form;
    form.diagonal = true;
    form.weights = static_cast<uint32_t>(problem_.buffers.size());
    form.weight_channel = dim;
    form.weight_col = blocks * block;
    form.weight_row = form.weight_col * problem_.cols.kernel;
    Buffer scratch;
    scratch.name = "diagonals";
    scratch.role = wire::BufferRole::Scratch;
    scratch.type.dtype = DType::S8;
    scratch.bytes = problem_.taps() * blocks * block;
    scratch.type.dims = {problem_.taps(), blocks, dim, dim};
    form.scratch.push_back(std::move(scratch));
    const auto add_copy = [&](int64_t from, int64_t count, int64_t channels) {
      const auto row = *single_stride(kernel.dims[0]), col = *single_stride(kernel.dims[1]);
      OffsetCopy copy{{kernel.buffer, form.weights, 1, {}}, from * dim, from * block};
      copy.loops = {{problem_.rows.kernel, row, form.weight_row},
                    {problem_.cols.kernel, col, form.weight_col},
                    {count, dim, block},
                    {channels, 1, dim + 1}};
      form.before.push_back(std::move(copy));
    };
    const int64_t whole = groups_ / dim, rest = groups_ % dim;
    if (whole > 0) add_copy(0, whole, dim);
    if (rest > 0) add_copy(whole, 1, rest);
    for (int64_t j = 0; j < blocks; ++j) {
      const int64_t channels = std::min(dim, groups_ - j * dim);
      form.groups.push_back({channels, channels, j * dim, j * block, j * dim, j * dim});
    }
    return form;
  }

  const wire::WorkloadT& workload_;
  const Machine& machine_;
  Problem problem_;
  GraphReader reader_;
  View c_;
  std::optional<View> d_;
  bool quantized_ = false;
  size_t next_operand_ = 0;
  int64_t groups_ = 1, in_channels_ = 1, out_channels_ = 1;  // channels of one group
};

}  // namespace

int64_t Form::most_in_channels() const {
  int64_t most = 1;
  for (const Group& group : groups) most = std::max(most, group.in_channels);
  return most;
}

int64_t Form::most_out_channels() const {
  int64_t most = 1;
  for (const Group& group : groups) most = std::max(most, group.out_channels);
  return most;
}

int64_t Problem::multiplications() const {
  const Form& plain = forms.back();
  return batch * rows.out * cols.out * taps() * static_cast<int64_t>(plain.groups.size()) *
         plain.most_in_channels() * plain.most_out_channels();
}

Result<Problem> recognise(const wire::WorkloadT& workload, const Machine& machine) {
  return Recogniser(workload, machine).run();
}

std::vector<PlacedBuffer> placed_buffers(const Problem& problem, const Form& form) {
  std::vector<Buffer> buffers = problem.buffers;
  buffers.insert(buffers.end(), form.scratch.begin(), form.scratch.end());
  return place(std::move(buffers));
}

}  // namespace zomboss::gemmini::conv
