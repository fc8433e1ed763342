// What no mapping can beat, and the engine-schedule graph of one mapping. Pure functions; any thread.
#pragma once

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "zomboss/schema/bound_generated.h"
#include "zomboss/schema/schedule_generated.h"

namespace zomboss::gemmini::conv {

// The largest of: array rows that must stream, bytes that must be read, bytes that must be written, each
// element moved once; plus the latencies of the first load, the array and the last store.
wire::BoundT latency_bound(const Problem& problem, const MachineModel& model);

// Load, execute and store work of the macro tiles in order, neighbours taken together beyond 64, with the
// dependences that the mapping's buffers leave. static_cost is the estimate.
wire::ScheduleT engine_schedule(const Problem& problem, const Mapping& mapping, const MachineModel& model);

}  // namespace zomboss::gemmini::conv
