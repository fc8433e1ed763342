#include "plugins/targets/gemmini/chain/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "plugins/targets/gemmini/matmul/bound.h"

namespace zomboss::gemmini::chain {
namespace {

constexpr double kFence = 8;  // beyond the wait for what is under way, which the estimates have

// Cycles in which rows must stream: weights take dim cycles to enter and serve all rows of one side.
double array_cycles(const Form& form, int64_t dim) {
  const int64_t m = form.m.elements(), n = form.n.elements();
  const int64_t rows = std::min(ceil_div(n, dim) * std::max(m, dim), ceil_div(m, dim) * std::max(n, dim));
  return static_cast<double>(form.batches.size()) * static_cast<double>(ceil_div(form.k.elements(), dim)) *
         static_cast<double>(rows);
}

// Inputs and constants that some stage reads.
double bytes_read(const Problem& problem) {
  std::set<uint32_t> used;
  for (const Stage& stage : problem.stages) {
    const Form& form = stage.problem.forms.front();
    used.insert(form.buffer.begin(), form.buffer.begin() + (form.has_bias ? 4 : 3));
    for (const auto* copies : {&form.before, &stage.problem.before})
      for (const Copy& copy : *copies) used.insert(copy.source);
  }
  double bytes = 0;
  for (const uint32_t number : used) {
    const Buffer& buffer = problem.buffers[number];
    if (buffer.role == wire::BufferRole::Input || buffer.role == wire::BufferRole::Constant)
      bytes += static_cast<double>(buffer.bytes);
  }
  return bytes;
}

// What a result that stays on chip need not do: leave, return, and wait for both.
double saved_cycles(const Stage& stage, const MachineModel& model) {
  const Form& form = stage.problem.forms[stage.link->form];
  const auto moves = static_cast<double>(form.m.elements() * form.n.blocks());
  return 2 * moves + 2.0 * model.memory.latency;
}

}  // namespace

wire::BoundT latency_bound(const Problem& problem, const MachineModel& model) {
  double array = 0, written = 0;
  for (const Stage& stage : problem.stages)
    array += array_cycles(stage.problem.forms.front(), model.machine.dim);
  for (const Buffer& buffer : problem.buffers)
    if (buffer.role == wire::BufferRole::Output) written += static_cast<double>(buffer.bytes);
  const double bus = model.memory.bus_bytes, read = bytes_read(problem);
  const double reads = read / bus, writes = written / bus;
  const double fill = 2.0 * model.memory.latency + 2.0 * model.machine.dim;
  wire::BoundT bound;
  bound.unit = "cycles";
  bound.latency = std::max({array, reads, writes}) + fill;
  const std::string tail =
      fmt::format(", plus {:.0f} for the first load, the array and the last store (memory latency {})", fill,
                  model.memory.latency);
  if (array >= reads && array >= writes)
    bound.reason = fmt::format("the array needs {:.0f} cycles for the rows of all {} stages{}", array,
                               problem.stages.size(), tail);
  else if (reads >= writes)
    bound.reason =
        fmt::format("{:.0f} bytes of inputs and constants must be read at {} a cycle{}", read, bus, tail);
  else
    bound.reason = fmt::format("{:.0f} bytes must be written at {} a cycle{}", written, bus, tail);
  return bound;
}

wire::ScheduleT engine_schedule(const Problem& problem, const std::vector<StageMapping>& mappings,
                                const MachineModel& model) {
  wire::ScheduleT schedule;
  for (size_t s = 0; s < problem.stages.size(); ++s) {
    wire::ScheduleT stage = gemmini::engine_schedule(problem.stages[s].problem, mappings[s].matmul, model);
    schedule.static_cost += stage.static_cost + (s == 0 ? 0 : kFence);
    const auto first = static_cast<uint32_t>(schedule.nodes.size());
    for (auto& node : stage.nodes) {
      for (uint32_t& predecessor : node->predecessors) predecessor += first;
      if (node->predecessors.empty() && first > 0) node->predecessors.push_back(first - 1);
      node->label = fmt::format("stage {} {}", s + 1, node->label);
      schedule.nodes.push_back(std::move(node));
    }
  }
  for (size_t s = 0; s < problem.stages.size(); ++s)
    if (mappings[s].output == Output::kScratchpad)
      schedule.static_cost = std::max(1.0, schedule.static_cost - saved_cycles(problem.stages[s], model));
  return schedule;
}

}  // namespace zomboss::gemmini::chain
