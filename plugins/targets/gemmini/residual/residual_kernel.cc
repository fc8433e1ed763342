#include "plugins/targets/gemmini/residual/residual_kernel.h"

#include <utility>
#include <vector>

#include "plugins/targets/gemmini/residual/check.h"
#include "plugins/targets/gemmini/residual/estimate.h"
#include "plugins/targets/gemmini/residual/lower.h"
#include "plugins/targets/gemmini/residual/mapping.h"
#include "plugins/targets/gemmini/residual/problem.h"
#include "plugins/targets/gemmini/residual/surface.h"

namespace zomboss::gemmini::residual {
namespace {

class ResidualKernel final : public Kernel {
 public:
  ResidualKernel(Problem problem, const MachineModel& model) : problem_(std::move(problem)), model_(model) {}

  wire::SurfaceT surface() const override { return make_surface(problem_, model_); }

  Result<Lowered> lower(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const Mapping mapping, mapping_of(plan, problem_, model_.machine));
    std::vector<Command> commands = lower_mapping(problem_, mapping, model_.machine);
    ZB_TRY(check_kernel(problem_, model_.machine, commands, mapping.ordering == Ordering::kFence));
    return Lowered{std::move(commands), buffers()};
  }

  Result<wire::ScheduleT> schedule(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const Mapping mapping, mapping_of(plan, problem_, model_.machine));
    return engine_schedule(problem_, mapping, model_);
  }

  wire::BoundT bound() const override { return latency_bound(problem_, model_); }

  std::vector<PlacedBuffer> buffers() const override { return place(problem_.buffers); }

 private:
  Problem problem_;
  MachineModel model_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_residual_kernel(const wire::WorkloadT& workload,
                                                     const MachineModel& model) {
  ZB_ASSIGN(Problem problem, recognise_sum(workload, model.machine));
  return std::unique_ptr<Kernel>(std::make_unique<ResidualKernel>(std::move(problem), model));
}

}  // namespace zomboss::gemmini::residual
