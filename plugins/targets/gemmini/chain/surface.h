// The mapping surface of a chain: the knobs and rules of each stage with a prefix, whether its result stays
// on chip, and the catalog of mappings worth trying. Pure functions; any thread.
#pragma once

#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "zomboss/schema/surface_generated.h"

namespace zomboss::gemmini::chain {

// Knobs, rules and references alone, a conditional surface: every mapping that the rules allow.
wire::SurfaceT bare_surface(const Problem& problem, const MachineModel& model);
// The same with the catalog.
wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model);

}  // namespace zomboss::gemmini::chain
