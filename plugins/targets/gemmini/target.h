// The target plugin's operations as a class, see zomboss/sdk/plugin.h. Exported by plugin.cc. One thread at a
// time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plugins/targets/gemmini/kernel.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/options.h"
#include "plugins/targets/gemmini/simulate.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::gemmini {

class GemminiTarget {
 public:
  // Options: see options.h.
  static Result<std::unique_ptr<GemminiTarget>> create(sdk::Call&, const wire::OptionsT& options);

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
  Status configured() const;
  // The kernel of a workload, remembered: a search asks for the same one again and again.
  Result<const Kernel*> kernel_of(const wire::WorkloadT& workload);

  MachineModel model_;
  std::string spec_hash_;  // empty until configured
  TargetOptions options_;
  SimulateOptions simulate_;
  std::string workload_hash_;
  std::unique_ptr<Kernel> kernel_;
};

// The target's TAIDL text, gemmini.taidl as it was built in.
std::string_view taidl_text();

}  // namespace zomboss::gemmini
