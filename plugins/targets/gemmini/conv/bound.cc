#include "plugins/targets/gemmini/conv/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/conv/estimate.h"
#include "plugins/targets/gemmini/pipeline.h"

namespace zomboss::gemmini::conv {
namespace {

// Cycles in which rows must stream into the array. Each row carries at most dim of the products' input
// elements (a pixel under a tap, of one group) against at most dim output channels; the other way round,
// weights against pixels.
double array_cycles(const Problem& problem, const Machine& machine) {
  const Form& plain = problem.forms.back();
  const int64_t dim = machine.dim;
  const int64_t pixels = problem.batch * problem.rows.out * problem.cols.out;
  const int64_t depth = problem.taps() * plain.most_in_channels() * static_cast<int64_t>(plain.groups.size());
  const int64_t out = plain.most_out_channels();
  const int64_t as_written = ceil_div(depth, dim) * ceil_div(out, dim) * std::max(pixels, dim);
  const int64_t exchanged = ceil_div(depth, dim) * ceil_div(pixels, dim) * std::max(out, dim);
  return static_cast<double>(std::min(as_written, exchanged));
}

// Pixels of an axis that some tap of some output meets.
int64_t touched(const Axis& axis) {
  std::vector<bool> used(static_cast<size_t>(axis.in));
  for (int64_t o = 0; o < axis.out; ++o) {
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t at = axis.input_at(o, k);
      if (at >= 0 && at < axis.in) used[static_cast<size_t>(at)] = true;
    }
  }
  return std::count(used.begin(), used.end(), true);
}

}  // namespace

wire::BoundT latency_bound(const Problem& problem, const MachineModel& model) {
  const Form& plain = problem.forms.back();
  const auto groups = static_cast<int64_t>(plain.groups.size());
  const int64_t in = plain.most_in_channels() * groups, out = plain.most_out_channels() * groups;
  const int64_t input = problem.batch * touched(problem.rows) * touched(problem.cols) * in;
  const int64_t weights = problem.taps() * plain.most_in_channels() * out;
  const int64_t bias = problem.has_bias ? 4 * out : 0;
  const auto written =
      static_cast<double>(problem.batch * problem.rows.out * problem.cols.out * out * problem.output_bytes());
  const auto read = static_cast<double>(input + weights + bias);

  const double bus = model.memory.bus_bytes;
  const double array = array_cycles(problem, model.machine), reads = read / bus, writes = written / bus;
  const double fill = 2.0 * model.memory.latency + 2.0 * model.machine.dim;
  wire::BoundT bound;
  bound.unit = "cycles";
  bound.latency = std::max({array, reads, writes}) + fill;
  const std::string tail =
      fmt::format(", plus {:.0f} for the first load, the array and the last store (memory latency {})", fill,
                  model.memory.latency);
  if (array >= reads && array >= writes)
    bound.reason = fmt::format(
        "the array needs {:.0f} cycles: a row of it carries {} input elements against {} output channels{}",
        array, model.machine.dim, model.machine.dim, tail);
  else if (reads >= writes)
    bound.reason = fmt::format("{:.0f} bytes must be read at {} a cycle{}", read, bus, tail);
  else
    bound.reason = fmt::format("{:.0f} bytes must be written at {} a cycle{}", written, bus, tail);
  return bound;
}

wire::ScheduleT engine_schedule(const Problem& problem, const Mapping& mapping, const MachineModel& model) {
  const Footprint needs = footprint(problem, mapping, model.machine);
  const int64_t tiles = static_cast<int64_t>(problem.forms[mapping.form].groups.size()) * needs.pixel_tiles *
                        needs.n_tiles * needs.k_tiles;
  const ReplayTimes total = forecast(problem, mapping, model).estimate;
  const bool loop = mapping.interface == Interface::kLoop;
  const int64_t ahead = loop ? 2 : std::min(needs.a_slots, needs.b_slots),
                behind = loop ? 2 : mapping.acc_buffers;
  return tile_pipeline(total, tiles, ahead, behind);
}

}  // namespace zomboss::gemmini::conv
