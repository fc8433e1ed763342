// Kernels of hand-made graphs, run on the functional simulator inside the common ground of simulator and
// hardware. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/mapping/plan.h"
#include "core/mapping/surface.h"
#include "core/resolver/resolver.h"
#include "plugins/targets/gemmini/kernel.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"

namespace zomboss::gemmini {

MachineModel default_model(uint32_t dim = 16);

// The layers of an MLP: [rows, widths[0]] through matrices [widths[i], widths[i + 1]].
struct Mlp {
  int64_t rows = 16;
  std::vector<int64_t> widths;
  std::vector<double> scales;  // one for each layer, or one for all
  bool bias = false;
  bool relu = false;
};
wire::WorkloadT mlp(const Mlp& layers);

// A workload's kernel with its surface as the host sees it.
struct KernelCase {
  wire::WorkloadT workload;
  MachineModel model;
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<mapping::Surface> surface;
  std::unique_ptr<resolver::Resolver> resolver;

  // Complains, and is null inside, when the workload is refused.
  KernelCase(wire::WorkloadT given, const MachineModel& machine);
  // The same with another surface than the kernel's own.
  KernelCase(wire::WorkloadT given, const MachineModel& machine, const wire::SurfaceT& other);

  // "l1_tile_m=64 l2_dataflow~output_stationary" completed; complains when that cannot be.
  mapping::Plan plan(const std::string& intent = "") const;
  // Preferences for all knobs, drawn evenly, one of them a demand, completed; beside demands as in
  // "l1_output=1".
  mapping::Plan random_plan(std::mt19937_64& random, const std::string& demands = "") const;
  mapping::Plan plan_of(const std::vector<int64_t>& values) const;

  Lowered lowered(const mapping::Plan& plan) const;
  // Runs it and compares all bytes with the graph evaluated node by node.
  void expect_right(const mapping::Plan& plan, uint64_t seed = 7) const;

 private:
  void open(const wire::SurfaceT& message);
};

// A chain with all mappings that its rules allow, not only those of its catalog.
KernelCase open_chain(const wire::WorkloadT& workload, uint32_t dim = 16);

}  // namespace zomboss::gemmini
