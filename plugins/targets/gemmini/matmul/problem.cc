#include "plugins/targets/gemmini/matmul/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "plugins/targets/gemmini/graph_reader.h"

namespace zomboss::gemmini {
namespace {

using wire::DType;

constexpr std::string_view kTaken =
    "gemmini takes one s8 matmul with optional s32 bias, relu and quantize to s8, and transposes, reshapes "
    "and "
    "broadcasts of its operands";

constexpr int64_t kMaxCopiedElements = 16'000'000;
constexpr size_t kMaxCopies = 64;
constexpr int64_t kMaxBytes = int64_t{1} << 30;

bool is_taken(std::string_view op) {
  constexpr std::string_view kOps[] = {"parameter", "constant", "matmul",   "bias",
                                       "add",       "quantize", "relu",     "convert",
                                       "transpose", "reshape",  "broadcast"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

// Walks from the output up to the matmul. Views are of the value of the node reached so far.
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
    const auto matmul = walk_to_matmul();
    if (matmul) read_matmul(*matmul);
    ZB_TRY(reader_.refusal());
    if (!matmul) return internal_error("gemmini: no matmul found and nothing refused");
    input_.dim = machine_.dim;
    input_.widest_move = machine_.max_move_bytes;
    input_.buffers = static_cast<uint32_t>(problem_.buffers.size());
    ZB_ASSIGN(problem_.forms, make_forms(input_));
    ZB_TRY(check_limits());
    return std::move(problem_);
  }

 private:
  // Rearranging moves single elements, each a DRAM request of its own.
  Status check_limits() const {
    int64_t copied = problem_.forms.front().copied_elements, bytes = 0;
    for (const Buffer& buffer : problem_.buffers) {
      bytes += buffer.bytes;
      if (buffer.role == wire::BufferRole::Scratch) copied += buffer.bytes;
    }
    if (copied > kMaxCopiedElements || problem_.before.size() + problem_.after.size() > kMaxCopies)
      return resource_exhausted(fmt::format(
          "gemmini: operands in this order need {} elements rearranged one by one, at most {} are; "
          "transpose them outside of the kernel",
          copied, kMaxCopiedElements));
    if (bytes > kMaxBytes)
      return resource_exhausted(fmt::format(
          "gemmini: the workload's tensors have {} bytes, at most {} are placed", bytes, kMaxBytes));
    return {};
  }

  void check_each_node() {
    const std::vector<bool> used = reader_.reachable();
    size_t matmuls = 0;
    for (uint32_t id = 0; id < used.size(); ++id) {
      if (!used[id]) continue;
      const wire::NodeT& node = reader_.node(id);
      const int64_t elements = element_count(*node.type);
      if (elements < 0) reader_.refuse(node, "has too many elements");
      if (elements == 0) reader_.refuse(node, "has no elements: nothing to compute");
      if (!is_taken(node.op)) reader_.refuse(node, kTaken);
      if (node.op == "matmul" && ++matmuls > 1)
        reader_.refuse(node, "is a second matmul; gemmini takes one a workload");
    }
    if (matmuls == 0 && !workload_.outputs.empty() && !reader_.refused())
      reader_.refuse(reader_.node(workload_.outputs[0]),
                     "no matmul leads here; gemmini takes one a workload");
    for (size_t i = 1; i < workload_.outputs.size(); ++i)
      reader_.refuse(reader_.node(workload_.outputs[i]), "is a second output; gemmini takes one a workload");
  }

  std::optional<uint32_t> walk_to_matmul() {
    uint32_t id = workload_.outputs[0];
    const wire::NodeT& output = reader_.node(id);
    const DType type = output.type->dtype;
    if (type != DType::S8 && type != DType::S32) {
      reader_.refuse(output, "the result must be s8 (after quantize) or s32");
      return std::nullopt;
    }
    problem_.epilogue.full_width = type == DType::S32;
    reader_.set_narrow_output(type == DType::S8);
    c_ = dense_view(static_cast<uint32_t>(workload_.inputs.size()), output.type->dims);
    for (;;) {
      const wire::NodeT& node = reader_.node(id);
      if (node.op == "matmul") break;
      if (!step_over(node)) return std::nullopt;
      id = node.operands[next_operand_];
    }
    const wire::NodeT& matmul = reader_.node(id);
    if (matmul.type->dtype != DType::S32) reader_.refuse(matmul, "the matmul must accumulate in s32");
    if (type == DType::S8 && !quantized_)
      reader_.refuse(output, "an s8 result needs a quantize: scale, round to nearest even, clamp, narrow");
    if (problem_.epilogue.relu && problem_.epilogue.full_width)
      reader_.refuse(output, "a full-width s32 result takes no relu: quantize it to s8");
    if (problem_.epilogue.relu && std::signbit(problem_.epilogue.scale))
      reader_.refuse(output, "relu with a negative scale is not the same on all Gemmini hardware");
    if (reader_.refused()) return std::nullopt;
    return id;
  }

  // One node between output and matmul; sets next_operand_. False when it is refused.
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
      problem_.epilogue.relu = true;
      return same_type(node) && !d_;
    }
    if (node.op == "quantize") return read_quantize(node);
    if (node.op == "bias" || node.op == "add") return read_bias(node);
    reader_.refuse(node,
                   node.op == "convert"
                       ? "narrowing needs a quantize: scale, round to nearest even, clamp, convert to s8"
                       : "no matmul leads here");
    return false;
  }

