// What a mapping costs before it is simulated: exact for all instructions but transfers, which get the usual
// time of a tile or vector transfer. And what no mapping can beat. Pure functions; any thread.
#pragma once

#include "plugins/targets/plena/code/assign.h"
#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/problem/problem.h"
#include "zomboss/schema/bound_generated.h"
#include "zomboss/schema/schedule_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// One node per region of the program, in program order: nothing overlaps on this machine.
wire::ScheduleT engine_schedule(const MachineCode& code, const Tape& tape, const Machine& machine);

// The larger part of it is traffic: every element of every input crosses the HBM bus once. The rest: each
// engine's fastest instruction for the multiplications and the softmax rows that the workload cannot avoid.
wire::BoundT latency_bound(const Problem& problem, const Machine& machine, bool broadcast_forms);

}  // namespace zomboss::plena
