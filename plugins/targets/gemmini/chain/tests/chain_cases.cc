#include "plugins/targets/gemmini/chain/tests/chain_cases.h"

#include <gtest/gtest.h>

#include "core/base/source.h"
#include "core/mapping/convert.h"
#include "core/mapping/intent.h"
#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/chain/surface.h"
#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/sim/functional.h"

namespace zomboss::gemmini {

MachineModel default_model(uint32_t dim) {
  return {default_machine(dim), {16, 16, 20, {20}}};
}

wire::WorkloadT mlp(const Mlp& layers) {
  GraphBuilder graph;
  uint32_t x = graph.parameter({layers.rows, layers.widths[0]});
  for (size_t i = 0; i + 1 < layers.widths.size(); ++i) {
    const uint32_t weights = graph.parameter({layers.widths[i], layers.widths[i + 1]});
    x = graph.matmul(x, weights, {1}, {0});
    if (layers.bias) x = graph.bias(x, graph.parameter({layers.widths[i + 1]}, wire::DType::S32), {1});
    if (layers.relu) x = graph.relu(x);
    x = graph.quantize(x, layers.scales[std::min(i, layers.scales.size() - 1)]);
  }
  return graph.finish();
}

KernelCase::KernelCase(wire::WorkloadT given, const MachineModel& machine)
    : workload(std::move(given)), model(machine) {
  auto made = recognise_kernel(workload, model);
  if (!made.ok()) {
    ADD_FAILURE() << made.status().message();
    return;
  }
  kernel = *std::move(made);
  open(kernel->surface());
}

KernelCase::KernelCase(wire::WorkloadT given, const MachineModel& machine, const wire::SurfaceT& other)
    : workload(std::move(given)), model(machine) {
  auto made = recognise_kernel(workload, model);
  if (!made.ok()) {
    ADD_FAILURE() << made.status().message();
    return;
  }
  kernel = *std::move(made);
  open(other);
}

void KernelCase::open(const wire::SurfaceT& message) {
  auto read = mapping::from_wire(message);
  if (!read.ok()) {
    ADD_FAILURE() << read.status().message();
    return;
  }
  surface = std::make_unique<mapping::Surface>(*std::move(read));
  resolver = std::make_unique<resolver::Resolver>(*surface);
}

KernelCase open_chain(const wire::WorkloadT& workload, uint32_t dim) {
  const MachineModel model = default_model(dim);
  const auto problem = chain::recognise_chain(workload, model.machine);
  if (problem.ok()) return KernelCase(workload, model, chain::bare_surface(*problem, model));
  ADD_FAILURE() << problem.status().message();
  return KernelCase(workload, model);
}

mapping::Plan KernelCase::plan(const std::string& text) const {
  const Source source("intent", text);
  auto intent = mapping::parse_intent(*surface, source);
  if (!intent.ok()) {
    ADD_FAILURE() << intent.status().message();
    return {};
  }
  auto plan = resolver->plan(*intent);
  if (plan.ok()) return *std::move(plan);
  ADD_FAILURE() << plan.status().message();
  return {};
}

mapping::Plan KernelCase::random_plan(std::mt19937_64& random, const std::string& demands) const {
  const Source source("demands", demands);
  auto demanded = mapping::parse_intent(*surface, source);
  EXPECT_TRUE(demanded.ok()) << demanded.status().message();
  mapping::Intent intent;
  const auto draw = [&](size_t k, mapping::Strength strength) {
    const auto& values = surface->knob(k).values;
    return mapping::Assignment{k, values[random() % values.size()], strength};
  };
  for (size_t k = 0; k < surface->knobs().size(); ++k) intent.set(draw(k, mapping::Strength::Preferred));
  for (const mapping::Assignment& each : demanded->assignments()) intent.set(each);
  mapping::Intent one_more = intent;
  const auto demand = draw(random() % surface->knobs().size(), mapping::Strength::Hard);
  if (demanded->find(demand.knob) == nullptr) one_more.set(demand);
  for (const mapping::Intent& each : {one_more, intent}) {
    auto plan = resolver->complete_quietly(each);
    if (plan.ok() && plan->plan) return *plan->plan;
  }
  ADD_FAILURE() << "preferences that cannot be completed";
  return {};
}

mapping::Plan KernelCase::plan_of(const std::vector<int64_t>& values) const {
  const std::vector<mapping::Origin> origins(values.size(), mapping::Origin::Hard);
  return mapping::make_plan(*surface, values, origins, {});
}

Lowered KernelCase::lowered(const mapping::Plan& plan) const {
  auto result = kernel->lower(mapping::to_wire(*surface, plan));
  if (result.ok()) return *std::move(result);
  ADD_FAILURE() << result.status().message();
  return {};
}

void KernelCase::expect_right(const mapping::Plan& plan, uint64_t seed) const {
  std::string text;
  for (const auto& section : plan.sections)
    for (const auto& decision : section) text += decision.knob + "=" + decision.text + " ";
  SCOPED_TRACE(text);
  const Lowered lowered = this->lowered(plan);
  const wire::ProgramT program = make_program({"hash", "spec"}, lowered.buffers, lowered.commands);
  const wire::TensorsT inputs = random_inputs(workload, seed);
  auto dram = initial_dram(program, inputs);
  ASSERT_TRUE(dram.ok()) << dram.status().message();
  auto simulator = FunctionalSimulator::create(model.machine, *dram, {.strict = true});
  ASSERT_TRUE(simulator.ok()) << simulator.status().message();
  const Status ran = simulator->run(lowered.commands);
  ASSERT_TRUE(ran.ok()) << ran.message();
  auto outputs = read_outputs(program, *dram);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_EQ((*outputs)[0].data, reference_output(workload, inputs));
}

}  // namespace zomboss::gemmini
