#include "plugins/targets/gemmini/kernel.h"

#include <algorithm>
#include <string_view>

#include "plugins/targets/gemmini/chain/chain_kernel.h"
#include "plugins/targets/gemmini/conv/conv_kernel.h"
#include "plugins/targets/gemmini/matmul/matmul_kernel.h"
#include "plugins/targets/gemmini/residual/residual_kernel.h"

namespace zomboss::gemmini {

Result<std::unique_ptr<Kernel>> recognise_kernel(const wire::WorkloadT& workload, const MachineModel& model) {
  const auto count = [&](std::string_view op) {
    return std::count_if(workload.nodes.begin(), workload.nodes.end(),
                         [&](const auto& node) { return node != nullptr && node->op == op; });
  };
  const bool convolves = count("conv2d") + count("convolution") > 0;
  // Of integers; what is said about others is the matmul's.
  const bool adds = std::any_of(workload.nodes.begin(), workload.nodes.end(), [](const auto& node) {
    return node != nullptr && node->op == "add" && node->type != nullptr &&
           (node->type->dtype == wire::DType::S8 || node->type->dtype == wire::DType::S16 ||
            node->type->dtype == wire::DType::S32);
  });
  if (convolves) return conv::make_conv_kernel(workload, model);
  if (count("matmul") > 1) return chain::make_chain_kernel(workload, model);
  if (count("matmul") == 0 && adds) return residual::make_residual_kernel(workload, model);
  return make_matmul_kernel(workload, model);
}

}  // namespace zomboss::gemmini
