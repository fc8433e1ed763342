// The mapping surface of a problem: which values each knob may take, the rules that a legal mapping meets,
// and the catalog of mappings worth trying. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"
#include "zomboss/schema/surface_generated.h"

namespace zomboss::gemmini {

// Values of every knob, in knob order.
using Domains = std::vector<std::vector<int64_t>>;
Domains knob_domains(const Problem& problem, const Machine& machine);

// A joint rule: as an SMT-LIB term for the host, and as the same rule in code.
struct LegalityRule {
  std::string name;
  wire::ConstraintKind kind = wire::ConstraintKind::Shape;
  std::string assertion;
  std::string message;
  std::string needs, available;
};
std::vector<LegalityRule> legality_rules(const Problem& problem, const Machine& machine,
                                         const Domains& domains);
// What the rules say together.
bool is_legal(const Problem& problem, const Machine& machine, const Mapping& mapping);

// Why a legal mapping would do nothing that another one does not do as well: the name of the rule, "" when it
// may be worth trying. See docs/gemmini.md.
std::string_view redundant_by(const Problem& problem, const Machine& machine, const Mapping& mapping);

struct Catalog {
  std::vector<Mapping> rows;  // Candidate-0 first, the rest in knob order
  std::vector<std::string> notes;
};
// All legal mappings that are not redundant, or, of very many, those that the estimate puts in front.
Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains);

wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model);

}  // namespace zomboss::gemmini
