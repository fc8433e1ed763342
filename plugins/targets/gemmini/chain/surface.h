// The mapping surface of a chain: conditional, since a catalog would be the product of those of its stages.
// The knobs and rules of each stage with a prefix, and whether its result stays on chip. Pure functions; any
// thread.
#pragma once

#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "zomboss/schema/surface_generated.h"

namespace zomboss::gemmini::chain {

wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model);

}  // namespace zomboss::gemmini::chain
