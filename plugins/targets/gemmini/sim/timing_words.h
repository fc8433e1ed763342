// Internal to the cycle model: a machine state written down so that two states with the same words behave the
// same from then on. Times are relative to the current cycle, and of DRAM addresses only what the model looks
// at remains.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/sim/timing_clock.h"

namespace zomboss::gemmini::timing {

// What the model sees of a DRAM address: whether it is null, and its place within the largest request. Exact
// as long as sums of an address and offsets do not wrap around, see Commands in timing_memo.h.
constexpr uint64_t dram_phase(uint64_t address, uint64_t granule) {
  return address == 0 ? 0 : (address & (granule - 1)) | uint64_t{1} << 32;
}

class Words {
 public:
  // `spans`: commands and start times matter too, because the timeline names them.
  Words(uint64_t now, uint64_t first_command, uint64_t granule, bool spans)
      : now_(now), first_command_(first_command), granule_(granule), spans_(spans) {}

  void add(uint64_t value) { words_.push_back(value); }
  // A cycle that is only ever compared with the current one.
  void time(uint64_t cycle) { add(cycle == kNever ? kNever : cycle >= now_ ? cycle - now_ + 1 : 0); }
  void dram(uint64_t address) { add(dram_phase(address, granule_)); }
  void origin(uint64_t command) {
    if (spans_) add(command - first_command_);
  }
  void start(uint64_t cycle) {
    if (spans_) add(now_ - cycle);
  }

  uint64_t now() const { return now_; }
  const std::vector<uint64_t>& words() const { return words_; }
  std::vector<uint64_t> take() { return std::move(words_); }

 private:
  std::vector<uint64_t> words_;
  uint64_t now_;
  uint64_t first_command_;
  uint64_t granule_;
  bool spans_;
};

}  // namespace zomboss::gemmini::timing
