#include "core/evaluate/resolve_storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/graph/kv.h"

namespace zomboss::evaluate {
namespace {

using oracle::Storage;

bool storable(const hlo::Shape& shape, Storage storage) {
  if (!shape.is_tuple()) return oracle::storable(shape.dtype, storage);
  return std::all_of(shape.elements.begin(), shape.elements.end(),
                     [&](const hlo::Shape& element) { return storable(element, storage); });
}

Result<Storage> default_storage(const Contract& contract, std::string_view target_storage) {
  if (contract.default_storage) return *contract.default_storage;
  if (target_storage.empty()) return Storage::kExact;
  if (const auto storage = oracle::storage_from_name(target_storage)) return *storage;
  return invalid_argument(fmt::format("the target stores tensors as '{}'; known formats: {}", target_storage,
                                      fmt::join(oracle::storage_names(), ", ")));
}

std::unique_ptr<wire::AttributeT> entry(std::string key, std::string_view text) {
  auto attribute = std::make_unique<wire::AttributeT>();
  attribute->key = std::move(key);
  attribute->text = text;
  return attribute;
}

Result<Storage> storage_of(const hlo::Instruction& parameter, const Contract& contract, Storage otherwise) {
  const auto stated = contract.storage.find(parameter.name);
  if (stated == contract.storage.end())
    return storable(parameter.shape, otherwise) ? otherwise : Storage::kExact;
  if (storable(parameter.shape, stated->second)) return stated->second;
  return invalid_argument(
      fmt::format("the contract stores the input '{}' as {}, and it is {}; only bf16, f32 "
                  "and f64 can be",
                  parameter.name, oracle::storage_name(stated->second), parameter.shape.text()));
}

// One entry per node, whoever reads it.
Result<std::vector<oracle::StoredValue>> stored_values(const graph::Graph& graph) {
  std::map<uint32_t, oracle::StoredValue> by_node;
  for (const graph::KvValue& kv : graph::kv_values(graph)) {
    oracle::StoredValue value{kv.name, kv.where, kv.feature_dim};
    const auto [at, fresh] = by_node.emplace(kv.node, value);
    if (fresh || at->second == value) continue;
    return invalid_argument(
        fmt::format("'{}' at {}:{} is read as keys or values along dim {} and along dim {}, so it has no one "
                    "storage; state "
                    "kv_storage = \"exact\"",
                    kv.name, kv.where.line, kv.where.column, at->second.dim, value.dim));
  }
  std::vector<oracle::StoredValue> values;
  for (auto& [node, value] : by_node) values.push_back(std::move(value));
  return values;
}

}  // namespace

Result<ResolvedStorage> resolve_storage(const hlo::Module& module, const graph::Graph& graph,
                                        const Contract& contract, std::string_view target_storage,
                                        wire::ContractT& message, Diagnostics& diagnostics) {
  ResolvedStorage resolved;
  ZB_ASSIGN(const Storage otherwise, default_storage(contract, target_storage));
  const hlo::Computation& computation = module.entry_computation();
  for (const uint32_t number : computation.parameters) {
    const hlo::Instruction& parameter = computation.instructions[number];
    ZB_ASSIGN(const Storage storage, storage_of(parameter, contract, otherwise));
    resolved.inputs[parameter.name] = storage;
    message.storage.push_back(entry(parameter.name, oracle::storage_name(storage)));
  }
  const bool any = !graph::kv_values(graph).empty();
  const Storage kv_storage = contract.kv_storage.value_or(otherwise);
  if (any && kv_storage != Storage::kExact) {
    ZB_ASSIGN(resolved.kv, stored_values(graph));
  }
  if (contract.kv_storage && !any)
    diagnostics.warning({},
                        "kv_storage has no effect: no attention with computed keys or values was recognised");
  if (any || contract.kv_storage)
    message.options.push_back(entry("kv_storage", oracle::storage_name(kv_storage)));
  if (!contract.weights.empty()) message.options.push_back(entry("weights", contract.weights));
  return resolved;
}

}  // namespace zomboss::evaluate
