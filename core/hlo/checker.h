// The type and shape rules of HLO. Pure functions; any thread may call them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/source.h"
#include "core/hlo/module.h"
#include "zomboss/sdk/status.h"

namespace zomboss::hlo {

// True for each opcode of HLO, whether a shape rule exists or not.
bool is_opcode(std::string_view opcode);
std::span<const std::string> opcode_names();  // sorted

// Verifies the structure (operands before uses, parameters without gaps, called computations before callers)
// and the operand count, attributes and shapes of every instruction. parse_module has done this already; it
// is for modules that were built or changed by other code. Errors carry the location of the instruction.
void check_module(const Module& module, Diagnostics& diagnostics);

// The shape of `instruction` by its opcode, operands and attributes. `stated` is the shape in the text, or
// null when it was left out. Rules that do not determine the shape alone (reshape, broadcast, convert, iota,
// ...) need it and verify it; opcodes without a rule return it unchanged. The error names numbers, no
// location. Operand and computation indices must be in range.
Result<Shape> infer_shape(const Module& module, const Computation& computation,
                          const Instruction& instruction, const Shape* stated);

}  // namespace zomboss::hlo
