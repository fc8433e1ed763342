// One channel of the HBM2 model: its queues, banks and command timing, one tick per nanosecond. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "plugins/targets/plena/sim/request_queue.h"

namespace zomboss::plena {

// Where a unit lies: the MOP4CLXOR mapping.
struct DramPlace {
  uint32_t channel = 0;
  uint32_t bank = 0;
  uint64_t row = 0;
};
DramPlace place_of(uint64_t unit);

// The clock of all channels is the caller's: tick(clock) is called for consecutive clocks, except that calls
// for clocks below next_event() may be left out.
class DramChannel {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  DramChannel();

  // Takes a read or a write of `unit` at `clock`, or refuses it because the queue is full. `place` is that of
  // the unit; the channel number in it is not looked at.
  bool offer_read(const DramPlace& place, uint64_t unit, int64_t clock);
  bool offer_write(const DramPlace& place, uint64_t unit, int64_t clock);
  // Runs one tick. True when a read completes in it.
  bool tick(int64_t clock) {
    const bool completed = pending_head_ != pending_.size() && pending_[pending_head_] <= clock;
    if (completed) pop_pending();
    if (clock >= wake_) schedule(clock);
    return completed;
  }
  // The first clock at which a tick can change anything.
  int64_t next_event() const {
    return pending_head_ == pending_.size() ? wake_ : std::min(wake_, pending_[pending_head_]);
  }

 private:
  static constexpr uint64_t kClosed = RequestQueue::kClosed;
  static constexpr size_t kNone = ~size_t{0};

  // Requests whose row was opened for them, in the order in which that happened.
  class ActiveQueue {
   public:
    size_t size() const { return size_; }
    bool full() const { return size_ == RequestQueue::kCapacity; }
    const DramRequest& operator[](size_t index) const { return items_[index]; }
    void push(const DramRequest& request) { items_[size_++] = request; }
    void erase(size_t index);

   private:
    std::array<DramRequest, RequestQueue::kCapacity> items_;
    size_t size_ = 0;
  };

  void pop_pending();
  void schedule(int64_t clock);
  int64_t column_ready(size_t bank, bool write) const;
  int64_t pseudo_activate_ready(size_t pseudo) const;
  int64_t bank_ready(const RequestQueue& queue, size_t slot, bool write) const;
  // The best request that is ready, or kNone; `soonest` is lowered to when others may become ready.
  size_t choose_active(int64_t clock, int64_t& soonest) const;
  size_t choose(const RequestQueue& queue, bool write, int64_t clock, int64_t& soonest) const;
  void update_mode();
  // True when a command was issued.
  bool issue(RequestQueue& queue, size_t slot, int64_t clock);
  void activate(RequestQueue& queue, size_t slot, int64_t clock);
  void precharge(size_t bank, int64_t clock);
  void column(const DramRequest& request, int64_t clock);

  RequestQueue reads_;
  RequestQueue writes_;
  ActiveQueue active_;
  std::array<uint8_t, 32> active_in_bank_{};
  bool write_mode_ = false;
  int64_t wake_ = 0;

  std::vector<int64_t>
      pending_;  // clocks at which reads depart, from pending_head_ on; cleared when all have
  size_t pending_head_ = 0;

  // Earliest clocks of the next command, per level of the tree channel, pseudochannel, bankgroup, bank.
  int64_t channel_row_ready_ = 0;
  std::array<int64_t, 2> pseudo_activate_{};
  std::array<int64_t, 2> pseudo_read_{};
  std::array<int64_t, 2> pseudo_write_{};
  std::array<std::array<int64_t, 4>, 2> activations_{};  // the last four, a ring
  std::array<uint8_t, 2> activation_at_{};
  std::array<int64_t, 8> group_activate_{};
  std::array<int64_t, 8> group_read_{};
  std::array<int64_t, 8> group_write_{};
  std::array<int64_t, 32> bank_activate_{};
  std::array<int64_t, 32> bank_column_{};
  std::array<int64_t, 32> bank_precharge_{};
  std::array<uint64_t, 32> open_row_;
};

}  // namespace zomboss::plena
