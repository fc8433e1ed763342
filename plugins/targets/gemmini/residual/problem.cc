#include "plugins/targets/gemmini/residual/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "plugins/targets/gemmini/graph_reader.h"

namespace zomboss::gemmini::residual {
namespace {

using wire::DType;

constexpr std::string_view kTaken =
    "gemmini takes one s32 sum of two s8 tensors, each perhaps quantized to s8 by a factor of its own, with "
    "optional relu and quantize to s8 behind it";
constexpr int64_t kMaxElements = int64_t{1} << 24;
constexpr int64_t kMaxBlocks = int64_t{1} << 17;
constexpr int64_t kMaxOuter = 65'536;

bool is_taken(std::string_view op) {
  constexpr std::string_view kOps[] = {"parameter", "constant",  "add",     "quantize", "relu",
                                       "convert",   "transpose", "reshape", "broadcast"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

class Recogniser {
 public:
  Recogniser(const wire::WorkloadT& workload, const Machine& machine)
      : workload_(workload), machine_(machine), reader_(workload, problem_) {}

  Result<Problem> run() {
    problem_.workload = workload_.name;
    ZB_TRY(reader_.check_structure());
    if (workload_.outputs.empty()) return invalid_argument("gemmini: the workload has no output");
    check_each_node();
    ZB_TRY(reader_.refusal());
    ZB_TRY(reader_.add_boundary_buffers());
    const auto sum = walk_to_sum();
    if (sum) read_sum(*sum);
    ZB_TRY(reader_.refusal());
    if (!sum) return internal_error("gemmini: no sum found and nothing refused");
    ZB_TRY(check_size());
    return std::move(problem_);
  }

 private:
  Status check_size() const {
    for (const Shape& shape : problem_.shapes) {
      const int64_t dim = machine_.dim;
      const int64_t blocks = static_cast<int64_t>(shape.outer.size()) * ((shape.rows + dim - 1) / dim) *
                             ((shape.columns + dim - 1) / dim);
      if (blocks > kMaxBlocks)
        return resource_exhausted(fmt::format(
            "gemmini: the sum has {} blocks of {} x {} elements, at most {} are scheduled; reshape it "
            "to longer rows",
            blocks, dim, dim, kMaxBlocks));
    }
    return {};
  }

  void check_each_node() {
    const std::vector<bool> used = reader_.reachable();
    size_t sums = 0;
    for (uint32_t id = 0; id < used.size(); ++id) {
      if (!used[id]) continue;
      const wire::NodeT& node = reader_.node(id);
      const int64_t elements = element_count(*node.type);
      if (elements < 0 || elements > kMaxElements) reader_.refuse(node, "has too many elements");
      if (elements == 0) reader_.refuse(node, "has no elements: nothing to compute");
      if (!is_taken(node.op)) reader_.refuse(node, kTaken);
      if (node.op == "add" && ++sums > 1)
        reader_.refuse(node, "is a second sum; gemmini takes one a workload");
    }
    for (size_t i = 1; i < workload_.outputs.size(); ++i)
      reader_.refuse(reader_.node(workload_.outputs[i]), "is a second output; gemmini takes one a workload");
  }

  // From the output up to the sum; views are of the value of the node reached so far.
  std::optional<uint32_t> walk_to_sum() {
    uint32_t id = workload_.outputs[0];
    const wire::NodeT& output = reader_.node(id);
    if (output.type->dtype != DType::S8) {
      reader_.refuse(output, "the result of a residual addition is s8: quantize it");
      return std::nullopt;
    }
    reader_.set_narrow_output(true);
    c_ = dense_view(static_cast<uint32_t>(workload_.inputs.size()), output.type->dims);
    bool quantized = false;
    for (;; id = reader_.node(id).operands[0]) {
      const wire::NodeT& node = reader_.node(id);
      if (node.op == "add") break;
      if (node.op == "quantize" && !quantized) {
        quantized = true;
        problem_.sum_scale = read_scale(node);
        if (reader_.number(node, "low", -128) == 0) problem_.relu = true;
      } else if (node.op == "relu") {
        problem_.relu = true;
      } else if (node.op == "transpose") {
        c_ = inverse_transposed(c_, reader_.ints(node, "dims"));
      } else if (node.op == "reshape") {
        if (element_count(*node.type) != element_count(*reader_.node(node.operands[0]).type)) {
          reader_.refuse(node, "changes the number of elements");
          return std::nullopt;
        }
        c_ = reader_.before_reshape(node, c_, true);
      } else if (node.op != "convert" || node.type->dtype != reader_.node(node.operands[0]).type->dtype) {
        reader_.refuse(node, node.op == "quantize" ? "is a second quantize" : kTaken);
        return std::nullopt;
      }
    }
    const wire::NodeT& sum = reader_.node(id);
    if (sum.type->dtype != DType::S32 && sum.type->dtype != DType::S16)
      reader_.refuse(sum,
                     "two s8 tensors are added in s32: their sum does not fit s8, and floats are not added");
    if (!quantized)
      reader_.refuse(output, "an s8 result needs a quantize: scale, round to nearest even, clamp, narrow");
    if (problem_.relu && std::signbit(problem_.sum_scale))
      reader_.refuse(output, "relu with a negative scale is not the same on all Gemmini hardware");
    return reader_.refused() ? std::nullopt : std::optional(id);
  }

  // The factor of a quantize to s8.
  float read_scale(const wire::NodeT& node) {
    const double scale = reader_.number(node, "scale", 1), low = reader_.number(node, "low", -128),
                 high = reader_.number(node, "high", 127);
    const DType from = reader_.node(node.operands[0]).type->dtype;
    if (node.type->dtype != DType::S8 || (from != DType::S32 && from != DType::S16 && from != DType::S8))
      reader_.refuse(node, "must quantize an integer to s8");
    if (!std::isfinite(static_cast<float>(scale)))
      reader_.refuse(node, fmt::format("scale {} is no finite f32", scale));
    if (reader_.number(node, "zero_point", 0) != 0) reader_.refuse(node, "a zero point is not supported");
    if (high != 127 || !(low == -128 || low == 0))
      reader_.refuse(node,
                     fmt::format("clamps to [{}, {}]; moves clamp to [-128, 127], that of the result, with "
                                 "relu, to [0, 127]",
                                 low, high));
    return static_cast<float>(scale);
  }

  void read_sum(uint32_t id) {
    const wire::NodeT& sum = reader_.node(id);
    std::array<View, kSides> views;
    for (const Side side : {kA, kB}) views[side] = read_operand(sum.operands[side], side);
    if (reader_.refused()) return;
    views[kC] = c_;
    for (size_t s = 0; s < kSides; ++s) problem_.buffer[s] = views[s].buffer;
    if (!problem_.before.empty() || !problem_.after.empty()) {
      reader_.refuse(sum,
                     "adds tensors in an order that no strides express: reshape them outside of the kernel");
      return;
    }
    find_shapes(sum, views);
  }

  // What an operand is before it is widened: perhaps scaled, else a tensor in DRAM.
  View read_operand(uint32_t id, Side side) {
    const auto widens = [&](const wire::NodeT& node) {
      return node.op == "convert" && (node.type->dtype == DType::S32 || node.type->dtype == DType::S16);
    };
    while (widens(reader_.node(id))) id = reader_.node(id).operands[0];
    const wire::NodeT& node = reader_.node(id);
    if (node.op == "quantize") {
      problem_.scale[side] = read_scale(node);
      if (reader_.number(node, "low", -128) == 0)
        reader_.refuse(node,
                       "an operand is clamped to [-128, 127] when it is loaded; relu comes after the sum");
      id = node.operands[0];
      if (reader_.node(id).type->dtype != DType::S8)
        reader_.refuse(reader_.node(id), "operands are scaled from s8 to s8 when they are loaded");
      if (reader_.refused()) return {};
    }
    return reader_.operand_view(id, DType::S8);
  }

  void find_shapes(const wire::NodeT& sum, const std::array<View, kSides>& views) {
    std::vector<SharedLoop> loops;
    for (size_t d = 0; d < sum.type->dims.size(); ++d) {
      const std::array<Dim, kSides> dims = {views[kA].dims[d], views[kB].dims[d], views[kC].dims[d]};
      const auto shared = refined(dims);
      if (!shared) return refuse_order(sum);
      loops.insert(loops.end(), shared->begin(), shared->end());
    }
    merge(loops);
    std::stable_sort(loops.begin(), loops.end(), [](const SharedLoop& x, const SharedLoop& y) {
      return std::pair(unit(x), x.extent) > std::pair(unit(y), y.extent);
    });
    if (!loops.empty() && !unit(loops.front())) return refuse_order(sum);
    if (loops.size() <= 1) return add_dense_shapes(sum, loops.empty() ? 1 : loops.front().extent);
    Shape shape;
    shape.columns = loops[0].extent;
    shape.rows = loops[1].extent;
    std::copy_n(loops[1].strides.begin(), kSides, shape.stride.begin());
    for (size_t l = 2; l < loops.size(); ++l) {
      if (static_cast<int64_t>(shape.outer.size()) * loops[l].extent > kMaxOuter) return refuse_order(sum);
      std::vector<Offsets> next;
      for (const Offsets& start : shape.outer) {
        for (int64_t i = 0; i < loops[l].extent; ++i) {
          next.push_back(start);
          for (size_t s = 0; s < kSides; ++s) next.back()[s] += i * loops[l].strides[s];
        }
      }
      shape.outer = std::move(next);
    }
    problem_.shapes.push_back(std::move(shape));
  }

  static bool unit(const SharedLoop& loop) { return loop.strides == std::vector<int64_t>{1, 1, 1}; }

  void refuse_order(const wire::NodeT& sum) {
    reader_.refuse(sum,
                   "adds tensors whose elements lie in different orders: transpose outside of the kernel");
  }

  // Joins loops that one loop can walk on all sides.
  static void merge(std::vector<SharedLoop>& loops) {
    const auto joins = [](const SharedLoop& outer, const SharedLoop& inner) {
      for (size_t s = 0; s < kSides; ++s)
        if (outer.strides[s] != inner.extent * inner.strides[s]) return false;
      return true;
    };
    for (bool again = true; again;) {
      again = false;
      for (size_t i = 0; i < loops.size() && !again; ++i) {
        for (size_t j = 0; j < loops.size() && !again; ++j) {
          if (i == j || !joins(loops[i], loops[j])) continue;
          loops[j].extent *= loops[i].extent;
          loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
          again = true;
        }
      }
    }
  }

  // One run of elements can be cut into rows of any length that divides it: the tensor's own, and the longest
  // that one move takes.
  void add_dense_shapes(const wire::NodeT& sum, int64_t elements) {
    int64_t own = 1;
    for (const int64_t dim : sum.type->dims)
      if (dim != 1) own = dim;
    const auto add = [&](int64_t columns) {
      problem_.shapes.push_back({elements / columns, columns, {columns, columns, columns}, {Offsets{}}});
    };
    add(own);
    for (int64_t columns = machine_.max_move_bytes; columns >= machine_.dim; columns /= 2) {
      if (elements % columns != 0) continue;
      if (columns != own) add(columns);
      break;
    }
  }

  const wire::WorkloadT& workload_;
  const Machine& machine_;
  Problem problem_;
  GraphReader reader_;
  View c_;
};

}  // namespace

Result<Problem> recognise_sum(const wire::WorkloadT& workload, const Machine& machine) {
  return Recogniser(workload, machine).run();
}

}  // namespace zomboss::gemmini::residual
