// Inside of the parser: instructions and their clauses.
#pragma once

#include "core/taidl/parse_state.h"

namespace zomboss::taidl {

// After the word `instr`. Errors inside a clause are reported and the rest of the instruction is parsed;
// false when the head is broken.
bool parse_instr(ParseState& state, InstrDecl& out);

}  // namespace zomboss::taidl
