// The schedule of engines that a plan shows: macro tiles flow through load, execute and store. A pure
// function; any thread.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/replay.h"
#include "zomboss/schema/schedule_generated.h"

namespace zomboss::gemmini {

// `total` spread evenly over the tiles, which are grouped into at most 64 nodes an engine. `ahead`: how many
// groups the loads may run ahead of the array; `behind`: how many the stores may be behind it. The static
// cost is total.cycles.
wire::ScheduleT tile_pipeline(const ReplayTimes& total, int64_t tiles, int64_t ahead, int64_t behind);

}  // namespace zomboss::gemmini
