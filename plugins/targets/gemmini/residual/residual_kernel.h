// Residual additions as a kind of kernel, see kernel.h. Any thread.
#pragma once

#include <memory>

#include "plugins/targets/gemmini/kernel.h"

namespace zomboss::gemmini::residual {

Result<std::unique_ptr<Kernel>> make_residual_kernel(const wire::WorkloadT& workload,
                                                     const MachineModel& model);

}  // namespace zomboss::gemmini::residual
