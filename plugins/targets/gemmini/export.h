// The files of an exported kernel: `kernel.trace` (trace.h) and `kernel.c`, a C program for the vendor's
// gemmini.h with its input data and a check of its own result. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/files_generated.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/schema/tensors_generated.h"

namespace zomboss::gemmini {

// Short programs become one intrinsic a line, long ones a table that a loop issues. `inputs` and `expected`
// in the order of the workload's inputs and outputs; sizes that differ from the program's buffers are an
// error.
Result<std::string> write_c(const wire::ProgramT& program, std::string_view workload, const Machine& machine,
                            const wire::TensorsT& inputs, const wire::TensorsT& expected);

Result<wire::FilesT> export_files(const wire::ProgramT& program, std::string_view workload,
                                  const Machine& machine, const wire::TensorsT& inputs,
                                  const wire::TensorsT& expected);

}  // namespace zomboss::gemmini
