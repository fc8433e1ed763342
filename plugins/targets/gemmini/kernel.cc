#include "plugins/targets/gemmini/kernel.h"

#include <algorithm>

#include "plugins/targets/gemmini/conv/conv_kernel.h"
#include "plugins/targets/gemmini/matmul/matmul_kernel.h"

namespace zomboss::gemmini {

Result<std::unique_ptr<Kernel>> recognise_kernel(const wire::WorkloadT& workload, const MachineModel& model) {
  const bool convolves = std::any_of(workload.nodes.begin(), workload.nodes.end(), [](const auto& node) {
    return node != nullptr && (node->op == "conv2d" || node->op == "convolution");
  });
  if (convolves) return conv::make_conv_kernel(workload, model);
  return make_matmul_kernel(workload, model);
}

}  // namespace zomboss::gemmini
