#include <cmath>
#include <cstring>

#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"

namespace zomboss::gemmini {
namespace {

using wire::DType;

struct Value {
  Dims dims;
  std::vector<int32_t> elements;
};

size_t product(const Dims& dims) {
  size_t count = 1;
  for (int64_t dim : dims) count *= static_cast<size_t>(dim);
  return count;
}

Dims index_of(const Dims& dims, size_t flat) {
  Dims index(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = static_cast<int64_t>(flat % static_cast<size_t>(dims[d]));
    flat /= static_cast<size_t>(dims[d]);
  }
  return index;
}

size_t flat_of(const Dims& dims, const Dims& index) {
  size_t flat = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    flat = flat * static_cast<size_t>(dims[d]) + static_cast<size_t>(index[d]);
  return flat;
}

const Dims& ints(const wire::NodeT& node, const char* key) {
  static const Dims kNone;
  for (const auto& attribute : node.attributes)
    if (attribute->key == key) return attribute->ints;
  return kNone;
}

Value matmul(const wire::NodeT& node, const Value& lhs, const Value& rhs) {
  const Dims &lb = ints(node, "lhs_batch"), &rb = ints(node, "rhs_batch");
  const Dims &lc = ints(node, "lhs_contract"), &rc = ints(node, "rhs_contract");
  const auto free_dims = [](const Value& value, const Dims& batch, const Dims& contract) {
    Dims result;
    for (size_t d = 0; d < value.dims.size(); ++d) {
      bool taken = false;
      for (const Dims* list : {&batch, &contract})
        for (int64_t each : *list) taken = taken || each == static_cast<int64_t>(d);
      if (!taken) result.push_back(static_cast<int64_t>(d));
    }
    return result;
  };
  const Dims lf = free_dims(lhs, lb, lc), rf = free_dims(rhs, rb, rc);
  Dims k_dims;
  for (int64_t d : lc) k_dims.push_back(lhs.dims[static_cast<size_t>(d)]);
  Value result{node.type->dims, std::vector<int32_t>(product(node.type->dims))};
  for (size_t flat = 0; flat < result.elements.size(); ++flat) {
    const Dims at = index_of(result.dims, flat);
    Dims left(lhs.dims.size()), right(rhs.dims.size());
    size_t d = 0;
    for (size_t i = 0; i < lb.size(); ++i, ++d) {
      left[static_cast<size_t>(lb[i])] = at[d];
      right[static_cast<size_t>(rb[i])] = at[d];
    }
    for (int64_t each : lf) left[static_cast<size_t>(each)] = at[d++];
    for (int64_t each : rf) right[static_cast<size_t>(each)] = at[d++];
    uint32_t sum = 0;
    for (size_t k = 0; k < product(k_dims); ++k) {
      const Dims at_k = index_of(k_dims, k);
      for (size_t i = 0; i < lc.size(); ++i) {
        left[static_cast<size_t>(lc[i])] = at_k[i];
        right[static_cast<size_t>(rc[i])] = at_k[i];
      }
      sum += static_cast<uint32_t>(lhs.elements[flat_of(lhs.dims, left)] *
                                   rhs.elements[flat_of(rhs.dims, right)]);
    }
    result.elements[flat] = static_cast<int32_t>(sum);
  }
  return result;
}

int32_t quantized(const wire::NodeT& node, int32_t x) {
  double scale = 1;
  for (const auto& attribute : node.attributes)
    if (attribute->key == "scale") scale = attribute->floats[0];
  const float product = static_cast<float>(x) * static_cast<float>(scale);
  const double rounded = std::nearbyint(static_cast<double>(product));
  const auto low = static_cast<double>(ints(node, "low")[0]),
             high = static_cast<double>(ints(node, "high")[0]);
  return static_cast<int32_t>(std::min(std::max(rounded, low), high));
}

Value spread(const wire::NodeT& node, const Value& from, const Dims& along) {
  Value result{node.type->dims, std::vector<int32_t>(product(node.type->dims))};
  for (size_t flat = 0; flat < result.elements.size(); ++flat) {
    const Dims at = index_of(result.dims, flat);
    Dims source(from.dims.size());
    for (size_t d = 0; d < source.size(); ++d)
      source[d] = from.dims[d] == 1 ? 0 : at[static_cast<size_t>(along[d])];
    result.elements[flat] = from.elements[flat_of(from.dims, source)];
  }
  return result;
}

Value from_bytes(const wire::NodeT& node, const std::vector<uint8_t>& bytes) {
  Value value{node.type->dims, std::vector<int32_t>(product(node.type->dims))};
  for (size_t i = 0; i < value.elements.size(); ++i) {
    if (node.type->dtype == DType::S8)
      value.elements[i] = static_cast<int8_t>(bytes[i]);
    else
      std::memcpy(&value.elements[i], bytes.data() + 4 * i, 4);
  }
  return value;
}

}  // namespace

std::vector<uint8_t> reference_output(const wire::WorkloadT& workload, const wire::TensorsT& inputs) {
  std::vector<Value> values;
  size_t next_input = 0;
  for (const auto& node : workload.nodes) {
    const auto operand = [&](size_t i) -> const Value& { return values[node->operands[i]]; };
    Value value;
    if (node->op == "parameter")
      value = from_bytes(*node, inputs.tensors[next_input++]->data);
    else if (node->op == "constant")
      value = from_bytes(*node, node->data);
    else if (node->op == "matmul")
      value = matmul(*node, operand(0), operand(1));
    else if (node->op == "reshape")
      value = {node->type->dims, operand(0).elements};
    else if (node->op == "broadcast")
      value = spread(*node, operand(0), ints(*node, "dims"));
    else if (node->op == "transpose") {
      value = {node->type->dims, std::vector<int32_t>(operand(0).elements.size())};
      for (size_t flat = 0; flat < value.elements.size(); ++flat) {
        const Dims at = index_of(value.dims, flat);
        Dims source(at.size());
        for (size_t d = 0; d < at.size(); ++d) source[static_cast<size_t>(ints(*node, "dims")[d])] = at[d];
        value.elements[flat] = operand(0).elements[flat_of(operand(0).dims, source)];
      }
    } else {
      value = operand(0);
      Value other;
      if (node->op == "bias") other = spread(*node, operand(1), ints(*node, "dims"));
      if (node->op == "add") other = operand(1);
      for (size_t i = 0; i < value.elements.size(); ++i) {
        int32_t& x = value.elements[i];
        if (node->op == "relu") x = std::max(x, 0);
        if (node->op == "quantize") x = quantized(*node, x);
        if (!other.elements.empty())
          x = static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(other.elements[i]));
      }
    }
    values.push_back(std::move(value));
  }
  const auto& output = *workload.nodes[workload.outputs[0]];
  std::vector<uint8_t> bytes;
  for (int32_t element : values[workload.outputs[0]].elements) {
    if (output.type->dtype == DType::S8) {
      bytes.push_back(static_cast<uint8_t>(element));
    } else {
      const auto* from = reinterpret_cast<const uint8_t*>(&element);
      bytes.insert(bytes.end(), from, from + 4);
    }
  }
  return bytes;
}

}  // namespace zomboss::gemmini
