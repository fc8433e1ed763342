// Internal to the cycle model: what the unrollers of loop_ws and loop_conv_ws share.
#pragma once

#include <array>
#include <cstdint>

#include "plugins/targets/gemmini/sim/timing_station.h"

namespace zomboss::gemmini::timing {

struct LoopOutput {
  Command command;
  uint32_t index = 0;  // of the run command
};

// Keeps an unroller from giving the station more commands of a class than it has entries. Counted from the
// command's emission to its completion.
class LoopThrottle {
 public:
  LoopThrottle(const Machine& machine, const Station& station)
      : station_(station), limits_{machine.load_entries, machine.execute_entries, machine.store_entries} {}

  bool full(Engine engine) const {
    return emitted_[index_of(engine)] - station_.completed_from_loop(engine) >= limits_[index_of(engine)];
  }
  void emit(Engine engine) { ++emitted_[index_of(engine)]; }
  // Changes when a command of a loop completes.
  uint64_t completed() const {
    return station_.completed_from_loop(Engine::kLoad) + station_.completed_from_loop(Engine::kExecute) +
           station_.completed_from_loop(Engine::kStore);
  }

  const std::array<uint64_t, kEngines>& state() const { return emitted_; }
  void restore(const std::array<uint64_t, kEngines>& state) { emitted_ = state; }
  void describe(Words& words) const {
    for (size_t n = 0; n < kEngines; ++n)
      words.add(emitted_[n] - station_.completed_from_loop(static_cast<Engine>(n)));
  }

 private:
  const Station& station_;
  std::array<uint64_t, kEngines> limits_;
  std::array<uint64_t, kEngines> emitted_{};
};

}  // namespace zomboss::gemmini::timing
