#include "plugins/targets/gemmini/chain/chain_kernel.h"

#include <utility>
#include <vector>

#include "plugins/targets/gemmini/chain/bound.h"
#include "plugins/targets/gemmini/chain/lower.h"
#include "plugins/targets/gemmini/chain/mapping.h"
#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/chain/split.h"
#include "plugins/targets/gemmini/chain/surface.h"
#include "plugins/targets/gemmini/matmul/matmul_kernel.h"

namespace zomboss::gemmini::chain {
namespace {

class ChainKernel final : public Kernel {
 public:
  ChainKernel(Problem problem, const MachineModel& model) : problem_(std::move(problem)), model_(model) {}

  wire::SurfaceT surface() const override { return make_surface(problem_, model_); }

  Result<Lowered> lower(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const std::vector<StageMapping> mappings, mappings_of(plan, problem_, model_.machine));
    ZB_ASSIGN(std::vector<Command> commands, lower_mappings(problem_, mappings, model_.machine));
    return Lowered{std::move(commands), buffers()};
  }

  Result<wire::ScheduleT> schedule(const wire::PlanT& plan) const override {
    ZB_ASSIGN(const std::vector<StageMapping> mappings, mappings_of(plan, problem_, model_.machine));
    for (size_t s = 0; s < mappings.size(); ++s) {
      const auto& forms = problem_.stages[s].problem.forms;
      ZB_TRY(check_capacity(mappings[s].matmul, forms[mappings[s].matmul.orientation], model_.machine));
    }
    return engine_schedule(problem_, mappings, model_);
  }

  wire::BoundT bound() const override { return latency_bound(problem_, model_); }

  std::vector<PlacedBuffer> buffers() const override { return place(problem_.buffers); }

 private:
  Problem problem_;
  MachineModel model_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> make_chain_kernel(const wire::WorkloadT& workload,
                                                  const MachineModel& model) {
  ZB_ASSIGN(const std::vector<StageGraph> stages, split(workload));
  if (stages.size() < 2) return make_matmul_kernel(workload, model);
  ZB_ASSIGN(Problem problem, recognise_chain(workload, model.machine));
  return std::unique_ptr<Kernel>(std::make_unique<ChainKernel>(std::move(problem), model));
}

}  // namespace zomboss::gemmini::chain
