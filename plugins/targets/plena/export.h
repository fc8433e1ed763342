// A kernel as files that the official emulator runs. Pure; any thread.
#pragma once

#include <string>

#include "plugins/targets/plena/machine_model.h"
#include "zomboss/schema/files_generated.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/tensors_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// kernel.asm (read back by import), kernel.mem, hbm.bin, fpsram.bin, plena_settings.toml, run.txt (the
// emulator's command line), expected_vram.bin (its vector SRAM dump up to the last output, as simulated) and
// expected.txt (latency, and where in the dump the outputs are).
Result<wire::FilesT> export_files(const wire::ProgramT& program, const Machine& machine,
                                  const wire::TensorsT& inputs, uint64_t instruction_limit);

}  // namespace zomboss::plena
