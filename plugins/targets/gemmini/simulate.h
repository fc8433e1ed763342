// Runs a Program message: the functional model for its numbers, the cycle model for its time. Pure functions;
// any thread.
#pragma once

#include "plugins/targets/gemmini/machine_model.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/simulation_generated.h"
#include "zomboss/schema/tensors_generated.h"

namespace zomboss::gemmini {

struct SimulateOptions {
  uint32_t command_gap = 0;        // idle cycles between two commands that the host core offers
  uint32_t timeline_spans = 2000;  // at most so many in the answer; 0 = none
  bool strict = false;             // refuse programs that the hardware would run differently
};

// The program may come from anywhere: data loss, invalid argument or failed precondition, never a crash.
Result<wire::SimulationT> simulate_program(const wire::ProgramT& program, const wire::TensorsT& inputs,
                                           const MachineModel& model, const SimulateOptions& options);

}  // namespace zomboss::gemmini
