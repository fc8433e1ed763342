// A complete target on a machine that does not exist: computes s8 x s8 -> s32 matrix products, has five
// knobs, a joint capacity constraint and a latency in closed form (toy_model.h). Used by tests of everything
// that needs a target.
//
// Options:
//   surface      "conditional" (default) or "catalog"
//   fault        what goes wrong in simulate: "none" (default), "zeros", "identity", "off-by-one", "slow",
//                "error", "throw", "huge" (an output of 64 MiB more than asked for)
//   fault_knob, fault_value   the fault only shows in plans that give this knob this value; without them, in
//                all
//   slow_ms      how long "slow" takes unless it is cancelled or its deadline passes (default 1000)
//   reference    "library": the surface names a plan of that name; "illegal": one that does not fit
//   scenarios    "fair": the latencies with a memory that is 1 and 8 times as slow; "damaged": of one name
#pragma once

#include <memory>
#include <string>

#include "tests/toy/toy_model.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::toy {

struct ToyOptions {
  bool catalog = false;
  std::string fault = "none";
  std::string fault_knob;
  int64_t fault_value = 0;
  int64_t slow_ms = 1000;
  std::string reference, scenarios;
};

class ToyTarget {
 public:
  static Result<std::unique_ptr<ToyTarget>> create(sdk::Call&, const wire::OptionsT& options);
  Result<std::string> describe(sdk::Call&) const;
  Status configure(sdk::Call&, const wire::ModelT& model);
  Result<wire::SurfaceT> surface(sdk::Call&, const wire::WorkloadT& workload) const;
  Result<wire::ProgramT> lower(sdk::Call&, const wire::WorkloadT& workload, const wire::PlanT& plan) const;
  Result<wire::SimulationT> simulate(sdk::Call& call, const wire::ProgramT& program,
                                     const wire::TensorsT& inputs) const;
  Result<wire::ScheduleT> schedule(sdk::Call&, const wire::WorkloadT& workload,
                                   const wire::PlanT& plan) const;
  Result<wire::BoundT> bound(sdk::Call&, const wire::WorkloadT& workload) const;

 private:
  Status misbehave(sdk::Call& call, const Decisions& decisions, wire::TensorT& output) const;
  bool faulty(const Decisions& decisions) const;

  ToyOptions options_;
  int64_t dim_ = 0;  // from the model; 0 before configure
  int64_t spad_bytes_ = 0;
  std::string spec_hash_;
};

}  // namespace zomboss::toy
