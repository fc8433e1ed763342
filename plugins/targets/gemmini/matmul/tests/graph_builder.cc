#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"

#include <algorithm>
#include <cstring>

#include "zomboss/sdk/message.h"

namespace zomboss::gemmini {
namespace {

using wire::DType;

void set(wire::NodeT& node, const std::string& key, const Dims& ints, std::vector<double> floats = {}) {
  auto attribute = std::make_unique<wire::AttributeT>();
  attribute->key = key;
  attribute->ints = ints;
  attribute->floats = std::move(floats);
  node.attributes.push_back(std::move(attribute));
}

bool contains(const Dims& dims, size_t d) {
  return std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
}

}  // namespace

uint32_t GraphBuilder::node(const std::string& op, const std::vector<uint32_t>& operands, const Dims& dims,
                            DType dtype) {
  auto node = std::make_unique<wire::NodeT>();
  node->id = static_cast<uint32_t>(workload_.nodes.size());
  node->op = op;
  node->operands = operands;
  node->type = std::make_unique<wire::TensorTypeT>();
  node->type->dtype = dtype;
  node->type->dims = dims;
  node->name = op + "." + std::to_string(node->id);
  node->line = node->id + 1;
  node->column = 3;
  workload_.nodes.push_back(std::move(node));
  return static_cast<uint32_t>(workload_.nodes.size() - 1);
}

uint32_t GraphBuilder::parameter(const Dims& dims, DType dtype) {
  const uint32_t id = node("parameter", {}, dims, dtype);
  workload_.inputs.push_back(id);
  return id;
}

uint32_t GraphBuilder::constant_s32(const Dims& dims, const std::vector<int32_t>& values) {
  const uint32_t id = node("constant", {}, dims, DType::S32);
  at(id).data.resize(values.size() * 4);
  std::memcpy(at(id).data.data(), values.data(), values.size() * 4);
  return id;
}

uint32_t GraphBuilder::matmul(uint32_t lhs, uint32_t rhs, const Dims& lhs_contract, const Dims& rhs_contract,
                              const Dims& lhs_batch, const Dims& rhs_batch) {
  Dims result;
  for (int64_t d : lhs_batch) result.push_back(dims(lhs)[static_cast<size_t>(d)]);
  for (size_t d = 0; d < dims(lhs).size(); ++d)
    if (!contains(lhs_batch, d) && !contains(lhs_contract, d)) result.push_back(dims(lhs)[d]);
  for (size_t d = 0; d < dims(rhs).size(); ++d)
    if (!contains(rhs_batch, d) && !contains(rhs_contract, d)) result.push_back(dims(rhs)[d]);
  const uint32_t id = node("matmul", {lhs, rhs}, result, DType::S32);
  set(at(id), "lhs_batch", lhs_batch);
  set(at(id), "lhs_contract", lhs_contract);
  set(at(id), "rhs_batch", rhs_batch);
  set(at(id), "rhs_contract", rhs_contract);
  return id;
}

uint32_t GraphBuilder::bias(uint32_t x, uint32_t b, const Dims& along) {
  const uint32_t id = node("bias", {x, b}, dims(x), DType::S32);
  set(at(id), "dims", along);
  return id;
}

uint32_t GraphBuilder::quantize(uint32_t x, double scale, double low, double high) {
  const uint32_t id = node("quantize", {x}, dims(x), DType::S8);
  set(at(id), "scale", {}, {scale});
  set(at(id), "low", {static_cast<int64_t>(low)});
  set(at(id), "high", {static_cast<int64_t>(high)});
  set(at(id), "zero_point", {0});
  return id;
}

uint32_t GraphBuilder::relu(uint32_t x) {
  return node("relu", {x}, dims(x), at(x).type->dtype);
}

uint32_t GraphBuilder::transpose(uint32_t x, const Dims& permutation) {
  Dims result;
  for (int64_t d : permutation) result.push_back(dims(x)[static_cast<size_t>(d)]);
  const uint32_t id = node("transpose", {x}, result, at(x).type->dtype);
  set(at(id), "dims", permutation);
  return id;
}

uint32_t GraphBuilder::reshape(uint32_t x, const Dims& to) {
  return node("reshape", {x}, to, at(x).type->dtype);
}

uint32_t GraphBuilder::broadcast(uint32_t x, const Dims& along, const Dims& to) {
  const uint32_t id = node("broadcast", {x}, to, at(x).type->dtype);
  set(at(id), "dims", along);
  return id;
}

wire::WorkloadT GraphBuilder::finish() const {
  wire::WorkloadT result(workload_);
  result.name = "test";
  result.source = "test.hlo";
  result.outputs = {static_cast<uint32_t>(workload_.nodes.size() - 1)};
  result.hash = "unhashed";
  uint64_t hash = 14695981039346656037u;
  for (const char c : encode(result)) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  result.hash = std::to_string(hash);
  return result;
}

Machine default_machine(uint32_t dim) {
  return {.dim = dim,
          .scratchpad_banks = 4,
          .scratchpad_rows = 256 * 1024 / dim,
          .accumulator_banks = 2,
          .accumulator_rows = 64 * 1024 / (4 * dim),
          .max_move_bytes = std::max(64u, 4 * dim),
          .load_states = 3,
          .load_entries = 8,
          .execute_entries = 16,
          .store_entries = 4};
}

wire::TensorsT random_inputs(const wire::WorkloadT& workload, uint64_t seed) {
  wire::TensorsT inputs;
  for (uint32_t id : workload.inputs) {
    const wire::NodeT& node = *workload.nodes[id];
    auto tensor = std::make_unique<wire::TensorT>();
    tensor->name = node.name;
    tensor->type = std::make_unique<wire::TensorTypeT>(*node.type);
    size_t count = 1;
    for (int64_t dim : node.type->dims) count *= static_cast<size_t>(dim);
    uint64_t state = seed * 0x9e3779b97f4a7c15u + id + 1;
    for (size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto bits = static_cast<uint32_t>(state >> 33);
      if (node.type->dtype == DType::S8) {
        tensor->data.push_back(static_cast<uint8_t>(bits));
      } else {
        const auto value = static_cast<int32_t>(bits % 60001) - 30000;
        const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
        tensor->data.insert(tensor->data.end(), bytes, bytes + 4);
      }
    }
    inputs.tensors.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace zomboss::gemmini
