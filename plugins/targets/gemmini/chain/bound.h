// What no mapping of a chain can beat, and the engine-schedule graph of one. Pure functions; any thread.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/chain/mapping.h"
#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "zomboss/schema/bound_generated.h"
#include "zomboss/schema/schedule_generated.h"

namespace zomboss::gemmini::chain {

// The largest of: array rows that must stream in all stages, bytes of inputs and constants, bytes of the
// output, each moved once; plus the latencies of the first load, of the array in each stage and of the last
// store. Intermediates cost nothing.
wire::BoundT latency_bound(const Problem& problem, const MachineModel& model);

// The stages' graphs one behind the other. static_cost is the sum of their estimates and of the fences
// between them, less what does not move when a result stays on chip.
wire::ScheduleT engine_schedule(const Problem& problem, const std::vector<StageMapping>& mappings,
                                const MachineModel& model);

}  // namespace zomboss::gemmini::chain
