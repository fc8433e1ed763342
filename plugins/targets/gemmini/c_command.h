// One command as a C statement with the vendor's intrinsics. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/targets/gemmini/sim/command.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// C identifier of a buffer, e.g. "input_0", "buffer_3".
std::string c_buffer_name(const wire::ProgramT& program, size_t number);

// A register of a command: a number, or a DRAM address as the bytes from the start of a buffer. Addresses
// below every buffer are numbers: 0 is none, and the loop commands know a bias at 1 that nobody reads.
struct CWord {
  int buffer = -1;  // -1: a number
  uint64_t value = 0;
};
struct CWords {
  CWord rs1, rs2;
};
// Invalid argument: an address in no buffer, which would be another one in C.
Result<CWords> c_words(const wire::ProgramT& program, const Command& command);

// The intrinsic whose instruction word and registers are those of the command; the raw instruction when the
// fields do not fit the intrinsic. Fails as c_words.
Result<std::string> c_statement(const wire::ProgramT& program, const Command& command);

}  // namespace zomboss::gemmini
