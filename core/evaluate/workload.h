// A workload as the host holds it: HLO, operator graph message, contract, inputs and the oracle's outputs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/evaluate/contract.h"
#include "core/hlo/module.h"
#include "core/oracle/oracle.h"
#include "core/oracle/storage.h"
#include "zomboss/sdk/message.h"

namespace zomboss::evaluate {

// Immutable after load_workload; any thread may read it.
struct Workload {
  hlo::Module module;
  wire::WorkloadT message;  // name, hash, operator graph, resolved contract
  std::string encoded;      // the same, encoded
  Contract contract;
  std::map<std::string, oracle::Storage> storage;  // of every parameter, by name
  std::vector<oracle::StoredValue> stored;  // computed keys and values that the oracle stores and loads
};

// Parses and checks the HLO, builds the operator graph, resolves the contract. `name` is for people. All
// problems are in `diagnostics` and the Status; a contract that names no parameter of the module is an error
// with did-you-mean. `target_storage`: the format of float inputs when the contract states none, as in
// wire::Model; "" = exact.
Result<Workload> load_workload(const Source& hlo, const std::string& name, const Contract& contract,
                               Diagnostics& diagnostics, std::string_view target_storage = {});

// Inputs by the contract and the oracle's outputs for them.
struct Reference {
  std::vector<oracle::Tensor> inputs;
  std::vector<oracle::Tensor> outputs;
  std::string encoded_inputs;  // a Tensors message
  std::string encoded_outputs;
};

// Runs the oracle on the HLO. Inputs are rounded through their storage formats first, computed keys and
// values through the store quantiser on the way. Integer outputs: floats on the way are rounded as declared,
// so that they are exact; float outputs: exact mathematics (f64) on the inputs as stored.
Result<Reference> make_reference(const Workload& workload);

}  // namespace zomboss::evaluate
