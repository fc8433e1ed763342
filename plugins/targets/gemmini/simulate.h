// Runs a Program message: the functional model for its numbers, the cycle model for its time. Pure functions;
// any thread.
#pragma once

#include <optional>
#include <vector>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/sim/timing.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/simulation_generated.h"
#include "zomboss/schema/tensors_generated.h"

namespace zomboss::gemmini {

struct SimulateOptions {
  std::optional<TimingParameters> timing;  // of a preset; without one, the description's and the model's own
  std::optional<uint32_t> command_gap;  // idle cycles between two commands of the host core; before `timing`
  // Memory latencies, before that of `timing`. Of several, the reported latency is the geometric mean of the
  // cycles at each; counters and timeline are of the first.
  std::vector<uint32_t> latencies;
  std::vector<uint32_t> scenarios;  // memory latencies whose cycles are reported too
  uint32_t timeline_spans = 2000;   // at most so many in the answer; 0 = none
  bool strict = false;              // refuse programs that the hardware would run differently
};

// The timing of the description alone.
TimingParameters timing_of(const MachineModel& model);

// The program may come from anywhere: data loss, invalid argument or failed precondition, never a crash.
Result<wire::SimulationT> simulate_program(const wire::ProgramT& program, const wire::TensorsT& inputs,
                                           const MachineModel& model, const SimulateOptions& options);

}  // namespace zomboss::gemmini
