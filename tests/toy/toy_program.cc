#include "tests/toy/toy_program.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace zomboss::toy {
namespace {

constexpr int64_t kLongest = 4096;
constexpr int64_t kMostProducts = int64_t{1} << 28;

bool is_type(const wire::TensorTypeT& type, wire::DType dtype, int64_t rows, int64_t columns) {
  return type.dtype == dtype && type.dims == std::vector<int64_t>{rows, columns};
}

const std::vector<int64_t>* ints(const wire::NodeT& node, std::string_view key) {
  for (const auto& attribute : node.attributes)
    if (attribute->key == key) return &attribute->ints;
  return nullptr;
}

bool contracts(const wire::NodeT& node, int64_t lhs, int64_t rhs) {
  const auto is = [&](std::string_view key, const std::vector<int64_t>& expected) {
    const std::vector<int64_t>* dims = ints(node, key);
    return dims == nullptr ? expected.empty() : *dims == expected;
  };
  return is("lhs_contract", {lhs}) && is("rhs_contract", {rhs}) && is("lhs_batch", {}) && is("rhs_batch", {});
}

Status check_size(const Problem& p) {
  if (p.m < 1 || p.n < 1 || p.k < 1 || p.m > kLongest || p.n > kLongest || p.k > kLongest ||
      p.m * p.n * p.k > kMostProducts)
    return unimplemented("toy takes dimensions of 1.." + std::to_string(kLongest) + " with at most " +
                         std::to_string(kMostProducts) + " products");
  return {};
}

}  // namespace

int64_t& decision(Decisions& d, const std::string& knob) {
  if (knob == "tile_m") return d.tile_m;
  if (knob == "tile_n") return d.tile_n;
  if (knob == "buffering") return d.buffering;
  if (knob == "loop_order") return d.loop_order;
  return d.unroll_k;
}

Result<Problem> read_problem(const wire::WorkloadT& workload) {
  const wire::NodeT* matmul = nullptr;
  for (const auto& node : workload.nodes) {
    if (node->op == "parameter") continue;
    if (node->op != "matmul" || matmul != nullptr)
      return unimplemented("toy takes a single matmul, not '" + node->op + "' (line " +
                           std::to_string(node->line) + ")");
    matmul = node.get();
  }
  if (matmul == nullptr || workload.outputs != std::vector<uint32_t>{matmul->id} ||
      workload.inputs.size() != 2 || matmul->operands != workload.inputs ||
      matmul->operands[0] >= workload.nodes.size() || matmul->operands[1] >= workload.nodes.size())
    return unimplemented("toy takes a single matmul of two inputs");
  const wire::TensorTypeT& lhs = *workload.nodes[matmul->operands[0]]->type;
  const wire::TensorTypeT& rhs = *workload.nodes[matmul->operands[1]]->type;
  if (lhs.dims.size() != 2 || rhs.dims.size() != 2 || !contracts(*matmul, 1, 0))
    return unimplemented("toy takes a plain matrix product: [m,k] x [k,n]");
  const Problem problem{lhs.dims[0], rhs.dims[1], lhs.dims[1]};
  ZB_TRY(check_size(problem));
  if (!is_type(lhs, wire::DType::S8, problem.m, problem.k) ||
      !is_type(rhs, wire::DType::S8, problem.k, problem.n) ||
      !is_type(*matmul->type, wire::DType::S32, problem.m, problem.n))
    return unimplemented("toy takes s8 inputs and an s32 output");
  return problem;
}

Result<Decisions> read_decisions(const wire::PlanT& plan) {
  Decisions decisions;
  size_t found = 0;
  for (const auto& section : plan.sections) {
    for (const auto& item : section->decisions) {
      if (std::find(kKnobs.begin(), kKnobs.end(), item->knob) == kKnobs.end())
        return invalid_argument("toy has no knob '" + item->knob + "'");
      decision(decisions, item->knob) = item->value;
      ++found;
    }
  }
  if (found != kKnobs.size()) return invalid_argument("the plan does not set the five knobs of toy");
  return decisions;
}

std::string write_code(const Problem& p, const Decisions& d) {
  std::string text;
  for (const int64_t value : {p.m, p.n, p.k, d.tile_m, d.tile_n, d.buffering, d.loop_order, d.unroll_k})
    text += (text.empty() ? "" : " ") + std::to_string(value);
  return text;
}

Status read_code(const std::vector<uint8_t>& code, Problem& p, Decisions& d) {
  const std::string text(code.begin(), code.end());
  const char* at = text.data();
  const char* end = at + text.size();
  for (int64_t* value : {&p.m, &p.n, &p.k, &d.tile_m, &d.tile_n, &d.buffering, &d.loop_order, &d.unroll_k}) {
    if (at != end && *at == ' ') ++at;
    const auto [stop, error] = std::from_chars(at, end, *value);
    if (error != std::errc() || *value < 0 || *value > kLongest)
      return data_loss("the toy program is damaged");
    at = stop;
  }
  const bool sane = at == end && d.tile_m > 0 && d.tile_n > 0 && d.buffering > 0 && check_size(p).ok();
  return sane ? Status() : data_loss("the toy program is damaged");
}

Result<wire::TensorT> multiply(const Problem& p, const wire::TensorsT& inputs) {
  if (inputs.tensors.size() != 2 || !is_type(*inputs.tensors[0]->type, wire::DType::S8, p.m, p.k) ||
      !is_type(*inputs.tensors[1]->type, wire::DType::S8, p.k, p.n) ||
      inputs.tensors[0]->data.size() != static_cast<size_t>(p.m * p.k) ||
      inputs.tensors[1]->data.size() != static_cast<size_t>(p.k * p.n))
    return invalid_argument("the inputs are not s8[" + std::to_string(p.m) + "," + std::to_string(p.k) +
                            "] and s8[" + std::to_string(p.k) + "," + std::to_string(p.n) + "]");
  const std::vector<uint8_t>& lhs = inputs.tensors[0]->data;
  const std::vector<uint8_t>& rhs = inputs.tensors[1]->data;
  std::vector<int32_t> sums(static_cast<size_t>(p.m * p.n), 0);
  const auto n = static_cast<size_t>(p.n);
  const auto k = static_cast<size_t>(p.k);
  for (size_t i = 0; i < static_cast<size_t>(p.m); ++i)
    for (size_t l = 0; l < k; ++l)
      for (size_t j = 0; j < n; ++j)
        sums[i * n + j] += static_cast<int8_t>(lhs[i * k + l]) * static_cast<int8_t>(rhs[l * n + j]);
  wire::TensorT output;
  output.name = "output";
  output.type = std::make_unique<wire::TensorTypeT>();
  output.type->dtype = wire::DType::S32;
  output.type->dims = {p.m, p.n};
  output.data.resize(sums.size() * sizeof(int32_t));
  std::memcpy(output.data.data(), sums.data(), output.data.size());
  return output;
}

}  // namespace zomboss::toy
