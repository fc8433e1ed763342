// The table of operators of the operator graph: one row each. It is open: an HLO operation without a row
// keeps its opcode as op and is carried along, so that a target can refuse it by name.
#pragma once

#include <span>
#include <string_view>

namespace zomboss::graph {

struct OpInfo {
  std::string_view id;
  int operands;                 // -1 = any number
  std::string_view attributes;  // names, with the field that each uses: "dims:ints scale:float"
  std::string_view meaning;
};

// Recognised operators first, then those that are HLO's own, by name.
std::span<const OpInfo> ops();
const OpInfo* find_op(std::string_view id);  // null when there is no row

}  // namespace zomboss::graph
