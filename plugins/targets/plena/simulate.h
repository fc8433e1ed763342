// Running a Program: tensors into the HBM, the machine, outputs out of the vector SRAM. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/plena/machine_model.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/simulation_generated.h"
#include "zomboss/schema/tensors_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

struct LoadedProgram;

// A finished run with the vector SRAM up to the end of the last output, bf16 codes.
struct RunResult {
  wire::SimulationT simulation;
  std::vector<uint8_t> vram;
};
Result<RunResult> run_program(const wire::ProgramT& program, const wire::TensorsT& inputs,
                              const Machine& machine, uint64_t instruction_limit);

// The HBM from address 0 to its last byte that is not zero: inputs and constants.
Result<std::vector<uint8_t>> hbm_image(const LoadedProgram& program, const wire::TensorsT& inputs);

// Latency in ns. Counters: executed.MNEMONIC, ns.ENGINE, ns.region.NAME, hbm.read.NAME and hbm.written.NAME
// by tensor, vram.rows, mram.tiles. Fails with the simulator's abort, with inputs that the layout cannot
// hold, or after `instruction_limit` instructions.
Result<wire::SimulationT> simulate_program(const wire::ProgramT& program, const wire::TensorsT& inputs,
                                           const Machine& machine, uint64_t instruction_limit);

}  // namespace zomboss::plena
