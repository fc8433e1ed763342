#include "core/evaluate/target.h"

#include <fmt/format.h>

#include "core/taidl/model.h"
#include "core/taidl/wire.h"

namespace zomboss::evaluate {

using wire::Operation;

Result<std::unique_ptr<Target>> Target::open(std::unique_ptr<wire::Instance> instance,
                                             const std::map<std::string, int64_t>& overrides) {
  std::unique_ptr<Target> target(new Target(std::move(instance)));
  ZB_ASSIGN(target->description_, target->instance_->call(Operation::kDescribe, {}));
  const Source source(target->id() + ".taidl", target->description_);
  Diagnostics diagnostics(source);
  const taidl::Overrides values(overrides.begin(), overrides.end());
  ZB_ASSIGN(const taidl::Model checked, taidl::load_model(source, values, diagnostics));
  for (const Diagnostic& diagnostic : diagnostics.all())
    target->warnings_.push_back(diagnostics.render(diagnostic));
  target->model_ = taidl::to_wire(checked);
  ZB_TRY(target->instance_->command(Operation::kConfigure, {encode(target->model_)}));
  return target;
}

Result<std::unique_ptr<Target>> Target::open(const zb_plugin& plugin, const wire::OptionsT& options,
                                             const std::map<std::string, int64_t>& overrides,
                                             wire::LogFunction log) {
  ZB_ASSIGN(auto instance, wire::open_instance(plugin, options, std::move(log)));
  return open(std::move(instance), overrides);
}

Result<std::unique_ptr<Target>> Target::open_like(const Target& first,
                                                  std::unique_ptr<wire::Instance> instance) {
  std::unique_ptr<Target> target(new Target(std::move(instance)));
  ZB_ASSIGN(target->description_, target->instance_->call(Operation::kDescribe, {}));
  if (target->description_ != first.description_)
    return failed_precondition(fmt::format(
        "{} describes itself otherwise than before: was its file replaced?", first.identity().text()));
  target->model_ = first.model_;
  ZB_TRY(target->instance_->command(Operation::kConfigure, {encode(target->model_)}));
  return target;
}

Result<wire::SurfaceT> Target::surface(std::string_view workload) {
  return instance_->message<wire::SurfaceT>(Operation::kSurface, {workload});
}

Result<wire::ProgramT> Target::lower(std::string_view workload, std::string_view plan) {
  return instance_->message<wire::ProgramT>(Operation::kLower, {workload, plan});
}

Result<wire::SimulationT> Target::simulate(std::string_view program, std::string_view inputs) {
  return instance_->message<wire::SimulationT>(Operation::kSimulate, {program, inputs});
}

Result<wire::ScheduleT> Target::schedule(std::string_view workload, std::string_view plan) {
  return instance_->message<wire::ScheduleT>(Operation::kSchedule, {workload, plan});
}

Result<wire::FilesT> Target::export_kernel(std::string_view workload, std::string_view program,
                                           std::string_view inputs, std::string_view expected) {
  return instance_->message<wire::FilesT>(Operation::kExport, {workload, program, inputs, expected});
}

Result<wire::ProgramT> Target::import_kernel(std::string_view workload, std::string_view file_name,
                                             std::string_view text) {
  return instance_->message<wire::ProgramT>(Operation::kImport, {workload, file_name, text});
}

Result<wire::BoundT> Target::bound(std::string_view workload) {
  return instance_->message<wire::BoundT>(Operation::kBound, {workload});
}

}  // namespace zomboss::evaluate
