// Internal to the cycle model: where a program repeats itself. The program is cut at places that its commands
// determine, so that repetitions are cut alike, into chunks that are numbered by content.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini::timing {

// A command as far as the model sees it. `granule` is the largest memory request: of a DRAM address, only the
// place within that matters.
struct SeenCommand {
  uint64_t funct = 0, rs1 = 0, rs2 = 0;
  bool operator==(const SeenCommand&) const = default;
};
SeenCommand see(const Command& command, uint64_t granule);

class Pattern {
 public:
  Pattern(std::span<const Command> commands, uint64_t granule);

  struct Chunk {
    size_t end = 0;        // index after its last command, which is no fence
    uint32_t content = 0;  // equal for equal chunks
    bool repeats = false;  // there are others like it
  };
  // In order and without gaps; empty when the program cannot be treated so or has no repetition.
  const std::vector<Chunk>& chunks() const { return chunks_; }

 private:
  std::vector<Chunk> chunks_;
};

}  // namespace zomboss::gemmini::timing
