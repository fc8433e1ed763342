// One integer matmul as a kernel: problem, surface and lowering together.
#pragma once

#include <memory>

#include "plugins/targets/gemmini/kernel.h"

namespace zomboss::gemmini {

// Fails as recognise_kernel does.
Result<std::unique_ptr<Kernel>> make_matmul_kernel(const wire::WorkloadT& workload,
                                                   const MachineModel& model);

}  // namespace zomboss::gemmini
