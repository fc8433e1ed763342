// The mapping surface of a convolution: which values each knob may take, the rules that a legal mapping
// meets, and the catalog of mappings worth trying. Pure functions; any thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "zomboss/schema/surface_generated.h"

namespace zomboss::gemmini::conv {

// Values of every knob, in knob order.
using Domains = std::array<std::vector<int64_t>, kKnobs>;
Domains knob_domains(const Problem& problem, const Machine& machine);

// A joint rule as an SMT-LIB term for the host. All mappings that check_mapping takes meet all rules.
struct LegalityRule {
  std::string name;
  wire::ConstraintKind kind = wire::ConstraintKind::Shape;
  std::string assertion;
  std::string message;
  std::string needs, available;
};
std::vector<LegalityRule> legality_rules(const Problem& problem, const Machine& machine,
                                         const Domains& domains);

struct Catalog {
  std::vector<Values> rows;  // ascending; Candidate-0 first
  std::vector<std::string> notes;
};
// Mappings that the estimate puts in front, a path of single decisions to them from Candidate-0, and loops.
Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains);

wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model);

}  // namespace zomboss::gemmini::conv
