// The target plugin's operations as a class, see zomboss/sdk/plugin.h. Exported by plugin.cc. One thread at a
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/problem/problem.h"
#include "plugins/targets/plena/surface.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::plena {

class PlenaTarget {
 public:
  // Options: profile ("upstream", "kernelcraft"), broadcast_forms (0, 1), instruction_limit, and the keys of
  // the official settings file behind "settings."; docs/plena.md.
  static Result<std::unique_ptr<PlenaTarget>> create(sdk::Call&, const wire::OptionsT& options);

  Result<std::string> describe(sdk::Call&);
  Status configure(sdk::Call&, const wire::ModelT& model);
  Result<wire::SurfaceT> surface(sdk::Call&, const wire::WorkloadT& workload);
  Result<wire::ProgramT> lower(sdk::Call&, const wire::WorkloadT& workload, const wire::PlanT& plan);
  Result<wire::SimulationT> simulate(sdk::Call&, const wire::ProgramT& program, const wire::TensorsT& inputs);
  Result<wire::ScheduleT> schedule(sdk::Call&, const wire::WorkloadT& workload, const wire::PlanT& plan);
  Result<wire::FilesT> export_kernel(sdk::Call&, const wire::WorkloadT& workload,
                                     const wire::ProgramT& program, const wire::TensorsT& inputs,
                                     const wire::TensorsT& expected);
  Result<wire::ProgramT> import_kernel(sdk::Call&, const wire::WorkloadT& workload,
                                       std::string_view file_name, std::string_view text);
  Result<wire::BoundT> bound(sdk::Call&, const wire::WorkloadT& workload);

 private:
  // The problem of a workload, remembered: a search asks for the same one again and again.
  Result<const Problem*> problem_of(const wire::WorkloadT& workload);

  std::string profile_ = std::string(kProfiles[0]);
  std::optional<Settings> settings_;  // of the vendor's file; in place of a profile
  uint64_t instruction_limit_ = uint64_t{1} << 32;
  SurfaceOptions surface_;
  Machine machine_;
  std::string spec_hash_;  // empty until configured
  std::string workload_hash_;
  Problem problem_;
};

}  // namespace zomboss::plena
