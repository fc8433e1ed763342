#include "plugins/targets/gemmini/graph_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::gemmini {
namespace {

using wire::DType;

constexpr size_t kMaxRank = 32;
constexpr size_t kMaxRefusals = 100;

std::string dtype_text(DType dtype) {
  std::string name = wire::EnumNameDType(dtype);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

bool is_permutation(std::span<const int64_t> values, size_t rank) {
  std::vector<bool> seen(rank);
  for (int64_t value : values) {
    if (value < 0 || static_cast<size_t>(value) >= rank || seen[static_cast<size_t>(value)]) return false;
    seen[static_cast<size_t>(value)] = true;
  }
  return true;
}

// Distinct dims of a tensor of this rank, in any order.
bool are_dims(std::span<const int64_t> values, size_t rank) {
  return values.size() <= rank && is_permutation(values, rank);
}

// No dim is in both.
bool are_apart(std::span<const int64_t> x, std::span<const int64_t> y) {
  return std::find_first_of(x.begin(), x.end(), y.begin(), y.end()) == x.end();
}

bool holds_s8(DType dtype) {
  return dtype == DType::S8 || dtype == DType::S16 || dtype == DType::S32;
}

}  // namespace

std::span<const int64_t> GraphReader::ints(const wire::NodeT& node, std::string_view key) const {
  for (const auto& attribute : node.attributes)
    if (attribute->key == key) return attribute->ints;
  return {};
}

double GraphReader::number(const wire::NodeT& node, std::string_view key, double fallback) const {
  for (const auto& attribute : node.attributes) {
    if (attribute->key != key) continue;
    if (attribute->ints.size() == 1) return static_cast<double>(attribute->ints[0]);
    if (attribute->floats.size() == 1) return attribute->floats[0];
  }
  return fallback;
}

Status GraphReader::check_structure() const {
  const auto bad = [](size_t id, std::string_view why) {
    return invalid_argument(fmt::format("gemmini: workload node {} {}", id, why));
  };
  for (size_t i = 0; i < workload_.nodes.size(); ++i) {
    const auto& each = workload_.nodes[i];
    if (each == nullptr || each->type == nullptr) return bad(i, "has no type");
    for (uint32_t operand : each->operands)
      if (operand >= i) return bad(i, "uses a node that does not come before it");
    const auto rank = [&](size_t operand) { return node(each->operands[operand]).type->dims.size(); };
    if (each->type->dims.size() > kMaxRank) return bad(i, "has too many dimensions");
    const size_t operands = each->op == "matmul" || each->op == "bias" || each->op == "add" ? 2
                            : each->op == "parameter" || each->op == "constant"             ? 0
                                                                                            : 1;
    const bool known = operands != 1 || each->op == "quantize" || each->op == "relu" ||
                       each->op == "convert" || each->op == "transpose" || each->op == "reshape" ||
                       each->op == "broadcast";
    if (!known) continue;
    if (each->operands.size() != operands) return bad(i, "has the wrong number of operands");
    const size_t own = each->type->dims.size();
    const auto dims = ints(*each, "dims");
    const auto same_dims = [&](size_t operand) {
      return node(each->operands[operand]).type->dims == each->type->dims;
    };
    const bool elementwise = each->op == "quantize" || each->op == "relu" || each->op == "convert" ||
                             each->op == "bias" || each->op == "add";
    if (elementwise && (!same_dims(0) || (each->op == "add" && !same_dims(1))))
      return bad(i, "has other dims than its operand");
    if (each->op == "transpose" && (rank(0) != own || dims.size() != own || !is_permutation(dims, own)))
      return bad(i, "is a transpose whose dims are no permutation");
    if (each->op == "broadcast" && (dims.size() != rank(0) || !are_dims(dims, own)))
      return bad(i, "is a broadcast whose dims do not fit");
    for (size_t d = 0; each->op == "broadcast" && d < dims.size(); ++d) {
      const int64_t from = node(each->operands[0]).type->dims[d];
      if (from != 1 && from != each->type->dims[static_cast<size_t>(dims[d])])
        return bad(i, "is a broadcast of an extent that is neither 1 nor its own");
    }
    if (each->op == "bias" && (rank(0) != own || dims.size() != rank(1) || !are_dims(dims, own)))
      return bad(i, "is a bias whose dims do not fit");
    if (each->op == "matmul") {
      const auto lhs_batch = ints(*each, "lhs_batch"), rhs_batch = ints(*each, "rhs_batch");
      const auto lhs_contract = ints(*each, "lhs_contract"), rhs_contract = ints(*each, "rhs_contract");
      if (lhs_batch.size() != rhs_batch.size() || lhs_contract.size() != rhs_contract.size() ||
          !are_dims(lhs_batch, rank(0)) || !are_dims(lhs_contract, rank(0)) ||
          !are_dims(rhs_batch, rank(1)) || !are_dims(rhs_contract, rank(1)) ||
          !are_apart(lhs_batch, lhs_contract) || !are_apart(rhs_batch, rhs_contract) ||
          own + lhs_batch.size() + 2 * lhs_contract.size() != rank(0) + rank(1))
        return bad(i, "is a matmul whose dims do not fit");
    }
  }
  for (const auto* list : {&workload_.inputs, &workload_.outputs})
    for (uint32_t id : *list)
      if (id >= workload_.nodes.size()) return bad(id, "is named as input or output and does not exist");
  return {};
}

std::vector<bool> GraphReader::reachable() const {
  std::vector<bool> seen(workload_.nodes.size());
  for (uint32_t id : workload_.outputs) seen[id] = true;
  for (size_t i = seen.size(); i-- > 0;)
    if (seen[i])
      for (uint32_t operand : workload_.nodes[i]->operands) seen[operand] = true;
  return seen;
}

void GraphReader::refuse(const wire::NodeT& each, std::string_view rule) {
  std::string line =
      fmt::format("{}:{}:{}: {} '{}' {}: {}", workload_.source.empty() ? "workload" : workload_.source,
                  each.line, each.column, each.op, each.name, type_text(*each.type), rule);
  if (std::find(refusals_.begin(), refusals_.end(), line) == refusals_.end())
    refusals_.push_back(std::move(line));
}

Status GraphReader::refusal() const {
  if (refusals_.empty()) return {};
  std::string text = "gemmini does not take this workload";
  for (size_t i = 0; i < std::min(refusals_.size(), kMaxRefusals); ++i) text += "\n  " + refusals_[i];
  if (refusals_.size() > kMaxRefusals)
    text += fmt::format("\n  and {} more", refusals_.size() - kMaxRefusals);
  return unimplemented(std::move(text));
}

Status GraphReader::add_boundary_buffers() {
  if (workload_.outputs.empty()) return invalid_argument("gemmini: the workload has no output");
  const auto add = [&](uint32_t id, wire::BufferRole role, uint32_t index) {
    const wire::NodeT& from = node(id);
    Buffer buffer{role == wire::BufferRole::Output ? "output" : from.name, role, index, *from.type, 0, {}};
    if (buffer.name.empty()) buffer.name = fmt::format("input_{}", index);
    const int64_t width = from.type->dtype == DType::S8 ? 1 : from.type->dtype == DType::S32 ? 4 : 8;
    buffer.bytes = std::max<int64_t>(element_count(*from.type), 0) * width;
    boundary_.buffers.push_back(std::move(buffer));
  };
  for (uint32_t i = 0; i < workload_.inputs.size(); ++i) add(workload_.inputs[i], wire::BufferRole::Input, i);
  add(workload_.outputs[0], wire::BufferRole::Output, 0);
  return {};
}

uint32_t GraphReader::constant_buffer(uint32_t id) {
  for (size_t i = 0; i < boundary_.buffers.size(); ++i) {
    const Buffer& buffer = boundary_.buffers[i];
    if (buffer.role == wire::BufferRole::Constant && buffer.index == id) return static_cast<uint32_t>(i);
  }
  const wire::NodeT& from = node(id);
  Buffer buffer{fmt::format("constant_{}", id), wire::BufferRole::Constant, id, *from.type, 0, from.data};
  buffer.bytes = static_cast<int64_t>(from.data.size());
  boundary_.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(boundary_.buffers.size() - 1);
}

View GraphReader::stage(const View& like, uint32_t element_bytes, bool is_output) {
  std::vector<int64_t> dims;
  int64_t elements = 1;
  for (const Dim& dim : like.dims) {
    dims.push_back(extent_of(dim));
    elements *= dims.back();
  }
  const auto number = static_cast<uint32_t>(boundary_.buffers.size());
  Buffer scratch;
  scratch.name = fmt::format("staged_{}", number);
  scratch.role = wire::BufferRole::Scratch;
  scratch.type.dtype = element_bytes == 1 ? DType::S8 : DType::S32;
  scratch.type.dims = dims;
  scratch.bytes = elements * element_bytes;
  boundary_.buffers.push_back(std::move(scratch));
  View dense = dense_view(number, dims);
  Copy copy{is_output ? number : like.buffer, is_output ? like.buffer : number, element_bytes, {}};
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t inside = dense.dims[i].empty() ? 0 : dense.dims[i][0].stride * dims[i];
    for (const Factor& factor : like.dims[i]) {
      inside /= factor.extent;
      copy.loops.push_back(is_output ? CopyLoop{factor.extent, inside, factor.stride}
                                     : CopyLoop{factor.extent, factor.stride, inside});
    }
  }
  if (is_output)
    boundary_.after.insert(boundary_.after.begin(), std::move(copy));
  else
    boundary_.before.push_back(std::move(copy));
  return dense;
}

