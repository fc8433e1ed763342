#include "core/evaluate/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/evaluate/resolve_storage.h"
#include "core/graph/build.h"
#include "core/graph/to_wire.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"
#include "core/oracle/inputs.h"
#include "core/oracle/oracle.h"

namespace zomboss::evaluate {
namespace {

// The contract as it enters the hash: generators and seed decide the inputs, so they are part of the
// workload.
void add_generators(const Contract& contract, wire::ContractT& message) {
  const auto add = [&](std::string key, std::vector<int64_t> ints, std::vector<double> floats,
                       std::string text) {
    auto attribute = std::make_unique<wire::AttributeT>();
    attribute->key = std::move(key);
    attribute->ints = std::move(ints);
    attribute->floats = std::move(floats);
    attribute->text = std::move(text);
    message.options.push_back(std::move(attribute));
  };
  add("seed", {static_cast<int64_t>(contract.seed)}, {}, "");
  for (const auto& [name, generator] : contract.inputs)
    add("input." + name,
        generator.fan_in_dim < 0 ? std::vector<int64_t>{} : std::vector<int64_t>{generator.fan_in_dim},
        {generator.low, generator.high},
        generator.distribution == oracle::Distribution::kNormal ? "normal" : "uniform");
}

Status check_input_name(const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  return invalid_argument(fmt::format("the contract names the input '{}', which is no parameter of the HLO{}",
                                      name, did_you_mean(name, names)));
}

Status check_input_names(const hlo::Computation& entry, const Contract& contract) {
  std::vector<std::string> names;
  for (const uint32_t parameter : entry.parameters) names.push_back(entry.instructions[parameter].name);
  for (const auto& [name, generator] : contract.inputs) ZB_TRY(check_input_name(name, names));
  for (const auto& [name, storage] : contract.storage) ZB_TRY(check_input_name(name, names));
  return {};
}

std::string encode_tensors(const std::vector<oracle::Tensor>& tensors, const char* prefix) {
  wire::TensorsT message;
  for (size_t i = 0; i < tensors.size(); ++i)
    message.tensors.push_back(
        std::make_unique<wire::TensorT>(oracle::to_wire(tensors[i], fmt::format("{}{}", prefix, i))));
  return encode(message);
}

}  // namespace

Result<Workload> load_workload(const Source& hlo, const std::string& name, const Contract& contract,
                               Diagnostics& diagnostics, std::string_view target_storage) {
  Workload workload;
  ZB_ASSIGN(workload.module, hlo::parse_module(hlo, diagnostics));
  oracle::check_evaluable(workload.module, diagnostics);
  ZB_TRY(diagnostics.status());
  ZB_TRY(check_input_names(workload.module.entry_computation(), contract));
  ZB_ASSIGN(const graph::Graph graph, graph::build_graph(workload.module, diagnostics));
  graph::WireOptions options;
  options.name = name;
  options.source_name = hlo.name();
  options.canonical_hlo = hlo::print(workload.module);
  options.contract = contract.has_acceptance ? contract.acceptance : graph::default_contract(graph);
  add_generators(contract, options.contract);
  ZB_ASSIGN(ResolvedStorage storage,
            resolve_storage(workload.module, graph, contract, target_storage, options.contract, diagnostics));
  workload.storage = std::move(storage.inputs);
  workload.stored = std::move(storage.kv);
  ZB_ASSIGN(workload.message, graph::to_wire(graph, std::move(options)));
  workload.contract = contract;
  workload.encoded = encode(workload.message);
  return workload;
}

Result<Reference> make_reference(const Workload& workload) {
  Reference reference;
  ZB_ASSIGN(reference.inputs, oracle::generate_inputs(workload.module, workload.contract.seed,
                                                      workload.contract.inputs, workload.storage));
  oracle::Options options;
  options.source_name = workload.message.source;
  options.stored = workload.stored;
  options.rounding = workload.message.contract->acceptance == wire::Acceptance::Exact
                         ? oracle::Rounding::kDeclared
                         : oracle::Rounding::kWide;
  ZB_ASSIGN(reference.outputs, oracle::evaluate(workload.module, reference.inputs, options));
  reference.encoded_inputs = encode_tensors(reference.inputs, "input");
  reference.encoded_outputs = encode_tensors(reference.outputs, "output");
  return reference;
}

}  // namespace zomboss::evaluate
