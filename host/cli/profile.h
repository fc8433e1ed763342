// Counters of a simulation, for people. Counters whose names begin with one of these are parts of a whole and
// are shown together, the largest first:
//
//   ns.ENGINE  cycles.ENGINE      time by engine
//   ns.region.REGION  cycles.region.REGION   time by region of the program
//   hbm.read.TENSOR  hbm.written.TENSOR      traffic by tensor
//   executed.INSTRUCTION          instruction mix
//
// All others are printed as they are, in the order of the target.
#pragma once

#include <string>

#include "zomboss/sdk/message.h"

namespace zomboss::cli {

// One line per counter, each indented by two blanks or four.
std::string profile_text(const wire::SimulationT& simulation);

}  // namespace zomboss::cli
