// The machine from the host's checked TAIDL model: the only source of machine numbers. Plain values; any
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/model_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// What estimates and bounds need beside the Machine.
struct MemorySystem {
  uint32_t bus_bytes = 0;  // per cycle and direction
  uint32_t in_flight = 0;  // requests
  uint32_t latency = 0;    // cycles from request to data
  // The latencies that mappings are chosen for, at least one; `latency` is the first of them.
  std::vector<uint32_t> latencies;
  uint32_t command_gap = 0;  // idle cycles between two commands that the host core offers
};

struct MachineModel {
  Machine machine;
  MemorySystem memory;
};

// Invalid argument when the model lacks something or describes a machine that cannot be simulated.
Result<MachineModel> read_machine(const wire::ModelT& model);

}  // namespace zomboss::gemmini
