// Transaction-level cycle model of the command stream: front end, reservation station, load, store and
// execute controllers, DMA with a fixed-latency memory, scratchpad banks, array pipeline and the loop_ws
// unroller. It walks commands only, never data, skips cycles in which nothing happens, and does not simulate
// again what a stretch of commands did to the same state of the machine before. Calibrated against cycles of
// the real RTL; timing_accuracy_test.cc holds the errors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// What is not part of the machine's specification. Cycles unless said otherwise.
struct TimingParameters {
  uint32_t memory_latency = 20;      // request to first data beat
  uint32_t command_gap = 0;          // idle cycles between two commands that the host offers
  uint32_t beat_bytes = 16;          // of the memory port
  uint32_t max_request_bytes = 64;   // largest memory request
  uint32_t requests_in_flight = 16;  // reads and writes each
  uint32_t front_latency = 4;        // command accepted to reservation station
  uint32_t front_capacity = 8;       // commands between the two
  uint32_t load_entries = 0;         // of the reservation station; 0 = as the machine has
  uint32_t execute_entries = 0;
  uint32_t store_entries = 0;
  uint32_t array_latency = 6;  // last operand row to its result, beyond 2 * dim
  uint32_t matmuls_in_flight = 5;
  uint32_t scale_entries = 3;      // row blocks in the mvin scaler when the scale is not 1
  uint32_t scale_units = 4;        // multipliers of that scaler
  uint32_t scale_burst_delay = 7;  // more for each block of a row of several: they wait for one another
  uint64_t max_cycles = uint64_t{1} << 40;  // give up
  bool skip_repetitions = true;             // for speed; the result is the same without
  bool operator==(const TimingParameters&) const = default;
};

enum class Engine : uint8_t { kLoad = 0, kExecute = 1, kStore = 2 };
inline constexpr size_t kEngines = 3;

// One command's work on an engine, [start, end). For a loop, `command` is the index of its run command.
struct Span {
  Engine engine;
  uint32_t command = 0;
  uint64_t start = 0;
  uint64_t end = 0;
  bool operator==(const Span&) const = default;
};

// Events of the hardware's counters, by their numbers there. Those that the model has nothing for stay 0.
enum Event : size_t {
  kNoEvent = 0,
  kLoadOnly = 1,  // cycles in which only these controllers are busy
  kStoreOnly = 2,
  kExecuteOnly = 3,
  kLoadStore = 4,
  kLoadExecute = 5,
  kStoreExecute = 6,
  kLoadStoreExecute = 7,
  kLoadDmaWait = 8,
  kLoadActive = 9,
  kLoadScratchpadWait = 10,
  kStoreDmaWait = 11,
  kStoreActive = 12,
  kStorePooling = 13,
  kStoreScratchpadWait = 14,
  kReadDmaActive = 18,
  kReadDmaPortWait = 20,
  kWriteDmaActive = 21,
  kWriteDmaPortWait = 23,
  kExecuteActive = 24,
  kExecuteFlush = 25,
  kPreloadHazard = 27,
  kOverlapHazard = 28,
  kScratchpadWaitA = 29,
  kScratchpadWaitB = 30,
  kScratchpadWaitD = 31,
  kAccumulatorWaitA = 32,  // the model has no such waits
  kAccumulatorWaitB = 33,
  kAccumulatorWaitD = 34,
  kStationFull = 41,
  kStationActive = 42,
  kLoopActive = 43,
  kEvents = 45,
};
enum ExternalEvent : size_t {
  kLoadEntries = 1,  // entries of the station in use, summed over the cycles
  kStoreEntries = 2,
  kExecuteEntries = 3,
  kReadBytes = 4,     // the hardware's: the whole request at each beat of its response
  kWrittenBytes = 5,  // at each acknowledgement
  kReadLatency = 6,   // requests in flight, summed over the cycles
  kWriteLatency = 7,
  kExternalEvents = 8,
};

// All members are sums of uint64_t.
struct TimingCounters {
  std::array<uint64_t, kEngines> busy_cycles{};  // at least one command at work
  std::array<uint64_t, kEngines> commands{};     // after expansion of loops
  uint64_t gets = 0, puts = 0;                   // memory requests
  uint64_t read_bytes = 0, written_bytes = 0;    // of those requests, padding included
  uint64_t array_rows = 0;                       // rows streamed into the array
  uint64_t array_stalls = 0;                     // cycles in which an operand row waited for its bank
  uint64_t steps = 0;                            // cycles that were evaluated (the rest was skipped)
  std::array<uint64_t, kEvents> events{};
  std::array<uint64_t, kExternalEvents> external{};
  bool operator==(const TimingCounters&) const = default;
};

struct TimingResult {
  uint64_t cycles = 0;  // from the first command offered until the unit is idle
  TimingCounters counters;
  std::vector<Span> timeline;  // by start; only when asked for
};

// Deterministic; linear in the work of the commands. Fails on configurations that check_machine refuses, on
// commands that name no engine, on loops that do not fit, and on streams that can never finish.
Result<TimingResult> simulate_timing(std::span<const Command> commands, const Machine& machine,
                                     const TimingParameters& parameters = {}, bool record_timeline = false);

}  // namespace zomboss::gemmini
