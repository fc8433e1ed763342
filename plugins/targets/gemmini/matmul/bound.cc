#include "plugins/targets/gemmini/matmul/bound.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "plugins/targets/gemmini/matmul/estimate.h"
#include "plugins/targets/gemmini/pipeline.h"

namespace zomboss::gemmini {
namespace {

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
  const ReplayTimes total = forecast(problem, mapping, model).estimate;
  // Where every tile has its place, loads never wait for the array.
  const auto least = std::min(mapping.buffering_a, mapping.buffering_b);
  const int64_t ahead = least == Buffering::kResident                              ? tiles
                        : least == Buffering::kDouble || mapping.batch_regions > 1 ? 2
                                                                                   : 1;
  return tile_pipeline(total, tiles, ahead, static_cast<int64_t>(mapping.acc_buffers));
}

}  // namespace zomboss::gemmini
