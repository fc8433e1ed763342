#include "plugins/targets/gemmini/kernel.h"

#include "plugins/targets/gemmini/matmul/matmul_kernel.h"

namespace zomboss::gemmini {

Result<std::unique_ptr<Kernel>> recognise_kernel(const wire::WorkloadT& workload, const MachineModel& model) {
  return make_matmul_kernel(workload, model);
}

}  // namespace zomboss::gemmini
