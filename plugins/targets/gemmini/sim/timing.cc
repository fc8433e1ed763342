#include "plugins/targets/gemmini/sim/timing.h"

#include <fmt/format.h>

#include "plugins/targets/gemmini/sim/timing_unit.h"

namespace zomboss::gemmini {
namespace {

Status check_parameters(const TimingParameters& p) {
  const auto power = [](uint32_t value) { return value != 0 && (value & (value - 1)) == 0; };
  if (!power(p.beat_bytes) || !power(p.max_request_bytes) || p.max_request_bytes < p.beat_bytes) {
    return invalid_argument(
        fmt::format("timing parameters: beat of {} and requests of up to {} bytes must be powers "
                    "of two, in this order",
                    p.beat_bytes, p.max_request_bytes));
  }
  if (p.requests_in_flight == 0 || p.matmuls_in_flight == 0 || p.front_capacity == 0 ||
      p.scale_entries == 0 || p.scale_units == 0 || p.memory_latency > 1000000 || p.array_latency < 2 ||
      p.array_latency > 512) {
    return invalid_argument("timing parameters: a queue without entries, or a latency out of range");
  }
  return {};
}

}  // namespace

Result<TimingResult> simulate_timing(std::span<const Command> commands, const Machine& given,
                                     const TimingParameters& parameters, bool record_timeline) {
  Machine machine = given;
  if (parameters.load_entries != 0) machine.load_entries = parameters.load_entries;
  if (parameters.execute_entries != 0) machine.execute_entries = parameters.execute_entries;
  if (parameters.store_entries != 0) machine.store_entries = parameters.store_entries;
  ZB_TRY(check_machine(machine));
  ZB_TRY(check_parameters(parameters));
  return timing::Unit(commands, machine, parameters, record_timeline).run();
}

}  // namespace zomboss::gemmini
