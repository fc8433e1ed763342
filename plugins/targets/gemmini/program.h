// The Program message of this target: format "gemmini-rocc/1". `code` is one record of 20 bytes a command,
// funct as u32, rs1 and rs2 as u64, little endian. Buffers are the DRAM segments. Pure functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/dram.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/tensors_generated.h"

namespace zomboss::gemmini {

inline constexpr std::string_view kProgramFormat = "gemmini-rocc/1";

// What programs of a workload carry beside their commands.
struct ProgramIdentity {
  std::string_view workload_hash, spec_hash;
};

// With notes that count the commands and the bytes they move.
wire::ProgramT make_program(const ProgramIdentity& identity, std::span<const PlacedBuffer> buffers,
                            std::span<const Command> commands);
// Adds the counts to a program whose code is final.
void add_notes(wire::ProgramT& program, std::span<const Command> commands);

std::vector<uint8_t> pack(std::span<const Command> commands);
Result<std::vector<Command>> unpack(std::span<const uint8_t> code);

// The DRAM at the start of a run: constants and inputs in place, outputs and scratch zero. Inputs are matched
// by their position; a size that differs is an error. Checks everything about the buffers.
Result<Dram> initial_dram(const wire::ProgramT& program, const wire::TensorsT& inputs);
// The outputs after a run, in order.
Result<std::vector<wire::TensorT>> read_outputs(const wire::ProgramT& program, Dram& dram);

}  // namespace zomboss::gemmini
