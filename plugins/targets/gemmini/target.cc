#include "plugins/targets/gemmini/target.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "plugins/targets/gemmini/export.h"
#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/trace.h"

namespace zomboss::gemmini {

Result<std::unique_ptr<GemminiTarget>> GemminiTarget::create(sdk::Call&, const wire::OptionsT& options) {
  auto target = std::make_unique<GemminiTarget>();
  ZB_ASSIGN(target->options_, read_options(options));
  return target;
}

Result<std::string> GemminiTarget::describe(sdk::Call&) {
  return std::string(taidl_text());
}

Status GemminiTarget::configure(sdk::Call&, const wire::ModelT& model) {
  ZB_ASSIGN(model_, read_machine(model));
  ZB_ASSIGN(simulate_, choose_timing(options_, model_));
  spec_hash_ = model.spec_hash;
  workload_hash_.clear();
  return {};
}

Status GemminiTarget::configured() const {
  return spec_hash_.empty() ? failed_precondition("gemmini: configure comes before all other operations")
                            : Status();
}

Result<const Kernel*> GemminiTarget::kernel_of(const wire::WorkloadT& workload) {
  ZB_TRY(configured());
  if (workload_hash_.empty() || workload_hash_ != workload.hash) {
    workload_hash_.clear();
    ZB_ASSIGN(kernel_, recognise_kernel(workload, model_));
    workload_hash_ = workload.hash;
  }
  return kernel_.get();
}

Result<wire::SurfaceT> GemminiTarget::surface(sdk::Call&, const wire::WorkloadT& workload) {
  ZB_ASSIGN(const Kernel* kernel, kernel_of(workload));
  return kernel->surface();
}

Result<wire::ProgramT> GemminiTarget::lower(sdk::Call&, const wire::WorkloadT& workload,
                                            const wire::PlanT& plan) {
  ZB_ASSIGN(const Kernel* kernel, kernel_of(workload));
  ZB_ASSIGN(const Lowered lowered, kernel->lower(plan));
  return make_program({workload.hash, spec_hash_}, lowered.buffers, lowered.commands);
}

Result<wire::SimulationT> GemminiTarget::simulate(sdk::Call&, const wire::ProgramT& program,
                                                  const wire::TensorsT& inputs) {
  ZB_TRY(configured());
  if (program.spec_hash != spec_hash_)
    return failed_precondition(
        fmt::format("gemmini: the program was made for target description {}, this one is {}",
                    program.spec_hash, spec_hash_));
  return simulate_program(program, inputs, model_, simulate_);
}

Result<wire::ScheduleT> GemminiTarget::schedule(sdk::Call&, const wire::WorkloadT& workload,
                                                const wire::PlanT& plan) {
  ZB_ASSIGN(const Kernel* kernel, kernel_of(workload));
  return kernel->schedule(plan);
}

Result<wire::FilesT> GemminiTarget::export_kernel(sdk::Call&, const wire::WorkloadT& workload,
                                                  const wire::ProgramT& program, const wire::TensorsT& inputs,
                                                  const wire::TensorsT& expected) {
  ZB_TRY(configured());
  return export_files(program, workload.name, model_.machine, inputs, expected);
}

Result<wire::ProgramT> GemminiTarget::import_kernel(sdk::Call&, const wire::WorkloadT& workload,
                                                    std::string_view file_name, std::string_view text) {
  ZB_ASSIGN(const Kernel* kernel, kernel_of(workload));
  return read_trace(make_program({workload.hash, spec_hash_}, kernel->buffers(), {}), model_.machine,
                    file_name, text);
}

Result<wire::BoundT> GemminiTarget::bound(sdk::Call&, const wire::WorkloadT& workload) {
  ZB_ASSIGN(const Kernel* kernel, kernel_of(workload));
  return kernel->bound();
}

}  // namespace zomboss::gemmini
