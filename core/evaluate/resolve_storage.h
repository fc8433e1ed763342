// The storage formats of a workload: contract, target default and element types brought together. Internal to
// core/evaluate.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/evaluate/contract.h"
#include "core/graph/graph.h"
#include "core/hlo/module.h"
#include "core/oracle/oracle.h"

namespace zomboss::evaluate {

struct ResolvedStorage {
  std::map<std::string, oracle::Storage> inputs;  // of every parameter of the entry computation
  std::vector<oracle::StoredValue> kv;            // computed keys and values that go through memory
};

// Also writes them to `message`: one `storage` entry per parameter, and the options kv_storage (when there
// are computed keys or values, or the contract states it) and weights (when stated). Invalid argument: an
// unknown `target_storage`, a format that a named parameter's type cannot have, or keys that are values as
// well, along other dims. A kv_storage without computed keys or values is a warning.
Result<ResolvedStorage> resolve_storage(const hlo::Module& module, const graph::Graph& graph,
                                        const Contract& contract, std::string_view target_storage,
                                        wire::ContractT& message, Diagnostics& diagnostics);

}  // namespace zomboss::evaluate
