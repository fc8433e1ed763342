#include "core/evaluate/target.h"

#include <fmt/format.h>

#include "core/taidl/model.h"
#include "core/taidl/wire.h"

namespace zomboss::evaluate {
namespace {

using wire::call_message;
using wire::call_status;
using wire::to_zb_bytes;
using wire::to_zb_str;

// The plugin's table for an optional extension, or why there is none.
template <typename Table>
Result<const Table*> extension(const zb_plugin& plugin, const wire::CallContext& context, std::string_view id,
                               std::string_view what) {
  const auto* table = static_cast<const Table*>(plugin.extension(to_zb_str(id)));
  if (table == nullptr || !ZB_HAS(table, Table, run) || table->run == nullptr)
    return unimplemented(fmt::format("{} has no {} (extension {})", context.plugin, what, id));
  return table;
}

}  // namespace

Result<std::unique_ptr<Target>> Target::open(const zb_plugin& plugin, const wire::OptionsT& options,
                                             const std::map<std::string, int64_t>& overrides,
                                             wire::LogFunction log) {
  std::unique_ptr<Target> target(new Target());
  target->plugin_ = &plugin;
  target->id_.assign(plugin.id.data, plugin.id.size);
  target->version_.assign(plugin.version.data, plugin.version.size);
  target->context_.plugin = fmt::format("target {} {}", target->id_, target->version_);
  target->context_.log = std::move(log);
  target->table_ = static_cast<const zb_target*>(plugin.extension(to_zb_str(ZB_TARGET_ID)));
  if (target->table_ == nullptr)
    return failed_precondition(fmt::format("{} has no extension {}", target->context_.plugin, ZB_TARGET_ID));
  const std::string config = encode(options);
  ZB_TRY(call_status(target->context_, "create", [&](const zb_call* call) {
    return plugin.create(call, to_zb_bytes(config), &target->instance_);
  }));
  if (target->instance_ == nullptr)
    return internal_error(target->context_.plugin + ": create returned ok without an instance");
  ZB_TRY(target->describe(overrides));
  return target;
}

Target::~Target() {
  if (instance_ != nullptr) plugin_->destroy(instance_);
}

Status Target::describe(const std::map<std::string, int64_t>& overrides) {
  ZB_ASSIGN(std::string text, wire::call_bytes(context_, "describe", [&](const zb_call* call) {
              return table_->describe(instance_, call);
            }));
  const Source source(id_ + ".taidl", std::move(text));
  Diagnostics diagnostics(source);
  const taidl::Overrides values(overrides.begin(), overrides.end());
  ZB_ASSIGN(const taidl::Model checked, taidl::load_model(source, values, diagnostics));
  for (const Diagnostic& diagnostic : diagnostics.all()) warnings_.push_back(diagnostics.render(diagnostic));
  model_ = taidl::to_wire(checked);
  const std::string model = encode(model_);
  return call_status(context_, "configure", [&](const zb_call* call) {
    return table_->configure(instance_, call, to_zb_bytes(model));
  });
}

Result<wire::SurfaceT> Target::surface(std::string_view workload) {
  return call_message<wire::SurfaceT>(context_, "surface", [&](const zb_call* call) {
    return table_->surface(instance_, call, to_zb_bytes(workload));
  });
}

Result<wire::ProgramT> Target::lower(std::string_view workload, std::string_view plan) {
  return call_message<wire::ProgramT>(context_, "lower", [&](const zb_call* call) {
    return table_->lower(instance_, call, to_zb_bytes(workload), to_zb_bytes(plan));
  });
}

Result<wire::SimulationT> Target::simulate(std::string_view program, std::string_view inputs) {
  return call_message<wire::SimulationT>(context_, "simulate", [&](const zb_call* call) {
    return table_->simulate(instance_, call, to_zb_bytes(program), to_zb_bytes(inputs));
  });
}

Result<wire::ScheduleT> Target::schedule(std::string_view workload, std::string_view plan) {
  ZB_ASSIGN(const auto* table,
            extension<zb_target_schedule>(*plugin_, context_, ZB_TARGET_SCHEDULE_ID, "engine schedule"));
  return call_message<wire::ScheduleT>(context_, "schedule", [&](const zb_call* call) {
    return table->run(instance_, call, to_zb_bytes(workload), to_zb_bytes(plan));
  });
}

Result<wire::FilesT> Target::export_kernel(std::string_view workload, std::string_view program,
                                           std::string_view inputs, std::string_view expected) {
  ZB_ASSIGN(const auto* table,
            extension<zb_target_export>(*plugin_, context_, ZB_TARGET_EXPORT_ID, "export"));
  return call_message<wire::FilesT>(context_, "export", [&](const zb_call* call) {
    return table->run(instance_, call, to_zb_bytes(workload), to_zb_bytes(program), to_zb_bytes(inputs),
                      to_zb_bytes(expected));
  });
}

Result<wire::ProgramT> Target::import_kernel(std::string_view workload, std::string_view file_name,
                                             std::string_view text) {
  ZB_ASSIGN(const auto* table,
            extension<zb_target_import>(*plugin_, context_, ZB_TARGET_IMPORT_ID, "import"));
  return call_message<wire::ProgramT>(context_, "import", [&](const zb_call* call) {
    return table->run(instance_, call, to_zb_bytes(workload), to_zb_str(file_name), to_zb_bytes(text));
  });
}

Result<wire::BoundT> Target::bound(std::string_view workload) {
  ZB_ASSIGN(const auto* table,
            extension<zb_target_bound>(*plugin_, context_, ZB_TARGET_BOUND_ID, "lower bound"));
  return call_message<wire::BoundT>(context_, "bound", [&](const zb_call* call) {
    return table->run(instance_, call, to_zb_bytes(workload));
  });
}

}  // namespace zomboss::evaluate
