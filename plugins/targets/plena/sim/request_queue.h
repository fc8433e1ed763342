// The requests that wait in one channel of the HBM2 model, in order of arrival, and which of them find their
// bank's row open. Not thread-safe; plain values.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace zomboss::plena {

// One access of 16 bytes.
struct DramRequest {
  uint64_t unit = 0;   // byte address / 16
  int64_t arrive = 0;  // clock of its arrival
  uint64_t row = 0;
  uint32_t bank = 0;   // pseudochannel * 16 + bankgroup * 4 + bank
  uint32_t write = 0;  // 1 for a write; a whole word, so that copies are not piecewise
};

// At most 33 requests. Each has a slot for as long as it waits; slots are numbered in order of arrival, so
// that sets of requests are 64-bit masks and the earliest of a set is its lowest bit. The caller tells which
// rows are open by open() and close().
class RequestQueue {
 public:
  static constexpr size_t kCapacity = 33;
  static constexpr size_t kBanks = 32;
  static constexpr uint64_t kClosed = ~uint64_t{0};

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kCapacity; }
  const DramRequest& operator[](size_t slot) const { return slots_[slot]; }

  // `open_row`: the row that is open in the request's bank, or kClosed.
  void push(const DramRequest& request, uint64_t open_row);
  void erase(size_t slot);
  bool holds(uint64_t unit) const;

  // The requests that find their row open, their bank closed, and another row open.
  uint64_t hits() const { return hits_; }
  uint64_t closed() const { return closed_; }
  uint64_t conflicts() const { return taken_ & ~hits_ & ~closed_; }
  uint64_t of_pseudochannel(size_t index) const { return index == 0 ? taken_ & ~upper_ : upper_; }
  uint64_t of_bank(size_t bank) const { return by_bank_[bank]; }

  void open(size_t bank, uint64_t row);
  void close(size_t bank) {
    hits_ &= ~by_bank_[bank];
    closed_ |= by_bank_[bank];
  }

 private:
  static constexpr size_t kSlots = 64;

  void place(const DramRequest& request, bool hit, bool closed);
  // Renumbers the requests from slot 0 on.
  void compact();

  std::array<DramRequest, kSlots> slots_;
  uint64_t taken_ = 0;
  uint64_t hits_ = 0;
  uint64_t closed_ = 0;
  uint64_t upper_ = 0;  // in pseudochannel 1
  std::array<uint64_t, kBanks> by_bank_{};
  size_t next_ = 0;  // slot of the next arrival
  size_t size_ = 0;
};

inline void RequestQueue::place(const DramRequest& request, bool hit, bool closed) {
  const uint64_t bit = uint64_t{1} << next_;
  slots_[next_++] = request;
  taken_ |= bit;
  if (hit) hits_ |= bit;
  if (closed) closed_ |= bit;
  if (request.bank >= kBanks / 2) upper_ |= bit;
  by_bank_[request.bank] |= bit;
}

inline void RequestQueue::push(const DramRequest& request, uint64_t open_row) {
  if (next_ == kSlots) compact();
  place(request, request.row == open_row, open_row == kClosed);
  ++size_;
}

inline void RequestQueue::erase(size_t slot) {
  const uint64_t others = ~(uint64_t{1} << slot);
  taken_ &= others;
  hits_ &= others;
  closed_ &= others;
  upper_ &= others;
  by_bank_[slots_[slot].bank] &= others;
  if (--size_ == 0) next_ = 0;
}

}  // namespace zomboss::plena
