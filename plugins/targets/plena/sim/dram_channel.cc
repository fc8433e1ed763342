#include "plugins/targets/plena/sim/dram_channel.h"

#include <algorithm>

namespace zomboss::plena {
namespace {

// Minimum distances in clocks; the names are those of the HBM2 standard and of Ramulator.
constexpr int64_t kReadLatency = 11;          // nCL + nBL
constexpr int64_t kRowCommandGap = 2;         // on the channel's row command bus
constexpr int64_t kActivateToActivate = 2;    // nRRDS, one pseudochannel
constexpr int64_t kActivateSameGroup = 3;     // nRRDL
constexpr int64_t kActivateSameBank = 19;     // nRC
constexpr int64_t kFourActivates = 15;        // nFAW
constexpr int64_t kActivateToColumn = 7;      // nRCD
constexpr int64_t kActivateToPrecharge = 17;  // nRAS
constexpr int64_t kPrechargeToActivate = 7;   // nRP
constexpr int64_t kColumnToColumn = 2;        // nCCD
constexpr int64_t kReadToWrite = 11;
constexpr int64_t kWriteToRead = 9;
constexpr int64_t kWriteToReadSameGroup = 10;
constexpr int64_t kReadToPrecharge = 3;
constexpr int64_t kWriteToPrecharge = 14;
// Write mode begins above 0.8 of the nominal queue length of 32 and ends below 0.2 of it.
constexpr size_t kWriteModeAbove = 25;
constexpr size_t kReadModeBelow = 7;

void raise(int64_t& ready, int64_t clock) {
  ready = std::max(ready, clock);
}

}  // namespace

DramPlace place_of(uint64_t unit) {
  const auto bits = [unit](int low, uint32_t mask) { return static_cast<uint32_t>(unit >> low) & mask; };
  const uint32_t column = bits(0, 3) | bits(10, 7) << 2;
  DramPlace place;
  place.channel = bits(2, 7) ^ (column & 7);
  const uint32_t pseudo = bits(5, 1) ^ ((column >> 3) & 1);
  const uint32_t group = bits(6, 3) ^ ((column >> 4) & 1);
  place.bank = pseudo << 4 | group << 2 | bits(8, 3);
  place.row = unit >> 13;
  return place;
}

void DramChannel::ActiveQueue::erase(size_t index) {
  std::copy(items_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
            items_.begin() + static_cast<std::ptrdiff_t>(size_),
            items_.begin() + static_cast<std::ptrdiff_t>(index));
  --size_;
}

DramChannel::DramChannel() {
  open_row_.fill(kClosed);
  for (auto& ring : activations_) ring.fill(-kFourActivates);
}

void DramChannel::pop_pending() {
  if (++pending_head_ < pending_.size()) return;
  pending_.clear();
  pending_head_ = 0;
}

bool DramChannel::offer_read(const DramPlace& place, uint64_t unit, int64_t clock) {
  if (!writes_.empty() && writes_.holds(unit)) {
    pending_.push_back(clock + 1);
    return true;
  }
  if (reads_.full()) return false;
  reads_.push({unit, clock, place.row, place.bank, 0}, open_row_[place.bank]);
  wake_ = 0;
  return true;
}

bool DramChannel::offer_write(const DramPlace& place, uint64_t unit, int64_t clock) {
  if (writes_.full()) return false;
  writes_.push({unit, clock, place.row, place.bank, 1}, open_row_[place.bank]);
  wake_ = 0;
  return true;
}

// When the bank can be read or written at its open row.
int64_t DramChannel::column_ready(size_t bank, bool write) const {
  const size_t pseudo = bank >> 4;
  const size_t group = bank >> 2;
  const int64_t shared = write ? std::max(pseudo_write_[pseudo], group_write_[group])
                               : std::max(pseudo_read_[pseudo], group_read_[group]);
  return std::max(shared, bank_column_[bank]);
}

int64_t DramChannel::pseudo_activate_ready(size_t pseudo) const {
  const int64_t window = activations_[pseudo][activation_at_[pseudo]] + kFourActivates;
  return std::max({channel_row_ready_, pseudo_activate_[pseudo], window});
}

// The banks of active requests stay open at their row, so their next command is the column access.
size_t DramChannel::choose_active(int64_t clock, int64_t& soonest) const {
  size_t best = kNone;
  for (size_t n = 0; n < active_.size(); ++n) {
    const int64_t ready = column_ready(active_[n].bank, active_[n].write != 0);
    if (ready > clock) {
      soonest = std::min(soonest, ready);
    } else if (best == kNone || active_[n].arrive < active_[best].arrive) {
      best = n;
    }
  }
  return best;
}

// When the bank takes the next command of the request in `slot`, its pseudochannel permitting.
int64_t DramChannel::bank_ready(const RequestQueue& queue, size_t slot, bool write) const {
  const size_t bank = queue[slot].bank;
  if ((queue.hits() >> slot & 1u) != 0) {
    return std::max(write ? group_write_[bank >> 2] : group_read_[bank >> 2], bank_column_[bank]);
  }
  if (open_row_[bank] != kClosed) return bank_precharge_[bank];
  return std::max(group_activate_[bank >> 2], bank_activate_[bank]);
}

// Requests queue in order of arrival, so the first ready one is the best. Those whose pseudochannel does not
// take their command yet are left out at once, and with a bank that is not ready all that wait for the same.
size_t DramChannel::choose(const RequestQueue& queue, bool write, int64_t clock, int64_t& soonest) const {
  uint64_t candidates = 0;
  const auto admit = [&](uint64_t slots, int64_t ready) {
    if (slots == 0) return;
    if (ready <= clock) {
      candidates |= slots;
    } else {
      soonest = std::min(soonest, ready);
    }
  };
  for (size_t pseudo = 0; pseudo < 2; ++pseudo) {
    const uint64_t slots = queue.of_pseudochannel(pseudo);
    admit(queue.hits() & slots, write ? pseudo_write_[pseudo] : pseudo_read_[pseudo]);
    admit(queue.closed() & slots, pseudo_activate_ready(pseudo));
  }
  admit(queue.conflicts(), channel_row_ready_);
  while (candidates != 0) {
    const auto slot = static_cast<size_t>(std::countr_zero(candidates));
    const int64_t ready = bank_ready(queue, slot, write);
    if (ready <= clock) return slot;
    soonest = std::min(soonest, ready);
    const bool hit = (queue.hits() >> slot & 1u) != 0;
    candidates &= ~(queue.of_bank(queue[slot].bank) & (hit ? queue.hits() : ~queue.hits()));
  }
  return kNone;
}

void DramChannel::update_mode() {
  if (!write_mode_) {
    write_mode_ = writes_.size() > kWriteModeAbove || reads_.empty();
  } else if (writes_.size() < kReadModeBelow && !reads_.empty()) {
    write_mode_ = false;
  }
}

// Flattened: one function without calls takes a quarter less time.
[[gnu::flatten]] void DramChannel::schedule(int64_t clock) {
  int64_t soonest = kNever;
  const size_t ready_active = choose_active(clock, soonest);
  wake_ = clock + 1;
  if (ready_active != kNone) {
    const DramRequest request = active_[ready_active];
    active_.erase(ready_active);
    --active_in_bank_[request.bank];
    return column(request, clock);
  }
  update_mode();
  RequestQueue& queue = write_mode_ ? writes_ : reads_;
  const size_t slot = choose(queue, write_mode_, clock, soonest);
  if (slot == kNone || !issue(queue, slot, clock)) wake_ = soonest;
}

// A bank with active requests is not closed; nothing else is issued in its place.
bool DramChannel::issue(RequestQueue& queue, size_t slot, int64_t clock) {
  const DramRequest& request = queue[slot];
  if ((queue.hits() >> slot & 1u) != 0) {
    column(request, clock);
    queue.erase(slot);
  } else if (open_row_[request.bank] == kClosed) {
    activate(queue, slot, clock);
  } else if (active_in_bank_[request.bank] == 0) {
    precharge(request.bank, clock);
  } else {
    return false;
  }
  return true;
}

void DramChannel::activate(RequestQueue& queue, size_t slot, int64_t clock) {
  const DramRequest& request = queue[slot];
  const size_t bank = request.bank;
  const size_t pseudo = bank >> 4;
  channel_row_ready_ = clock + kRowCommandGap;
  raise(pseudo_activate_[pseudo], clock + kActivateToActivate);
  activations_[pseudo][activation_at_[pseudo]] = clock;
  activation_at_[pseudo] = static_cast<uint8_t>((activation_at_[pseudo] + 1) % 4);
  raise(group_activate_[bank >> 2], clock + kActivateSameGroup);
  raise(bank_activate_[bank], clock + kActivateSameBank);
  raise(bank_column_[bank], clock + kActivateToColumn);
  raise(bank_precharge_[bank], clock + kActivateToPrecharge);
  open_row_[bank] = request.row;
  reads_.open(bank, request.row);
  writes_.open(bank, request.row);
  if (active_.full()) return;
  active_.push(request);
  ++active_in_bank_[bank];
  queue.erase(slot);
}

void DramChannel::precharge(size_t bank, int64_t clock) {
  raise(bank_activate_[bank], clock + kPrechargeToActivate);
  open_row_[bank] = kClosed;
  reads_.close(bank);
  writes_.close(bank);
}

void DramChannel::column(const DramRequest& request, int64_t clock) {
  const size_t pseudo = request.bank >> 4;
  const size_t group = request.bank >> 2;
  if (request.write != 0) {
    raise(pseudo_write_[pseudo], clock + kColumnToColumn);
    raise(pseudo_read_[pseudo], clock + kWriteToRead);
    raise(group_read_[group], clock + kWriteToReadSameGroup);
    raise(bank_precharge_[request.bank], clock + kWriteToPrecharge);
    return;
  }
  raise(pseudo_read_[pseudo], clock + kColumnToColumn);
  raise(pseudo_write_[pseudo], clock + kReadToWrite);
  raise(bank_precharge_[request.bank], clock + kReadToPrecharge);
  pending_.push_back(clock + kReadLatency);
}

}  // namespace zomboss::plena
