// One channel of the HBM2 model: its queues, banks and command timing, one tick per nanosecond. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace zomboss::plena {

// One access of 16 bytes.
struct DramRequest {
  uint64_t unit = 0;   // byte address / 16
  int64_t arrive = 0;  // clock of its arrival
  uint64_t row = 0;
  uint8_t bank = 0;  // pseudochannel * 16 + bankgroup * 4 + bank
  bool write = false;
};

// Where a unit lies: the MOP4CLXOR mapping.
struct DramPlace {
  uint32_t channel = 0;
  uint8_t bank = 0;
  uint64_t row = 0;
};
DramPlace place_of(uint64_t unit);

// A queue of at most 33 requests in order of insertion.
class RequestQueue {
 public:
  static constexpr size_t kCapacity = 33;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kCapacity; }
  const DramRequest& operator[](size_t index) const { return items_[index]; }
  void push(const DramRequest& request) { items_[size_++] = request; }
  void erase(size_t index);

 private:
  std::array<DramRequest, kCapacity> items_;
  size_t size_ = 0;
};

// The clock of all channels is the caller's: tick(clock) is called for consecutive clocks, except that calls
// for clocks below next_event() may be left out.
class DramChannel {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  DramChannel();

  // Takes a request at `clock`, or refuses it because the queue is full.
  bool offer(const DramRequest& request, int64_t clock);
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
  static constexpr uint64_t kClosed = std::numeric_limits<uint64_t>::max();
  enum class Command : uint8_t { kActivate, kPrecharge, kColumn };
  struct Choice {
    size_t index = 0;
    bool found = false;
    Command command = Command::kColumn;
  };

  void pop_pending();
  void schedule(int64_t clock);
  int64_t column_ready(const DramRequest& request) const;
  Command command_of(const DramRequest& request) const;
  int64_t ready_at(const DramRequest& request, Command command) const;
  Choice choose_active(int64_t clock, int64_t& soonest) const;
  Choice choose(const RequestQueue& queue, int64_t clock, int64_t& soonest) const;
  void update_mode();
  bool bank_has_active(uint8_t bank) const;
  void activate(RequestQueue& queue, size_t index, int64_t clock);
  void precharge(uint8_t bank, int64_t clock);
  void column(RequestQueue& queue, size_t index, int64_t clock);

  RequestQueue reads_;
  RequestQueue writes_;
  RequestQueue active_;
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
