#include "plugins/targets/gemmini/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

constexpr std::array<const char*, kEngines> kEngineNames = {"ld", "ex", "st"};

void add_counter(wire::SimulationT& simulation, std::string name, uint64_t value, const char* unit) {
  auto counter = std::make_unique<wire::CounterT>();
  counter->name = std::move(name);
  counter->value = static_cast<double>(value);
  counter->unit = unit;
  simulation.counters.push_back(std::move(counter));
}

void add_counters(wire::SimulationT& simulation, const FunctionalCounts& counts,
                  const TimingCounters& timing) {
  add_counter(simulation, "commands", counts.commands, "commands");
  add_counter(simulation, "primitive_commands", counts.primitive_commands, "commands");
  add_counter(simulation, "macs", counts.macs, "multiply-adds");
  add_counter(simulation, "dram_read", counts.dram_read_bytes, "bytes");
  add_counter(simulation, "dram_written", counts.dram_written_bytes, "bytes");
  for (size_t i = 0; i < kEngines; ++i) {
    add_counter(simulation, fmt::format("{}_busy", kEngineNames[i]), timing.busy_cycles[i], "cycles");
    add_counter(simulation, fmt::format("{}_commands", kEngineNames[i]), timing.commands[i], "commands");
  }
  add_counter(simulation, "memory_reads", timing.gets, "requests");
  add_counter(simulation, "memory_writes", timing.puts, "requests");
  add_counter(simulation, "requested_read", timing.read_bytes, "bytes");
  add_counter(simulation, "requested_written", timing.written_bytes, "bytes");
  add_counter(simulation, "array_rows", timing.array_rows, "rows");
  add_counter(simulation, "array_stalls", timing.array_stalls, "cycles");
  add_counter(simulation, "station_full", timing.events[kStationFull], "cycles");
}

// Consecutive spans of an engine are joined until they are few enough.
void add_timeline(wire::SimulationT& simulation, const std::vector<Span>& timeline,
                  const std::vector<Command>& commands, size_t limit) {
  if (limit == 0 || timeline.empty()) return;
  const size_t per_span = (timeline.size() + limit - 1) / limit;
  struct Open {
    std::unique_ptr<wire::SpanT> span;
    size_t joined = 0;
  };
  std::array<Open, kEngines> open;
  const auto close = [&](Open& each) {
    if (each.span && each.joined > 1) each.span->label += fmt::format(" and {} more", each.joined - 1);
    if (each.span) simulation.timeline.push_back(std::move(each.span));
    each = {};
  };
  for (const Span& span : timeline) {
    Open& each = open[static_cast<size_t>(span.engine)];
    if (each.joined == per_span) close(each);
    if (!each.span) {
      each.span = std::make_unique<wire::SpanT>();
      each.span->engine = kEngineNames[static_cast<size_t>(span.engine)];
      each.span->label = span.command < commands.size() ? disassemble(commands[span.command]) : "";
      each.span->start = span.start;
    }
    each.span->end = std::max(each.span->end, span.end);
    ++each.joined;
  }
  for (Open& each : open) close(each);
  std::stable_sort(simulation.timeline.begin(), simulation.timeline.end(),
                   [](const auto& x, const auto& y) { return x->start < y->start; });
}

}  // namespace

Result<wire::SimulationT> simulate_program(const wire::ProgramT& program, const wire::TensorsT& inputs,
                                           const MachineModel& model, const SimulateOptions& options) {
  if (program.format != kProgramFormat)
    return invalid_argument(
        fmt::format("gemmini: the program has format '{}', expected '{}'", program.format, kProgramFormat));
  ZB_ASSIGN(const std::vector<Command> commands, unpack(program.code));
  ZB_ASSIGN(Dram dram, initial_dram(program, inputs));
  ZB_ASSIGN(FunctionalSimulator functional,
            FunctionalSimulator::create(model.machine, dram, {.strict = options.strict}));
  ZB_TRY(functional.run(commands));

  TimingParameters parameters;
  parameters.memory_latency = model.memory.latency;
  parameters.beat_bytes = model.memory.bus_bytes;
  parameters.requests_in_flight = model.memory.in_flight;
  parameters.command_gap = options.command_gap;
  ZB_ASSIGN(const TimingResult timing,
            simulate_timing(commands, model.machine, parameters, options.timeline_spans > 0));

  wire::SimulationT simulation;
  ZB_ASSIGN(std::vector<wire::TensorT> outputs, read_outputs(program, dram));
  for (wire::TensorT& output : outputs)
    simulation.outputs.push_back(std::make_unique<wire::TensorT>(std::move(output)));
  simulation.latency = timing.cycles;
  simulation.unit = "cycles";
  simulation.simulator =
      fmt::format("gemmini cycle model, {} x {} array, memory latency {}, command gap {}", model.machine.dim,
                  model.machine.dim, model.memory.latency, options.command_gap);
  add_counters(simulation, functional.counts(), timing.counters);
  add_timeline(simulation, timing.timeline, commands, options.timeline_spans);
  return simulation;
}

}  // namespace zomboss::gemmini
