#include "plugins/targets/gemmini/matmul/matmul_kernel.h"

#include <utility>

#include "plugins/targets/gemmini/matmul/bound.h"
#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "plugins/targets/gemmini/matmul/problem.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {
namespace {

class MatmulKernel final : public Kernel {
 public:
  MatmulKernel(Problem problem, const MachineModel& model)
      : problem_(std::move(problem)), model_(model), domains_(knob_domains(problem_, model_.machine)) {}

  wire::SurfaceT surface() const override { return make_surface(problem_, model_); }

  Result<Lowered> lower(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const Mapping mapping, legal_mapping(plan));
    ZB_ASSIGN(std::vector<Command> commands, lower_mapping(problem_, mapping, model_.machine));
    return Lowered{std::move(commands), placed_buffers(problem_, problem_.forms[mapping.orientation])};
  }

  Result<wire::ScheduleT> schedule(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const Mapping mapping, legal_mapping(plan));
    return engine_schedule(problem_, mapping, model_);
  }

  wire::BoundT bound() const override { return latency_bound(problem_, model_); }

  std::vector<PlacedBuffer> buffers() const override {
    return placed_buffers(problem_, problem_.forms.front());
  }

 private:
  // Numbers where memory is short; the other rules are explained by the host, which has them with the
  // surface.
  Result<Mapping> legal_mapping(const wire::PlanT& plan) const {
    ZB_ASSIGN(const Mapping mapping, mapping_of(plan, model_.machine, problem_.forms));
    ZB_TRY(check_capacity(mapping, problem_.forms[mapping.orientation], model_.machine));
    if (!is_legal(problem_, model_.machine, domains_, mapping))
      return invalid_argument(
          "gemmini: the plan breaks a rule of its surface; `zomboss complete` says which");
    return mapping;
  }

  Problem problem_;
  MachineModel model_;
  Domains domains_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_matmul_kernel(const wire::WorkloadT& workload,
                                                   const MachineModel& model) {
  ZB_ASSIGN(Problem problem, recognise(workload, model.machine));
  return std::unique_ptr<Kernel>(std::make_unique<MatmulKernel>(std::move(problem), model));
}

}  // namespace zomboss::gemmini
