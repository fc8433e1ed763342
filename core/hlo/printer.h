// A Module as canonical HLO text: short form (no '%', no operand types), one instruction a line, attributes
// in a fixed order, numbers as the shortest text that reads back to the same bits. parse_module(print(m)) is
// equivalent to m. Pure; any thread may call.
#pragma once

#include <string>

#include "core/hlo/module.h"

namespace zomboss::hlo {

std::string print(const Module& module);
// One instruction without its line end, as print() writes it, for reports.
std::string print(const Module& module, const Computation& computation, const Instruction& instruction);
// A literal as it stands between the parentheses of constant(...).
std::string print(const Literal& literal);

}  // namespace zomboss::hlo