  bool same_type(const wire::NodeT& node) {
    if (node.type->dtype == reader_.node(node.operands[0]).type->dtype) return true;
    reader_.refuse(node, "changes the element type");
    return false;
  }

  bool read_quantize(const wire::NodeT& node) {
    const double scale = reader_.number(node, "scale", 1), low = reader_.number(node, "low", -128),
                 high = reader_.number(node, "high", 127);
    const size_t before = refusals_before();
    if (quantized_) reader_.refuse(node, "is a second quantize");
    if (node.type->dtype != DType::S8 || reader_.node(node.operands[0]).type->dtype != DType::S32)
      reader_.refuse(node, "must quantize s32 to s8");
    if (!std::isfinite(static_cast<float>(scale)))
      reader_.refuse(node, fmt::format("scale {} is no finite f32", scale));
    if (reader_.number(node, "zero_point", 0) != 0) reader_.refuse(node, "a zero point is not supported");
    if (low == 0) problem_.epilogue.relu = true;
    if (high != 127 || !(low == -128 || low == 0))
      reader_.refuse(node,
                     fmt::format("clamps to [{}, {}]; the array's store clamps to [-128, 127] or, with relu, "
                                 "to [0, 127]",
                                 low, high));
    if (refusals_before() != before) return false;
    quantized_ = true;
    problem_.epilogue.scale = static_cast<float>(scale);
    return true;
  }
  size_t refusals_before() const { return reader_.refused() ? 1 : 0; }

  bool read_bias(const wire::NodeT& node) {
    if (node.type->dtype != DType::S32) {
      reader_.refuse(node, "a bias is added to the s32 sums, before relu and quantize");
      return false;
    }
    if (d_) {
      reader_.refuse(node, "is a second bias; gemmini adds one");
      return false;
    }
    const bool right = node.op == "add" && !leads_to_matmul(node.operands[0]);
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
    if (dims.size() > full.dims.size()) {
      reader_.refuse(node, "has operands of different ranks");
      return false;
    }
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

  bool leads_to_matmul(uint32_t id) const {
    for (;;) {
      const wire::NodeT& node = reader_.node(id);
      if (node.op == "matmul") return true;
      if (node.operands.size() != 1) return false;
      id = node.operands[0];
    }
  }

  void read_matmul(uint32_t id) {
    const wire::NodeT& node = reader_.node(id);
    const View a = reader_.operand_view(node.operands[0], DType::S8);
    const View b = reader_.operand_view(node.operands[1], DType::S8);
    if (reader_.refused()) return;
    input_.buffer = {a.buffer, b.buffer, c_.buffer, d_ ? d_->buffer : 0};
    input_.element_bytes = {1, 1, problem_.epilogue.full_width ? 4u : 1u, 4};
    input_.has_bias = d_.has_value();
    size_t result = 0;
    const auto add = [&](DimKind kind, const Dim* in_a, const Dim* in_b, bool in_c) {
      MatmulDim dim{kind, {}};
      if (in_a != nullptr) dim.of[kA] = *in_a;
      if (in_b != nullptr) dim.of[kB] = *in_b;
      if (in_c) {
        dim.of[kC] = c_.dims[result];
        if (d_) dim.of[kD] = d_->dims[result];
        ++result;
      }
      int64_t extent = extent_of(in_a != nullptr ? *in_a : *in_b);
      if ((in_b != nullptr && extent_of(*in_b) != extent) || (in_c && extent_of(dim.of[kC]) != extent))
        reader_.refuse(node, "has dimensions of different extents");
      input_.dims.push_back(std::move(dim));
    };
    const auto at = [](const View& view, int64_t d) { return &view.dims[static_cast<size_t>(d)]; };
    const auto lhs_batch = reader_.ints(node, "lhs_batch"), rhs_batch = reader_.ints(node, "rhs_batch");
    const auto lhs_contract = reader_.ints(node, "lhs_contract"),
               rhs_contract = reader_.ints(node, "rhs_contract");
    const auto is_free = [](size_t d, std::span<const int64_t> batch, std::span<const int64_t> contract) {
      const auto value = static_cast<int64_t>(d);
      return std::find(batch.begin(), batch.end(), value) == batch.end() &&
             std::find(contract.begin(), contract.end(), value) == contract.end();
    };
    for (size_t i = 0; i < lhs_batch.size(); ++i)
      add(DimKind::kBatch, at(a, lhs_batch[i]), at(b, rhs_batch[i]), true);
    for (size_t d = 0; d < a.dims.size(); ++d)
      if (is_free(d, lhs_batch, lhs_contract)) add(DimKind::kM, &a.dims[d], nullptr, true);
    for (size_t d = 0; d < b.dims.size(); ++d)
      if (is_free(d, rhs_batch, rhs_contract)) add(DimKind::kN, nullptr, &b.dims[d], true);
    for (size_t i = 0; i < lhs_contract.size(); ++i)
      add(DimKind::kK, at(a, lhs_contract[i]), at(b, rhs_contract[i]), false);
  }

  const wire::WorkloadT& workload_;
  const Machine& machine_;
  Problem problem_;
  GraphReader reader_;
  FormInput input_;
  View c_;
  std::optional<View> d_;
  bool quantized_ = false;
  size_t next_operand_ = 0;
};

}  // namespace

Result<Problem> recognise(const wire::WorkloadT& workload, const Machine& machine) {
  return Recogniser(workload, machine).run();
}

}  // namespace zomboss::gemmini
