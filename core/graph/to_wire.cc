#include "core/graph/to_wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/hash.h"
#include "core/hlo/number.h"

namespace zomboss::graph {
namespace {

wire::AttributeT attribute_message(const Attribute& attribute) {
  wire::AttributeT message;
  message.key = attribute.key;
  message.ints = attribute.ints;
  message.floats = attribute.floats;
  message.text = attribute.text;
  return message;
}

std::unique_ptr<wire::NodeT> node_message(uint32_t id, const Node& node) {
  auto message = std::make_unique<wire::NodeT>();
  message->id = id;
  message->op = node.op;
  message->operands = node.operands;
  message->type = std::make_unique<wire::TensorTypeT>();
  message->type->dtype = node.shape.dtype;
  message->type->dims = node.shape.dims;
  for (const Attribute& attribute : node.attributes) {
    message->attributes.push_back(std::make_unique<wire::AttributeT>(attribute_message(attribute)));
  }
  message->name = node.name;
  message->line = node.where.line;
  message->column = node.where.column;
  message->data.assign(node.data.begin(), node.data.end());
  return message;
}

void append_attributes(const std::vector<std::unique_ptr<wire::AttributeT>>& attributes, std::string& text) {
  for (const auto& attribute : attributes) {
    text += fmt::format("{:?}=[{}][{}]{:?}\n", attribute->key, fmt::join(attribute->ints, ","),
                        fmt::join(attribute->floats, ","), attribute->text);
  }
}

std::string contract_text(const wire::ContractT& contract) {
  std::string text =
      fmt::format("{} {} {} {} {}\nstorage\n", static_cast<int>(contract.acceptance), contract.absolute,
                  contract.relative, contract.match_rate, contract.worst_factor);
  append_attributes(contract.storage, text);
  text += "options\n";
  append_attributes(contract.options, text);
  return text;
}

Status check_types(const Graph& graph, const std::string& source_name) {
  std::string message;
  for (const Node& node : graph.nodes) {
    if (node.shape.is_array()) continue;
    message += fmt::format("{}{}:{}:{}: '{}' ({}) has the type {}, which no accelerator takes",
                           message.empty() ? "" : "\n", source_name, node.where.line, node.where.column,
                           node.name, node.op, node.shape.text());
  }
  return message.empty() ? Status() : unimplemented(std::move(message));
}

}  // namespace

wire::ContractT default_contract(const Graph& graph) {
  wire::ContractT contract;
  contract.acceptance = wire::Acceptance::Exact;
  contract.match_rate = 1;
  for (const uint32_t output : graph.outputs) {
    const DType dtype = graph.nodes[output].shape.dtype;
    if (!hlo::is_float(dtype)) continue;
    const bool precise = dtype == DType::F32 || dtype == DType::F64;
    contract.acceptance = wire::Acceptance::Tolerance;
    contract.absolute = std::max(contract.absolute, precise ? 1e-5 : 0.012);
    contract.relative = std::max(contract.relative, precise ? 1e-5 : 0.01);
  }
  return contract;
}

Result<wire::WorkloadT> to_wire(const Graph& graph, WireOptions options) {
  ZB_TRY(check_types(graph, options.source_name.empty() ? graph.name : options.source_name));
  wire::WorkloadT workload;
  workload.name = options.name.empty() ? graph.name : std::move(options.name);
  workload.hash = hash_bytes(options.canonical_hlo + "\ncontract\n" + contract_text(options.contract)).hex();
  for (uint32_t id = 0; id < graph.nodes.size(); ++id) {
    workload.nodes.push_back(node_message(id, graph.nodes[id]));
  }
  workload.inputs = graph.inputs;
  workload.outputs = graph.outputs;
  workload.contract = std::make_unique<wire::ContractT>(std::move(options.contract));
  workload.source = std::move(options.source_name);
  return workload;
}

}  // namespace zomboss::graph
