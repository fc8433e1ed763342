// The check of loop_ws tiles: what the hardware will unroll from a tile's first addresses and strides is
// exactly the tile's moves. A pure function; any thread.
#pragma once

#include "plugins/targets/gemmini/matmul/schedule.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// Internal error naming the operation that the unrolled loop would not do. Ok for schedules without loops.
Status check_loops(const Schedule& schedule);

}  // namespace zomboss::gemmini
