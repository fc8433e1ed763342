// The references of a surface message. Internal to from_wire.
#pragma once

#include <span>
#include <vector>

#include "core/mapping/surface.h"

namespace zomboss::mapping {

// `order`: the message's position of each knob of `parts`, whose knobs, constraints and sorted rows are
// checked. Invalid argument names the reference: no name, or a name twice, not one value per knob, a value
// outside its domain, a constraint that does not hold, no row of the catalog, too many of them.
Result<std::vector<Reference>> read_references(const wire::SurfaceT& message, std::span<const size_t> order,
                                               const SurfaceParts& parts);

}  // namespace zomboss::mapping
