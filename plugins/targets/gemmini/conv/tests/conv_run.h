// Running convolution kernels in tests. One thread.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "plugins/targets/gemmini/conv/lower.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/conv/tests/conv_case.h"
#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/sim/functional.h"

namespace zomboss::gemmini::conv {

inline Problem problem_of(const ConvCase& layer, const Machine& machine) {
  auto problem = recognise(layer.workload(), machine);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  return problem.ok() ? *std::move(problem) : Problem{};
}

inline MachineModel default_model(uint32_t dim = 16) {
  MachineModel model;
  model.machine = default_machine(dim);
  model.memory.bus_bytes = 16;
  model.memory.in_flight = 16;
  model.memory.latency = 20;
  model.memory.latencies = {20};
  return model;
}

// The output of finished commands, compared with plain loops.
inline void expect_output(const ConvCase& layer, const Problem& problem, const Mapping& mapping,
                          const Machine& machine, std::span<const Command> commands) {
  const wire::ProgramT program =
      make_program({"hash", "spec"}, placed_buffers(problem, problem.forms[mapping.form]), commands);
  const wire::TensorsT inputs = random_inputs(layer.workload(), 7);
  auto dram = initial_dram(program, inputs);
  ASSERT_TRUE(dram.ok()) << dram.status().message();
  // The loops of convolutions were never compared with the hardware: strict refuses them all.
  auto simulator =
      FunctionalSimulator::create(machine, *dram, {.strict = mapping.interface != Interface::kLoop});
  ASSERT_TRUE(simulator.ok()) << simulator.status().message();
  const Status ran = simulator->run(commands);
  ASSERT_TRUE(ran.ok()) << ran.message();
  auto outputs = read_outputs(program, *dram);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0].data, layer.reference(inputs));
}

inline void expect_right(const ConvCase& layer, const Problem& problem, const Mapping& mapping,
                         const Machine& machine) {
  auto commands = lower_mapping(problem, mapping, machine);
  ASSERT_TRUE(commands.ok()) << commands.status().message();
  expect_output(layer, problem, mapping, machine, *commands);
}

}  // namespace zomboss::gemmini::conv
