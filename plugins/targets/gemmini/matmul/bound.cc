#include "plugins/targets/gemmini/matmul/bound.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "plugins/targets/gemmini/matmul/estimate.h"

namespace zomboss::gemmini {
namespace {

constexpr int64_t kGroups = 64;

// Cycles in which rows must stream into the array: weights take dim cycles to enter and serve all rows of one
// side.
double array_cycles(const Form& form, const Machine& machine) {
  const int64_t dim = machine.dim;
  const int64_t m = form.m.elements(), n = form.n.elements(), k = form.k.elements();
  const int64_t as_written = ceil_div(n, dim) * std::max(m, dim);
  const int64_t exchanged = ceil_div(m, dim) * std::max(n, dim);
  return static_cast<double>(form.batches.size()) * static_cast<double>(ceil_div(k, dim)) *
         static_cast<double>(std::min(as_written, exchanged));
}

}  // namespace

wire::BoundT latency_bound(const Problem& problem, const MachineModel& model) {
  const Form& form = problem.forms.front();
  double read = 0, written = 0;
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.role == wire::BufferRole::Output) written += static_cast<double>(buffer.bytes);
    if (buffer.role == wire::BufferRole::Constant) read += static_cast<double>(buffer.bytes);
  }
  // Inputs that nothing reads are not counted: the form and the copies name those that are.
  std::set<uint32_t> used(form.buffer.begin(), form.buffer.begin() + (form.has_bias ? 4 : 3));
  for (const auto* list : {&form.before, &problem.before})
    for (const Copy& copy : *list) used.insert(copy.source);
  for (uint32_t number : used)
    if (number < problem.buffers.size() && problem.buffers[number].role == wire::BufferRole::Input)
      read += static_cast<double>(problem.buffers[number].bytes);

  const double bus = model.memory.bus_bytes;
  const double array = array_cycles(form, model.machine), reads = read / bus, writes = written / bus;
  const double busy = std::max({array, reads, writes});
  double product = 0;
  for (const uint32_t latency : model.memory.latencies)
    product += std::log(busy + 2.0 * latency + 2.0 * model.machine.dim);
  wire::BoundT bound;
  bound.unit = "cycles";
  bound.latency = std::round(std::exp(product / static_cast<double>(model.memory.latencies.size())));
  const std::string tail =
      fmt::format(", plus {:.0f} for the first load, the array and the last store (memory latency {})",
                  bound.latency - busy, fmt::join(model.memory.latencies, " and "));
  if (array >= reads && array >= writes)
    bound.reason = fmt::format(
        "the array needs {:.0f} cycles: {} blocks of the contraction, each streams at least {} rows or "
        "columns per block of the other side{}",
        array, ceil_div(form.k.elements(), model.machine.dim), model.machine.dim, tail);
  else if (reads >= writes)
    bound.reason = fmt::format("{:.0f} bytes must be read at {} a cycle{}", read, bus, tail);
  else
    bound.reason = fmt::format("{:.0f} bytes must be written at {} a cycle{}", written, bus, tail);
  return bound;
}

wire::ScheduleT engine_schedule(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  const Form& form = problem.forms[mapping.orientation];
  const Footprint needs = footprint(mapping, form);
  const int64_t tiles =
      static_cast<int64_t>(form.batches.size()) * needs.tiles_m * needs.tiles_n * needs.tiles_k;
  const int64_t groups = std::min(tiles, kGroups);
  const ReplayTimes total = forecast(problem, mapping, model).estimate;
  wire::ScheduleT schedule;
  schedule.static_cost = total.cycles;
  const auto add = [&](const char* engine, int64_t group, double cost, std::vector<uint32_t> predecessors) {
    auto node = std::make_unique<wire::ScheduleNodeT>();
    node->engine = engine;
    const int64_t first = group * tiles / groups, last = (group + 1) * tiles / groups - 1;
    node->label = first == last ? fmt::format("tile {}", first) : fmt::format("tiles {}..{}", first, last);
    node->cost = cost / static_cast<double>(groups);
    node->predecessors = std::move(predecessors);
    schedule.nodes.push_back(std::move(node));
  };
  // How many groups the loads may run ahead of the array.
  const auto least = std::min(mapping.buffering_a, mapping.buffering_b);
  const int64_t ahead = least == Buffering::kResident                              ? groups
                        : least == Buffering::kDouble || mapping.batch_regions > 1 ? 2
                                                                                   : 1;
  for (int64_t g = 0; g < groups; ++g) {
    const auto load = static_cast<uint32_t>(3 * g);
    std::vector<uint32_t> before_load, before_execute = {load}, before_store = {load + 1};
    if (g > 0) {
      before_load.push_back(load - 3);
      before_execute.push_back(load - 2);
      before_store.push_back(load - 1);
    }
    if (g >= ahead) before_load.push_back(static_cast<uint32_t>(3 * (g - ahead) + 1));
    if (g >= static_cast<int64_t>(mapping.acc_buffers))
      before_execute.push_back(static_cast<uint32_t>(3 * (g - mapping.acc_buffers) + 2));
    add("ld", g, total.load, std::move(before_load));
    add("ex", g, total.execute, std::move(before_execute));
    add("st", g, total.store, std::move(before_store));
  }
  return schedule;
}

}  // namespace zomboss::gemmini
