// A workload as this target understands it. Each kind of kernel (a matmul, a convolution, ...) has a folder
// with its recognition, mapping surface and lowering, and one class that offers them in this form.
#pragma once

#include <memory>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "zomboss/schema/bound_generated.h"
#include "zomboss/schema/plan_generated.h"
#include "zomboss/schema/schedule_generated.h"
#include "zomboss/schema/surface_generated.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// A finished kernel.
struct Lowered {
  std::vector<Command> commands;
  std::vector<PlacedBuffer> buffers;
};

// Immutable once made; any thread.
class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual wire::SurfaceT surface() const = 0;
  // Invalid argument when the plan is none of this surface, resource exhausted when it does not fit.
  virtual Result<Lowered> lower(const wire::PlanT& plan) const = 0;
  // The static cost and the schedule of engines; fails as lower does.
  virtual Result<wire::ScheduleT> schedule(const wire::PlanT& plan) const = 0;
  virtual wire::BoundT bound() const = 0;
  // Where buffers lie for kernels that no plan made.
  virtual std::vector<PlacedBuffer> buffers() const = 0;
};

// The kernel of a workload. Everything in the graph that is not taken is named in one message: unimplemented,
// or invalid argument when the message itself makes no sense.
Result<std::unique_ptr<Kernel>> recognise_kernel(const wire::WorkloadT& workload, const MachineModel& model);

}  // namespace zomboss::gemmini
