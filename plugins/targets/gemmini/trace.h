// The text of a kernel as RoCC commands: `kernel.trace`. Comment lines say what the kernel is for and where
// its buffers lie; each other line is one command, `funct rs1 rs2`, the registers in hexadecimal; funct 127
// stands for a fence.
//
//   # gemmini kernel trace 1
//   # workload HASH NAME
//   # spec HASH
//   # param DIM 16
//   # buffer input 0 0x100000 4096 s8[64,64] lhs
//   0 3f80000000010004 0001000000000000
//
// Buffer lines: role, index (of a constant its operator's number), address, bytes, type, name. Pure
// functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "zomboss/schema/program_generated.h"

namespace zomboss::gemmini {

std::string write_trace(const wire::ProgramT& program, std::span<const Command> commands,
                        std::string_view workload, const Machine& machine);

// The program of a trace. `blank`: a program without code for the workload, its buffers where the lowering
// puts them; header lines, which are optional for kernels written by hand, may put them elsewhere. Every line
// is checked: commands, local rows, and DRAM addresses against the buffers. Invalid argument with file:line
// for the first error.
Result<wire::ProgramT> read_trace(wire::ProgramT blank, const Machine& machine, std::string_view file_name,
                                  std::string_view text);

}  // namespace zomboss::gemmini
