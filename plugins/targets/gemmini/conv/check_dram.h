// Off-chip memory as the kernel check sees it: which bytes may be read, which were written, and where copied
// elements came from. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/conv/problem.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::conv {

class CheckedDram {
 public:
  CheckedDram(const Problem& problem, const Form& form);

  // Null, or why these bytes may not be read or written now. Scratch that was never written holds zeros.
  const char* read(uint64_t address, uint64_t bytes) const;
  const char* write(uint64_t address, uint64_t bytes);
  // `elements` elements at `target` are those at `source`; the caller has written them.
  void copied(uint64_t target, uint64_t source, uint32_t elements, uint32_t element_bytes);
  void fence() { ++epoch_; }

  uint64_t address(uint32_t buffer) const { return regions_[buffer].address; }
  // Every byte of the output was written, and every copy was made completely and nothing else.
  Status check_complete() const;

 private:
  struct Region {
    uint64_t address = 0, bytes = 0;
    wire::BufferRole role = wire::BufferRole::Input;
    std::vector<uint32_t> written;  // by byte: epoch of the write, 0 = never
    std::vector<uint64_t> origin;   // by byte, of the first bytes of copied elements
  };
  const Region* find(uint64_t address, uint64_t bytes) const;
  Status check_copy(const OffsetCopy& copy, uint64_t& elements) const;

  std::vector<Region> regions_;  // ascending
  std::vector<OffsetCopy> copies_;
  uint32_t epoch_ = 1;
};

}  // namespace zomboss::gemmini::conv
