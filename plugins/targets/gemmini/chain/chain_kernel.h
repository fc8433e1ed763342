// Chains of matmuls as a kind of kernel, see kernel.h. Any thread.
#pragma once

#include <memory>

#include "plugins/targets/gemmini/kernel.h"

namespace zomboss::gemmini::chain {

// Of a workload with two or more matmuls. When all but one of them lead nowhere, the kernel of that one.
Result<std::unique_ptr<Kernel>> make_chain_kernel(const wire::WorkloadT& workload, const MachineModel& model);

}  // namespace zomboss::gemmini::chain