View GraphReader::before_reshape(const wire::NodeT& reshape, const View& view, bool is_output) {
  const auto& dims = node(reshape.operands[0]).type->dims;
  if (auto direct = reshaped(view, dims)) return *direct;
  const uint32_t bytes = node(reshape.operands[0]).type->dtype == DType::S8 ? 1 : 4;
  return *reshaped(stage(view, is_output && narrow_output_ ? 1 : bytes, is_output), dims);
}

View GraphReader::operand_view(uint32_t id, wire::DType wanted) {
  std::vector<uint32_t> chain;
  for (;;) {
    const wire::NodeT& each = node(id);
    if (each.op == "parameter" || each.op == "constant") break;
    const bool moves = each.op == "transpose" || each.op == "reshape" || each.op == "broadcast";
    if (!moves && each.op != "convert") {
      refuse(each,
             "operands of the matmul and of the bias are parameters and constants, "
             "transposed, reshaped or broadcast");
      return {};
    }
    const bool widens = holds_s8(each.type->dtype) && node(each.operands[0]).type->dtype == DType::S8;
    if (each.op == "convert" && each.type->dtype != node(each.operands[0]).type->dtype && !widens) {
      refuse(each, "only s8 is widened on the way to the array");
      return {};
    }
    chain.push_back(id);
    id = each.operands[0];
  }
  const wire::NodeT& base = node(id);
  if (base.type->dtype != wanted) {
    refuse(base, fmt::format("must be {} here", dtype_text(wanted)));
    return {};
  }
  uint32_t buffer = 0;
  if (base.op == "constant") {
    buffer = constant_buffer(id);
  } else {
    while (buffer < workload_.inputs.size() && workload_.inputs[buffer] != id) ++buffer;
    if (buffer == workload_.inputs.size()) {
      refuse(base, "is no input of the workload");
      return {};
    }
  }
  View view = dense_view(buffer, base.type->dims);
  for (size_t i = chain.size(); i-- > 0;) {
    const wire::NodeT& each = node(chain[i]);
    const auto dims = ints(each, "dims");
    if (each.op == "transpose") {
      view = transposed(view, dims);
    } else if (each.op == "broadcast") {
      View wide{view.buffer, std::vector<Dim>(each.type->dims.size())};
      for (size_t d = 0; d < wide.dims.size(); ++d)
        if (each.type->dims[d] != 1) wide.dims[d] = {{each.type->dims[d], 0}};
      for (size_t d = 0; d < dims.size(); ++d) {
        const auto to = static_cast<size_t>(dims[d]);
        if (extent_of(view.dims[d]) == each.type->dims[to]) wide.dims[to] = view.dims[d];
      }
      view = std::move(wide);
    } else if (each.op == "reshape") {
      auto direct = reshaped(view, each.type->dims);
      if (!direct) direct = reshaped(stage(view, wanted == DType::S8 ? 1 : 4, false), each.type->dims);
      if (!direct) {
        refuse(each, "changes the number of elements");
        return {};
      }
      view = *direct;
    }
  }
  return view;
}

}  // namespace zomboss::gemmini
