// Copies between DRAM buffers through the local memories: whole rows where both sides have unit stride,
// element by element otherwise. One thread; borrows everything it is given.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/matmul/schedule.h"

namespace zomboss::gemmini {

class CopyScheduler {
 public:
  CopyScheduler(const Machine& machine, const std::vector<uint64_t>& addresses, Schedule& schedule)
      : machine_(machine), addresses_(addresses), schedule_(schedule) {}

  // Appends the copy as a macro tile without steps. The fence goes behind a copy whose target is read later,
  // or before one whose source was just written.
  void add(const Copy& copy, bool fence_behind);

 private:
  const Machine& machine_;
  const std::vector<uint64_t>& addresses_;
  Schedule& schedule_;
};

}  // namespace zomboss::gemmini
