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

#include "core/wire/call.h"
#include "zomboss/target.h"

namespace zomboss::evaluate {

class Target {
 public:
  // Creates an instance, lets it describe itself, parses and checks that TAIDL with the parameter overrides
  // (name -> value, e.g. DIM -> 8), and hands it the model. `plugin` lives as long as the process. `options`
  // is the target's section of the configuration. Fails with the plugin's reason or with the TAIDL
  // diagnostics.
  static Result<std::unique_ptr<Target>> open(const zb_plugin& plugin, const wire::OptionsT& options,
                                              const std::map<std::string, int64_t>& overrides,
                                              wire::LogFunction log = {});
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  const std::string& id() const { return id_; }
  const std::string& version() const { return version_; }
  const wire::ModelT& model() const { return model_; }
  const std::vector<std::string>& warnings() const { return warnings_; }  // of the TAIDL check

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
  Target() = default;
  Status describe(const std::map<std::string, int64_t>& overrides);

  const zb_plugin* plugin_ = nullptr;
  zb_instance* instance_ = nullptr;
  const zb_target* table_ = nullptr;
  std::string id_;
  std::string version_;
  wire::ModelT model_;
  std::vector<std::string> warnings_;
  wire::CallContext context_;
};

}  // namespace zomboss::evaluate
