// One command as a C statement with the vendor's intrinsics. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "plugins/targets/gemmini/sim/command.h"
#include "zomboss/schema/program_generated.h"

namespace zomboss::gemmini {

// C identifier of a buffer, e.g. "input_0", "buffer_3".
std::string c_buffer_name(const wire::ProgramT& program, size_t number);

// The buffer that a move's DRAM address lies in and the bytes from its start; buffer -1 for other commands,
// the address 0, and addresses in no buffer.
struct CAddress {
  int buffer = -1;
  uint64_t offset = 0;
};
CAddress c_address(const wire::ProgramT& program, const Command& command);

// The intrinsic whose instruction word and registers are those of the command; the raw instruction when the
// fields do not fit the intrinsic.
std::string c_statement(const wire::ProgramT& program, const Command& command);

}  // namespace zomboss::gemmini
