// Internal to the cycle model: what the engines share.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_memory.h"
#include "plugins/targets/gemmini/sim/timing_station.h"

namespace zomboss::gemmini::timing {

// Takes the spans of the timeline. Inside of the model, cycles and commands are counted from a beginning that
// moves when a stretch of the program is skipped; the offsets make them those of the program.
struct Recorder {
  bool on = false;
  uint64_t cycle_offset = 0;
  uint64_t command_offset = 0;
  std::vector<Span> spans;

  void add(Engine engine, uint64_t command, uint64_t start, uint64_t end) {
    if (!on) return;
    spans.push_back(
        {engine, static_cast<uint32_t>(command + command_offset), start + cycle_offset, end + cycle_offset});
  }
};

struct Context {
  const Machine& machine;
  const TimingParameters& parameters;
  Clock& clock;
  MemoryPort& port;
  Banks& banks;
  Station& station;
  TimingCounters& counters;
  Recorder& recorder;
};

// A command that an engine was given, with the cycle from which its controller sees it.
struct Issued {
  int slot = 0;
  bool config = false;  // the station may have forgotten it
  uint64_t visible = 0;
};

// The largest useful of the naturally aligned power-of-two requests at `address`; the smallest of equals.
struct Request {
  uint32_t bytes = 0;
  uint32_t useful = 0;
};
inline Request best_request(const TimingParameters& parameters, uint64_t address, uint32_t left) {
  // Most rows are whole and aligned.
  const uint32_t most = parameters.max_request_bytes;
  if (left >= most && (address & (most - 1)) == 0) return {most, most};
  if (left == parameters.beat_bytes && (address & (left - 1)) == 0) return {left, left};
  Request best = {parameters.beat_bytes, 0};
  for (uint32_t size = parameters.beat_bytes; size <= parameters.max_request_bytes; size *= 2) {
    const uint32_t covered = std::min(left, size - static_cast<uint32_t>(address & (size - 1)));
    if (covered > best.useful) best = {size, covered};
  }
  return best;
}

}  // namespace zomboss::gemmini::timing
