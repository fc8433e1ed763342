#include "plugins/targets/gemmini/simulate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/sim/functional.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

constexpr std::array<const char*, kEngines> kEngineNames = {"ld", "ex", "st"};

// The hardware's counters by event number, see docs/gemmini.md.
struct HardwareCounter {
  size_t event;
  const char* name;
  const char* unit = "cycles";
};
constexpr HardwareCounter kEventCounters[] = {
    {kLoadOnly, "ld_only_cycles"},
    {kStoreOnly, "st_only_cycles"},
    {kExecuteOnly, "ex_only_cycles"},
    {kLoadStore, "ld_st_cycles"},
    {kLoadExecute, "ld_ex_cycles"},
    {kStoreExecute, "st_ex_cycles"},
    {kLoadStoreExecute, "ld_st_ex_cycles"},
    {kLoadDmaWait, "ld_dma_wait_cycles"},
    {kLoadActive, "ld_active_cycles"},
    {kLoadScratchpadWait, "ld_spad_wait_cycles"},
    {kStoreDmaWait, "st_dma_wait_cycles"},
    {kStoreActive, "st_active_cycles"},
    {kStorePooling, "st_pooling_cycles"},
    {kStoreScratchpadWait, "st_spad_wait_cycles"},
    {kReadDmaActive, "rdma_active_cycles"},
    {kReadDmaPortWait, "rdma_tl_wait_cycles"},
    {kWriteDmaActive, "wdma_active_cycles"},
    {kWriteDmaPortWait, "wdma_tl_wait_cycles"},
    {kExecuteActive, "exe_active_cycles"},
    {kExecuteFlush, "exe_flush_cycles"},
    {kPreloadHazard, "exe_preload_haz_cycles"},
    {kOverlapHazard, "exe_overlap_haz_cycles"},
    {kScratchpadWaitA, "spad_a_wait_cycles"},
    {kScratchpadWaitB, "spad_b_wait_cycles"},
    {kScratchpadWaitD, "spad_d_wait_cycles"},
    {kAccumulatorWaitA, "acc_a_wait_cycles"},
    {kAccumulatorWaitB, "acc_b_wait_cycles"},
    {kAccumulatorWaitD, "acc_d_wait_cycles"},
    {kStationFull, "station_full_cycles"},
    {kStationActive, "station_active_cycles"},
    {kLoopActive, "loop_matmul_active_cycles"},
};
constexpr HardwareCounter kExternalCounters[] = {
    {kLoadEntries, "ld_entry_cycles", "entries x cycles"},
    {kStoreEntries, "st_entry_cycles", "entries x cycles"},
    {kExecuteEntries, "ex_entry_cycles", "entries x cycles"},
    {kReadBytes, "rdma_bytes", "bytes"},
    {kWrittenBytes, "wdma_bytes", "bytes"},
    {kReadLatency, "rdma_total_latency", "requests x cycles"},
    {kWriteLatency, "wdma_total_latency", "requests x cycles"},
};

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
  for (const HardwareCounter& each : kEventCounters)
    add_counter(simulation, each.name, timing.events[each.event], "cycles");
  for (const HardwareCounter& each : kExternalCounters)
    add_counter(simulation, each.name, timing.external[each.event], each.unit);
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

// The cycles of one program at several memory latencies, each simulated once.
class Runs {
 public:
  Runs(const std::vector<Command>& commands, const Machine& machine, const TimingParameters& parameters)
      : commands_(commands), machine_(machine), parameters_(parameters) {}

  Result<TimingResult> first(uint32_t latency, bool timeline) {
    parameters_.memory_latency = latency;
    ZB_ASSIGN(TimingResult result, simulate_timing(commands_, machine_, parameters_, timeline));
    known_[latency] = result.cycles;
    return result;
  }
  Result<uint64_t> cycles(uint32_t latency) {
    if (known_.count(latency) == 0) ZB_TRY(first(latency, false));
    return known_[latency];
  }

 private:
  const std::vector<Command>& commands_;
  const Machine& machine_;
  TimingParameters parameters_;
  std::map<uint32_t, uint64_t> known_;
};

// The geometric mean, rounded.
Result<uint64_t> mean_cycles(Runs& runs, const std::vector<uint32_t>& latencies) {
  if (latencies.size() == 1) return runs.cycles(latencies[0]);
  double logarithms = 0;
  for (const uint32_t latency : latencies) {
    ZB_ASSIGN(const uint64_t cycles, runs.cycles(latency));
    if (cycles == 0) return uint64_t{0};  // the empty program
    logarithms += std::log(static_cast<double>(cycles));
  }
  return static_cast<uint64_t>(std::llround(std::exp(logarithms / static_cast<double>(latencies.size()))));
}

std::string latency_text(const std::vector<uint32_t>& latencies) {
  if (latencies.size() == 1) return std::to_string(latencies[0]);
  return fmt::format("{} (geometric mean of the cycles; counters and timeline: {})",
                     fmt::join(latencies, " and "), latencies[0]);
}

}  // namespace

TimingParameters timing_of(const MachineModel& model) {
  TimingParameters parameters;
  parameters.memory_latency = model.memory.latency;
  parameters.beat_bytes = model.memory.bus_bytes;
  parameters.requests_in_flight = model.memory.in_flight;
  return parameters;
}

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

  TimingParameters parameters = options.timing.value_or(timing_of(model));
  if (options.command_gap) parameters.command_gap = *options.command_gap;
  Runs runs(commands, model.machine, parameters);
  std::vector<uint32_t> latencies = options.latencies;
  if (latencies.empty()) latencies.push_back(parameters.memory_latency);
  ZB_ASSIGN(const TimingResult timing, runs.first(latencies.front(), options.timeline_spans > 0));

  wire::SimulationT simulation;
  ZB_ASSIGN(std::vector<wire::TensorT> outputs, read_outputs(program, dram));
  for (wire::TensorT& output : outputs)
    simulation.outputs.push_back(std::make_unique<wire::TensorT>(std::move(output)));
  ZB_ASSIGN(simulation.latency, mean_cycles(runs, latencies));
  simulation.unit = "cycles";
  simulation.simulator =
      fmt::format("gemmini cycle model, {} x {} array, memory latency {}, command gap {}", model.machine.dim,
                  model.machine.dim, latency_text(latencies), parameters.command_gap);
  for (const uint32_t latency : options.scenarios) {
    auto scenario = std::make_unique<wire::ScenarioT>();
    scenario->name = fmt::format("L={}", latency);
    ZB_ASSIGN(scenario->latency, runs.cycles(latency));
    simulation.scenarios.push_back(std::move(scenario));
  }
  add_counters(simulation, functional.counts(), timing.counters);
  add_timeline(simulation, timing.timeline, commands, options.timeline_spans);
  return simulation;
}

}  // namespace zomboss::gemmini
