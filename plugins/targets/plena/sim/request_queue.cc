#include "plugins/targets/plena/sim/request_queue.h"

namespace zomboss::plena {

bool RequestQueue::holds(uint64_t unit) const {
  for (uint64_t left = taken_; left != 0; left &= left - 1) {
    if (slots_[static_cast<size_t>(std::countr_zero(left))].unit == unit) return true;
  }
  return false;
}

void RequestQueue::open(size_t bank, uint64_t row) {
  closed_ &= ~by_bank_[bank];
  for (uint64_t left = by_bank_[bank]; left != 0; left &= left - 1) {
    if (slots_[static_cast<size_t>(std::countr_zero(left))].row == row) hits_ |= left & -left;
  }
}

void RequestQueue::compact() {
  const uint64_t taken = taken_;
  const uint64_t hits = hits_;
  const uint64_t closed = closed_;
  taken_ = hits_ = closed_ = upper_ = 0;
  by_bank_.fill(0);
  next_ = 0;
  for (uint64_t left = taken; left != 0; left &= left - 1) {
    const auto slot = static_cast<size_t>(std::countr_zero(left));
    place(DramRequest(slots_[slot]), (hits >> slot & 1u) != 0, (closed >> slot & 1u) != 0);
  }
}

}  // namespace zomboss::plena
