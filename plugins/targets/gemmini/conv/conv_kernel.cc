#include "plugins/targets/gemmini/conv/conv_kernel.h"

#include <utility>

#include "plugins/targets/gemmini/conv/bound.h"
#include "plugins/targets/gemmini/conv/lower.h"
#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/conv/surface.h"

namespace zomboss::gemmini::conv {
namespace {

class ConvKernel final : public Kernel {
 public:
  ConvKernel(Problem problem, const MachineModel& model) : problem_(std::move(problem)), model_(model) {}

  wire::SurfaceT surface() const override { return make_surface(problem_, model_); }

  Result<Lowered> lower(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const Mapping mapping, mapping_of(plan, problem_));
    ZB_ASSIGN(std::vector<Command> commands, lower_mapping(problem_, mapping, model_.machine));
    return Lowered{std::move(commands), placed_buffers(problem_, problem_.forms[mapping.form])};
  }

  Result<wire::ScheduleT> schedule(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const Mapping mapping, mapping_of(plan, problem_));
    ZB_TRY(check_mapping(problem_, mapping, model_.machine));
    return engine_schedule(problem_, mapping, model_);
  }

  wire::BoundT bound() const override { return latency_bound(problem_, model_); }

  std::vector<PlacedBuffer> buffers() const override {
    return placed_buffers(problem_, problem_.forms.front());
  }

 private:
  Problem problem_;
  MachineModel model_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_conv_kernel(const wire::WorkloadT& workload, const MachineModel& model) {
  ZB_ASSIGN(Problem problem, recognise(workload, model.machine));
  return std::unique_ptr<Kernel>(std::make_unique<ConvKernel>(std::move(problem), model));
}

}  // namespace zomboss::gemmini::conv
