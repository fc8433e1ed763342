// A target plugin as the host uses it: one instance with its checked model, and the operations of
// zomboss/target.h as functions on messages. One thread at a time per Target; different Targets run
// concurrently.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/instance.h"
#include "zomboss/target.h"

namespace zomboss::evaluate {

class Target {
 public:
  // Lets the instance describe itself, parses and checks that TAIDL with the parameter overrides (name ->
  // value, e.g. DIM -> 8), and hands it the model. Fails with the plugin's reason or with the TAIDL
  // diagnostics.
  static Result<std::unique_ptr<Target>> open(std::unique_ptr<wire::Instance> instance,
                                              const std::map<std::string, int64_t>& overrides);
  // The same with a new instance in this process. `plugin` lives as long as the process. `options` is the
  // target's section of the configuration.
  static Result<std::unique_ptr<Target>> open(const zb_plugin& plugin, const wire::OptionsT& options,
                                              const std::map<std::string, int64_t>& overrides,
                                              wire::LogFunction log = {});
  // A second instance of the same plugin file with the same options, without checking its description again.
  // Failed precondition when it describes itself otherwise than `first`.
  static Result<std::unique_ptr<Target>> open_like(const Target& first,
                                                   std::unique_ptr<wire::Instance> instance);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const wire::Instance::Identity& identity() const { return instance_->identity(); }
  const std::string& id() const { return identity().id; }
  const std::string& version() const { return identity().version; }
  const wire::ModelT& model() const { return model_; }
  const std::vector<std::string>& warnings() const { return warnings_; }  // of the TAIDL check
  // How the last call ended.
  wire::Fate fate() const { return instance_->fate(); }

  // workload and plan are encoded messages (zomboss::encode), so that a search encodes each once.
  Result<wire::SurfaceT> surface(std::string_view workload);
  Result<wire::ProgramT> lower(std::string_view workload, std::string_view plan);
  Result<wire::SimulationT> simulate(std::string_view program, std::string_view inputs);
  // The optional ones: unimplemented when the plugin has no such extension.
  Result<wire::ScheduleT> schedule(std::string_view workload, std::string_view plan);
  Result<wire::FilesT> export_kernel(std::string_view workload, std::string_view program,
                                     std::string_view inputs, std::string_view expected);
  Result<wire::ProgramT> import_kernel(std::string_view workload, std::string_view file_name,
                                       std::string_view text);
  Result<wire::BoundT> bound(std::string_view workload);

 private:
  explicit Target(std::unique_ptr<wire::Instance> instance) : instance_(std::move(instance)) {}

  std::unique_ptr<wire::Instance> instance_;
  std::string description_;
  wire::ModelT model_;
  std::vector<std::string> warnings_;
};

}  // namespace zomboss::evaluate
