// Between checked values and the messages that cross the plugin boundary. from_wire functions trust nothing;
// their errors say what is wrong and which knob, constraint or row it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/mapping/intent.h"
#include "core/mapping/plan.h"
#include "core/mapping/surface.h"

namespace zomboss::mapping {

inline constexpr size_t kKnobLimit = 256;
inline constexpr size_t kValueLimit = 4096;  // values of one knob
inline constexpr size_t kConstraintLimit = 1024;
inline constexpr size_t kRowLimit = 1'000'000;         // of a catalog
inline constexpr size_t kCatalogCellLimit = 1u << 24;  // rows x knobs
inline constexpr size_t kReferenceLimit = 8;
inline constexpr size_t kWorkLimit = size_t{1} << 31;  // rows x term nodes, what checking a catalog costs

// Knobs are sorted into resolution order, values into default order, catalog rows into default order.
Result<Surface> from_wire(const wire::SurfaceT& message);
// Knobs with one value stay, so that terms and catalog rows keep their meaning; from_wire(to_wire(s)) is s
// without its dropped values.
wire::SurfaceT to_wire(const Surface& surface);

Result<Intent> intent_from_wire(const Surface& surface, const wire::IntentT& message);
// The assignments of an intent or a region. All problems are named, not only the first.
Result<Intent> intent_from_wire(const Surface& surface,
                                const std::vector<std::unique_ptr<wire::AssignmentT>>& assignments);
wire::IntentT to_wire(const Surface& surface, const Intent& intent);

wire::PlanT to_wire(const Plan& plan, const std::string& target, const std::string& workload);
wire::PlanT to_wire(const Surface& surface, const Plan& plan);  // target and workload of the surface
// Data loss when it is damaged (sections, hash), invalid argument when it does not belong to this surface.
Result<Plan> plan_from_wire(const Surface& surface, const wire::PlanT& message);

}  // namespace zomboss::mapping
