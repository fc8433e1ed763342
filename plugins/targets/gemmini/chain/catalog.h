// The mappings of a chain that are worth trying. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "plugins/targets/gemmini/chain/mapping.h"
#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini::chain {

struct Catalog {
  std::vector<std::vector<StageMapping>> rows;  // Candidate-0 first, each once
  std::vector<std::string> notes;
};

// Stages cost what they cost alone, so that each stage's own catalog, in the order of its estimates, says
// what the chain's rows are made of: the first few of every stage in all combinations, more of each stage
// with the best of the others, and results that stay on chip where they can. Candidate-0 and the library's
// calls, and the ways from Candidate-0 to the best stage by stage, are among them. `domains` of each stage.
Catalog make_catalog(const Problem& problem, const MachineModel& model, const std::vector<Domains>& domains);

}  // namespace zomboss::gemmini::chain
