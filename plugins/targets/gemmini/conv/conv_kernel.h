// One int8 convolution as a kernel: problem, surface and lowering together.
#pragma once

#include <memory>

#include "plugins/targets/gemmini/kernel.h"

namespace zomboss::gemmini::conv {

// Fails as recognise_kernel does.
Result<std::unique_ptr<Kernel>> make_conv_kernel(const wire::WorkloadT& workload, const MachineModel& model);

}  // namespace zomboss::gemmini::conv
