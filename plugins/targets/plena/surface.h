// The mapping surface of a problem, and the choices that a plan makes. Pure functions; any thread.
#pragma once

#include "plugins/targets/plena/lower/choices.h"
#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/problem/problem.h"
#include "zomboss/schema/plan_generated.h"
#include "zomboss/schema/surface_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

struct SurfaceOptions {
  bool broadcast_forms = true;  // offer the broadcast forms (option broadcast_forms)
};

// Knobs without effect on this problem are left out; the lowering takes their default. Fails when even
// Candidate-0 does not fit the machine.
Result<wire::SurfaceT> make_surface(const Problem& problem, const Machine& machine,
                                    const SurfaceOptions& options);

// Invalid argument when the plan decides a knob that does not exist.
Result<Choices> choices_of(const wire::PlanT& plan, const Problem& problem, const Machine& machine);

}  // namespace zomboss::plena
