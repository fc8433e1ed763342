// The mapping surface of a residual addition: which values each knob may take, the rules that a legal mapping
// meets, and the catalog of mappings worth trying. Pure functions; any thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/residual/mapping.h"
#include "plugins/targets/gemmini/residual/problem.h"
#include "zomboss/schema/surface_generated.h"

namespace zomboss::gemmini::residual {

// Values of every knob, in knob order.
using Domains = std::array<std::vector<int64_t>, kKnobs>;
Domains knob_domains(const Problem& problem, const Machine& machine);

struct Catalog {
  std::vector<Mapping> rows;  // Candidate-0 first
  std::vector<std::string> notes;
};
// Every legal mapping is estimated; the fastest are kept, each kernel once, and some of every tile; with
// Candidate-0, the library's choice, and a path of single decisions from Candidate-0 to the fastest.
Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains);

// Knobs, rules and references alone, a conditional surface: every mapping that the rules allow.
wire::SurfaceT bare_surface(const Problem& problem, const Machine& machine, const Domains& domains);
// The same with the catalog.
wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model);

}  // namespace zomboss::gemmini::residual
