// The mapping surface of a problem: which values each knob may take, the rules that a legal mapping meets,
// and the catalog of mappings worth trying. Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"
#include "zomboss/schema/surface_generated.h"

namespace zomboss::gemmini {

// What mappings of a problem may decide.
struct Domains {
  std::vector<std::vector<int64_t>> values;  // of every knob, in knob order
  // Tile sizes in blocks of every form, ascending: balanced cuts of the axis, and the library's choice.
  struct Cuts {
    std::vector<int64_t> m, n, k;
  };
  std::vector<Cuts> cuts;
  std::optional<Mapping> library;  // see library.h

  const std::vector<int64_t>& operator[](Knob knob) const { return values[static_cast<size_t>(knob)]; }
};
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
bool is_legal(const Problem& problem, const Machine& machine, const Domains& domains, const Mapping& mapping);

// The array keeps sums of 20 bits, and takes B transposed only together with A then.
bool allows_output_stationary(const Form& form);

struct Catalog {
  std::vector<Mapping> rows;  // Candidate-0 first, the rest in knob order
  std::vector<std::string> notes;
};
// The mappings that a best-first walk over single decisions finds fastest by the estimate, each kernel once;
// Candidate-0, the library's choice, and a path from Candidate-0 to the front among them.
Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains);

// Knobs, rules and references alone: every mapping that the rules allow.
wire::SurfaceT bare_surface(const Problem& problem, const MachineModel& model, const Domains& domains);
// The same with the catalog.
wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model);

}  // namespace zomboss::gemmini
