// Off-chip memory as the schedule check sees it: which bytes may be read, which were written, and where
// copied elements came from. One thread; borrows problem and form.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/matmul/problem.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

class CheckedDram {
 public:
  CheckedDram(const Problem& problem, const Form& form, const std::vector<uint64_t>& addresses);

  // Null, or why these bytes may not be read or written now.
  const char* read(uint64_t address, uint64_t bytes);
  const char* write(uint64_t address, uint64_t bytes);
  // `elements` elements at `target` are those at `source`.
  void copied(uint64_t target, uint64_t source, uint32_t elements, uint32_t element_bytes);
  void fence() { ++epoch_; }

  // Every byte of the output was written, and every copy of problem and form was made completely.
  Status check_complete() const;

 private:
  struct Region {
    uint64_t address = 0, bytes = 0;
    wire::BufferRole role = wire::BufferRole::Input;
    std::vector<uint32_t> written;  // by byte: epoch of the write, 0 = never
    std::vector<uint64_t> origin;   // by byte, only of elements' first bytes and copy targets
  };
  Region* find(uint64_t address, uint64_t bytes);
  Status check_copy(const Copy& copy) const;

  std::vector<Region> regions_;  // in buffer order, by address
  std::vector<const Copy*> copies_;
  uint32_t epoch_ = 1;
};

}  // namespace zomboss::gemmini
